"""The quotient of products of expressions, cancelled before it is made."""

from __future__ import annotations

from fractions import Fraction

from bpir.ir.expressions.atoms import (
    DIGITS,
    LARGE,
    Atom,
    monomial,
)
from bpir.ir.expressions.error import refuse
from bpir.ir.expressions.normal_form import Expr, intern
from bpir.ir.expressions.terms import Coefficient, normal


def quotient(above: list[Expr], below: list[Expr]) -> Expr | None:
    """The product of some expressions divided by that of others, if each is one term (exponents are added up); None otherwise."""
    powers: dict[Atom, int] = {}
    coefficient: Coefficient = 1
    for factors, sign in ((above, 1), (below, -1)):
        for factor in factors:
            if len(factor.terms) != 1 or factor.denominator is not None:
                return None
            for m, c in factor.terms.items():
                if c != 1:
                    coefficient = coefficient * c if sign > 0 else coefficient / Fraction(c)
                    if not (-LARGE < coefficient.numerator < LARGE and coefficient.denominator < LARGE):
                        refuse("a coefficient is too large", DIGITS, "digits")
                for atom, n in m.factors:
                    powers[atom] = powers.get(atom, 0) + sign * n
    if type(coefficient) is not int:
        coefficient = normal(coefficient)
    return intern({monomial(powers): coefficient})
