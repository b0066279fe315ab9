"""Exact symbolic expressions in positive integer symbols: the public face.

Equal normal forms are the same object. Rational functions are decided completely: two of them are equal for all
values of the symbols if and only if they are the same `Expr`. The nodes `max`, `min`, `ceildiv` and `floordiv` are atoms
of the normal form; the rules of `ir/expressions/nodes.py` give many equal ones one form, but not all (`ir/relations/facts.py`
proves more).
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import cache

from bpir.ir.expressions.atoms import DEPTH, DIGITS, EXPONENT, TERMS, monomial, symbol_atom
from bpir.ir.expressions.error import ExpressionError, refuse
from bpir.ir.expressions.fraction import add_fraction, fraction, multiply_fractions
from bpir.ir.expressions.late_operators import ABOVE
from bpir.ir.expressions.nodes import ARGUMENTS, extremum, rounded
from bpir.ir.expressions.normal_form import ONE, ZERO, Expr, combination, constant, intern, symbol, total
from bpir.ir.expressions.sums import quotient
from bpir.ir.expressions.terms import Coefficient, normal
from bpir.ir.expressions.values import Substitution, evaluate

__all__ = [
    "ARGUMENTS",
    "DEPTH",
    "DIGITS",
    "EXPONENT",
    "ONE",
    "TERMS",
    "ZERO",
    "Expr",
    "ExpressionError",
    "ceildiv",
    "combination",
    "constant",
    "floordiv",
    "literal",
    "maximum",
    "minimum",
    "quotient",
    "symbol",
    "term",
    "total",
]


ABOVE.fraction, ABOVE.multiply_fractions, ABOVE.add_fraction = fraction, multiply_fractions, add_fraction
ABOVE.substitute = lambda expr, replacements: Substitution(replacements).apply(expr)
ABOVE.evaluate = lambda expr, values: Fraction(evaluate(expr, values, {}))


def term(coefficient: int | Fraction, powers: Mapping[str, int]) -> Expr:
    """A coefficient times powers of symbols: `term(2, {"B": 1, "t": -1})` is `2*B/t`.

    Raises:
        ExpressionError: a name is no identifier, or a number is out of bounds.
    """
    value = constant(coefficient).constant
    if not value:
        return ZERO
    return intern({monomial({symbol_atom(name): exponent for name, exponent in powers.items()}): normal(value)})


def literal(text: str) -> Expr:
    """The number that decimal digits spell.

    Raises:
        ExpressionError: there are too many digits, or something else than digits.
    """
    if len(text) > DIGITS:
        refuse("an integer is too large", DIGITS, "digits")
    if not (text.isascii() and text.isdigit()):
        raise ExpressionError(f"'{text}' is not an integer")
    return constant(int(text))


def maximum(*arguments: Expr | Coefficient) -> Expr:
    """The largest of one or more expressions.

    Raises:
        ExpressionError: there is no argument, or a bound is exceeded.
    """
    return extremum("max", [a if isinstance(a, Expr) else constant(a) for a in arguments])


def minimum(*arguments: Expr | Coefficient) -> Expr:
    """The smallest of one or more expressions.

    Raises:
        ExpressionError: there is no argument, or a bound is exceeded.
    """
    return extremum("min", [a if isinstance(a, Expr) else constant(a) for a in arguments])


def ceildiv(a: Expr | Coefficient, b: Expr | Coefficient) -> Expr:
    """The smallest integer that is not below a/b.

    Raises:
        ExpressionError: division by zero, or a bound is exceeded.
    """
    return rounded("ceildiv", _quotient(a, b))


def floordiv(a: Expr | Coefficient, b: Expr | Coefficient) -> Expr:
    """The largest integer that is not above a/b.

    Raises:
        ExpressionError: division by zero, or a bound is exceeded.
    """
    return rounded("floordiv", _quotient(a, b))


@cache
def _quotient(a: Expr | Coefficient, b: Expr | Coefficient) -> Expr:
    return (a if isinstance(a, Expr) else constant(a)) / b
