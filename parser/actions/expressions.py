"""Actions of the expression grammar: exact expressions in positive integer symbols."""

from __future__ import annotations

from typing import Any

from bpir.ir.diagnostic import fail, suggestion
from bpir.ir.expressions.expression import (
    TERMS,
    Expr,
    ExpressionError,
    ceildiv,
    constant,
    floordiv,
    maximum,
    minimum,
    quotient,
    symbol,
    total,
)
from bpir.parser.actions.attributes import integer
from bpir.parser.engine import RawAction
from bpir.parser.state import ParserState

_FUNCTIONS = {"max": (maximum, 1, None), "min": (minimum, 1, None), "ceildiv": (ceildiv, 2, 2), "floordiv": (floordiv, 2, 2)}


def _checked(action: RawAction) -> RawAction:
    """The action with a place given to what the algebra refuses (too large, division by zero)."""

    def checked(p: ParserState, v: list[Any], start: int, end: int) -> Any:
        try:
            return action(p, v, start, end)
        except ExpressionError as problem:
            raise fail(str(problem), p.span(start, end)) from None

    return checked


def _sum(p: ParserState, v: list[Any], start: int, end: int) -> Expr:
    terms: list[Expr] = v[0]
    return terms[0] if len(terms) == 1 else total(terms)


def _more(p: ParserState, v: list[Any], start: int, end: int) -> list[Expr]:
    if len(v[0]) >= TERMS:
        raise fail(f"a sum has too many terms: the limit is {TERMS}", p.span(start, end))
    v[0].append(v[2] if v[1] == "+" else -v[2])
    found: list[Expr] = v[0]
    return found


def _first_factor(p: ParserState, v: list[Any], start: int, end: int) -> tuple[list[Expr], list[Expr]]:
    return [v[0]], []


def _factor(p: ParserState, v: list[Any], start: int, end: int) -> tuple[list[Expr], list[Expr]]:
    factors: tuple[list[Expr], list[Expr]] = v[0]
    above, below = factors
    if len(above) + len(below) >= TERMS:
        raise fail(f"a product has too many factors: the limit is {TERMS}", p.span(start, end))
    (above if v[1] == "*" else below).append(v[2])
    return factors


def _term(p: ParserState, v: list[Any], start: int, end: int) -> Expr:
    factors: tuple[list[Expr], list[Expr]] = v[0]
    above, below = factors
    if not below and len(above) == 1:
        return above[0]
    found = quotient(above, below)
    if found is None:
        found = _product(above) / _product(below) if below else _product(above)
    return found


def _product(factors: list[Expr]) -> Expr:
    """The product, in pairs of pairs: multiplying one by one would be quadratic in the number of factors."""
    while len(factors) > 1:
        pairs = [a * b for a, b in zip(factors[::2], factors[1::2], strict=False)]
        factors = [*pairs, factors[-1]] if len(factors) % 2 else pairs
    return factors[0]


def _negate(p: ParserState, v: list[Any], start: int, end: int) -> Expr:
    negative: Expr = -v[1]
    return negative


def _power(p: ParserState, v: list[Any], start: int, end: int) -> Expr:
    result: Expr = v[0] ** v[2]
    return result


def _integer(p: ParserState, v: list[Any], start: int, end: int) -> Expr:
    if len(v[0]) > 1200:
        raise fail("an integer in an expression has at most 1200 digits", p.span(start, end))
    return constant(integer(p, v, start, end))


def _symbol(p: ParserState, v: list[Any], start: int, end: int) -> Expr:
    return symbol(v[0])


def _call(p: ParserState, v: list[Any], start: int, end: int) -> Expr:
    name, arguments = v[0], v[2]
    if name not in _FUNCTIONS:
        raise fail(f"unknown function '{name}'{suggestion(name, _FUNCTIONS)}", p.span(start, start + len(name)))
    function, least, most = _FUNCTIONS[name]
    if len(arguments) < least or (most is not None and len(arguments) > most):
        raise fail(f"'{name}' takes {least} arguments, found {len(arguments)}", p.span(start, end))
    result: Expr = function(*arguments)  # type: ignore[operator]
    return result


EXPRESSION_ACTIONS: dict[str, RawAction] = {
    "expr_sum": _checked(_sum),
    "expr_more": _more,
    "expr_first_factor": _first_factor,
    "expr_factor": _factor,
    "expr_term": _checked(_term),
    "expr_negate": _negate,
    "expr_power": _checked(_power),
    "expr_integer": _checked(_integer),
    "expr_symbol": _checked(_symbol),
    "expr_call": _checked(_call),
}
