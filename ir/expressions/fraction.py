"""Division by a polynomial of two or more terms: one canonical fraction, its common factors cancelled.

sympy's polynomial rings compute the greatest common divisor; they are imported only when an exact division has failed.
"""

from __future__ import annotations

from fractions import Fraction
from math import gcd, lcm, prod
from typing import Any

from bpir.ir.effort import spend
from bpir.ir.expressions.atoms import UNIT, Atom, Monomial, monomial, power, product
from bpir.ir.expressions.error import refuse
from bpir.ir.expressions.normal_form import ZERO, Expr, intern
from bpir.ir.expressions.terms import Coefficient, Terms, clean, multiply, normal

GCD_TERMS = 500  # terms of a polynomial whose common factors with another are sought
GCD_WORK = 1_000_000  # dense terms in the shared symbols times bits of the largest coefficient: what sympy's time follows
_DIVISION_STEPS = 2_000  # leading terms that a polynomial division may remove


def fraction(numerator: Expr, denominator: Expr) -> Expr:
    """The quotient of two Laurent polynomials, the second of which is not zero.

    Raises:
        ExpressionError: the polynomials are too large to cancel their common factors.
        ZeroDivisionError: the second one is zero.
    """
    if not denominator.terms:
        raise ZeroDivisionError("the denominator of a fraction is zero")
    if not numerator.terms:
        return ZERO
    above, above_monomial, above_content = primitive(numerator.terms)
    below, below_monomial, below_content = primitive(denominator.terms)
    if len(below) > 1:
        if above == below:
            above = below = {UNIT: 1}
        elif len(above) > 1:
            above, below = _cancel(above, below)
    unit = {product(above_monomial, power(below_monomial, -1)): normal(Fraction(above_content) / below_content)}
    terms = multiply(unit, above)
    return intern(terms, intern(below) if len(below) > 1 else None)


def multiply_fractions(a: Expr, b: Expr) -> Expr:
    """The product, where one or both have a denominator."""
    numerator = intern(multiply(a.terms, b.terms))
    if a.denominator is None or b.denominator is None:
        denominator = a.denominator or b.denominator
    else:
        denominator = intern(multiply(a.denominator.terms, b.denominator.terms))
    assert denominator is not None
    return fraction(numerator, denominator)


def add_fraction(a: Expr, numerator: Expr, denominator: Expr) -> Expr:
    """`a + numerator/denominator`"""
    if a.denominator is None:
        return fraction(a * denominator + numerator, denominator)
    if a.denominator is denominator:
        return fraction(intern(a.terms) + numerator, denominator)
    return fraction(intern(a.terms) * denominator + numerator * a.denominator, a.denominator * denominator)


def primitive(terms: Terms) -> tuple[Terms, Monomial, Coefficient]:
    """The terms as polynomial * monomial * content, not zero.

    The polynomial has integer coefficients without a common factor, no monomial factor and a positive leading
    coefficient.
    """
    common = common_monomial(terms)
    content = rational_content(terms)
    if terms[leading(terms)] < 0:
        content = -content
    if content == 1 and common is UNIT:
        return terms, common, content
    spend(2 * len(terms))
    inverted = power(common, -1)
    return {product(m, inverted): normal(Fraction(c) / content) for m, c in terms.items()}, common, content


def leading(terms: Terms) -> Monomial:
    """The monomial that is printed first; on polynomials this is the graded lexicographic order."""
    return min(terms, key=lambda m: m.key)


def common_monomial(terms: Terms) -> Monomial:
    """The greatest monomial that divides every term, negative powers included (1 at most, for atoms that some term
    lacks).
    """
    least: dict[Atom, int] = {}
    seen: dict[Atom, int] = {}
    for m in terms:
        for atom, n in m.factors:
            seen[atom] = seen.get(atom, 0) + 1
            if atom not in least or n < least[atom]:
                least[atom] = n
    return monomial({atom: n if seen[atom] == len(terms) else min(n, 0) for atom, n in least.items()})


def rational_content(terms: Terms) -> Coefficient:
    """The positive number by which the coefficients are integers without a common factor."""
    if all(type(c) is int for c in terms.values()):
        return gcd(*terms.values())  # type: ignore[arg-type]
    scale = lcm(*(c.denominator for c in terms.values()))
    return normal(Fraction(gcd(*((c * scale).numerator for c in terms.values())), scale))


def _cancel(above: Terms, below: Terms) -> tuple[Terms, Terms]:
    """Two primitive polynomials without their greatest common divisor."""
    quotient, remainder = divide(above, below, exact=True)
    if not remainder:
        return quotient, {UNIT: 1}
    common = _common_divisor(above, below)
    if len(common) > 1:
        above, rest = divide(above, common)
        below, more = divide(below, common)
        if rest or more:
            refuse("a division of polynomials takes too long", _DIVISION_STEPS, "steps")
    if below[leading(below)] < 0:
        above = {m: -c for m, c in above.items()}
        below = {m: -c for m, c in below.items()}
    return above, below


def _common_divisor(above: Terms, below: Terms) -> Terms:
    """The greatest common divisor of two primitive polynomials.

    It has only the symbols that occur in both, and divides each coefficient of the powers of the others.
    """
    shared = _shared_atoms(above, below)
    if not shared:
        return {UNIT: 1}
    for terms in (above, below):
        if len(terms) > GCD_TERMS:
            refuse("a fraction has too many terms", GCD_TERMS, "terms")
    index = {atom: i for i, atom in enumerate(shared)}
    parts = [*_coefficients(above, index), *_coefficients(below, index)]
    work = _gcd_work(parts, len(shared))
    if work > GCD_WORK:
        refuse("a fraction is too large to find its common factors", GCD_WORK, "coefficient bits")
    spend(1_200 + work // 10)
    common = _gcd(parts, len(shared))
    return {monomial(dict(zip(shared, exponents, strict=True))): c for exponents, c in common.items()}


def _shared_atoms(above: Terms, below: Terms) -> list[Atom]:
    """The atoms that occur in both, by their texts."""
    first = {atom for m in above for atom, _ in m.factors}
    return sorted({atom for m in below for atom, _ in m.factors if atom in first}, key=lambda atom: atom.text)


_Part = dict[tuple[int, ...], int]
"""A polynomial in the shared atoms: coefficients by exponents."""


def _gcd_work(parts: list[_Part], count: int) -> int:
    """A number that sympy's time for the greatest common divisor of polynomials in so many atoms follows."""
    size = prod(1 + max(exponents[i] for part in parts for exponents in part) for i in range(count))
    bits = max(abs(c).bit_length() for part in parts for c in part.values())
    return size * bits * (1 + len(parts) // 4)


def _gcd(parts: list[_Part], count: int) -> _Part:
    """The greatest common divisor of polynomials in so many atoms, 1 if it is a number."""
    from sympy.polys.domains import ZZ
    from sympy.polys.orderings import grlex
    from sympy.polys.rings import PolyRing

    ring = PolyRing([f"x{i}" for i in range(count)], ZZ, grlex)
    common: Any = ring.zero
    for part in sorted(parts, key=len):
        common = common.gcd(ring.from_dict({exponents: ZZ(c) for exponents, c in part.items()}))
        if common.is_ground:
            return {(0,) * count: 1}
    return {exponents: int(c) for exponents, c in common.items()}


def _coefficients(terms: Terms, index: dict[Atom, int]) -> list[_Part]:
    """The polynomials in the indexed atoms, by exponents, that are coefficients of the powers of the others."""
    groups: dict[Monomial, _Part] = {}
    for m, c in terms.items():
        exponents = [0] * len(index)
        others: dict[Atom, int] = {}
        for atom, n in m.factors:
            if atom in index:
                exponents[index[atom]] = n
            else:
                others[atom] = n
        groups.setdefault(monomial(others), {})[tuple(exponents)] = int(c)
    return list(groups.values())


def divide(above: Terms, below: Terms, exact: bool = False) -> tuple[Terms, Terms]:
    """Quotient and remainder of polynomials (no negative powers) in the graded lexicographic order.

    With `exact`, a remainder is only known not to be zero; the division stops at its first term. Where the division
    takes too many steps the quotient is zero.
    """
    lead = leading(below)
    inverted, scale = power(lead, -1), below[lead]
    rest = dict(above)
    quotient: Terms = {}
    remainder: Terms = {}
    steps = _DIVISION_STEPS // (1 + len(below) // 10)
    if len(above) > steps:
        return {}, above
    while rest:
        spend(len(rest) + len(below))
        first = leading(rest)
        factor = product(first, inverted)
        if any(n < 0 for _, n in factor.factors):
            if exact:
                return quotient, rest
            remainder[first] = rest.pop(first)
            continue
        steps -= 1
        if steps < 0 or len(rest) > _DIVISION_STEPS:
            return {}, above
        c = normal(Fraction(rest[first]) / scale)
        if exact and type(c) is not int:
            return quotient, rest
        quotient[factor] = c
        for m, d in below.items():
            key = product(m, factor)
            value = rest.get(key, 0) - c * d
            if value:
                rest[key] = normal(value)
            else:
                del rest[key]
    return clean(quotient), clean(remainder)
