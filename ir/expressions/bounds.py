"""The sign of an expression by its form, for positive integer symbols: sound, not complete."""

from __future__ import annotations

from collections.abc import Mapping
from math import comb, prod

from bpir.ir.effort import spend
from bpir.ir.expressions.atoms import Atom, Monomial, monomial
from bpir.ir.expressions.fraction import common_monomial
from bpir.ir.expressions.normal_form import Expr
from bpir.ir.expressions.terms import Coefficient, Terms

_SHIFTED_TERMS = 400  # terms that shifting the symbols may produce
_BOUND_BITS = 4_000  # bits of a lower bound; a larger one is replaced by a smaller number, which is a bound too


def integral(expr: Expr, divisor: int = 1) -> bool:
    """Whether the form shows that every value is an integer, and a multiple of the divisor."""
    return expr.denominator is None and all(type(c) is int and c % divisor == 0 and whole(m) for m, c in expr.terms.items())


def whole(m: Monomial) -> bool:
    """Whether the monomial's every value is an integer."""
    return all(n > 0 and atom.integral for atom, n in m.factors)


def positive(expr: Expr) -> bool:
    """Whether the form shows that every value is greater than zero."""
    if expr.denominator is not None and not positive(expr.denominator):
        return False
    if not expr.terms:
        return False
    if all(c > 0 and all(atom.positive for atom, _ in m.factors) for m, c in expr.terms.items()):
        return True
    least = _lower(expr.terms)
    return least is not None and least > 0


def lower_bound(expr: Expr) -> Coefficient | None:
    """A number that no value is below, read off the form; None if there is none."""
    if expr.denominator is None:
        return _lower(expr.terms)
    least = _lower(expr.terms)
    return 0 if least is not None and least >= 0 and positive(expr.denominator) else None


def _lower(terms: Terms) -> Coefficient | None:
    result: Coefficient = 0
    for m, c in terms.items():
        if c < 0 and m.factors:
            return None
        least = _least(m)
        if least is None:
            return None
        result += c * least
    return result


def _least(m: Monomial) -> Coefficient | None:
    """A number that no value of the monomial is below, if all its atoms are known not to be negative."""
    result: Coefficient = 1
    for atom, n in m.factors:
        least = atom.lower
        if least is None or least < 0:
            return None
        if n < 0:
            result = 0
        elif least != 1:
            if least.numerator.bit_length() * n > _BOUND_BITS:
                least, n = min(least, 1), 1 if least >= 1 else 0
            result = result * least**n if n else 0
    return result


def nonnegative(expr: Expr, lower: Mapping[Atom, int] | None = None, strict: bool = False) -> bool:
    """Whether the coefficients show that no value is negative, each atom shifted by its lower bound.

    Args:
        lower: better lower bounds of atoms than their own.
        strict: whether to show that no value is zero either.
    """
    terms = expr.terms
    spend(5 + 4 * len(terms))
    seen = _by_signs(expr, strict)
    if seen is not None:
        return seen
    least = _least_values(terms, lower)
    if least is None or not _covered(terms):
        return False
    corner = _corner(terms, least, strict)
    shifted = _shifted(terms, corner, least) if corner is not None else None
    if shifted is None:
        return False
    return all(v >= 0 for v in shifted.values()) and (not strict or shifted.get((), 0) > 0)


def _by_signs(expr: Expr, strict: bool) -> bool | None:
    """Whether no value is negative (or zero), as far as the signs of the coefficients say; None if they do not."""
    terms = expr.terms
    if expr.denominator is not None and not positive(expr.denominator):
        return False
    if all(c > 0 for c in terms.values()) and not strict:
        return all(atom.lower is not None and atom.lower >= 0 for m in terms for atom, _ in m.factors)
    if strict and positive(expr):
        return True
    return None if any(c > 0 for c in terms.values()) else False


def _least_values(terms: Terms, lower: Mapping[Atom, int] | None) -> dict[Atom, Coefficient] | None:
    """The least value of each atom; None if one may be negative."""
    least: dict[Atom, Coefficient] = {}
    for m in terms:
        for atom, _ in m.factors:
            bound = atom.lower if lower is None or atom not in lower else lower[atom]
            if bound is None or bound < 0:
                return None
            least[atom] = bound
    return least


def _corner(terms: Terms, least: Mapping[Atom, Coefficient], strict: bool) -> Monomial | None:
    """The positive factor of all terms; None if it may be zero below a line."""
    corner = common_monomial(terms)
    if strict:  # a factor that may be zero stays where it is seen
        corner = monomial({atom: n for atom, n in corner.factors if n < 0 or atom.positive or least[atom] > 0})
    if any(n < 0 and not (atom.positive or least[atom] > 0) for atom, n in corner.factors):
        return None
    return corner


_Shifted = dict[tuple[tuple[str, int], ...], Coefficient]


def _shifted(terms: Terms, corner: Monomial, least: Mapping[Atom, Coefficient]) -> _Shifted | None:
    """The coefficients over the corner, each atom shifted by what it is at least; None if they are too many, or
    the constant one is negative.

    Where every atom is as small as it can be, the value is the constant coefficient.
    """
    shifted_terms = sum(prod(n + 1 for _, n in _times(m, corner).factors) for m in terms)
    if shifted_terms > _SHIFTED_TERMS:
        return None
    spend(2 * len(terms))
    if sum(c * prod(least[atom] ** n for atom, n in _times(m, corner).factors) for m, c in terms.items()) < 0:
        return None  # the constant coefficient, which needs no other
    spend(8 * shifted_terms)
    shifted: _Shifted = {}
    for m, c in terms.items():
        parts: list[tuple[tuple[tuple[str, int], ...], Coefficient]] = [((), c)]
        for atom, n in _times(m, corner).factors:
            base = least[atom]
            # (base + s)**n, its terms by the power of s
            powers = [(k, comb(n, k) * base ** (n - k)) for k in range(n + 1)] if base else [(n, 1)]
            parts = [((*key, (atom.text, k)) if k else key, v * w) for key, v in parts for k, w in powers]
        for key, v in parts:
            shifted[key] = shifted.get(key, 0) + v
    return shifted


def _covered(terms: Terms) -> bool:
    """Whether each negative term has a positive one whose powers are all as large: no other adds to its coefficient after the shift."""
    above = [dict(m.factors) for m, c in terms.items() if c > 0]
    for m, c in terms.items():
        if c < 0:
            powers = dict(m.factors)
            if not any(
                all(p.get(atom, 0) >= n for atom, n in m.factors) and all(n >= 0 or atom in powers for atom, n in p.items()) for p in above
            ):
                return False
    return True


def _times(m: Monomial, corner: Monomial) -> Monomial:
    """`m / corner`, which has no negative powers."""
    powers = dict(m.factors)
    for atom, n in corner.factors:
        powers[atom] = powers.get(atom, 0) - n
    return monomial(powers)
