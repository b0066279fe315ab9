"""A step has no task too many: what sums again what is summed already, or gathers nothing, is refused though no result is wrong."""

from __future__ import annotations

from functools import cache

from support import dropped, example, gate, labels, line_of, read, replaced, run, shown, statement

from bpir.ir.diagnostic import Diagnostic
from bpir.ir.operation import Operation
from bpir.ir.printer import print_module

GATED = """
module @gated {
  bp.symbols B, S, H, F, e
  bind.workload @train training {}
  bind.strategy @one {tensor = 1}
  model.block @block(%x: !bp.tensor<B x S x H, e>) {
    %g = model.linear "mlp.gate" %x : [F]
    %u = model.linear "mlp.up" %x : [F]
    %m = model.mul "mlp.multiply" %g, %u
    %y = model.linear "mlp.contract" %m : [H]
    %r = model.add "mlp.residual" %y, %x
    model.return %r
  }
}
"""
INNER, OUTER = '"mlp.qkv_fork.activation_gradient"', '"mlp.fork.activation_gradient"'
TWO, THREE = "work <ops = B*H*S,\n            read = 2*B*H*S*e", "work <ops = 2*B*H*S,\n            read = 3*B*H*S*e"


@cache
def source() -> Operation:
    return read(GATED, "gated.bpir")


@cache
def derived() -> str:
    return print_module(run(source(), "distribute-training"))


def found(text: str) -> list[Diagnostic]:
    return gate(source(), read(text, "target.bpir"))


def at_once() -> str:
    """The outer fork sums all three gradients itself."""
    outer = statement(derived(), OUTER)
    return replaced(derived(), (outer, replaced(outer, ("fork %dr, %dx_2", "fork %dr, %dx, %dx_1"), (TWO, THREE))))


def test_a_sum_that_is_in_no_other_sum_is_one_too_many() -> None:
    diagnostics = found(at_once())
    assert labels(diagnostics) == {"distribute-training.R10"}, shown(diagnostics)
    assert OUTER in line_of(diagnostics[0])


def test_the_same_in_another_order() -> None:
    """The one that sums all stands first: then the inner fork is one too many."""
    inner, outer = statement(derived(), INNER), statement(at_once(), OUTER)
    diagnostics = found(replaced(at_once(), (outer, ""), (inner, outer + inner)))
    assert labels(diagnostics) == {"distribute-training.R10"}, shown(diagnostics)
    assert INNER in line_of(diagnostics[0])


def test_one_fork_may_sum_all_uses() -> None:
    """Both groupings are right: the sum costs the same."""
    head = 'dist.memory "mlp.qkv_fork"'
    text = dropped(at_once(), INNER, head)
    assert not found(text), shown(found(text))


def test_a_gather_of_what_is_whole_is_no_collective() -> None:
    text = print_module(run(example("transformer_block"), "distribute-training{tensor=t}"))
    reader = statement(text, '"mlp.expand.forward"')
    gather = (
        '    %all = dist.all_gather "mlp.input_collective.forward" [{}, {}, {}] %m : !bp.tensor<B x S x H, e>\n'
        '      from "mlp.expand" phase forward work <>\n'
    )
    changed = replaced(text, (reader, gather + replaced(reader, ("%m ", "%all "))))
    (wrong,) = gate(example("transformer_block"), read(changed, "target.bpir"))
    assert "'dist.all_gather' over no axis" in wrong.message
    assert "mlp.input_collective.forward" in line_of(wrong)
