"""Whole models by hand: each number of a test is worked out beside it, from the sizes of the configuration.

Llama-3-8B: H = 4096, F = 14336, V = 128256, 32 layers, h = 32 heads of d = 128, g = 8 KV heads. A layer has the projections
H*(h + 2*g)*d + h*d*H = 25,165,824 + 16,777,216, the MLP 3*H*F = 176,160,768, and two norms of H.
"""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest
from support import DATA, read, report, run

from bpir.importer.entry import import_model
from bpir.ir.diagnostic import DiagnosticError, Source
from bpir.ir.operation import Operation
from bpir.tools.reports.report import Report

CONFIGS = {row["model"]: row["config"] for row in map(json.loads, (DATA / "whole_models.jsonl").read_text().splitlines())}
QWEN3_32B = {
    "architectures": ["Qwen3ForCausalLM"],
    "head_dim": 128,
    "hidden_size": 5120,
    "intermediate_size": 25600,
    "num_attention_heads": 64,
    "num_hidden_layers": 64,
    "num_key_value_heads": 8,
    "vocab_size": 151936,
}


def imported(config: Any, **changes: Any) -> Operation:
    return read(import_model(Source("config.json", json.dumps({**config, **changes}))).text)


@cache
def llama() -> Operation:
    return imported(CONFIGS["llama-3-8b"])


def step(module: Operation, **options: Any) -> Report:
    text = " ".join(f"{name}={value}" for name, value in options.items())
    return report(run(module, f"distribute-inference{{{text}}}", "plan-inference"))


def matrix_products(found: Report) -> int | None:
    terms = [task.in_all.matmul.integer for task in found.tasks]
    return None if None in terms else sum(term for term in terms if term is not None)


def memory(found: Report, what: str) -> int | None:
    return found.memory[what].integer


LAYER = 25_165_824 + 16_777_216 + 176_160_768
NORMS = 65 * 4096
TABLE = 128_256 * 4096


def test_parameters_of_llama() -> None:
    found = report(llama()).network
    assert found is not None
    assert found.total.integer == 32 * LAYER + NORMS + 2 * TABLE == 8_030_261_248


@pytest.mark.parametrize(("ranks", "expected"), [(1, 32_938_104_193_024), (8, 4_117_263_024_128), (16, 2_127_350_988_800)])
def test_matrix_products_of_a_prefill(ranks: int, expected: int) -> None:
    """2,048 tokens: 2*2048*218,103,808 a layer, 4*2048*2048*h*d its attention, 2*2048*H*V the head on all of them.

    On 16 ranks each has a whole KV head, twice its share of 8: 2*2048*H*2*d/2 more a layer.
    """
    tokens = 2048
    whole = 32 * (2 * tokens * LAYER + 4 * tokens * tokens * 4096) + 2 * tokens * TABLE
    copied = 32 * 2 * tokens * 4096 * 2 * 128 // 2 if ranks == 16 else 0
    assert whole // ranks + copied == expected
    assert matrix_products(step(llama(), phase="prefill", tensor=ranks, batch=1, context=tokens, head="all")) == expected


@pytest.mark.parametrize(("ranks", "weights", "cache"), [(8, 2_008_031_232, 33_554_432), (16, 1_037_836_288, 33_554_432)])
def test_weights_and_cache_of_a_rank(ranks: int, weights: int, cache: int) -> None:
    """Two bytes an element: norms whole, the rest in shares; of 16 ranks each has a KV head of its own: 32*H*2*d/2 elements more.

    The cache: 32 layers * 2,048 tokens * (K and V) * 8 heads of 128 * 2 bytes = 268,435,456, on 8 ranks an eighth; so on 16.
    """
    copied = 32 * 4096 * 2 * 128 // 2 if ranks == 16 else 0
    assert 2 * ((32 * LAYER + 2 * TABLE) // ranks + NORMS + copied) == weights
    found = step(llama(), phase="decode", tensor=ranks, batch=1, context=2048)
    assert (memory(found, "weights"), memory(found, "kv_cache")) == (weights, cache)


def test_cache_of_one_rank() -> None:
    assert 32 * 2048 * 2 * 8 * 128 * 2 == 268_435_456
    assert memory(step(llama(), phase="decode", tensor=1, batch=1, context=2048), "kv_cache") == 268_435_456


def test_bytes_of_keys_and_values_that_a_layer_reads_in_decode() -> None:
    """2,048 tokens * (K and V) * 8 * 128 * 2 bytes; besides them the core reads one query of 32 * 128 * 2 bytes."""
    found = step(llama(), phase="decode", tensor=1, batch=1, context=2048)
    (core,) = [task for task in found.tasks if task.layer == "layer.attention.core"]
    assert core.work.read.integer == 8_388_608 + 8_192
    assert core.times.integer == 32


def test_the_head_on_the_last_token() -> None:
    """2*H*V, however many tokens there are."""
    found = step(llama(), phase="prefill", tensor=1, batch=1, context=2048)
    (logits,) = [task for task in found.tasks if task.layer == "head.logits"]
    assert logits.work.matmul.integer == 2 * TABLE == 1_050_673_152


def test_qwen3_32b() -> None:
    """q/k norms of 128 a layer; the cache of a token: 64 layers * (K and V) * 8 * 128 * 2 bytes."""
    module = imported(QWEN3_32B)
    layer = 5120 * (64 + 2 * 8) * 128 + 64 * 128 * 5120 + 3 * 5120 * 25600 + 2 * 5120 + 2 * 128
    found = report(module).network
    assert found is not None
    assert found.total.integer == 64 * layer + 2 * 151_936 * 5120 + 5120 == 32_762_123_264
    assert memory(step(module, phase="decode", tensor=1, batch=1, context=1), "kv_cache") == 64 * 2 * 8 * 128 * 2 == 262_144


def test_gemma_2_9b_keeps_a_window_in_half_of_its_layers() -> None:
    """21 layers keep 4,096 tokens, 21 all 32,768; K and V, 8 heads of 256, 2 bytes."""
    expected = 21 * (4096 + 32_768) * 2 * 8 * 256 * 2
    assert expected == 6_341_787_648
    assert memory(step(imported(CONFIGS["gemma-2-9b"]), phase="decode", tensor=1, batch=1, context=32_768), "kv_cache") == expected


def test_llama_3_2_1b_counts_its_tied_table_once() -> None:
    """H = 2048, F = 8192, 16 layers, h = 32, g = 8, d = 64: one table of V*H, no head."""
    layer = 2048 * (32 + 16) * 64 + 2048 * 2048 + 3 * 2048 * 8192 + 2 * 2048
    found = report(imported(CONFIGS["llama-3.2-1b"])).network
    assert found is not None
    assert found.total.integer == 16 * layer + 128_256 * 2048 + 2048 == 1_235_814_400
    assert (found.embedding.integer, found.head.integer) == (128_256 * 2048, 0)


@pytest.mark.parametrize(
    ("causal", "pairs"),
    [
        ("exact", 8192 * 131_072 + 8192 * 8193 // 2),
        ("dense", 8192 * (131_072 + 8192)),
        ("half", 8192 * (131_072 + 8192) // 2),
    ],
)
def test_pairs_of_a_chunk(causal: str, pairs: int) -> None:
    """A chunk of 8,192 tokens after 131,072 that the cache holds: 4*d matrix operations a pair and head."""
    assert pairs == {"exact": 1_107_300_352, "dense": 1_140_850_688, "half": 570_425_344}[causal]
    found = step(llama(), phase="prefill", tensor=1, batch=1, prefix=131_072, query=8192, causal=causal)
    (core,) = [task for task in found.tasks if task.layer == "layer.attention.core"]
    assert core.work.matmul.integer == 4 * 128 * 32 * pairs


def test_kv_heads_on_more_ranks_than_heads() -> None:
    """2 KV heads on 4 ranks: each has one of them, which two ranks share. 8 on 6 ranks: no rank would have as many as the others."""
    two = imported(CONFIGS["llama-3-8b"], num_key_value_heads=2)
    assert memory(step(two, phase="decode", tensor=4, batch=1, context=1), "kv_cache") == 32 * 2 * 1 * 128 * 2
    wide = imported(CONFIGS["llama-3-8b"], num_attention_heads=48, head_dim=128, hidden_size=6144, intermediate_size=18432, vocab_size=1536)
    with pytest.raises(DiagnosticError, match="g"):
        step(wide, phase="decode", tensor=6, batch=1, context=1)


def test_a_vocabulary_that_the_ranks_do_not_divide_is_padded() -> None:
    """50,257 rows on 8 ranks: 6,283 each, 7 of them rows of zeros."""
    gpt2 = imported(CONFIGS["gpt2"], n_head=16, n_embd=1024)
    module = run(gpt2, "distribute-inference{phase=decode tensor=8 batch=1 context=1}")
    found = report(module)
    (logits,) = [task for task in found.tasks if task.layer == "head.logits"]
    assert logits.work.matmul.integer == 2 * 1024 * 6283
