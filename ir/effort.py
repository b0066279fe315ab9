"""Effort is counted in steps, never in time, so that the same question always ends in the same way.

There is one count, and shares of it. Arithmetic of expressions counts by itself, with `spend`: inside `limited` it ends with an error
when the steps are spent. An `Effort` is the share of a search: what it spends is counted there, too. A tool allows its input a number of
steps, and so many more a byte; a proof has its share of them. Outside of `limited`, arithmetic is not limited but by the bounds of each
expression.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from bpir.ir.expressions.error import ExpressionError

BASE = 1_000_000  # steps that a run of a tool may take, whatever it reads
PER_BYTE = 2  # and so many more for each byte that it reads
PER_OPERATION = 50  # and for each operation that a pass derives, which the next one reads


class Exhausted(Exception):
    """The steps that were allowed are spent: nothing is decided."""


class Effort:
    """Steps that may still be done; one is about as much work as an operation on two small numbers.

    Attributes:
        left: how many.
        parts: how many of its steps are one of arithmetic.
    """

    __slots__ = ("left", "parts")

    def __init__(self, left: int, parts: int = 1) -> None:
        self.left, self.parts = left, parts

    def spend(self, steps: int) -> None:
        """Account for steps.

        Raises:
            Exhausted: more are spent than there were.
            EffortError: and more than the tool may take for its input.
        """
        spend(-(-steps // self.parts))
        self.left -= steps
        if self.left < 0:
            raise Exhausted

    @contextmanager
    def at_most(self, steps: int) -> Iterator[None]:
        """A budget for the work inside: it takes its steps from those that are left, and ends there if it needs more."""
        held = max(self.left - steps, 0)
        self.left -= held
        try:
            yield
        except Exhausted:
            if not held:
                raise
        finally:
            self.left = max(self.left, 0) + held


class EffortError(ExpressionError):
    """The steps that this input, or this proof, may take are spent."""

    def __init__(self) -> None:
        super().__init__("this is too much work: the expressions and relations are too many, or too large")


_left: int | None = None


def spend(steps: int) -> None:
    """Account for steps of arithmetic.

    Raises:
        EffortError: more are spent than `limited` allows.
    """
    global _left
    if _left is not None:
        _left -= steps
        if _left < 0:
            raise EffortError


@contextmanager
def limited(steps: int) -> Iterator[None]:
    """Arithmetic inside may take so many steps, of those that an outer `limited` has left."""
    global _left
    outer = _left
    allowed = _left = steps if outer is None else max(min(steps, outer), 0)
    try:
        yield
    finally:
        _left = None if outer is None else outer - (allowed - _left)


def allow(steps: int) -> None:
    """So many more steps inside of `limited`."""
    global _left
    if _left is not None:
        _left += steps


def left() -> int:
    """How many steps there are left, inside of `limited`."""
    assert _left is not None
    return _left
