"""Expressions as sympy's, and back. Importing this module imports sympy (0.3 s): do so where it is needed.

Text never reaches sympy: both directions build objects. Symbols are sympy's with `integer=True, positive=True`.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import sympy

from bpir.ir.expression import (
    ONE,
    Expr,
    ExpressionError,
    ceildiv,
    constant,
    floordiv,
    maximum,
    minimum,
    symbol,
    total,
)
from bpir.ir.expression_atoms import Atom, Monomial


def to_sympy(expr: Expr) -> Any:
    """The same expression in sympy: `max` as Max, `min` as Min, `floordiv` as floor, `ceildiv` as ceiling of the
    quotient.
    """
    known: dict[Atom, Any] = {}
    return _outward(expr, known)


def _outward(expr: Expr, known: dict[Atom, Any]) -> Any:
    result = sympy.Add(*(_term(m, c, known) for m, c in expr.terms.items()))
    return result if expr.denominator is None else result / _outward(expr.denominator, known)


def _term(m: Monomial, c: int | Fraction, known: dict[Atom, Any]) -> Any:
    factors = [sympy.Rational(c.numerator, c.denominator)]
    for atom, n in m.factors:
        if atom not in known:
            known[atom] = _atom(atom, known)
        factors.append(known[atom] ** n)
    return sympy.Mul(*factors)


def _atom(atom: Atom, known: dict[Atom, Any]) -> Any:
    if atom.kind == "symbol":
        return sympy.Symbol(atom.text, integer=True, positive=True)
    arguments = [_outward(a, known) for a in atom.arguments]
    if atom.kind == "max":
        return sympy.Max(*arguments)
    if atom.kind == "min":
        return sympy.Min(*arguments)
    quotient = arguments[0] / arguments[1]
    return sympy.floor(quotient) if atom.kind == "floordiv" else sympy.ceiling(quotient)


def from_sympy(value: Any) -> Expr:
    """The expression that a sympy object says; its symbols are taken for positive integers, whatever they assume.

    Raises:
        ExpressionError: a float, an unknown function, a power that is not an integer, or anything else not of the
        language.
    """
    if not isinstance(value, sympy.Basic):
        raise ExpressionError(f"{value!r} is not a sympy expression")
    done: dict[Any, Expr] = {}
    stack: list[tuple[Any, bool]] = [(value, False)]
    while stack:  # no recursion: the nesting is the caller's
        node, ready = stack.pop()
        if node in done:
            continue
        if not ready:
            stack.append((node, True))
            if isinstance(node, (sympy.Add, sympy.Mul, sympy.Pow, sympy.Max, sympy.Min, sympy.floor, sympy.ceiling)):
                stack.extend((argument, False) for argument in node.args)
            continue
        done[node] = _inward(node, done)
    return done[value]


def _inward(node: Any, done: dict[Any, Expr]) -> Expr:
    if isinstance(node, sympy.Integer):
        return constant(int(node))
    if isinstance(node, sympy.Rational):
        return constant(Fraction(int(node.p), int(node.q)))
    if isinstance(node, sympy.Symbol):
        return symbol(node.name)
    if isinstance(node, sympy.Pow):
        base, exponent = node.args
        if not isinstance(exponent, sympy.Integer):
            raise ExpressionError(f"'{exponent}' is not an integer exponent")
        return done[base] ** int(exponent)
    if isinstance(node, sympy.Add):
        return total(done[a] for a in node.args)
    if isinstance(node, sympy.Mul):
        product = ONE
        for argument in node.args:
            product = product * done[argument]
        return product
    if isinstance(node, sympy.Max):
        return maximum(*(done[a] for a in sorted(node.args, key=lambda a: done[a].text)))
    if isinstance(node, sympy.Min):
        return minimum(*(done[a] for a in sorted(node.args, key=lambda a: done[a].text)))
    if isinstance(node, sympy.floor):
        return floordiv(done[node.args[0]], 1)
    if isinstance(node, sympy.ceiling):
        return ceildiv(done[node.args[0]], 1)
    raise ExpressionError(f"{type(node).__name__} is not part of the language of expressions")


def is_zero(difference: Expr) -> bool:
    """Whether sympy sees that the expression is zero for all positive integers; False where it does not."""
    found = sympy.expand(to_sympy(difference))
    return bool(found is sympy.S.Zero)
