"""Every fact of Calculon's layers under `convention=calculon`, integer by integer (`tests/data/README.md`)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support import DATA, example, report, run
from support_training import number, options

from bpir.ir.expressions.expression import total
from bpir.tools.reports.report import Report

CASES = [json.loads(line) for line in (DATA / "calculon_training.jsonl").read_text().splitlines()]

LAYERS = [
    "attention.fork",
    "attention.layer_norm",
    "attention.input_collective",
    "attention.qkv_fork",
    "attention.query",
    "attention.key",
    "attention.value",
    "attention.query_key",
    "attention.softmax",
    "attention.probability_dropout",
    "attention.probability_value",
    "attention.output_projection",
    "attention.output_collective",
    "attention.output_dropout",
    "attention.residual",
    "mlp.fork",
    "mlp.layer_norm",
    "mlp.input_collective",
    "mlp.expand",
    "mlp.gelu",
    "mlp.contract",
    "mlp.output_collective",
    "mlp.output_dropout",
    "mlp.residual",
]
COMMUNICATION = {"ar": "all_reduce", "p2p_rs_ag": "all_reduce", "rs_ag": "reduce_scatter_all_gather"}
"""`p2p_rs_ag` differs from `ar` only in the block next to a pipeline's send; the data has the ordinary block."""
RECOMPUTE = {"none": "none", "attn_only": "attention", "full": "full"}

BYTES = [
    "weight_bytes",
    "activation_bytes",
    "output_bytes",
    "weight_gradient_bytes",
    "weight_gradient_unsharded_bytes",
    "activation_gradient_bytes",
    "optimizer_bytes",
]
MEMORY = {
    "weight_bytes": "weights",
    "activation_working_bytes": "activation_working",
    "activation_storage_bytes": "activation_stored",
    "activation_checkpoint_bytes": "activation_checkpoint",
    "weight_gradient_bytes": "weight_gradients",
    "weight_gradient_unsharded_bytes": "weight_gradients_unsharded",
    "activation_gradient_bytes": "activation_gradients",
    "optimizer_bytes": "optimizer",
}
WORK = {"forward": "base_forward", "activation_gradient": "base_backward", "weight_gradient": "", "optimizer": ""}
"""The prefix of the columns that say a phase's collective and message; a phase without any has none."""


def derive(parameters: dict[str, Any]) -> Report:
    """The report of the bound plan for the parameters of a case."""
    p = parameters
    strategy = {
        "tensor": p["tensor_parallel"],
        "data": p["data_parallel"],
        "communication": COMMUNICATION[p["tensor_parallel_communication"]],
        "recompute": RECOMPUTE[p["recompute"]],
        **{flag: p[flag] for flag in ("all_gather_redo", "fused_activation", "optimizer_sharding")},
        "master_copy": p["bytes_per_element"] < 4,  # Calculon keeps an fp32 copy of weights that are not fp32
        "convention": "calculon",
    }
    sizes = {
        "B": "microbatch",
        "S": "sequence",
        "H": "hidden",
        "F": "feedforward",
        "h": "heads",
        "d": "head_size",
        "e": "bytes_per_element",
    }
    numbers = options({name: p[field] for name, field in sizes.items()})
    passes = (f"distribute-training{{{options(strategy)}}}", "plan-training", f"bind-symbols{{{numbers}}}")
    return report(run(example("transformer_block"), *passes))


def expected_work(columns: dict[str, list[Any]], index: int) -> dict[str, tuple[Any, Any, Any, Any]]:
    """For each phase of a layer that works: operations, bytes read and written, message bytes, the collective."""
    found = {}
    for phase, prefix in WORK.items():
        message = columns[f"{prefix}_message_bytes"][index] if prefix else 0
        collective = columns[f"{prefix}_collective"][index] if prefix else None
        found[phase] = (columns[f"{phase}_operations"][index], columns[f"{phase}_memory_bytes"][index], message, collective)
    if columns["recompute"][index]:
        found["recompute"] = (*found["forward"][:2], 0, None)
    again = columns["base_recommunication_message_bytes"][index]
    found["recommunication"] = (0, 0, again, columns["base_recommunication_collective"][index] if again else None)
    return {phase: row for phase, row in found.items() if any(row)}


def stated_work(found: Report, layer: str) -> dict[str, tuple[Any, Any, Any, Any]]:
    """The same of ours."""
    rows = {}
    for task in found.tasks:
        if task.layer == layer:
            work = task.work
            row = (number(work.ops), number(work.read) + number(work.write), number(work.msg), task.collective)
            if task.phase == "gradient_reduction":
                assert not any(row[:3])  # Calculon does not know it (C17)
            elif any(row):
                rows[task.phase] = row
    return rows


def expected_facts(columns: dict[str, list[Any]], index: int) -> dict[str, Any]:
    """The activations that Calculon stores for a layer; a flag of a layer without any is ignored."""
    facts: dict[str, Any] = {name: columns[name][index] for name in BYTES}
    if facts["activation_bytes"]:
        facts |= {flag: columns[flag][index] for flag in ("activation_reused", "activation_stored")}
    if facts["output_bytes"]:
        facts["output_stored"] = columns["output_stored"][index]
    return facts


def stated_facts(found: Report, layer: str, names: dict[str, Any]) -> dict[str, Any]:
    facts = found.layers.get(layer)
    if facts is None:  # a layer that the degree makes vanish stores nothing
        return dict.fromkeys(names, 0)
    return {name: value if isinstance(value := facts[name], bool) else number(value) for name in names}


def test_the_cases_cover_every_value_of_every_option() -> None:
    chosen = [case["parameters"] for case in CASES]
    assert {p["tensor_parallel"] for p in chosen} == {1, 2, 4, 8}
    assert {p["bytes_per_element"] for p in chosen} == {1, 2, 4}
    assert {p["tensor_parallel_communication"] for p in chosen} == set(COMMUNICATION)
    assert {p["recompute"] for p in chosen} == set(RECOMPUTE)
    for flag in ("all_gather_redo", "fused_activation", "optimizer_sharding"):
        assert {p[flag] for p in chosen} == {True, False}
    assert sum(case["id"].startswith("seqsel") for case in CASES) == 4


@pytest.mark.campaign(keep=5)
@pytest.mark.parametrize("case", CASES, ids=[c["id"] for c in CASES])
def test_every_layer_and_the_block_are_calculon_s(case: dict[str, Any]) -> None:
    found = derive(case["parameters"])
    columns = case["layers"]
    assert {task.layer for task in found.tasks if task.phase != "gradient_reduction"} <= set(LAYERS)
    exchanged = [task for task in found.tasks if task.layer.endswith((".gradients", ".weights"))]
    assert all(not number(task.work.ops) and not number(task.work.read) and not number(task.work.write) for task in exchanged)  # C18
    if case["parameters"]["data_parallel"] > 1:
        sent = total(task.work.msg for task in exchanged if task.layer.endswith(".gradients"))
        assert number(sent) == case["block"]["weight_bytes"]
    for index, layer in enumerate(LAYERS):
        assert stated_work(found, layer) == expected_work(columns, index), layer
        facts = expected_facts(columns, index)
        assert stated_facts(found, layer, facts) == facts, layer
    assert {name: number(found.memory[ours]) for name, ours in MEMORY.items()} == case["block"]
