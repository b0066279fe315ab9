"""A block keeps and multiplies what PyTorch does in a training step (`tests/data/README.md`, `docs/conventions.md`)."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any

import pytest
from support import DATA, example_text, read, replaced
from support_training import BACKWARD, Step, derive, number

from bpir.ir.expressions.expression import total
from bpir.ir.operation import Operation

ROWS = [json.loads(line) for line in (DATA / "models_training.jsonl").read_text().splitlines()]
SAVED = {row["case"]: row for row in ROWS if row["kind"] == "saved_activation"}
TRAIN = [row for row in ROWS if row["kind"] == "train"]
GPT = [case for case, row in SAVED.items() if row["kv"] == row["a"]]

GATED = """
module @gated {
  bp.symbols B, S, H, F, h, d, e
  bp.bind H = 1
  model.block @block(%x: !bp.tensor<B x S x H, e>) {
    %n = model.rms_norm "attention.norm" %x
    %q = model.linear "attention.query" %n : [h x d]
    %k = model.linear "attention.key" %n : [h x d]
    %v = model.linear "attention.value" %n : [h x d]
    %o = model.attention "attention.core" %q, %k, %v
    %y = model.linear "attention.output_projection" %o : [H]
    %r = model.add "attention.residual" %y, %x
    %m = model.rms_norm "mlp.norm" %r
    %g = model.linear "mlp.gate" %m : [F]
    %u = model.linear "mlp.up" %m : [F]
    %a = model.silu "mlp.silu" %g
    %p = model.mul "mlp.multiply" %a, %u
    %w = model.linear "mlp.contract" %p : [H]
    %z = model.add "mlp.residual" %w, %r
    model.return %z
  }
}
"""
"""A block of Llama (Touvron et al. 2023) with as many KV heads as heads; the rotary embedding multiplies no matrices and keeps nothing."""


@cache
def block(family: str) -> str:
    if family == "gated":
        return GATED
    text = replaced(example_text("gpt2"), ("H = h * d, F = 4 * H", "H = h * d"))
    return replaced(text, ("model.gelu", "model.relu")) if family == "opt" else text


def bound(family: str, numbers: dict[str, int]) -> Operation:
    values = ", ".join(f"{name} = {value}" for name, value in numbers.items())
    text, count = re.subn(r"bp\.bind .*", f"bp.bind {values}, e = 2", block(family))
    assert count == 1
    return read(text)


def saved(row: dict[str, Any], family: str) -> Step:
    """One rank's step of the block of a row, with its numbers."""
    numbers = {"B": row["b"], "S": row["s"], "H": row["h"], "F": row["ffn"], "h": row["a"], "d": row["h"] // row["a"]}
    return derive(bound(family, numbers), {"tensor": 1, "recompute": "attention" if row["selective"] else "none"})


def products(step: Step, *phases: str) -> int:
    found = number(total(task.work.matmul for task in step.tasks if task.phase in phases))
    assert isinstance(found, int)
    return found


def test_the_rows_are_those_that_the_tests_are_about() -> None:
    assert len(SAVED) == 7 and len(GPT) == 6
    assert {SAVED[case]["selective"] for case in GPT} == {True, False}
    assert [row["model"] for row in TRAIN] == ["gpt2", "gpt2", "opt-125m", "llama-2-7b"]


@pytest.mark.parametrize("case", GPT)
def test_a_gpt_block_stores_what_autograd_saves_but_the_statistics_of_its_norms(case: str) -> None:
    row = SAVED[case]
    stored = number(saved(row, "gpt").report.memory["activation_stored"])
    assert stored == row["saved_minus_stats"]
    assert row["saved_bytes"] - stored == 2 * 2 * 4 * row["b"] * row["s"]  # two norms, mean and deviation, fp32, a token


def test_a_gated_block_stores_what_autograd_saves_but_the_heads_that_share_k_and_v() -> None:
    row = SAVED["llama3-8b"]
    stored = number(saved(row, "gated").report.memory["activation_stored"])
    shared = 2 * 2 * row["b"] * row["s"] * (row["a"] - row["kv"]) * row["h"] // row["a"]  # K and V, 2 bytes, 24 heads of 128
    assert shared == 25_165_824
    assert stored == row["saved_minus_stats"] + shared
    assert row["saved_bytes"] - row["saved_minus_stats"] == 2 * 4 * row["b"] * row["s"]  # a rms norm has no mean


def family_of(model: str) -> str:
    return {"gpt2": "gpt", "opt": "opt", "llama": "gated"}[model.partition("-")[0]]


@pytest.mark.parametrize("row", TRAIN, ids=lambda row: f"{row['model']}-{row['batch']}x{row['seq']}")
def test_the_matrix_products_of_a_model_are_its_blocks_and_its_head(row: dict[str, Any]) -> None:
    sizes = dict(row["sizes"])
    layers, head = sizes.pop("layers"), 2 * row["batch"] * row["seq"] * sizes["H"] * sizes.pop("vocabulary")
    numbers = {"B": row["batch"], "S": row["seq"], **sizes}
    step = derive(bound(family_of(row["model"]), numbers), {"tensor": 1, "recompute": "full"})
    forward = products(step, "forward")
    assert layers * forward + head == row["fwd"]
    assert layers * (forward + products(step, *BACKWARD)) + 3 * head == row["fwd_bwd"]
    assert layers * (forward + products(step, "recompute", *BACKWARD)) + 3 * head == row["fwd_bwd_full_recompute"]


def test_a_block_without_dropout_does_not_repeat_its_last_product() -> None:
    """Nothing in backward reads what it gives. PyTorch's checkpoint stops there too: the rows of Llama and of GPT-2 differ in this."""
    row = next(row for row in TRAIN if row["model"] == "llama-2-7b")
    sizes = {"B": 1, "S": row["seq"], **{name: row["sizes"][name] for name in "HFhd"}}
    step = derive(bound("gated", sizes), {"tensor": 1, "recompute": "full"})
    repeated = {task.layer for task in step.tasks if task.phase == "recompute"}
    assert "mlp.multiply" in repeated and "mlp.contract" not in repeated
    last = 2 * row["seq"] * sizes["F"] * sizes["H"]
    assert row["fwd_bwd_full_recompute"] - row["fwd_bwd"] == row["sizes"]["layers"] * (products(step, "forward") - last)
