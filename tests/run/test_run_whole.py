"""Numbers run for the ends of a model and attention of every kind: each rank computes what the model computes on whole arrays."""

from __future__ import annotations

import pytest
from runs import agrees, outcome, strategies
from support import read

from bpir.ir.operation import Operation

HEADER = """
  bp.symbols B, S, c, H, V, P, W, h, g, d, t where g | h, t | h, t | g, t | H
  bind.workload @decode inference {phase = decode, context = c}
  bind.strategy @tp {tensor = t}
"""
ENDS = """
  model.block @gpt(%ids: !bp.tensor<B x S, i32>) {
    %e = model.embedding "embedding.tokens" %ids : [V] -> !bp.tensor<B x S x H, 2>
    %x = model.positions "embedding.positions" %e : [P]
    %l = model.last_token "head.last_token" %x
    %n = model.rms_norm "head.norm" %l
    %y = model.linear "head.logits" %n tied "embedding.tokens" : [V] -> !bp.tensor<B x S x V, 4>
    %z = model.softcap "head.softcap" %y
    model.return %z
  }
"""
SLIDING = """
  model.block @layer(%x: !bp.tensor<B x S x H, 2>) {
    %q, %k, %v = model.linear "attention.qkv" %x bias : [h x d], [g x d], [g x d]
    %qn = model.rms_norm "attention.query_norm" %q over d
    %kn = model.layer_norm "attention.key_norm" %k over d
    %qs = model.scale "attention.scale" %qn
    %o = model.attention "attention.core" %qs, %kn, %v context c window W softcap sinks
    %y = model.linear "attention.output_projection" %o bias : [H]
    %r = model.add "attention.residual" %y, %x
    model.return %r
  }
"""
LOSS = (
    ENDS.replace("%ids: !bp.tensor<B x S, i32>)", "%ids: !bp.tensor<B x S, i32>, %labels: !bp.tensor<B x S, i32>)")
    .replace("model.return %z", "model.return %loss\n")
    .replace("    model.return", '    %loss = model.cross_entropy "loss" %z, %labels\n    model.return')
)
SMALL = {"B": 2, "S": 8, "c": 9, "H": 16, "V": 24, "P": 12, "W": 5, "h": 8, "g": 4, "d": 4}


def model(block: str, header: str = HEADER) -> Operation:
    return read(f"module @m {{{header}{block}}}\n")


@pytest.mark.campaign(keep=14)
@pytest.mark.parametrize("passed", list(strategies()))
@pytest.mark.parametrize("block", [ENDS, SLIDING, LOSS], ids=["ends", "sliding", "loss"])
def test_training(block: str, passed: str) -> None:
    agrees(outcome(model(block), f"distribute-training{{{passed}}}", {**SMALL, "c": 8}, "plan-training"))


@pytest.mark.campaign(keep=6)
@pytest.mark.parametrize("causal", ["dense", "half", "exact"])
@pytest.mark.parametrize("phase", ["prefill", "decode", "prefill head=all"])
@pytest.mark.parametrize("block", [ENDS, SLIDING], ids=["ends", "sliding"])
def test_inference(block: str, phase: str, causal: str) -> None:
    for ranks in (1, 2, 4):
        passed = f"distribute-inference{{phase={phase} causal={causal} tensor={ranks}}}"
        agrees(outcome(model(block), passed, SMALL, "plan-inference"))


@pytest.mark.parametrize("causal", ["dense", "half", "exact"])
def test_a_chunk_behind_others(causal: str) -> None:
    """Four new tokens behind five of the cache."""
    whole = SLIDING.replace(" window W", "")
    agrees(
        outcome(
            model(whole), f"distribute-inference{{phase=prefill query=4 prefix=5 causal={causal}}}", {**SMALL, "t": 2}, "plan-inference"
        )
    )


@pytest.mark.parametrize("heads", [1, 2, 4])
def test_copies_of_heads(heads: int) -> None:
    """Four ranks, each with a copy of one of one or two heads."""
    open_heads = HEADER.replace("t | g, ", "")
    for phase in ("prefill", "decode"):
        numbers = {**SMALL, "g": heads, "t": 4}
        agrees(outcome(model(SLIDING, open_heads), f"distribute-inference{{phase={phase}}}", numbers, "plan-inference"))


@pytest.mark.parametrize(
    "passed", ["distribute-inference", "distribute-training", "distribute-training{communication=reduce_scatter_all_gather}"]
)
def test_rows_of_padding(passed: str) -> None:
    """Seven rows on four ranks are two each, one too many; it takes no part in a loss."""
    header = HEADER.replace("bind.workload", "bp.bind V = 7, t = 4\n  bind.workload")
    for block in (ENDS, LOSS) if "training" in passed else (ENDS,):
        agrees(outcome(model(block, header), passed, {**SMALL, "V": 7, "t": 4}))
