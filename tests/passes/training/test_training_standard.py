"""Every fact of the standard convention that a second program computed for training (`tests/data/README.md`)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support import DATA, example, report, run
from support_training import number, options

from bpir.tools.reports.report import Report

CASES = [json.loads(line) for line in (DATA / "standard_training.jsonl").read_text().splitlines()]
COMPONENTS = ("ops", "read", "write", "msg")


def derive(case: dict[str, Any]) -> Report:
    """The report of the bound plan of a case."""
    passes = (f"distribute-training{{{options(case['options'])}}}", "plan-training", f"bind-symbols{{{options(case['bind'])}}}")
    return report(run(example("transformer_block"), *passes))


def worked(found: Report) -> dict[str, list[Any]]:
    """The work of every task that does some."""
    rows = {task.name: [number(getattr(task.work, name)) for name in COMPONENTS] for task in found.tasks}
    assert len(rows) == len(found.tasks)
    return {name: row for name, row in rows.items() if any(row)}


def kept(found: Report, layers: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """The facts of layers that the oracle states too: a sum over layers joined by `+`; nothing of a layer that is not there."""

    def fact(joined: str, name: str) -> Any:
        values = [found.layers[layer][name] for layer in joined.split("+") if layer in found.layers]
        flags = [value for value in values if isinstance(value, bool)]
        if flags:
            (flag,) = flags
            return flag
        return sum(number(value) for value in values if not isinstance(value, bool))

    return {joined: {name: fact(joined, name) for name in facts} for joined, facts in layers.items()}


def stored_by_the_identity(found: Report) -> Any:
    """`C_act` from the columns of the layers: what they keep, less what is dropped."""
    stored: Any = 0
    for facts in found.layers.values():
        kept_bytes, output = facts["activation_bytes"], facts["output_bytes"]
        assert not isinstance(kept_bytes, bool) and not isinstance(output, bool)
        stored += number(kept_bytes)
        stored -= 0 if facts["output_stored"] else number(output)
        stored -= 0 if facts["activation_stored"] else number(kept_bytes)
    return stored


def norms_summed(case: dict[str, Any]) -> dict[str, int]:
    """The messages of gradient reduction: gamma and beta of two layer norms, where ranks share tokens."""
    shared = case["options"]["communication"] == "reduce_scatter_all_gather" and case["options"]["tensor"] > 1
    norms = ("attention.layer_norm", "mlp.layer_norm") if shared else ()
    return {f"{layer}.gradient_reduction": 2 * case["bind"]["H"] * case["bind"]["e"] for layer in norms}


def weights_exchanged(case: dict[str, Any], found: Report) -> dict[str, int]:
    """The messages of replicas: all gradients of a layer's weights; where the optimizer is shared, then all weights, which are as wide."""
    if case["options"].get("data", 1) == 1:
        return {}
    held = {layer: number(facts["weight_bytes"]) for layer, facts in found.layers.items()}
    names = ("gradients", "weights") if case["options"]["optimizer_sharding"] else ("gradients",)
    return {f"{layer}.{name}.gradient_reduction": size for layer, size in held.items() for name in names if size}


def test_the_cases_cover_every_choice_of_a_strategy() -> None:
    chosen = [case["options"] for case in CASES]
    assert len(chosen) == 32
    assert {c["tensor"] for c in chosen} == {1, 2, 4, 8}
    assert {c["recompute"] for c in chosen} == {"none", "attention", "full"}
    assert {c["communication"] for c in chosen} == {"all_reduce", "reduce_scatter_all_gather"}
    for flag in ("all_gather_redo", "fused_activation", "optimizer_sharding", "master_copy"):
        assert {c[flag] for c in chosen} == {True, False}
    assert sum(bool(case["identity"]) for case in CASES) == 18


@pytest.mark.campaign(keep=10)
@pytest.mark.parametrize("case", CASES, ids=[c["id"] for c in CASES])
def test_all_work_all_facts_and_all_memory_are_equal(case: dict[str, Any]) -> None:
    found = derive(case)
    summed = {task.name: task for task in found.tasks if task.phase == "gradient_reduction"}  # a phase that the oracle does not state
    assert {name: row for name, row in worked(found).items() if name not in summed} == case["work"]
    assert {task.name: task.collective for task in found.tasks if task.collective and task.name not in summed} == case["collectives"]
    assert {name: number(task.work.msg) for name, task in summed.items()} == norms_summed(case) | weights_exchanged(case, found)
    assert kept(found, case["stored"]) == case["stored"]
    assert {name: number(found.memory[name]) for name in case["memory"]} == case["memory"]
    assert case["identity"] in ([], [stored_by_the_identity(found)])  # not stated under full recomputation, or where a shard is kept
