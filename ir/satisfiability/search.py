"""The search for numbers: the symbols are given values one after the other, small ones first, and domains shrink with each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from math import isqrt

from bpir.ir.satisfiability.constraints import Linear, Problem, Product
from bpir.ir.satisfiability.domains import Empty
from bpir.ir.satisfiability.propagation import Propagator

_WINDOW = 40  # symbols without a value that are compared for the next choice
_FEW = 4  # values: a symbol of which no more are left is next
_DIVISOR_LIMIT = 10**10  # of what is divided: candidates are looked for among as many as its root

Point = dict[str, int]
_Level = tuple[int, int, Iterator[int], bool]  # a symbol, the state before, its values, whether these are all


class Search:
    """Depth first over the symbols of a problem.

    `closed` says of an open end (a symbol larger than all values that were tried) whether nothing is left there.
    """

    def __init__(self, propagator: Propagator, holds: Callable[[Point], bool], closed: Callable[[], bool] = lambda: False) -> None:
        self._propagator = propagator
        self._domains = propagator.domains
        self._holds = holds
        self._closed = closed
        self._symbols = propagator.problem.symbols
        self._products: dict[int, list[int]] = {}
        for constraint in propagator.problem.constraints:
            if isinstance(constraint, Product):
                for v, _ in constraint.factors:
                    self._products.setdefault(v, []).append(constraint.result)
        self._dependent = _dependent(propagator.problem)
        self.complete = True
        self.start = 0  # the state of the domains before the search

    def run(self, width: int) -> Point | None:
        """A point that satisfies everything; `width` values are tried of each symbol. Without one, `complete` says whether that is all.

        Raises:
            Exhausted: the effort is spent.
        """
        self.complete = True
        self.start = mark = self._domains.mark()
        stack: list[_Level] = []
        point = self._next(stack, width)
        while stack and point is None:
            v, before, values, all_ = stack[-1]
            self._domains.undo(before)
            value = next(values, None)
            if value is None:
                stack.pop()
                if not all_:
                    self._end(v, before, width)
                continue
            with suppress(Empty):
                self._domains.fix(v, value)
                self._propagator.run()
                point = self._next(stack, width)
        self._domains.undo(mark)
        return point

    def _next(self, stack: list[_Level], width: int) -> Point | None:
        """The point if every symbol has a value; else the next symbol is put on the stack."""
        v = self._choice()
        if v is None:
            point = {name: self._domains.lower[i] or 0 for i, name in enumerate(self._symbols)}
            return point if self._holds(point) else None
        stack.append((v, self._domains.mark(), *self._values(v, width)))
        return None

    def _end(self, v: int, before: int, width: int) -> None:
        """All values of a symbol were tried: what if it is larger?"""
        if not self.complete:
            return
        try:
            self._domains.at_least(v, (self._domains.lower[v] or 0) + width * self._domains.modulus[v])
            self._propagator.run()
            self.complete = self._closed()
        except Empty:
            pass
        self._domains.undo(before)

    def _choice(self) -> int | None:
        """The symbol with the fewest values left; where they are many, one that others are declared by comes first."""
        domains = self._domains
        best: tuple[bool, bool, bool, int, int] | None = None
        found = None
        seen = 0
        for v in range(len(self._symbols)):
            low = domains.lower[v] or 1
            if low == domains.upper[v]:
                continue
            count = domains.count(v)
            key = (count is None or count > _FEW, v in self._dependent, count is None, count or 0, low)
            if best is None or key < best:
                best, found = key, v
            seen += 1
            if seen >= _WINDOW:
                break
        self._propagator.effort.spend(2 + seen)
        return found

    def _values(self, v: int, width: int) -> tuple[Iterator[int], bool]:
        """The smallest values that are left, as many as the width says, and whether these are all; of a known product the divisors."""
        domains = self._domains
        low, high, step = domains.lower[v] or 1, domains.upper[v], domains.modulus[v]
        whole = [w for p in self._products.get(v, ()) if domains.fixed(p) and (w := domains.lower[p]) is not None and w > 0]
        last = low + (width - 1) * step if high is None else min(high, low + (width - 1) * step)
        if whole and high is not None and (high - low) // step >= width and min(whole) <= _DIVISOR_LIMIT:
            return self._divisors(min(whole), low, high), True
        return self._dividing(range(low, last + 1, step), whole), last == high

    def _dividing(self, values: range, whole: list[int]) -> Iterator[int]:
        for value in values:
            self._propagator.effort.spend(1)
            if not any(w % value for w in whole):
                yield value

    def _divisors(self, whole: int, low: int, high: int) -> Iterator[int]:
        large = []
        for small in range(1, isqrt(whole) + 1):
            self._propagator.effort.spend(1)
            if whole % small == 0:
                if low <= small <= high:
                    yield small
                if low <= whole // small <= high and whole // small != small:
                    large.append(whole // small)
        yield from reversed(large)


def _dependent(problem: Problem) -> set[int]:
    """The symbols that an equality gives by others: H of `H = h*d`."""
    found: set[int] = set()
    for constraint in problem.constraints:
        if isinstance(constraint, Linear) and constraint.equality:
            lone = [v for c, v in constraint.terms if abs(c) == 1 and v < len(problem.symbols) and v not in found]
            if lone and len(constraint.terms) > 1:
                found.add(lone[0] if len(lone) == 1 else lone[-1])
    return found
