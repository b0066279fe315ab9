"""The fullest moment of a job against peaks that were measured of Megatron-LM (GiB allocated), and what of it is arithmetic.

Source of the measured peaks: MooreThreads/SimuMax 4dcaae5, docs/b200/b200_release_v1.2_summary.md; sequences of 4096 tokens, one a
microbatch, four microbatches a step, ZeRO 1, gradients in f32, attention by a fused kernel, a vocabulary padded to a multiple of 128*t.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache

import attrs
import pytest
from support import read, report, run

from bpir.ir.expressions.expression import Expr
from bpir.tools.reports.report import Job, Report
from bpir.tools.reports.report_text import tables

GIB = 2**30
MODEL = """
bp.symbols B, S, c, H, F, V, L, h, g, d where g | h
bind.workload @pretraining training {batch = 1, context = 4096}
model.block @embedding(%ids: !bp.tensor<B x S, i32>) {
  %x = model.embedding "embedding.tokens" %ids : [V] -> !bp.tensor<B x S x H, bf16>
  model.return %x
}
model.block @layer(%x: !bp.tensor<B x S x H, bf16>) {
  %n = model.rms_norm "attention.norm" %x
  %q, %k, %v = model.linear "attention.qkv" %n : [h x d], [g x d], [g x d]
  %qr, %kr = model.rope "attention.rope" %q, %k
  %o = model.attention "attention.core" %qr, %kr, %v context c
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
}
model.block @head(%x: !bp.tensor<B x S x H, bf16>, %labels: !bp.tensor<B x S, i32>) {
  %n = model.rms_norm "head.norm" %x
  %y = model.linear "head.logits" %n : [V] -> !bp.tensor<B x S x V, f32>
  %l = model.cross_entropy "head.loss" %y, %labels
  model.return %l
}
model.network @model(%ids: !bp.tensor<B x S, i32>, %labels: !bp.tensor<B x S, i32>) {
  %x = model.call @embedding %ids
  %y = model.repeat L @layer %x
  %l = model.call @head %y, %labels
  model.return %l
}
"""


@attrs.frozen
class Row:
    """A measured run; `sharded` is how many ranks hold a share of the optimizer's state."""

    name: str
    hidden: int
    feed_forward: int
    heads: int
    kv_heads: int
    layers: int
    vocabulary: int
    tensor: int
    pipeline: int
    data: int
    measured: Fraction
    gradients: str = "f32"

    @property
    def strategy(self) -> str:
        gathers = "communication=reduce_scatter_all_gather all_gather_redo=true" if self.tensor > 1 else ""
        degrees = f"tensor={self.tensor} pipeline={self.pipeline} data={self.data} microbatches=4 {gathers}"
        return f"{degrees} zero=1 gradients={self.gradients} master_copy=true recompute=core_attention"

    @property
    def parameters_of_first_stage(self) -> int:
        """By hand: grouped-query attention, a gated feed-forward of three matrices, two norms; the table, and the head if it is here."""
        width = self.heads * 128 + 2 * self.kv_heads * 128 + self.hidden
        layer = self.hidden * (width + 3 * self.feed_forward) // self.tensor + 2 * self.hidden
        ends = self.vocabulary * self.hidden // self.tensor
        here = self.layers // self.pipeline * layer + ends
        return here + (ends + self.hidden if self.pipeline == 1 else 0)


LLAMA_70B_PIPELINE = Row("llama3-70b l12 tp1 pp2 dp4", 8192, 28672, 64, 8, 12, 128256, 1, 2, 4, Fraction("66.55"))
LLAMA_70B_TENSOR = Row("llama3-70b l12 tp4 dp2", 8192, 28672, 64, 8, 12, 128512, 4, 1, 2, Fraction("39.07"))
LLAMA_405B_DATA = Row("llama3-405b l4 tp2 dp4", 16384, 53248, 128, 16, 4, 128256, 2, 1, 4, Fraction("81.59"))
LLAMA_405B_TENSOR = Row("llama3-405b l4 tp8 dp1", 16384, 53248, 128, 16, 4, 129024, 8, 1, 1, Fraction("38.57"))
ROWS = (LLAMA_70B_PIPELINE, LLAMA_70B_TENSOR, LLAMA_405B_DATA, LLAMA_405B_TENSOR)


@cache
def job(row: Row, text: str = MODEL) -> Job:
    found = planned(row, text).job
    assert found is not None
    return found


@cache
def planned(row: Row, text: str) -> Report:
    sizes = {"H": row.hidden, "F": row.feed_forward, "V": row.vocabulary, "L": row.layers, "h": row.heads, "g": row.kv_heads, "d": 128}
    bound = "".join(f"bp.bind {name} = {size}\n" for name, size in sizes.items())
    declared, rest = text.strip().split("\n", 1)
    strategy = "bind.strategy @measured {tensor = 1}\n"
    return report(run(read(f"{declared}\n{bound}{strategy}{rest}"), f"distribute-training{{{row.strategy}}}", "plan-training"))


def difference(bytes: Expr, row: Row) -> Fraction:
    assert bytes.constant is not None
    return bytes.constant / GIB / row.measured - 1


def as_run(row: Row) -> Expr:
    """The derived peak of the fullest stage with the kernels that the measured runs had."""
    return max(job(row).fused_kernels, key=lambda held: held.constant or 0)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_weights_gradients_and_optimizer_are_the_parameters_by_hand(row: Row) -> None:
    """bf16 weights, gradients in f32, twelve bytes of Adam over the replicas: the larger part of each measured peak."""
    first = job(row).stages[0]
    held = [first[name].constant for name in ("weights", "weight_gradients", "optimizer")]
    parameters = row.parameters_of_first_stage
    assert held == [2 * parameters, 4 * parameters, 12 * Fraction(parameters, row.data)]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_the_fullest_moment_is_within_two_percent_of_what_was_measured(row: Row) -> None:
    """One rule for all rows: fused attention, fused gates, gradients in bf16 beside their sums in f32."""
    assert abs(difference(as_run(row), row)) < Fraction(2, 100)


def gradients_in_bf16(row: Row) -> int:
    """By hand, of a rank: the linear weights of a layer, or the head where that is larger and on the same stage."""
    width = 2 * row.heads * 128 + 2 * row.kv_heads * 128 + 3 * row.feed_forward
    head = row.vocabulary * row.hidden if row.pipeline == 1 else 0
    return 2 * max(row.hidden * width, head) // row.tensor


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_gradients_in_bf16_are_those_of_the_linear_layers_of_one_block(row: Row) -> None:
    """Without sums in f32 none are held beside them, and gradients are two bytes narrower: the other parts of the peak stay."""
    narrow = attrs.evolve(row, gradients="weights")
    wide, kept = job(row).stages[0], job(narrow).stages[0]
    fused = [job(each).fused_kernels[0].constant for each in (row, narrow)]
    held = [each[name].constant for each in (wide, kept) for name in ("total",)]
    assert None not in (*fused, *held)
    assert (fused[0] or 0) - (fused[1] or 0) - ((held[0] or 0) - (held[1] or 0)) == gradients_in_bf16(row)


@pytest.mark.parametrize("row", [LLAMA_70B_PIPELINE], ids=lambda row: row.name)
def test_a_fused_gate_keeps_two_bytes_a_feed_forward_element_less(row: Row) -> None:
    """Six layers, two microbatches in flight; the layer that goes back holds no gradient of the activation either (0 or 1 more)."""
    of_layer = 2 * 4096 * row.feed_forward
    found = job(row)
    attention, kernels = found.fused_attention[0].constant, found.fused_kernels[0].constant
    assert attention is not None and kernels is not None
    saved = attention - (kernels - gradients_in_bf16(row))
    assert 12 * of_layer <= saved <= 14 * of_layer


def test_scores_of_whole_attention_heads_are_what_the_fourth_row_has_too_much() -> None:
    """64 heads of 4096 x 4096 scores on one rank are 2 GiB, and three of them meet in backward: a fused kernel writes none."""
    row = LLAMA_70B_PIPELINE
    scores = 2 * 64 * 4096 * 4096
    found = job(row)
    unfused, fused = found.stages[0]["total"].constant, found.fused_attention[0].constant
    assert unfused is not None and fused is not None
    assert Fraction(2, 100) < difference(found.stages[0]["total"], row)
    assert 2 * scores < unfused - fused < 3 * scores  # less what the feed-forward block has freed by then
    assert abs(difference(found.fused_attention[0], row)) < Fraction(2, 100)


def test_an_activation_that_a_linear_layer_reads_is_written() -> None:
    """Without a gate, nothing of the feed-forward block is fused: what fused attention leaves stays, but for the gradients in bf16."""
    row = LLAMA_70B_PIPELINE
    text = (
        MODEL.replace('  %p = model.mul "mlp.multiply" %s, %u\n', "")
        .replace('  %u = model.linear "mlp.up" %m : [F]\n', "")
        .replace("%p : [H]", "%s : [H]")
    )
    assert "%p" not in text
    found = job(row, text)
    attention, kernels = found.fused_attention[0].constant, found.fused_kernels[0].constant
    assert attention is not None and kernels is not None
    without_a_gate = 2 * row.heads * 128 + 2 * row.kv_heads * 128 + 2 * row.feed_forward
    assert kernels - attention == 2 * row.hidden * without_a_gate


def test_what_is_kept_of_logits_in_f32_is_four_bytes_each() -> None:
    """The last stage keeps of the head the logits, in f32, and three numbers a token; in bf16 half of the logits."""
    row = LLAMA_70B_PIPELINE
    wide = job(row).stages[1]["activations"].constant
    text = MODEL.replace(" -> !bp.tensor<B x S x V, f32>\n  %l", "\n  %l")
    assert text != MODEL
    narrow = job(row, text).stages[1]["activations"].constant
    assert wide is not None and narrow is not None
    assert wide - narrow == (4 - 2) * 4096 * row.vocabulary


def test_what_is_not_derived_is_printed_with_the_stages() -> None:
    found = next(table for table in tables(planned(LLAMA_70B_PIPELINE, MODEL), "total") if table.head[0] == "not derived")
    assert [row[0] for row in found.rows] == ["kernel workspaces", "allocator", "device context", "statistics of norms"]
