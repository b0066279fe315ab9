"""The smallest admissible values at which a claim is false: best first over the parameters, in the order of a fixed measure.

Values are measured by their maximum, then by their sum, then by the values themselves in the order of the symbols' names. What is measured
are the symbols of the claim and those that relations tie to them; bound numbers are not, because they can't be changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from heapq import heappop, heappush
from itertools import islice
from typing import TYPE_CHECKING

from bpir.ir.expressions.atoms import symbol_atom
from bpir.ir.expressions.expression import Expr, ExpressionError, symbol
from bpir.ir.records import Record
from bpir.ir.relations.system import System

if TYPE_CHECKING:
    from bpir.ir.relations.facts import Relation

_POINTS = 1_000  # points that are tried, best first
_STEPS = 64  # values below the present one that are tried for each parameter, if those points do not suffice

False_at = Callable[[Mapping[str, int]], bool]


class Witness(metaclass=Record):
    """Values that refute a claim: of its symbols, and of those that relations tie to them, by name."""

    values: Mapping[str, int]
    smallest: bool
    """Whether no admissible values that measure less refute it; else no parameter alone was seen to be lower."""


def smallest(system: System, relations: Sequence[Relation], names: Sequence[str], false_at: False_at, known: Mapping[str, int]) -> Witness:
    """The smallest witness, or one that is smaller than `known`: values of all symbols and parameters that refute the claim."""
    search = _Search(system, relations, names, false_at, known)
    return search.best_first() or search.descended()


def tied(relations: Sequence[Relation], names: Sequence[str], fixed: Sequence[str]) -> list[str]:
    """The names, and all that relations tie to them, sorted; what is fixed ties nothing."""
    found = dict.fromkeys(names)
    pending = [name for name in names if name not in fixed]
    while pending:
        name = pending.pop()
        beside = (other for relation in relations if name in relation.symbols for other in relation.symbols)
        new = [other for other in dict.fromkeys(beside) if other not in found]
        found.update(dict.fromkeys(new))
        pending += [other for other in new if other not in fixed]
    return sorted(found)


class _Search:
    def __init__(
        self, system: System, relations: Sequence[Relation], names: Sequence[str], false_at: False_at, known: Mapping[str, int]
    ) -> None:
        fixed = [name for name, value in system.values.items() if value.constant is not None]
        self.names = tied(relations, names, fixed)
        self.free = [name for name in self.names if name not in fixed]
        self.values = [system.values[name] if name in system.values else symbol(name) for name in self.free]
        self.relations = [r for r in relations if any(name in self.free for name in r.symbols)]
        self.false_at = false_at
        self.known = known
        self.parameters = sorted({p for value in self.values for p in value.symbols})
        self.lower = tuple(system.lower.get(symbol_atom(name, fresh=True), 1) for name in self.parameters)

    def best_first(self) -> Witness | None:
        """The first refuting point in the order of the measure, which grows with every parameter; None if it was not reached."""
        if not all(map(_grows, self.values)):
            return None
        points = islice(self._points(), _POINTS)
        found = next((values for values in map(self._refuting, points) if values is not None), None)
        return Witness(found, True) if found is not None else None

    def _points(self) -> Iterator[tuple[int, ...]]:
        """The points at or above the least one, in the order of the measure."""
        heap = [(self._measure(self.lower), self.lower)]
        seen = {self.lower}
        while heap:
            _, point = heappop(heap)
            yield point
            for index, value in enumerate(point):
                following = _with(point, index, value + 1)
                if following not in seen:
                    seen.add(following)
                    heappush(heap, (self._measure(following), following))

    def descended(self) -> Witness:
        """The known witness, each parameter in turn as low as it goes, until none goes lower."""
        point = tuple(self.known[name] for name in self.parameters)
        changed = True
        while changed:
            before = point
            for index in range(len(self.lower)):
                point = self._lowered(point, index)
            changed = point != before
        return Witness(self._refuting(point) or {name: self.known[name] for name in self.names}, False)

    def _lowered(self, point: tuple[int, ...], index: int) -> tuple[int, ...]:
        """The point with one parameter as low as it goes, of the values that are tried; itself if none refutes the claim."""
        least = self.lower[index]
        values = range(least, min(point[index], least + _STEPS))
        lowered = (_with(point, index, value) for value in values)
        return next((other for other in lowered if self._refuting(other) is not None), point)

    def _measure(self, point: tuple[int, ...]) -> tuple[Fraction, Fraction, tuple[Fraction, ...]]:
        values = self._evaluated(point)
        return max(values, default=Fraction(0)), sum(values, Fraction(0)), values

    def _evaluated(self, point: tuple[int, ...]) -> tuple[Fraction, ...]:
        at = dict(zip(self.parameters, point, strict=True))
        return tuple(value.evaluate(at) for value in self.values)

    def _refuting(self, point: tuple[int, ...]) -> dict[str, int] | None:
        """The values at a point, if they are admissible and refute the claim."""
        try:
            found = self._evaluated(point)
            if any(value.denominator != 1 or value < 1 for value in found):
                return None
            values = {**self.known, **{name: value.numerator for name, value in zip(self.free, found, strict=True)}}
            refuted = all(relation.holds(values) for relation in self.relations) and self.false_at(values)
            return {name: values[name] for name in self.names} if refuted else None
        except ExpressionError:
            return None


def _with(point: tuple[int, ...], index: int, value: int) -> tuple[int, ...]:
    """The point with another value at an index."""
    return (*point[:index], value, *point[index + 1 :])


def _grows(value: Expr) -> bool:
    """Whether the value is seen to grow, or to stay, with each of its symbols."""
    if value.denominator is not None or value.depth:
        return False
    return all(c > 0 and all(n > 0 for _, n in m.factors) for m, c in value.terms.items())
