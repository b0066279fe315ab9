"""The points of a structure: which of them are kept, which relation left out each other one, and the values of the columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from math import prod

import attrs
import numpy as np

from bpir.ir.diagnostic import fail
from bpir.ir.expression import ONE, ZERO, ExpressionError
from bpir.parser import parse_expression
from bpir.sweep.conditions import Condition, decided
from bpir.sweep.evaluation import Evaluator, Values
from bpir.sweep.ratio import Ratio
from bpir.sweep.structures import Derived, Structure, Value, point_symbols
from bpir.sweep.whole import LARGEST, SMALLEST, Array

PART = 1 << 20
"""Points of a part at most: what is in memory at once, and in one file while a sweep runs."""

_SIGNS = {"divides": "|", "equal": "=", "greater": ">"}

Axes = Mapping[str, Sequence[int]]


@attrs.frozen(eq=False)
class Rows:
    """The rows of one part of a structure.

    Attributes:
        columns: the values of each column: integers of 64 bits, or text where one of them is larger or a fraction.
        fixed: the columns that have the same word or number everywhere.
        count: how many rows there are.
        filtered: how many points each relation or condition left out, of those that the ones before it kept.
    """

    columns: Mapping[str, Array]
    fixed: Mapping[str, Value]
    count: int
    filtered: Mapping[str, int]


def parts(axes: Axes, most: int = PART) -> Iterator[Axes]:
    """The grid in parts of at most so many points, each a grid of its own, in the order of the points."""
    names = list(axes)
    inner = 1  # points of the axes that a part has in full
    split = len(names)
    while split and inner * len(axes[names[split - 1]]) <= most:
        split -= 1
        inner *= len(axes[names[split]])
    if not split:
        yield axes
        return
    name, step = names[split - 1], max(most // inner, 1)
    for outer in _single(axes, names[: split - 1]):
        for start in range(0, len(axes[name]), step):
            yield {**outer, name: axes[name][start : start + step]}


def _single(axes: Axes, names: list[str]) -> Iterator[Axes]:
    """The grid for each combination of values of the named axes."""
    if not names:
        yield axes
        return
    first, *others = names
    for place in range(len(axes[first])):
        yield from _single({**axes, first: axes[first][place : place + 1]}, others)


class Compiled:
    """A structure that is ready to be evaluated.

    Args:
        names: the columns to evaluate; one that this structure does not have is 0.
        conditions: with the full names of columns.

    Raises:
        DiagnosticError: a column has a symbol without a number.
    """

    def __init__(self, structure: Structure, derived: Derived, names: Sequence[str], conditions: Sequence[Condition]) -> None:
        self.structure = structure
        self._evaluator = Evaluator({name: len(values) for name, values in structure.axes.items()})
        columns = {name: parse_expression(derived.columns.get(name, "0")) for name in names}
        self.columns = {**point_symbols(structure), **columns}
        self.checks = [(label, _SIGNS[kind], parse_expression(a), parse_expression(b)) for label, kind, a, b in derived.relations]
        asked = dict.fromkeys(name for condition in conditions for name in condition.names if name not in self.columns)
        known = {**self.columns, **{name: parse_expression(derived.columns.get(name, "0")) for name in asked}}
        for condition in conditions:
            with suppress(ExpressionError):  # it divides by a number that is 0 here, and holds nowhere
                condition = condition.over(known)
                self.checks.append((condition.text, condition.sign, condition.left, condition.right))
                continue
            self.checks.append((condition.text, "=", ONE, ZERO))
        self._refuse_unknown()

    def _refuse_unknown(self) -> None:
        sides = [side for _, _, left, right in self.checks for side in (left, right)]
        open_symbols = sorted({name for expr in (*self.columns.values(), *sides) for name in expr.symbols} - self.structure.axes.keys())
        if open_symbols:
            names = ", ".join(open_symbols)
            first = open_symbols[0]
            raise fail(f"no number is given for {names}: sweep it (--grid {first}=...), or bind it (--bind {first}=...)", None)

    def rows(self, axes: Axes, stored: Sequence[str]) -> Rows:
        """The rows of a part, with the columns that are stored.

        Raises:
            DiagnosticError: a column divides by zero at a point that no relation leaves out.
        """
        values = self._evaluator.on(axes)
        kept, filtered = self._kept(values)
        count = prod(values.shape) if kept is None else int(np.count_nonzero(kept))
        found: dict[str, Array] = {}
        for name in stored:
            if name not in self.structure.fixed:
                found[name] = self._column(name, values, kept) if count else np.empty(0, np.int64)
        fixed = {name: value for name, value in self.structure.fixed.items() if name in stored}
        return Rows(found, fixed, count, filtered)

    def _kept(self, values: Values) -> tuple[Array | None, dict[str, int]]:
        """Which points are kept, None for all; and how many each relation left out."""
        kept: Array | None = None
        filtered: dict[str, int] = {}
        for label, sign, left, right in self.checks:
            holds = decided(sign, left, right, values)
            if holds.all():
                continue
            before = prod(values.shape) if kept is None else int(np.count_nonzero(kept))
            here = np.broadcast_to(holds, values.shape)
            kept = here.copy() if kept is None else kept & here
            after = int(np.count_nonzero(kept))
            if before != after:
                filtered[label] = filtered.get(label, 0) + before - after
            if not after:
                break
        return kept, filtered

    def _column(self, name: str, values: Values, kept: Array | None) -> Array:
        found = values.of(self.columns[name])
        if found.undefined is not None and picked(found.undefined, values.shape, kept).any():
            raise fail(f"the column '{name}' has no value at some points: {self.columns[name].text} divides by zero there", None)
        return stored_values(found, values.shape, kept)


def picked(array: Array, shape: tuple[int, ...], kept: Array | None) -> Array:
    """The elements at the points that are kept, in their order."""
    full = np.broadcast_to(array, shape)
    return full.ravel() if kept is None else full[kept]


def stored_values(found: Ratio, shape: tuple[int, ...], kept: Array | None) -> Array:
    """The exact values as they are stored: of 64 bits if all fit, else as decimal text, a fraction as `p/q`."""
    above, below = found.above, found.below
    if below.high != 1:
        numerators, denominators = picked(above.values, shape, kept), picked(below.values, shape, kept)
        if (numerators % denominators).any():
            return np.array([str(Fraction(int(a), int(b))) for a, b in zip(numerators, denominators, strict=True)], dtype=object)
        result = numerators // denominators
    else:
        result = picked(above.values, shape, kept)
    if result.dtype == np.object_:
        low, high = int(result.min()), int(result.max())
        if low < SMALLEST or high > LARGEST:
            return np.array([str(value) for value in result], dtype=object)
        result = result.astype(np.int64)
    return result
