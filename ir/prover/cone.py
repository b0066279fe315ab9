"""Whether a sum of inequalities is a contradiction: linear programming over the integers, exact, by the simplex method.

Each inequality is a polynomial that is never negative, in variables that are never negative. They contradict each other if
a sum of positive multiples of them has no positive coefficient and a negative constant: the sum is then negative, and
never negative. Where one of the polynomials is never zero, the constant may be zero.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import gcd

from bpir.ir.effort import Effort
from bpir.ir.records import Record

Powers = tuple[int, ...]
"""A monomial: the numbers of its variables, sorted, each as often as its exponent says. `()` is 1."""
Polynomial = Mapping[Powers, int]
CONSTANT: Powers = ()


class Inequality(metaclass=Record):
    """A polynomial with integer coefficients that is not negative; a strict one is not zero either."""

    terms: Polynomial
    strict: bool = False


def contradict(inequalities: Sequence[Inequality], signed: frozenset[int], effort: Effort) -> bool:
    """Whether some sum of positive multiples of the inequalities is a contradiction.

    Args:
        inequalities: the polynomials.
        signed: the variables that may be negative; the coefficients of monomials in which one has an odd exponent must cancel.
        effort: what may be spent.

    Raises:
        Exhausted: it takes more steps.
    """
    count = len(inequalities)
    rows: dict[tuple[Powers, int], dict[int, int]] = {}
    gain: dict[int, int] = {}
    for index, inequality in enumerate(inequalities):
        for powers, c in inequality.terms.items():
            rows.setdefault((powers, 1), {})[index] = c
            if _may_be_negative(powers, signed):
                rows.setdefault((powers, -1), {})[index] = -c
        value = inequality.strict - inequality.terms.get(CONSTANT, 0)
        if value:
            gain[index] = value
    # maximise the gain where no row is positive; from zero, where all rows are zero, it is unbounded or zero
    table = [{**row, count + i: 1} for i, row in enumerate(rows.values())]
    return _unbounded(table, list(range(count, count + len(table))), gain, effort)


def _may_be_negative(powers: Powers, signed: frozenset[int]) -> bool:
    """Whether a monomial may be negative: a variable that may be has an odd exponent."""
    return any(powers.count(v) % 2 for v in signed.intersection(powers)) if signed else False


def _unbounded(rows: list[dict[int, int]], basic: list[int], gain: dict[int, int], effort: Effort) -> bool:
    """The simplex method on a cone, by Bland's rule (the first column, the first row), which never cycles."""
    while (entering := min((j for j, c in gain.items() if c > 0), default=None)) is not None:
        leaving = _leaving(rows, basic, entering)
        effort.spend(len(rows))
        if leaving is None:
            return True
        pivot = rows[leaving]
        for i, row in enumerate(rows):
            if i != leaving and entering in row:
                rows[i] = _eliminated(row, pivot, entering)
                effort.spend(len(row) + len(pivot))
        gain = _eliminated(gain, pivot, entering)
        basic[leaving] = entering
    return False


def _leaving(rows: Sequence[Mapping[int, int]], basic: Sequence[int], entering: int) -> int | None:
    """The row that limits a column, the first of those by their variables; None if no row does."""
    return min((i for i, row in enumerate(rows) if row.get(entering, 0) > 0), key=basic.__getitem__, default=None)


def _eliminated(row: dict[int, int], pivot: dict[int, int], column: int) -> dict[int, int]:
    """A positive multiple of the row less a multiple of the pivot row, without the column."""
    p, q = pivot[column], row[column]
    common = gcd(p, q)
    p, q = p // common, q // common
    result = {j: c * p for j, c in row.items()} if p != 1 else dict(row)
    for j, c in pivot.items():
        value = result.get(j, 0) - c * q
        if value:
            result[j] = value
        else:
            result.pop(j, None)
    common = gcd(*result.values())
    return {j: c // common for j, c in result.items()} if common > 1 else result
