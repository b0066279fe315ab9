"""The typing rule of the gate, on blocks whose shards and partial sums are known from the papers."""

from __future__ import annotations

import pytest
from support import read

from bpir.dialects.bp import TensorType
from bpir.ir.operation import Operation, Value, top_level
from bpir.verifiers.distribution.possible_placements import could_be_placed, wrong_placement
from bpir.verifiers.distribution.typing_rule import Placed, Untypable, typing_of

HEAD = "bp.symbols B, S, H, F, h, d, V, e\n"
GATED = (
    HEAD
    + """
model.block @block(%x: !bp.tensor<B x S x H, e>) {
  %n = model.rms_norm "norm" %x
  %q, %k, %v = model.linear "qkv" %n : [h x d], [h x d], [h x d]
  %o = model.attention "core" %q, %k, %v
  %a = model.linear "out" %o bias : [H]
  %g = model.linear "gate" %a : [F]
  %u = model.linear "up" %a : [F]
  %m = model.mul "multiply" %g, %u
  %y = model.linear "down" %m : [H]
  %r = model.add "residual" %y, %x
  model.return %r
}
"""
)


def block(text: str) -> Operation:
    (found,) = (o for o in top_level(read(text)) if o.name == "model.block")
    return found


def types(operation: Operation, placed: Placed) -> tuple[list[str], list[str]]:
    """The shards in which an operation reads its operands, and those of its results."""
    typing = typing_of(operation, placed)

    def body(value: Value, type: TensorType) -> str:
        return type.body_text()

    operands = [(v, v.type) for v in operation.operands]
    results = [(v, v.type) for v in operation.results]
    return (
        [body(v, typing.operand(i, t, t)) for i, (v, t) in enumerate(operands) if isinstance(t, TensorType)],
        [body(v, typing.result(i, t, t)) for i, (v, t) in enumerate(results) if isinstance(t, TensorType)],
    )


TENSOR = Placed({"h": "tensor", "F": "tensor"})
SCATTERED = Placed(TENSOR.axes, {"S": "tensor"})


@pytest.mark.parametrize("placed, stream", [(TENSOR, "S"), (SCATTERED, "S@tensor")], ids=["whole", "scattered"])
def test_megatron_and_its_sequence_parallelism_follow(placed: Placed, stream: str) -> None:
    norm, qkv, core, out, gate, _, multiply, down, residual, _ = block(GATED).body
    between, whole, partial = f"B x {stream} x H, e", "B x S x H, e", "B x S x H, e, unreduced={tensor}"
    heads, wide = "B x S x h@tensor x d, e", "B x S x F@tensor, e"
    assert types(norm, placed) == ([between], [between])
    assert types(qkv, placed) == ([whole], [heads] * 3)
    assert types(core, placed) == ([heads] * 3, [heads])
    assert types(out, placed) == ([heads], [partial])
    assert types(gate, placed) == ([whole], [wide])
    assert types(multiply, placed) == ([wide] * 2, [wide])
    assert types(down, placed) == ([wide], [partial])
    assert types(residual, placed) == ([between] * 2, [between])


def test_the_one_head_of_multi_query_attention_has_no_shares() -> None:
    text = (
        HEAD
        + """
model.block @block(%q: !bp.tensor<B x S x h x d, e>, %k: !bp.tensor<B x S x 1 x d, e>) {
  %s = model.batch_matmul "scores" %q, %q transposed
  model.return %s
}
"""
    )
    scores = block(text).body[0]
    scores.operands[1] = block(text).regions[0].blocks[0].arguments[1]
    assert types(scores, Placed({"h": "tensor"}))[0] == ["B x S x h@tensor x d, e", "B x S x 1 x d, e"]


@pytest.mark.parametrize(
    "axes, why",
    [
        (("h", "F"), ""),
        (("H",), "the axis H is on the boundary"),
        (("d", "F"), "'core' needs the axis d whole"),
        (("h", "d", "F"), "'qkv' has two axes on 'tensor': h and d"),
    ],
)
def test_a_placement_that_no_typing_fits_is_named(axes: tuple[str, ...], why: str) -> None:
    found = wrong_placement(block(GATED), Placed(dict.fromkeys(axes, "tensor")))
    assert found.startswith(why) if why else not found


@pytest.mark.parametrize("axes, more", [((), ["h", "F"]), (("h",), ["F"]), (("F",), ["h"]), (("h", "F"), [])])
def test_a_placement_that_leaves_an_axis_of_a_weight_whole_is_not_maximal(axes: tuple[str, ...], more: list[str]) -> None:
    assert could_be_placed([block(GATED)], Placed(dict.fromkeys(axes, "tensor")), "tensor") == more


def test_one_mesh_axis_does_not_split_both_sides_of_a_weight() -> None:
    text = (
        HEAD
        + """
model.block @block(%x: !bp.tensor<B x S x H, e>) {
  %u = model.linear "up" %x : [F]
  %w = model.linear "again" %u : [V]
  %y = model.linear "down" %w : [H]
  model.return %y
}
"""
    )
    assert could_be_placed([block(text)], Placed({"F": "tensor"}), "tensor") == []
    assert could_be_placed([block(text)], Placed({"V": "tensor"}), "tensor") == []
    with pytest.raises(Untypable, match="has two axes on 'tensor': F and V"):
        typing_of(block(text).body[1], Placed({"F": "tensor", "V": "tensor"}))
