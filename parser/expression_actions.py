"""Actions of the expression grammar: exact expressions in positive integer symbols."""

from __future__ import annotations

from typing import Any

from bpir.ir.diagnostic import DiagnosticError, fail, suggestion
from bpir.ir.expression import Expr, ExpressionError, ceildiv, constant, floordiv, maximum, minimum, symbol
from bpir.parser.attribute_actions import integer
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
    from bpir.ir.expression_core import total

    terms: list[Expr] = v[0]
    return terms[0] if len(terms) == 1 else total(terms)


def _more(p: ParserState, v: list[Any], start: int, end: int) -> list[Expr]:
    v[0].append(v[2] if v[1] == "+" else -v[2])
    found: list[Expr] = v[0]
    return found


def _multiply(p: ParserState, v: list[Any], start: int, end: int) -> Expr:
    product: Expr = v[0] * v[2]
    return product


def _divide(p: ParserState, v: list[Any], start: int, end: int) -> Expr:
    quotient: Expr = v[0] / v[2]
    return quotient


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
    "expr_multiply": _checked(_multiply),
    "expr_divide": _checked(_divide),
    "expr_negate": _negate,
    "expr_power": _checked(_power),
    "expr_integer": _checked(_integer),
    "expr_symbol": _checked(_symbol),
    "expr_call": _checked(_call),
}

__all__ = ["EXPRESSION_ACTIONS", "DiagnosticError"]
