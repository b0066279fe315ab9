"""Training steps and field numbers of whole models: matrix products against PyTorch, llm-analysis, Megatron's formula, by hand."""

from __future__ import annotations

import json
from fractions import Fraction
from functools import cache
from typing import Any

import pytest
from support import DATA, read, report, run

from bpir.importer.entry import import_model
from bpir.ir.diagnostic import Source
from bpir.ir.expressions.expression import constant
from bpir.ir.operation import Operation
from bpir.tools.reports.report import Report

ROWS = {row["model"]: row for row in map(json.loads, (DATA / "whole_models.jsonl").read_text().splitlines()) if "train" in row}


def imported(config: Any) -> Operation:
    return read(import_model(Source("config.json", json.dumps(config))).text)


@cache
def step(name: str) -> Report:
    return trained(ROWS[name]["config"])


def trained(config: Any, recompute: str = "none") -> Report:
    """A training step on one rank, `B` sequences of `S` tokens."""
    return report(run(imported(config), f"distribute-training{{tensor=1 recompute={recompute}}}"))


def matrix_products(found: Report, batch: int, tokens: int, *phases: str) -> int | None:
    """Those of the phases; of all if none is named."""
    bound = found.bound({"B": constant(batch), "S": constant(tokens)})
    terms = [task.in_all.matmul for task in bound.tasks if not phases or task.phase in phases]
    return sum(terms, start=constant(0)).integer


def test_the_oracle_has_eight_steps_of_dense_models() -> None:
    assert sum(len(row["train"]) for row in ROWS.values()) == 8


@pytest.mark.parametrize("name", ROWS)
def test_a_step_counts_what_pytorch_counts(name: str) -> None:
    for batch, tokens, forward, both in ROWS[name]["train"]:
        assert matrix_products(step(name), batch, tokens, "forward") == forward
        assert matrix_products(step(name), batch, tokens) == both == 3 * forward


def plain(width: int, layers: int, heads: int, vocabulary: int) -> dict[str, Any]:
    """The models of llm-analysis: a feed-forward layer of four widths without a gate, as many KV heads as heads, an untied head."""
    return {
        "architectures": ["ArceeForCausalLM"],
        "hidden_size": width,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "head_dim": width // heads,
        "intermediate_size": 4 * width,
        "vocab_size": vocabulary,
    }


def blocks(batch: int, tokens: int, width: int, layers: int) -> int:
    """Forward: 24*s*H*H of the products with weights (8 of attention, 16 of the MLP), 4*s*s*H of scores and values."""
    return batch * layers * (24 * tokens * width * width + 4 * tokens * tokens * width)


@pytest.mark.parametrize(
    ("batch", "width", "layers", "heads", "expected"),
    [(50, 4096, 32, 32, 4_478_577_147_904_000), (25, 5120, 40, 40, 4_259_399_598_080_000)],
)
def test_llm_analysis_with_selective_recomputation(batch: int, width: int, layers: int, heads: int, expected: int) -> None:
    """Three forwards, and the core of attention once more, its product with V included (cli99/llm-analysis)."""
    head = 2 * batch * 2048 * width * 32_000
    assert 3 * (blocks(batch, 2048, width, layers) + head) + batch * layers * 4 * 2048 * 2048 * width == expected
    found = trained(plain(width, layers, heads, 32_000), "core_attention")
    assert matrix_products(found, batch, 2048) == expected


def test_full_recomputation_and_megatron_s_formula() -> None:
    """GPT of 96 layers: 96*B*s*l*H**2*(1 + s/(6*H) + V/(16*l*H)) (Narayanan et al. 2021): blocks four times, the head three times.

    The masks of its dropouts depend on the last product of a layer, so that is repeated, too.
    llm-analysis repeats the head as well: 2*B*s*H*V = 10,121,090,433,024 more.
    """
    B, s, H, L, V = 4, 2048, 12_288, 96, 50_272
    formula = 96 * B * s * L * H * H * (1 + Fraction(s, 6 * H) + Fraction(V, 16 * L * H))
    assert formula == 4 * blocks(B, s, H, L) + 3 * 2 * B * s * H * V == 11_756_880_267_313_152 - 10_121_090_433_024
    gpt = {"architectures": ["GPT2LMHeadModel"], "n_embd": H, "n_layer": L, "n_head": 96, "vocab_size": V, "n_positions": s}
    found = trained(gpt, "full")
    assert matrix_products(found, B, s) == formula


def test_prefill_and_cache_of_llm_analysis() -> None:
    """llama-13b: 512 tokens; 544 tokens of cache take 40 layers * (K and V) * 5,120 * 2 bytes each."""
    module = imported(plain(5120, 40, 40, 32_000))
    prefill = report(run(module, "distribute-inference{phase=prefill tensor=1 batch=1 context=512 head=all}"))
    assert blocks(1, 512, 5120, 40) + 2 * 512 * 5120 * 32_000 == 13_267_422_412_800
    assert sum((task.in_all.matmul for task in prefill.tasks), start=constant(0)).integer == 13_267_422_412_800
    decode = report(run(module, "distribute-inference{phase=decode tensor=1 batch=1 context=544}"))
    assert decode.memory["kv_cache"].integer == 544 * 40 * 2 * 5120 * 2 == 445_644_800


LLAMA_70B = {
    "architectures": ["LlamaForCausalLM"],
    "hidden_size": 8192,
    "intermediate_size": 28672,
    "num_attention_heads": 64,
    "num_hidden_layers": 80,
    "num_key_value_heads": 8,
    "vocab_size": 128256,
}


@pytest.mark.parametrize(("ranks", "expected"), [(1, 327_680), (4, 81_920)])
def test_the_cache_of_a_token_of_llama_3_1_70b(ranks: int, expected: int) -> None:
    """80 layers * (K and V) * 8 heads of 128 * 2 bytes, shared by the ranks (ai-dynamo/aiconfigurator)."""
    assert 80 * 2 * 8 * 128 * 2 // ranks == expected
    found = report(run(imported(LLAMA_70B), f"distribute-inference{{phase=decode tensor={ranks} batch=1 context=100}}", "plan-inference"))
    assert found.memory_and_peak()["kv_cache"].integer == 100 * expected
    assert found.per_token is not None and found.per_token.integer == expected
