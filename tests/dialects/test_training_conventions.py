"""The two conventions differ where `docs/conventions.md` says, by as much as it says, and nowhere else.

A row of a table below is what Calculon counts more than the standard convention, by hand in sympy. The tables are complete: a difference
that they do not state fails.
"""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
import sympy
from support import DATA, ROOT, read, replaced, report, run
from support_training import B, D, F, H, S, Step, block, d, e, h, same, t

from bpir.dialects.model.rules.conventions import Calculon
from bpir.ir.expressions.sympy_bridge import to_sympy

A, N, P, W = B * S * H, B * S * h * d / t, B * S**2 * h / t, B * S * F / t
"""Elements of the hidden tensor, and on one rank of Q, of the scores, and of the wide layer."""

WEIGHTS = {
    **dict.fromkeys(("attention.query", "attention.key", "attention.value", "attention.output_projection"), H * h * d / t),
    **dict.fromkeys(("mlp.expand", "mlp.contract"), F * H / t),
    **dict.fromkeys(("attention.layer_norm", "mlp.layer_norm"), 2 * H),
}
GROUPS = ("attention", "mlp")
FORKS = ("attention.fork", "mlp.fork")
DROPOUTS = ("attention.output_dropout", "mlp.output_dropout")
ENTRIES, EXITS = ("attention.input_collective", "mlp.input_collective"), ("attention.output_collective", "mlp.output_collective")

Table = dict[tuple[str, str], tuple[str, Any]]
"""By layer (or task) and column: the label of the rule, and the difference."""

CHOICES: dict[str, dict[str, Any]] = {
    "all-reduce": {},
    "sequence parallel": {"communication": "reduce_scatter_all_gather"},
    "attention": {"recompute": "attention"},
    "attention, sequence parallel": {"recompute": "attention", "communication": "reduce_scatter_all_gather"},
    "full": {"recompute": "full"},
    "full, sequence parallel": {"recompute": "full", "communication": "reduce_scatter_all_gather"},
    "redo": {"communication": "reduce_scatter_all_gather", "all_gather_redo": True},
    "fused": {"recompute": "full", "fused_activation": True},
    "shared optimizer": {"data": "D", "optimizer_sharding": True, "master_copy": False},
}
every_choice = pytest.mark.parametrize("name", CHOICES)


def work_differences(chosen: dict[str, Any]) -> Table:
    """The work of Calculon's tasks beyond the standard's."""
    scattered = "communication" in chosen
    R = A / t if scattered else A
    fused = chosen.get("fused_activation", False)
    rest = (A - A / t) * e  # what C9 adds where one side of a collective is a shard
    found: Table = {
        ("attention.query_key.activation_gradient", "read"): ("C1", -2 * N * e),
        ("attention.probability_value.activation_gradient", "read"): ("C1", -(P + N) * e),
        ("attention.softmax.activation_gradient", "read"): ("C2", -P * e),
        ("attention.qkv_fork.activation_gradient", "ops"): ("C4", A),
    }
    if not fused:
        found["mlp.gelu.activation_gradient", "read"] = ("C2", -W * e)
    for layer in FORKS:
        found[f"{layer}.activation_gradient", "ops"] = ("C4", R)
    for group in GROUPS:
        found[f"{group}.residual.activation_gradient", "ops"] = ("C3", 2 * R)
        found[f"{group}.residual.activation_gradient", "read"] = ("C3", R * e)
        found[f"{group}.residual.activation_gradient", "write"] = ("C3", 2 * R * e)
        found[f"{group}.layer_norm.activation_gradient", "read"] = ("C8", (H - R) * e)
    master, shards = chosen.get("master_copy", True), D if "data" in chosen else 1
    for layer, weights in WEIGHTS.items():
        found[f"{layer}.optimizer", "read"] = ("C7", -(e if master else 2 * e) * weights / shards)
        found[f"{layer}.optimizer", "write"] = ("C7", -((12 + e) if master else (8 + e)) * weights / shards)
    if scattered:
        for entry, exit in zip(ENTRIES, EXITS, strict=True):
            found[f"{entry}.forward", "read"] = found[f"{entry}.activation_gradient", "write"] = ("C9", rest)
            found[f"{exit}.forward", "write"] = found[f"{exit}.activation_gradient", "read"] = ("C9", rest)
    if scattered:
        for layer in ("attention.layer_norm", "mlp.layer_norm"):
            summed = f"{layer}.gradient_reduction"
            found[summed, "ops"] = ("C17", -2 * H * (t - 1) / t)
            found[summed, "read"] = found[summed, "write"] = found[summed, "msg"] = ("C17", -2 * H * e)
    for layer, weights in WEIGHTS.items() if "data" in chosen else ():
        summed, gathered = f"{layer}.gradients.gradient_reduction", f"{layer}.weights.gradient_reduction"
        found[summed, "ops"] = ("C18", -weights * (shards - 1) / shards)
        found[summed, "read"] = found[gathered, "write"] = ("C18", -weights * e)
        found[summed, "write"] = found[gathered, "read"] = ("C18", -weights * e / shards)
    if chosen.get("recompute") == "full":
        for entry, exit in zip(ENTRIES, EXITS, strict=True):
            found[f"{exit}.recommunication", "ops"] = ("C6", -A * (t - 1) / t)
            found[f"{exit}.recommunication", "read"] = ("C6", -A * e)
            found[f"{exit}.recommunication", "write"] = ("C6", -R * e)
            if scattered:
                found[f"{entry}.recommunication", "read"] = ("C6", -A * e / t)
                found[f"{entry}.recommunication", "write"] = ("C6", -A * e)
        found["mlp.residual.recompute", "ops"] = ("C15", R)
        found["mlp.residual.recompute", "read"] = ("C15", 2 * R * e)
        found["mlp.residual.recompute", "write"] = ("C15", R * e)
    if chosen.get("all_gather_redo"):
        for entry in ENTRIES:
            found[f"{entry}.recommunication", "read"] = ("C6", -A * e / t)
            found[f"{entry}.recommunication", "write"] = ("C6", -A * e)
    if chosen.get("recompute") == "attention" and scattered:
        found["attention.input_collective.recommunication", "msg"] = ("C14", A * e)
    if fused:
        for phase in ("forward", "recompute", "activation_gradient"):
            found[f"mlp.gelu.{phase}", "read"] = found[f"mlp.gelu.{phase}", "write"] = ("C11", W * e)
    return found


def memory_differences(chosen: dict[str, Any]) -> Table:
    """The memory of Calculon's layers, and of its block, beyond the standard's."""
    scattered, recompute = "communication" in chosen, chosen.get("recompute", "none")
    R = A / t if scattered else A
    redo, fused = chosen.get("all_gather_redo", False), chosen.get("fused_activation", False)
    kept, gradient, output = "activation_bytes", "activation_gradient_bytes", "output_bytes"
    found: Table = {
        ("attention.qkv_fork", kept): ("C13", A * e),
        ("attention.key", kept): ("C13", A * e),
        ("attention.value", kept): ("C13", A * e),
        ("attention.qkv_fork", gradient): ("C12", -A * e),
        ("attention.query", gradient): ("C12", (N - A) * e),
        ("attention.key", gradient): ("C12", (N - A) * e),
        ("attention.value", gradient): ("C12", (N - A) * e),
        ("attention.query_key", gradient): ("C12", (P - 2 * N) * e),
        ("attention.probability_value", gradient): ("C12", -P * e),
        ("attention.probability_dropout", gradient): ("C5", P - P * e),
        ("attention.output_projection", gradient): ("C12", (A - N) * e),
        ("mlp.expand", gradient): ("C12", (W - A) * e),
        ("mlp.contract", gradient): ("C12", (A - W) * e),
    }
    for layer in FORKS:
        found[layer, kept] = ("C13", R * e)
        found[layer, gradient] = ("C12", -R * e)
    for group in GROUPS:
        found[f"{group}.residual", kept] = ("C13", 2 * R * e)
        found[f"{group}.residual", gradient] = ("C3", R * e)
        found[f"{group}.output_collective", kept] = ("C13", R * e)
    for layer in DROPOUTS:
        found[layer, gradient] = ("C5", R - R * e)
    for entry, exit in zip(ENTRIES, EXITS, strict=True):
        if scattered:
            found[exit, output] = ("C10", (A - A / t) * e)
            found[exit, gradient] = ("C12", (A / t - A) * e)
            if not redo:  # the standard convention keeps the shard where it is gathered again
                found[entry, kept] = ("C13", A * e / t)
        else:
            found[entry, output] = ("C10", A * e)
    if fused:
        found["mlp.gelu", kept] = ("C11", -W * e)
    working = 4 * A * e / t if scattered else 2 * A * e
    stored = 2 * A * e / t if scattered else 0
    if redo:  # both store the shard that is gathered again
        working, stored = 2 * A * e / t, 0
    if recompute == "attention":
        stored -= A * e
        found["block", "activation_stored"] = ("C14", stored)
    elif recompute != "full" and stored:
        found["block", "activation_stored"] = ("C13", stored)
    if recompute == "full" and scattered:
        found["block", "activation_checkpoint"] = ("C16", (A - A / t) * e)
    found["block", "activation_working"] = ("C13", working - (W * e if fused else 0))
    return found


def differences(left: dict[tuple[str, str], Any], right: dict[tuple[str, str], Any]) -> dict[tuple[str, str], Any]:
    """`right` less `left`; differences of zero are left out."""
    found = {key: sympy.expand(to_sympy(right[key]) if key in right else 0) for key in {**left, **right}}
    found = {key: sympy.expand(value - (to_sympy(left[key]) if key in left else 0)) for key, value in found.items()}
    return {key: value for key, value in found.items() if value != 0}


def works(step: Step) -> dict[tuple[str, str], Any]:
    return {(task.name, name): getattr(task.work, name) for task in step.tasks for name in ("ops", "read", "write", "msg", "matmul")}


def facts(step: Step) -> dict[tuple[str, str], Any]:
    layers = {(layer, name): v for layer, row in step.report.layers.items() for name, v in row.items() if not isinstance(v, bool)}
    sums = {("block", name): value for name, value in step.report.memory.items() if name != "activation_gradients"}
    return layers | sums  # the sum of the activation gradients is that of its column


def both(name: str) -> tuple[Step, Step]:
    chosen = CHOICES[name]
    return block(**chosen, convention="standard"), block(**chosen, convention="calculon")


@pytest.mark.campaign(keep=3)
@every_choice
def test_the_work_of_the_tasks_differs_where_the_table_says_and_by_that_much(name: str) -> None:
    standard, calculon = both(name)
    expected = {key: sympy.expand(value) for key, (_, value) in work_differences(CHOICES[name]).items()}
    assert differences(works(standard), works(calculon)) == expected


@every_choice
def test_the_memory_of_the_layers_differs_where_the_table_says_and_by_that_much(name: str) -> None:
    standard, calculon = both(name)
    expected = {key: sympy.expand(value) for key, (_, value) in memory_differences(CHOICES[name]).items()}
    assert differences(facts(standard), facts(calculon)) == {key: value for key, value in expected.items() if value != 0}


@every_choice
def test_what_is_sent_differs_only_where_attention_is_gathered_again(name: str) -> None:
    standard, calculon = both(name)
    more = sum(value for (_, column), (_, value) in work_differences(CHOICES[name]).items() if column == "msg")
    sent = [sum(to_sympy(task.work.msg) for task in step.tasks) for step in (standard, calculon)]
    assert same(sent[1] - sent[0], more)


def labels(text: str) -> list[str]:
    return re.findall(r"(?m)^\W*(C\d+)\b", text)


def test_the_docstring_the_page_and_the_tables_have_the_same_labels() -> None:
    tables = [table(chosen) for chosen in CHOICES.values() for table in (work_differences, memory_differences)]
    used = {label for table in tables for label, _ in table.values()}
    page = (ROOT / "docs" / "conventions.md").read_text()
    assert Calculon.__doc__ is not None
    stated = labels(Calculon.__doc__)
    assert stated == [f"C{n}" for n in range(1, len(stated) + 1)]
    assert set(stated) == used
    assert labels(page) == stated


def test_the_numbers_of_the_page_are_those_of_the_data() -> None:
    page = (ROOT / "docs" / "conventions.md").read_text()
    rows = [json.loads(line) for line in (DATA / "models_training.jsonl").read_text().splitlines()]
    saved = [row for row in rows if row["kind"] == "saved_activation"]
    for row in saved:
        more = 25_165_824 if row["kv"] != row["a"] else 0
        assert f"| {row['saved_bytes']:,} | {row['saved_minus_stats'] + more:,} |" in page
    assert len(re.findall(r"(?m)^\|.*\| [\d,]{9,} \| [\d,]{9,} \|", page)) == len(saved)


# An input that is read inside a region and outside: its fork counts it, and only what reads the fork directly shares it

BESIDE = """
module @beside {
  bp.symbols B, S, H, F, t, e where t | F, t | H, t | S
  bind.workload @train training {}
  model.block @block(%x: !bp.tensor<B x S x H, e>) {
    %a = model.linear "mlp.expand" %x : [F]
    %b = model.linear "mlp.side" %x : [H]
    %c = model.linear "mlp.contract" %a : [H]
    %d = model.add "mlp.residual" %b, %c
    model.return %d
  }
}
"""
GATED = (
    ('"mlp.expand" %x : [F]', '"mlp.gate" %x : [F]\n    %u = model.linear "mlp.up" %x : [F]\n    %m = model.mul "mlp.multiply" %a, %u'),
    ('"mlp.contract" %a', '"mlp.contract" %m'),
)


@pytest.mark.parametrize("strategy", [
    "tensor=1", "tensor=1 recompute=full", "tensor=t", "tensor=t recompute=full",
    "tensor=t communication=reduce_scatter_all_gather recompute=attention",
    "tensor=t communication=reduce_scatter_all_gather all_gather_redo=true",
    "tensor=t communication=reduce_scatter_all_gather recompute=full",
])  # fmt: skip
def test_calculon_on_a_block_whose_input_is_also_read_outside_a_region(strategy: str) -> None:
    for text, names in ((BESIDE, ["mlp.side"]), (replaced(BESIDE, *GATED), ["mlp.side", "mlp.gate", "mlp.up"])):
        found = report(run(read(text), f"distribute-training{{{strategy} convention=calculon}}", "plan-training"))
        entry = "mlp.input_collective" if "tensor=t" in strategy else names[-1] if len(names) > 1 else "mlp.expand"  # one rank: one fork
        shared = {layer for layer, facts in found.layers.items() if facts.get("activation_reused")}
        assert shared == {*names, entry}, strategy
