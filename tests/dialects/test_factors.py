"""Dimension factors: the equations of operations, read by hand."""

from __future__ import annotations

import pytest
from support import read, structure

from bpir.dialects import model as model
from bpir.dialects.bp import TensorType, tensor
from bpir.dialects.model.rules.factors import equation
from bpir.dialects.model.rules.local import Local
from bpir.dialects.model.rules.operation import Elementwise, ModelOperation
from bpir.ir.attributes import UnitAttr
from bpir.ir.declaration import DECLARATIONS
from bpir.ir.expressions.expression import symbol

B, S, H, h, d, e = map(symbol, ("B", "S", "H", "h", "d", "e"))


def test_a_linear_keeps_its_tokens_contracts_the_rest_and_gets_the_others_from_its_weight() -> None:
    factors = equation("b s K*; K* N* -> b s N*").factors((4,), (3,))
    assert factors.operands == (("b", "s", "K0", "K1"),)
    assert factors.weights == ((("K0", "K1", "N0"),),)
    assert factors.results == (("b", "s", "N0"),)
    assert factors.contracted(0) == ("K0", "K1")
    assert factors.produced(0) == ("N0",)


def test_results_beyond_the_equation_have_weights_and_factors_of_their_own() -> None:
    factors = equation("b s K*; K* N*, N* -> b s N*").factors((3,), (4, 3))
    assert factors.results == (("b", "s", "N0.0", "N1.0"), ("b", "s", "N0.1"))
    assert factors.weights == ((("K0", "N0.0", "N1.0"), ("N0.0", "N1.0")), (("K0", "N0.1"), ("N0.1",)))


def test_operands_beyond_the_equation_are_like_its_last() -> None:
    factors = equation("b s F* -> b s F*").factors((3, 3), (3,))
    assert factors.operands == (("b", "s", "F0"),) * 2
    assert factors.contracted(0) == () and factors.produced(0) == ()


@pytest.mark.parametrize("operands, results", [((1,), (1,)), ((3,), (4,)), ((3, 4), (3,))])
def test_ranks_that_do_not_fit_are_refused(operands: tuple[int, ...], results: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="dimensions is not"):
        equation("b s F* -> b s F*").factors(operands, results)


def test_a_weight_is_sharded_as_the_operand_and_the_result_that_have_its_factors() -> None:
    rule = DECLARATIONS["model.linear"]
    assert isinstance(rule, ModelOperation)
    operand = TensorType((B, S, h, d), ((), (), ("tensor",), ()), e, ())
    local = Local((("bias", UnitAttr()),), (operand,), (tensor((B, S, H), e),), (True,))
    assert [t.text for t in rule.weight_types(local)] == ["!bp.tensor<h@tensor x d x H, e>", "!bp.tensor<H, e>"]
    assert rule.weights(local) is h * d * H + H


def test_every_operation_that_can_stand_in_a_block_has_an_equation() -> None:
    computing = [o for o in DECLARATIONS.values() if isinstance(o, ModelOperation) and o.name != "model.transformer_block"]
    assert len(computing) >= 13
    assert all(rule.tensors for rule in computing)
    bringing = {rule.name for rule in computing if rule.brings_axes}
    assert {"model.linear", "model.embedding"} <= bringing
    assert bringing.isdisjoint({"model.rms_norm", "model.layer_norm", "model.gelu", "model.attention", "model.rope"})


class Misfit(Elementwise):
    """An operation whose author has forgotten that a tensor may have three dimensions."""

    tensors = "b s h d -> b s h d"


def test_what_does_not_fit_the_equation_of_its_operation_is_told_at_its_place() -> None:
    text = 'bp.symbols B, S, H, e\nmodel.block @b(%x: !bp.tensor<B x S x H, e>) {\n  %y = model.gelu "g" %x\n  model.return %y\n}\n'
    module = read(text)
    operation = next(o for o in module.walk() if o.name == "model.gelu")
    operation.declaration = Misfit.__new__(Misfit)
    (found,) = structure.verify(module)
    assert "does not fit its equation: a tensor of 3 dimensions is not 'b s h d'" in found.message
    assert found.span is operation.span
    assert [note.message for note in found.notes] == ["the equation is b s h d -> b s h d"]
