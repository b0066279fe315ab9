"""Any operation of several lanes: with weights, with gradients that read operands, with sums, beside each other wherever each lies.

The operations are declared here, as a newcomer would, and known to nothing else: a norm of Q and K over the head size with a weight each,
and a product and a norm side by side.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import raw
from support import edited, gate, labels, read, run, shown

from bpir.dialects.bp import TensorType, tensor
from bpir.dialects.model.rules.local import Local, tensor_type
from bpir.dialects.model.rules.operation import ModelOperation, model_syntax
from bpir.dialects.model.rules.reads import operand
from bpir.ir.declaration import DECLARATIONS
from bpir.ir.expressions.expression import Expr, total
from bpir.ir.operation import Operation, top_level
from bpir.ir.printer import print_module
from bpir.run.call import Array, Call
from bpir.run.check import check
from bpir.run.operations import SEMANTICS, Semantics

NUMBERS = {"B": 2, "S": 8, "c": 8, "H": 16, "h": 8, "d": 6, "t": 2, "e": 4}
EPSILON = 0.1


class PairNorm(ModelOperation):
    """`%qn, %kn = model.pair_norm "l" %q, %k`: each operand over its last dimension, times a weight of its own."""

    tensors = "b s h d; d -> b s h d | ..."
    needs_whole = "d"
    syntax = model_syntax(operands=2)
    capabilities = ("normalization",)
    gradient_reads = (operand(0), operand(1))
    weight_gradient_reads = (operand(0), operand(1))

    def infer(self, operation: Operation) -> list[Any]:
        return [tensor_type(operation, value) for value in operation.operands]

    def operations(self, local: Local) -> Expr:
        return 4 * total(type.elements for type in local.operands)

    def gradient_operations(self, local: Local) -> Expr:
        return 8 * total(type.elements for type in local.operands)

    def weight_gradient_operations(self, local: Local) -> Expr:
        return 3 * total(type.elements for type in local.operands)

    def gradient_weights(self, local: Local) -> Expr:
        return self.weights(local)


class PairNormSemantics(Semantics):
    """`y = x / r * w` with `r = sqrt(mean(x*x) + 0.1)`."""

    gradient_reads = (operand(0), operand(1))
    weight_gradient_reads = (operand(0), operand(1))
    lanes = True

    def weight_dims(self, x: Any, y: Any, says: frozenset[str], own: Any = ()) -> Any:
        return ((x[-1],), (x[-1],))

    def forward(self, call: Call) -> list[Array]:
        return [self._scaled(call.read(i)) * call.weight(i) for i in range(2)]

    def gradient(self, call: Call) -> list[Array]:
        found = []
        for i in range(2):
            dy, x = call.read(i) * call.weight(i), call.read(2 + i)
            r = np.sqrt((x * x).mean(axis=-1, keepdims=True) + EPSILON)
            found.append(dy / r - x * (dy * x).mean(axis=-1, keepdims=True) / r**3)
        return found

    def weight_gradient(self, call: Call) -> list[Array]:
        return [(call.read(i) * self._scaled(call.read(2 + i))).sum(axis=(0, 1, 2)) for i in range(2)]

    @staticmethod
    def _scaled(x: Array) -> Array:
        return np.asarray(x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + EPSILON))


@pytest.fixture(autouse=True)
def declared() -> Iterator[None]:
    """The operation exists while a test runs."""
    PairNorm.name = "model.pair_norm"
    DECLARATIONS["model.pair_norm"] = PairNorm.__new__(PairNorm)
    PairNormSemantics.kind = "pair_norm"
    SEMANTICS["pair_norm"] = PairNormSemantics()
    yield
    del DECLARATIONS["model.pair_norm"], SEMANTICS["pair_norm"]


def block(heads: str) -> str:
    """Attention whose Q and K are normed for each head; `%s` is the generic form, as no grammar knows the operation."""
    q, k = "!bp.tensor<B x S x h x d, e>", f"!bp.tensor<B x S x {heads} x d, e>"
    return f"""
  bp.symbols B, S, c, H, h, d, t, e where t | h, t | H, t | S
  bind.strategy @tp {{tensor = t}}
  model.block @block(%x: !bp.tensor<B x S x H, e>) {{
    %q, %k, %v = model.linear "attention.qkv" %x : [h x d], [{heads} x d], [{heads} x d]
    %qn, %kn = "model.pair_norm"(%q, %k) <{{layer = "attention.norms"}}> : ({q}, {k}) -> ({q}, {k})
    %o = model.attention "attention.core" %qn, %kn, %v
    %a = model.linear "attention.output_projection" %o : [H]
    %y = model.add "attention.residual" %a, %x
    model.return %y
  }}
"""


STRATEGIES = [
    f"tensor={degree} communication={communication} recompute={recompute}"
    for degree in ("1", "2", "t")
    for communication in ("all_reduce", "reduce_scatter_all_gather")
    for recompute in ("none", "full")
]


def numbers(strategy: str) -> dict[str, int]:
    return {name: value for name, value in NUMBERS.items() if name not in ("c", "t") or (name == "t" and "tensor=t" in strategy)}


@pytest.mark.campaign(keep=6)
@pytest.mark.parametrize("heads", ["1", "h"])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_lanes_with_weights_train_as_their_model_does(strategy: str, heads: str) -> None:
    source = read(block(heads))
    module = run(source, f"distribute-training{{{strategy}}}")
    (found,) = check(source, module, numbers(strategy))
    assert not found.against, shown(found.against)
    assert max(found.phases.values()) < 1e-9 and found.gradients is not None and found.gradients < 1e-7
    run(module, "plan-training")


def named(module: Operation, name: str) -> Operation:
    (found,) = (o for holder in top_level(module) if holder.name == "dist.block" for o in holder.body if raw.name_of(o) == name)
    return found


def types(values: Any) -> list[str]:
    return [v.type.body_text() for v in values if isinstance(v.type, TensorType)]


def test_each_weight_is_summed_as_its_own_lane_lies() -> None:
    """Q's heads are shared, so each rank has a part of its weight's gradient; the one head of K is whole, and so is its weight's."""
    module = run(read(block("1")), "distribute-training{tensor=t}")
    gradients = named(module, "attention.norms.weight_gradient")
    assert types(gradients.results) == ["d, e, unreduced={tensor}", "d, e"]
    summed = named(module, "attention.norms.gradient_reduction")
    assert summed.operands == gradients.results[:1] and types(summed.results) == ["d, e"]
    assert named(module, "attention.norms.optimizer").operands == [summed.results[0], gradients.results[1]]
    work = raw.work_of(summed)
    assert work is not None and work.msg.text == "d*e"  # one weight of the head size, not two


def test_under_sequence_parallelism_both_are_parts() -> None:
    module = run(read(block("1")), "distribute-training{tensor=t communication=reduce_scatter_all_gather}")
    assert types(named(module, "attention.norms.weight_gradient").results) == ["d, e, unreduced={tensor}"] * 2
    assert types(named(module, "attention.norms.forward").results) == ["B x S x h@tensor x d, e", "B x S@tensor x 1 x d, e"]


WRONG = {
    "both summed": (
        "attention.norms.weight_gradient",
        "!bp.tensor<d, e, unreduced={tensor}>, !bp.tensor<d, e>",
        "!bp.tensor<d, e, unreduced={tensor}>, !bp.tensor<d, e, unreduced={tensor}>",
        "distribute-training.R4",
    ),
    "neither summed": (
        "attention.norms.weight_gradient",
        "!bp.tensor<d, e, unreduced={tensor}>, !bp.tensor<d, e>",
        "!bp.tensor<d, e>, !bp.tensor<d, e>",
        "distribute-training.R4",
    ),
    "the other weight's": ("attention.norms.gradient_reduction", "#0 :", "#1 :", "distribute-training.R9"),
    "swapped gradients": ("attention.norms.weight_gradient", "%dqn, %dkn_1", "%dkn_1, %dqn", "distribute-training.R8"),
    "an update by the part": ("attention.norms.optimizer", "adam %", "adam %", ""),
}


@pytest.mark.parametrize("wrong", [name for name, (*_, rule) in WRONG.items() if rule])
def test_errors_are_refused_by_the_gate_and_by_the_run(wrong: str) -> None:
    head, old, new, rule = WRONG[wrong]
    source = read(block("1"))
    text = print_module(run(source, "distribute-training{tensor=t}"))
    changed = edited(text, head, (old, new))
    found = gate(source, read(changed))
    assert rule in labels(found) or any("unreduced" in d.message for d in found), shown(found)
    (outcome,) = check(source, read(changed), numbers("tensor=t"))
    assert outcome.against


def test_a_lane_that_contracts_beside_one_that_does_not() -> None:
    """`b s K; K N -> b s N | b s H; H -> b s H`: only the first leaves a partial sum."""
    from bpir.dialects.model.rules.factors import equation
    from bpir.verifiers.distribution.typing_rule import Placed, typing_of

    class Beside(ModelOperation):
        tensors = "b s K; K N -> b s N | b s H; H -> b s H"
        needs_whole = "H"

        def infer(self, operation: Operation) -> list[Any]:
            return [tensor((*v.type.dims[:2], v.type.dims[-1]), v.type.element) for v in operation.operands[1:] * 2]  # type: ignore[attr-defined]

    (operation,) = (o for b in top_level(read(block("h"))) for o in b.body if o.name == "model.pair_norm")
    text = """
      bp.symbols B, S, H, F, e
      model.block @b(%x: !bp.tensor<B x S x F, e>, %y: !bp.tensor<B x S x H, e>) {
        %p = model.linear "l" %x : [H]
        %n = model.rms_norm "n" %y
        model.return %p, %n
      }
    """
    linear, norm = (o for b in top_level(read(text)) for o in b.body if o.results)
    operation = Operation("model.beside", [*linear.operands, *norm.operands], [*linear.results, *norm.results])
    operation.declaration = Beside.__new__(Beside)
    typing = typing_of(operation, Placed({"F": "tensor"}))
    kinds = [typing.result(i, v.type, v.type).body_text() for i, v in enumerate(operation.results) if isinstance(v.type, TensorType)]
    assert kinds == ["B x S x H, e, unreduced={tensor}", "B x S x H, e"]
    factors = equation(Beside.tensors, Beside.needs_whole).factors((3, 3), (3, 3))
    assert factors.whole == {"H|0", "H|1"}
