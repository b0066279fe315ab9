"""The points of a structure: which of them are kept, which relation left out each other one, and the values of the columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial
from math import prod

import attrs
import numpy as np

from bpir.ir.diagnostic import fail
from bpir.ir.expressions.expression import ONE, ZERO, Expr, ExpressionError
from bpir.parser import parse_expression
from bpir.sweep.arithmetic.evaluation import Evaluator, Values
from bpir.sweep.arithmetic.ratio import Ratio
from bpir.sweep.arithmetic.whole import LARGEST, SMALLEST, Array
from bpir.sweep.conditions import Condition, column_symbol, decided
from bpir.sweep.storage.parquet import Column, Packed, encoded_places
from bpir.sweep.structures import MEMORY, Derived, Structure, Value, point_symbols

PART = 1 << 20
"""Points of a part at most: what is in memory at once, and in one file while a sweep runs."""

TOTAL = f"{MEMORY}total"

_SIGNS = {"divides": "|", "equal": "=", "greater": ">"}

Axes = Mapping[str, Sequence[int]]


@attrs.frozen(eq=False)
class Rows:
    """The rows of one part of a structure.

    Attributes:
        columns: the values of each column: integers of 64 bits, or text where one of them is larger or a fraction, or a word.
        count: how many rows there are.
        filtered: how many points each relation or condition left out, of those that the ones before it kept.
    """

    columns: Mapping[str, Column]
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
        self._devices = [{name: parse_expression(text) for name, text in device.items()} for device in derived.devices]
        self._supplied = {name: partial(self._of_fullest, name) for device in self._devices[:1] for name in device}

        def expression(name: str) -> Expr:
            return column_symbol(name) if name in self._supplied else parse_expression(derived.columns.get(name, "0"))

        self.columns = {**point_symbols(structure), **{name: expression(name) for name in names}}
        self.checks = [(label, _SIGNS[kind], parse_expression(a), parse_expression(b)) for label, kind, a, b in derived.relations]
        asked = dict.fromkeys(name for c in conditions if not c.of_words for name in c.names if name not in self.columns)
        known = {**self.columns, **{name: expression(name) for name in asked}}
        self.checks += [self._check(condition, known) for condition in conditions]
        self._refuse_unknown()

    def _check(self, condition: Condition, known: Mapping[str, Expr]) -> tuple[str, str, Expr, Expr]:
        """A condition between expressions of the point; one of words holds in this structure, or nowhere."""
        if condition.of_words:
            chosen = self.structure.fixed[condition.left.text] == condition.right.text
            return condition.text, "=", ONE, ONE if chosen else ZERO
        try:
            over = condition.over(known)
        except ExpressionError:  # it divides by a number that is 0 here, and holds nowhere
            return condition.text, "=", ONE, ZERO
        return over.text, over.sign, over.left, over.right

    def _refuse_unknown(self) -> None:
        sides = [side for _, _, left, right in self.checks for side in (left, right)]
        used = {name for expr in (*self.columns.values(), *sides) for name in expr.symbols}
        used |= {name for device in self._devices for expr in device.values() for name in expr.symbols}
        open_symbols = sorted(used - self.structure.axes.keys() - self._supplied.keys())
        if open_symbols:
            names = ", ".join(open_symbols)
            first = open_symbols[0]
            raise fail(f"no number is given for {names}: sweep it (--grid {first}=...), or bind it (--bind {first}=...)", None)

    def _of_fullest(self, name: str, values: Values) -> Ratio:
        """A row of the memory of the fullest device, which is the first of those with the largest total."""
        first, *others = self._devices
        largest, found = values.of(first[TOTAL]), values.of(first[name])
        for other in others:
            size = values.of(other[TOTAL])
            fuller = np.asarray((size - largest).above.values > 0, dtype=bool)
            found = values.of(other[name]).where(fuller, found)
            largest = size.where(fuller, largest)
        return found

    def rows(self, axes: Axes, stored: Sequence[str]) -> Rows:
        """The rows of a part, with the columns that are stored.

        Raises:
            DiagnosticError: a column divides by zero at a point that no relation leaves out.
        """
        values = self._evaluator.on(axes, self._supplied)
        kept, filtered = self._kept(values)
        count = prod(values.shape) if kept is None else int(np.count_nonzero(kept))
        found: dict[str, Column] = {}
        layout = Layout(values.shape, kept, count)
        for name in stored if count else ():
            fixed = self.structure.fixed.get(name)
            found[name] = layout.constant(fixed) if fixed is not None else self._column(name, values, layout)
        return Rows(found, count, filtered)

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

    def _column(self, name: str, values: Values, layout: Layout) -> Column:
        found = values.of(self.columns[name])
        if found.undefined is not None and layout.rows(found.undefined).any():
            raise fail(f"the column '{name}' has no value at some points: {self.columns[name].text} divides by zero there", None)
        return layout.column(found)


class Layout:
    """How the rows of a part go through its points; what columns that depend on the same axes have in common.

    Args:
        shape: of the points.
        kept: which of them are rows; None for all.
        count: how many rows there are.
    """

    def __init__(self, shape: tuple[int, ...], kept: Array | None, count: int) -> None:
        self.shape, self.kept, self.count = shape, kept, count
        self._places: dict[tuple[int, ...], tuple[Array, Packed]] = {}

    def rows(self, array: Array) -> Array:
        """The elements of the rows, in their order."""
        full = np.broadcast_to(array, self.shape)
        return full.ravel() if self.kept is None else full[self.kept]

    def constant(self, value: Value) -> Column:
        """A column with the same value everywhere."""
        array = np.array([value], dtype=np.int64 if isinstance(value, int) else object)
        return Column(array, encoded_places(np.zeros(self.count, np.int8), 1))

    def column(self, found: Ratio) -> Column:
        """A column of exact values; those that few points differ in as a dictionary."""
        above, below = found.above.values, found.below.values
        shape = np.broadcast_shapes(above.shape, below.shape)
        if prod(shape) * 4 > self.count and prod(shape) > 1:
            return Column(stored_values(self.rows(above), self.rows(below)))
        used, places = self._through(shape)
        parts = (np.broadcast_to(part, shape).ravel()[used] for part in (above, below))
        return Column(stored_values(*parts), places)

    def _through(self, shape: tuple[int, ...]) -> tuple[Array, Packed]:
        """Which elements of an array of this shape the rows have, and how they go through these."""
        if shape not in self._places:
            size = prod(shape)
            places = self.rows(np.arange(size, dtype=np.int32).reshape(shape))
            occurs = np.zeros(size, bool)
            occurs[places] = True
            used = np.flatnonzero(occurs)
            if len(used) < size:
                places = (np.cumsum(occurs) - 1)[places]
            self._places[shape] = used, encoded_places(places, len(used))
        return self._places[shape]


def stored_values(above: Array, below: Array) -> Array:
    """Exact values as they are stored: of 64 bits if all fit, else as decimal text, a fraction as `p/q`."""
    result = above
    if (below != 1).any():
        if (above % below).any():
            return np.array([str(Fraction(int(a), int(b))) for a, b in zip(above, below, strict=True)], dtype=object)
        result = above // below
    if result.dtype == np.object_:
        if min(result) < SMALLEST or max(result) > LARGEST:
            return np.array([str(value) for value in result], dtype=object)
        result = result.astype(np.int64)
    return result
