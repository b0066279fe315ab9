"""Expressions as sympy's, and back. Importing this module imports sympy (0.3 s): do so where it is needed.

Text never reaches sympy: both directions build objects. Symbols are sympy's with `integer=True, positive=True`. A `max`,
`min`, `ceildiv` or `floordiv` is a function that sympy knows nothing about, `sympy.Function("max")(x, y)`, because
sympy 1.14 evaluates its own Max, Min, floor and ceiling wrongly: `Max(3, 3/Max(b, t))` becomes `3/Max(b, t)`. For the same
reason no answer of a proof rests on sympy.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import prod
from typing import Any

import sympy

from bpir.ir.expressions.atoms import Atom, Monomial
from bpir.ir.expressions.expression import (
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

NODES: dict[str, Any] = {name: sympy.Function(name) for name in ("max", "min", "ceildiv", "floordiv")}
"""The functions that represent nodes, opaque to sympy."""

_BUILDERS: dict[str, Callable[..., Expr]] = {"max": maximum, "min": minimum, "ceildiv": ceildiv, "floordiv": floordiv}
_WITH_ARGUMENTS: Any = (sympy.Add, sympy.Mul, sympy.Pow, *NODES.values())
_WRONG = {sympy.Max: "max", sympy.Min: "min", sympy.ceiling: "ceildiv", sympy.floor: "floordiv"}


def to_sympy(expr: Expr) -> Any:
    """The same expression in sympy, each `max`, `min`, `ceildiv` and `floordiv` as the function of `NODES`."""
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
    return NODES[atom.kind](*(_outward(a, known) for a in atom.arguments))


def from_sympy(value: Any) -> Expr:
    """The expression that a sympy object says; its symbols are taken for positive integers, whatever they assume.

    Raises:
        ExpressionError: a float, an unknown function, a power that is not an integer, one of sympy's own Max, Min, floor and
        ceiling (which it may have evaluated wrongly before), or anything else not of the language.
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
            if isinstance(node, _WITH_ARGUMENTS):
                stack.extend((argument, False) for argument in node.args)
            continue
        done[node] = _inward(node, done)
    return done[value]


def _inward(node: Any, done: dict[Any, Expr]) -> Expr:
    """The expression of a node, of whose arguments those are done."""
    for kinds, read in _READERS:
        if isinstance(node, kinds):
            return read(node, done)
    if type(node) in _WRONG:
        function = _WRONG[type(node)]
        raise ExpressionError(f"sympy's {type(node).__name__} evaluates wrongly: use sympy.Function('{function}'), which is opaque to it")
    raise ExpressionError(f"{type(node).__name__} is not part of the language of expressions")


def _inward_power(node: Any, done: dict[Any, Expr]) -> Expr:
    base, exponent = node.args
    if not isinstance(exponent, sympy.Integer):
        raise ExpressionError(f"'{exponent}' is not an integer exponent")
    return done[base] ** int(exponent)


def _inward_node(node: Any, done: dict[Any, Expr]) -> Expr:
    name = next(name for name, opaque in NODES.items() if isinstance(node, opaque))
    return _node(name, [done[a] for a in node.args])


_READERS: tuple[tuple[Any, Callable[[Any, dict[Any, Expr]], Expr]], ...] = (
    (sympy.Integer, lambda node, done: constant(int(node))),
    (sympy.Rational, lambda node, done: constant(Fraction(int(node.p), int(node.q)))),
    (sympy.Symbol, lambda node, done: symbol(node.name)),
    (sympy.Pow, _inward_power),
    (sympy.Add, lambda node, done: total(done[a] for a in node.args)),
    (sympy.Mul, lambda node, done: prod((done[a] for a in node.args), start=ONE)),
    (tuple(NODES.values()), _inward_node),
)
"""The function that reads each kind of sympy's objects."""


def _node(name: str, arguments: list[Expr]) -> Expr:
    if name in ("ceildiv", "floordiv") and len(arguments) != 2:
        raise ExpressionError(f"{name} has two arguments, not {len(arguments)}")
    return _BUILDERS[name](*arguments)
