"""Attention whose query heads share heads of K and V (Shazeer 2019: one; Ainslie et al. 2023: groups), by hand arithmetic."""

from __future__ import annotations

import pytest
from support import gate, read, report, run, shown

from bpir.ir.diagnostic import DiagnosticError
from bpir.ir.operation import top_level
from bpir.ir.printer import print_module

TEXT = """
  bp.symbols B, S, c, H, h, g, d, t, e where {relations}
  bind.workload @decode inference {{phase = decode, context = c}}
  bind.workload @train training {{batch = B}}
  bind.strategy @s {{tensor = t}}
  model.block @block(%x: !bp.tensor<B x S x H, e>) {{
    %q, %k, %v = model.linear "attention.qkv" %x : [h x d], [{heads} x d], [{heads} x d]
    %o = model.attention "attention.core" %q, %k, %v context c
    %a = model.linear "attention.output_projection" %o : [H]
    model.return %a
  }}
"""
RELATIONS = "t | h, t | g, g | h, t | H, t | S"
LLAMA = "bind-symbols{B=1 c=2048 H=4096 h=32 g=8 d=128 t=8 e=2}"


def block(heads: str, relations: str = RELATIONS) -> str:
    return TEXT.format(heads=heads, relations=relations)


def test_the_cache_of_llama_3_8b_holds_its_eight_heads() -> None:
    plan = run(read(block("g")), "distribute-inference", "plan-inference", LLAMA)
    found = report(plan)
    assert found.memory["kv_cache"].integer == 2 * 2048 * 8 * 128 * 2 // 8  # K and V, tokens, heads, head size, bytes; 8 ranks
    (core,) = (task for task in found.tasks if task.name == "attention.core.decode")
    assert core.work.ops.integer == (4 * 2048 * 128 + 5 * 2048) * 32 // 8  # every query head sees every token
    assert core.work.read.integer == (32 * 128 * 2 + 2 * 2048 * 8 * 128 * 2) // 8  # Q, and the K and V that there are


def test_query_heads_and_the_heads_that_they_share_are_placed_together() -> None:
    text = print_module(run(read(block("g")), "distribute-inference"))
    assert 'dist.placement [h, g -> "tensor"]' in text


@pytest.mark.parametrize("communication", ["all_reduce", "reduce_scatter_all_gather"])
def test_the_gradients_of_the_one_head_are_summed_over_the_ranks(communication: str) -> None:
    source = read(block("1"))
    module = run(source, f"distribute-training{{communication={communication}}}")
    assert gate(source, module) == [], shown(gate(source, module))
    (body,) = (o for o in top_level(module) if o.name == "dist.block")
    sums = [v.type.text for o in body.body for v in o.results if "B x S x 1 x d, e, unreduced" in v.type.text]
    assert sums == ["!bp.tensor<B x S x 1 x d, e, unreduced={tensor}>"] * 2
    rows = [row for row in report(module).tasks if row.collective and row.phase == "activation_gradient"]
    messages = sorted(row.work.msg.text for row in rows if row.collective != "all_gather")
    assert messages == ["B*H*S*e", "B*S*d*e", "B*S*d*e"]  # of the block's input, and of K and V: each its whole tensor


@pytest.mark.parametrize(
    "heads, relations, reason",
    [
        ("g", "t | h, t | g, t | H", "'attention.core' needs 'g | h', which does not follow from what the file declares"),
        ("3", "h = 8, t | h, t | H", "'attention.core' needs '3 | h', which does not follow from what the file declares"),
    ],
)
def test_heads_that_do_not_fit_are_refused(heads: str, relations: str, reason: str) -> None:
    with pytest.raises(DiagnosticError) as refused:
        run(read(block(heads, relations)), "distribute-inference")
    assert reason in shown(refused.value.diagnostics)


@pytest.mark.parametrize("tensor", ["1", "2", "t"])
@pytest.mark.parametrize("phase", ["prefill", "decode"])
def test_a_block_of_attention_alone_is_planned_whatever_the_degree(phase: str, tensor: str) -> None:
    """Its workspace is a maximum within a maximum: `max(H + max(2*d*g + d*h, c*h), c*h + d*h)` is at least `H + d*h`."""
    plan = run(read(block("g")), f"distribute-inference{{phase={phase} tensor={tensor}}}", "plan-inference")
    assert report(plan).memory["workspace"].symbols
