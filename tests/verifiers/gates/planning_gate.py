"""Derivations of plans of inference, and what their gate says of changed texts."""

from __future__ import annotations

from functools import cache

from support import (
    example,
    gate,
    labels,
    line_of,
    read,
    run,
    shown,
)

from bpir.ir.diagnostic import Diagnostic
from bpir.ir.operation import Operation
from bpir.ir.printer import print_module

RULE = "plan-inference."


@cache
def distributed(phase: str = "decode") -> Operation:
    """The distributed example, read from its text, so that diagnostics have places in it."""
    return read(print_module(run(example("transformer_block"), f"distribute-inference{{phase={phase}}}")), "dist.bpir")


@cache
def planned(phase: str = "decode") -> str:
    """The text of its plan."""
    return print_module(run(distributed(phase), "plan-inference"))


def verdict(text: str, source: Operation | None = None) -> list[Diagnostic]:
    return gate(source or distributed(), read(text, "plan.bpir"))


def refused(text: str, *expected: str, at: str, source: Operation | None = None) -> None:
    """The gate finds exactly the rules, and the first names the line."""
    found = verdict(text, source)
    assert labels(found) == set(expected), shown(found)
    first = next(d for d in found if f"[{expected[0]}]" in d.message)
    assert at in line_of(first), shown([first])


def accepted(text: str, source: Operation | None = None) -> None:
    found = verdict(text, source)
    assert not found, shown(found)


CORE = "plan.task @attention.core.decode"


def prefill(arguments: str, *lines: str) -> Operation:
    """A block on one rank, distributed for prefill."""
    inputs = "bp.symbols B, S, T, H, h, d, e, c\nbind.workload @w inference {phase = prefill, context = c}\nbind.strategy @one {tensor = 1}"
    block = "\n  ".join((f"model.block @block({arguments}) {{", *lines))
    return run(read(f"{inputs}\n{block}\n}}"), "distribute-inference")
