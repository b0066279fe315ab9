"""Derivations of training and what their gates say of changed texts."""

from __future__ import annotations

from functools import cache

from support import example, gate, labels, line_of, read, replaced, run, shown, statement

from bpir.ir.diagnostic import Diagnostic
from bpir.ir.operation import Operation
from bpir.ir.printer import print_module

RULE = "distribute-training."
PLAN = "plan-training."
ATTENTION = "tensor=t recompute=attention"


@cache
def model() -> Operation:
    return example("transformer_block")


@cache
def distributed(options: str = ATTENTION) -> str:
    """The text of a derived step."""
    return print_module(run(model(), f"distribute-training{{{options}}}"))


@cache
def source(options: str = ATTENTION) -> Operation:
    """The step read from its text, so that diagnostics have places in it."""
    return read(distributed(options), "dist.bpir")


@cache
def planned(options: str = ATTENTION) -> str:
    """The text of its plan."""
    return print_module(run(source(options), "plan-training"))


def check(found: list[Diagnostic], expected: set[str], at: str) -> None:
    """Exactly the rules, each with a place, the first on a line with `at`."""
    assert labels(found) == expected, shown(found)
    assert all(d.span is not None for d in found), shown(found)
    assert at in line_of(found[0]), shown(found[:1])


def refused(text: str, *rules: str, at: str) -> None:
    """The gate of distribution finds exactly the rules."""
    check(gate(model(), read(text, "target.bpir")), {RULE + rule for rule in rules}, at)


def refused_plan(text: str, *rules: str, at: str) -> None:
    """The gate of planning finds exactly the rules."""
    check(gate(source(), read(text, "plan.bpir")), {PLAN + rule for rule in rules}, at)


def accepted(text: str) -> None:
    found = gate(model(), read(text, "target.bpir"))
    assert not found, shown(found)


def added(text: str, before: str, new: str) -> str:
    """The text with a statement more in front of the one with the head."""
    return replaced(text, (statement(text, before), new + statement(text, before)))


def copied(head: str, *changes: tuple[str, str], options: str = ATTENTION) -> str:
    """A statement of the step, changed."""
    return replaced(statement(distributed(options), head), *changes)


GELU = '"mlp.gelu.forward"'
