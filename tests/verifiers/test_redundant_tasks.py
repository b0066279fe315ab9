"""A step has no task too many: what sums again what is summed already, or gathers nothing, is refused though no result is wrong."""

from __future__ import annotations

from functools import cache

from support import example, gate, labels, line_of, read, replaced, run, shown, statement

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
FORK = '"mlp.fork.activation_gradient"'
INNER = """    %inner = dist.compute "mlp.qkv_fork.activation_gradient" fork %dx, %dx_1 : !bp.tensor<B x S x H, e>
      from "mlp.gate" phase activation_gradient
      work <ops = B*H*S,
            read = 2*B*H*S*e,
            write = B*H*S*e>
"""


@cache
def source() -> Operation:
    return read(GATED, "gated.bpir")


@cache
def derived() -> str:
    return print_module(run(source(), "distribute-training"))


def found(text: str) -> list[Diagnostic]:
    return gate(source(), read(text, "target.bpir"))


def test_one_fork_sums_all_uses() -> None:
    assert "fork %dr, %dx, %dx_1 :" in statement(derived(), FORK)
    assert not found(derived())


def test_a_sum_that_is_in_no_other_sum_is_one_too_many() -> None:
    fork = statement(derived(), FORK)
    diagnostics = found(replaced(derived(), (fork, INNER + fork)))
    assert "distribute-training.R10" in labels(diagnostics), shown(diagnostics)
    assert "mlp.qkv_fork" in line_of(diagnostics[0])


def test_on_one_rank_a_sum_in_two_steps_is_one_too_many() -> None:
    fork = statement(derived(), FORK)
    outer = replaced(fork, ("%dr, %dx, %dx_1", "%dr, %inner"), ("ops = 2*B", "ops = B"), ("read = 3*B", "read = 2*B"))
    diagnostics = found(replaced(derived(), (fork, INNER + outer)))
    assert "distribute-training.R10" in labels(diagnostics), shown(diagnostics)


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
