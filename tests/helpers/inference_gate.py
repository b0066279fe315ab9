"""Derivations of inference and what their gate says of changed texts."""

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

RULE = "distribute-inference."


@cache
def model() -> Operation:
    return example("transformer_block")


@cache
def derived(*passes: str) -> str:
    """The text of a derivation of the example."""
    return print_module(run(model(), *(passes or ("distribute-inference",))))


def verdict(text: str, source: Operation | None = None) -> list[Diagnostic]:
    return gate(source or model(), read(text, "target.bpir"))


def refused(text: str, *expected: str, at: str, source: Operation | None = None) -> None:
    """The gate finds exactly the rules, and the first names the line."""
    found = verdict(text, source)
    assert labels(found) == set(expected), shown(found)
    first = next(d for d in found if f"[{expected[0]}]" in d.message)
    assert at in line_of(first), shown([first])


def accepted(text: str, source: Operation | None = None) -> None:
    found = verdict(text, source)
    assert not found, shown(found)
