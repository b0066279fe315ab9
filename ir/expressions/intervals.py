"""Interval arithmetic: between which numbers an expression stays while its symbols stay in intervals. Sound, not tight."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction

from bpir.ir.expressions.atoms import Atom, Monomial
from bpir.ir.expressions.normal_form import Expr

Interval = tuple[Fraction | None, Fraction | None]
"""The least and the largest value; None where there is no bound."""

_NONE: Interval = (None, None)


def interval(expr: Expr, symbols: Mapping[str, Interval]) -> Interval:
    """The interval of an expression; symbols are positive integers, those that are not named have no upper bound."""
    above = _sum(((Fraction(c), _monomial(m, symbols)) for m, c in expr.terms.items()))
    return above if expr.denominator is None else _quotient(above, interval(expr.denominator, symbols))


def _sum(terms: Iterable[tuple[Fraction, Interval]]) -> Interval:
    low: Fraction | None = Fraction(0)
    high: Fraction | None = Fraction(0)
    for c, (least, largest) in terms:
        if c < 0:
            least, largest = largest, least
        low = None if low is None or least is None else low + c * least
        high = None if high is None or largest is None else high + c * largest
    return low, high


def _monomial(m: Monomial, symbols: Mapping[str, Interval]) -> Interval:
    if len(m.factors) == 1 and m.degree == 1:
        return _atom(m.factors[0][0], symbols)
    low: Fraction = Fraction(1)
    high: Fraction | None = Fraction(1)
    for atom, n in m.factors:
        least, largest = _power(_atom(atom, symbols), n)
        if least is None:
            return _NONE
        low *= least
        high = None if high is None or largest is None else high * largest
    return low, high


def _power(value: Interval, n: int) -> Interval:
    """The interval of a power of what is never negative, and never zero where the exponent is below 0; no bounds for others."""
    least, largest = value
    if least is None or least < 0 or (n < 0 and least == 0):
        return _NONE
    if n < 0:
        return (Fraction(0) if largest is None else largest**n), least**n
    return least**n, (None if largest is None else largest**n)


def _atom(atom: Atom, symbols: Mapping[str, Interval]) -> Interval:
    if atom.kind == "symbol":
        least, largest = symbols.get(atom.text, _NONE)
        return max(least or Fraction(1), Fraction(1)), largest
    arguments = [interval(a, symbols) for a in atom.arguments]
    if atom.kind in ("max", "min"):
        return _extreme(atom.kind, [low for low, _ in arguments], -1), _extreme(atom.kind, [high for _, high in arguments], 1)
    least, largest = _quotient(*arguments)
    if atom.kind == "ceildiv":
        return _integer(least, up=True), _integer(largest, up=True)
    return _integer(least, up=False), _integer(largest, up=False)


def _extreme(kind: str, bounds: list[Fraction | None], side: int) -> Fraction | None:
    """The bound of a `max` or `min` on one side (-1 below, 1 above): a known argument is enough where it can only help."""
    known = [b for b in bounds if b is not None]
    if not known or (len(known) < len(bounds) and (kind == "max") == (side > 0)):
        return None
    return max(known) if kind == "max" else min(known)


def _quotient(above: Interval, below: Interval) -> Interval:
    """Of a dividend that is not negative and a positive divisor; no bounds for others."""
    if above[0] is None or above[0] < 0 or below[0] is None or below[0] <= 0:
        return _NONE
    least = Fraction(0) if below[1] is None else above[0] / below[1]
    return least, None if above[1] is None else above[1] / below[0]


def _integer(value: Fraction | None, up: bool) -> Fraction | None:
    return None if value is None else Fraction(value.__ceil__() if up else value.__floor__())
