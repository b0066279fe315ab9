"""One block of GPT-2 and OPT against PyTorch: operations of matrix products, parameters, KV cache (`tests/data/README.md`)."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any

import pytest
from support import DATA, example_text, read, report, run

from bpir.ir.operation import Operation

ROWS = [json.loads(line) for line in (DATA / "models.jsonl").read_text().splitlines()]
SIZES = {row["model"]: row for row in ROWS if row["kind"] == "sizes"}
STEPS = [row for row in ROWS if row["kind"] in ("prefill", "decode")]

LAYERS = {
    "gpt2": {
        "ln_1": "attention.layer_norm",
        "attn.c_attn": "attention.qkv",
        "attn.qk": "attention.core",
        "attn.av": "attention.core",
        "attn.c_proj": "attention.output_projection",
        "ln_2": "mlp.layer_norm",
        "mlp.c_fc": "mlp.expand",
        "mlp.c_proj": "mlp.contract",
    },
    "opt_6_7b": {
        "self_attn_layer_norm": "attention.layer_norm",
        "self_attn.q_proj": "attention.query",
        "self_attn.k_proj": "attention.key",
        "self_attn.v_proj": "attention.value",
        "self_attn.qk": "attention.core",
        "self_attn.av": "attention.core",
        "self_attn.out_proj": "attention.output_projection",
        "final_layer_norm": "mlp.layer_norm",
        "fc1": "mlp.expand",
        "fc2": "mlp.contract",
    },
}
"""Our layer for each module of the model."""


def example_of(model: str) -> str:
    return "gpt2" if model.startswith("gpt2") else "opt_6_7b"


@cache
def block(model: str) -> Operation:
    """The example of the model's family with the sizes of the model."""
    numbers = ", ".join(f"{name} = {SIZES[model][name]}" for name in ("H", "F", "h", "d"))
    text, count = re.subn(r"bp\.bind .*", f"bp.bind {numbers}, e = 2", example_text(example_of(model)))
    assert count == 1
    return read(text)


def by_layer(model: str, parts: dict[str, int]) -> dict[str, int]:
    """The oracle's parts added up by our layers."""
    found: dict[str, int] = {}
    for part, value in parts.items():
        layer = LAYERS[example_of(model)][part]
        found[layer] = found.get(layer, 0) + value
    return found


def step(row: dict[str, Any]) -> Any:
    options = f"phase={row['kind']} batch={row['batch']} context={row['context']} tensor=1"
    return report(run(block(row["model"]), f"distribute-inference{{{options}}}", "plan-inference"))


def test_the_oracle_has_ten_models_and_both_phases_of_each() -> None:
    families = [example_of(model) for model in SIZES]
    assert (families.count("gpt2"), families.count("opt_6_7b")) == (4, 6)
    assert {(row["model"], row["kind"]) for row in STEPS} == {(model, phase) for model in SIZES for phase in ("prefill", "decode")}


@pytest.mark.campaign(keep=28)
@pytest.mark.parametrize("row", STEPS, ids=[f"{r['model']}-{r['kind']}-{r['batch']}x{r['context']}" for r in STEPS])
def test_every_matrix_product_of_the_block_counts_what_pytorch_counts(row: dict[str, Any]) -> None:
    tasks = step(row).tasks
    products = {task.layer: task.work.matmul.integer for task in tasks if task.work.matmul.integer != 0}
    assert products == by_layer(row["model"], row["parts"])
    assert sum(task.work.matmul.integer for task in tasks) == row["total"]


@pytest.mark.parametrize("row", [r for r in ROWS if r["kind"] == "params"], ids=lambda r: r["model"])
def test_the_weights_of_the_block_are_the_parameters_of_the_model(row: dict[str, Any]) -> None:
    parameters = {layer: value.integer for layer, value in report(block(row["model"])).parameters.items()}
    assert parameters == by_layer(row["model"], row["parts"])
    assert sum(value for value in parameters.values() if value is not None) == row["block0"]


@pytest.mark.campaign(keep=10)
@pytest.mark.parametrize("row", [r for r in STEPS if "cache" in r], ids=lambda r: f"{r['model']}-{r['batch']}x{r['context']}")
def test_the_cache_after_a_step_holds_what_the_dynamic_cache_holds(row: dict[str, Any]) -> None:
    assert step(row).memory["kv_cache"].integer == row["cache"]


@pytest.mark.parametrize("row", [r for r in ROWS if r["kind"] == "kv"], ids=lambda r: r["model"])
def test_a_token_takes_as_many_bytes_of_the_cache_as_in_the_model(row: dict[str, Any]) -> None:
    one = {"model": row["model"], "kind": "decode", "batch": 1, "context": 1}
    assert step(one).memory["kv_cache"].integer == row["bytes_per_token"]
