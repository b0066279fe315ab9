"""Layers of models that people run, number by number: each with its arithmetic.

Llama-3-8B (Dubey et al. 2024): hidden 4096, 32 heads of 128 over 8 KV heads, feed-forward 14336, vocabulary 128,256, 32 layers.
"""

from __future__ import annotations

import pytest
from support import read, run
from support_training import report

from bpir.ir.diagnostic import DiagnosticError
from bpir.tools.reports.report import Report

LAYER = """
module @llama {{
  bp.symbols B, S, c, H, F, V, h, g, d, t where g | h, t | h, t | F, t | H
  bp.bind H = 4096, F = 14336, V = {vocabulary}, h = 32, g = {heads}, d = 128
  bind.workload @decode inference {{phase = decode, context = c}}
  bind.strategy @tp {{tensor = t}}
  model.block @{block}
}}
"""
ATTENTION = """layer(%x: !bp.tensor<B x S x H, bf16>) {
    %n = model.rms_norm "attention.norm" %x
    %q, %k, %v = model.linear "attention.qkv" %n : [h x d], [g x d], [g x d]
    %o = model.attention "attention.core" %q, %k, %v context c
    %y = model.linear "attention.output_projection" %o : [H]
    %r = model.add "attention.residual" %y, %x
    %m = model.rms_norm "mlp.norm" %r
    %a = model.linear "mlp.gate" %m : [F]
    %u = model.linear "mlp.up" %m : [F]
    %s = model.silu "mlp.silu" %a
    %p = model.mul "mlp.multiply" %s, %u
    %w = model.linear "mlp.contract" %p : [H]
    %z = model.add "mlp.residual" %w, %r
    model.return %z
  }"""
ENDS = """ends(%ids: !bp.tensor<B x S, i32>) {
    %x = model.embedding "embedding.tokens" %ids : [V] -> !bp.tensor<B x S x H, bf16>
    %l = model.last_token "head.last_token" %x
    %n = model.rms_norm "head.norm" %l
    %y = model.linear "head.logits" %nTIED : [V]
    model.return %y
  }"""

UNTIED, TIED = ENDS.replace("TIED", ""), ENDS.replace("TIED", ' tied "embedding.tokens"')


def sized(block: str, options: str, numbers: str, heads: int = 8, vocabulary: int = 128256) -> Report:
    source = read(LAYER.format(block=block, heads=heads, vocabulary=vocabulary))
    return report(run(source, f"distribute-inference{{{options}}}", "plan-inference", f"bind-symbols{{{numbers}}}"))


def number(report: Report, layer: str, component: str) -> int | None:
    return getattr(next(row for row in report.tasks if row.name.startswith(layer + ".")).work, component).integer


@pytest.mark.parametrize("ranks, copies", [(1, 8), (8, 1), (16, 1)])  # of KV heads on a rank
def test_a_layer_of_llama_in_decode(ranks: int, copies: int) -> None:
    found = sized(ATTENTION, f"tensor={ranks}", "B=1 c=2048")
    keys_and_values = 2 * 2048 * copies * 128 * 2
    assert keys_and_values == 8_388_608 * copies // 8
    assert number(found, "attention.core", "read") == keys_and_values + 32 // ranks * 128 * 2
    assert found.memory["kv_cache"].integer == keys_and_values
    projections = 4096 * 128 * (32 // ranks + 2 * copies) + 32 // ranks * 128 * 4096
    assert found.memory["weights"].integer == 2 * (projections + 3 * 4096 * 14336 // ranks + 2 * 4096)


@pytest.mark.parametrize("ranks, whole", [(1, 8_030_261_248), (8, 2_008_031_232 // 2), (16, 1_037_836_288 // 2)])
def test_weights_of_a_rank_of_llama(ranks: int, whole: int) -> None:
    """The whole model is 32 such layers and the ends: what a rank of it holds is known."""
    layer, ends = (sized(block, f"tensor={ranks}", "B=1 c=2048") for block in (ATTENTION, UNTIED))
    assert (32 * layer.memory["weights"] + ends.memory["weights"]).integer == 2 * whole


def test_the_head_sees_the_last_token() -> None:
    last, every = (sized(UNTIED, f"tensor=1 phase=prefill head={head}", "B=1 c=2048") for head in ("last", "all"))
    assert number(last, "head.logits", "matmul") == 2 * 4096 * 128256 == 1_050_673_152
    assert number(every, "head.logits", "matmul") == 2048 * 1_050_673_152
    assert number(last, "embedding.tokens", "matmul") == 0


@pytest.mark.parametrize("causal, pairs", [("exact", 1_107_300_352), ("dense", 1_140_850_688), ("half", 570_425_344)])
def test_a_chunk_of_a_prefill(causal: str, pairs: int) -> None:
    """8,192 new tokens behind 131,072: each sees these and those before it."""
    assert pairs == {"exact": 8192 * 131072 + 8192 * 8193 // 2, "dense": 8192 * 139264, "half": 8192 * 139264 // 2}[causal]
    found = sized(ATTENTION, f"tensor=1 phase=prefill query=8192 prefix=131072 causal={causal}", "B=1")
    assert number(found, "attention.core", "matmul") == 4 * 32 * 128 * pairs


def test_more_ranks_than_heads() -> None:
    """Two heads on four ranks: each has one of them, so the cache of a rank is half of all."""
    assert sized(ATTENTION, "tensor=4", "B=1 c=1000", heads=2).memory["kv_cache"].integer == 2 * 1000 * 128 * 2
    with pytest.raises(DiagnosticError, match="6 does not divide h"):
        sized(ATTENTION, "tensor=6", "B=1 c=1000")


def test_a_padded_vocabulary() -> None:
    """50,257 rows on 8 ranks are 6,283 each, 7 too many in all; tied, the table is there once."""
    found = sized(TIED, "tensor=8", "B=1 c=16", vocabulary=50257)
    assert found.memory["weights"].integer == 2 * 4096 * (6283 + 1)
    assert number(found, "head.logits", "matmul") == 2 * 4096 * 6283


def test_a_norm_of_queries_is_in_place() -> None:
    """The norms of Q and K write over Q and K: beside the hidden state there is room for Q, K and V of the one new token, once."""
    normed = ATTENTION.replace("%o = model.attention", '%qn = model.rms_norm "attention.query_norm" %q over d\n    %o = model.attention')
    normed = normed.replace("%o = model.attention", '%kn = model.rms_norm "attention.key_norm" %k over d\n    %o = model.attention')
    normed = normed.replace("%q, %k, %v context", "%qn, %kn, %v context").replace("[F]", "[H]")
    found = sized(normed, "tensor=1", "B=1 c=16")
    assert found.memory["workspace"].integer == 2 * (4096 + max((32 + 2 * 8) * 128, 2 * 4096))  # hidden; Q, K, V, or gate and up
