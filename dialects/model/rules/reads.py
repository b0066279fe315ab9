"""The values that a gradient reads besides the gradient of the result: operands and results of forward, and the mask of a dropout."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeVar

from bpir.ir.records import Interned

_T = TypeVar("_T")


class Read(metaclass=Interned):
    """One thing that a gradient reads; as text `operand 0`, `result 0`, `mask`."""

    what: Literal["operand", "result", "mask"]
    index: int = 0

    def choose(self, operands: Sequence[_T], results: Sequence[_T], mask: _T) -> _T:
        """Which of the operands and results of forward, and of its mask, it is."""
        if self.what == "mask":
            return mask
        return (operands if self.what == "operand" else results)[self.index]

    def __str__(self) -> str:
        return self.what if self.what == "mask" else f"{self.what} {self.index}"


def operand(index: int) -> Read:
    """An operand of forward."""
    return Read("operand", index)


def result(index: int) -> Read:
    """A result of forward."""
    return Read("result", index)


MASK = Read("mask")
"""The mask of a dropout."""
