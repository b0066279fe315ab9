"""Sums of terms: products, powers, and the bounds that every sum keeps."""

from __future__ import annotations

from fractions import Fraction
from math import comb

from bpir.ir.effort import spend
from bpir.ir.expressions.atoms import (
    DIGITS,
    LARGE,
    TERMS,
    UNIT,
    Monomial,
    power,
    product,
    products,
)
from bpir.ir.expressions.error import refuse

Coefficient = int | Fraction  # a Fraction only where it is not integral; never a float


Terms = dict[Monomial, Coefficient]


def _check_coefficients(terms: Terms) -> None:
    for c in terms.values():
        if type(c) is int:
            if not -LARGE < c < LARGE:
                refuse("an integer is too large", DIGITS, "digits")
        elif not (-LARGE < c.numerator < LARGE and c.denominator < LARGE):
            refuse("a rational number is too large", DIGITS, "digits")


def normal(c: Coefficient) -> Coefficient:
    """The number as an int where it is integral."""
    return c.numerator if c.denominator == 1 else c


def multiply(a: Terms, b: Terms) -> Terms:
    """The product of two Laurent polynomials."""
    if len(a) > len(b):
        a, b = b, a
    if len(a) == 1:
        ((m, c),) = a.items()
        if m is UNIT:
            if c == 1:
                return b
            result = {n: c * d for n, d in b.items()}
        else:
            spend(4 * len(b))
            # A monomial maps different monomials to different ones: nothing collects, nothing cancels.
            result = {products((m, n)) or product(m, n): c * d for n, d in b.items()}
        for n, d in result.items():
            if type(d) is not int and d.denominator == 1:
                result[n] = d.numerator
        return result
    if len(a) * len(b) > TERMS:
        refuse("a product has too many terms", TERMS, "terms")
    return _product_of_sums(a, b)


def _product_of_sums(a: Terms, b: Terms) -> Terms:
    spend(len(a) * len(b))
    result: Terms = {}
    for m, c in a.items():
        for n, d in b.items():
            mn = products((m, n)) or product(m, n)
            result[mn] = result.get(mn, 0) + c * d
    return clean(result)


def clean(terms: Terms) -> Terms:
    """The terms whose coefficients are not zero, integral ones as ints."""
    return {m: c if type(c) is int else normal(c) for m, c in terms.items() if c}


def _power(terms: Terms, n: int) -> Terms:
    if n == 0:
        return {UNIT: 1}
    if n == 1 or not terms:
        return terms
    bits = max(max(c.numerator.bit_length(), c.denominator.bit_length()) for c in terms.values())
    if (bits - 1) * n > LARGE.bit_length():
        refuse("a power is too large", DIGITS, "digits")
    if len(terms) == 1:
        ((m, c),) = terms.items()
        return {power(m, n): c**n}
    if comb(n + len(terms) - 1, len(terms) - 1) > TERMS:
        refuse("a power has too many terms", TERMS, "terms")
    if n < len(terms):
        result = terms
        for _ in range(n - 1):
            result = _product_of_sums(result, terms)
        return result
    spend(6 * comb(n + len(terms) - 1, len(terms) - 1))
    # (c*m + rest)**n = sum of comb(n, k) * (c*m)**k * rest**(n - k), one term after the other
    parts: list[tuple[int, Coefficient, Monomial]] = [(n, 1, UNIT)]
    *others, (m, c) = terms.items()
    for k_m, k_c in others:
        powers = [(power(k_m, k), k_c**k) for k in range(n + 1)]
        parts = [(left - k, v * comb(left, k) * powers[k][1], product(at, powers[k][0])) for left, v, at in parts for k in range(left + 1)]
    sums: Terms = {}
    for left, v, at in parts:
        at = product(at, power(m, left))
        sums[at] = sums.get(at, 0) + v * c**left
    return clean(sums)
