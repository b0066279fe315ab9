"""Expressions to sympy and back."""

from __future__ import annotations

from typing import Any

import pytest
import sympy
from hypothesis import given, settings
from test_expression import trees as rational_trees
from test_expression_nodes import GRID, Tree, build, trees

from bpir.ir.expression import ExpressionError, ceildiv, floordiv, maximum, minimum, symbol
from bpir.ir.sympy_bridge import from_sympy, is_zero, to_sympy

x, y = symbol("x"), symbol("y")
X, Y = sympy.Symbol("x", integer=True, positive=True), sympy.Symbol("y", integer=True, positive=True)


def test_each_construct() -> None:
    assert to_sympy(x / (2 * y) + 3) == X / (2 * Y) + 3
    assert to_sympy(maximum(x * x, y)) == sympy.Max(X**2, Y)
    assert to_sympy(minimum(x * x, y)) == sympy.Min(X**2, Y)
    assert to_sympy(ceildiv(x, y)) == sympy.ceiling(X / Y)
    assert to_sympy(floordiv(x, y)) == sympy.floor(X / Y)
    assert to_sympy((x + 1) / (x + y)) == (X + 1) / (X + Y)
    for expr in (maximum(x * x, y), minimum(x * x, y), ceildiv(x, y), floordiv(x, y), (x + 1) / (x + y)):
        assert from_sympy(to_sympy(expr)) is expr


def test_symbols_keep_their_names_whatever_sympy_calls_them() -> None:
    for name in ("S", "E", "I", "N", "O", "Q", "pi", "lambda_"):
        assert to_sympy(symbol(name)) == sympy.Symbol(name, integer=True, positive=True)
        assert from_sympy(sympy.Symbol(name)) is symbol(name)


@settings(max_examples=150, deadline=None)
@given(trees)
def test_values_agree_and_the_way_back(tree: Tree) -> None:
    try:
        expr = build(tree)
    except ExpressionError:
        return
    there = to_sympy(expr)
    back = from_sympy(there)
    point = GRID[37]
    try:
        expected = expr.evaluate(point)
    except ExpressionError:
        return
    numbers = {sympy.Symbol(n, integer=True, positive=True): v for n, v in point.items()}
    found = there.subs(numbers)
    assert found == sympy.Rational(expected.numerator, expected.denominator)
    assert back.evaluate(point) == expected


@settings(max_examples=150, deadline=None)
@given(rational_trees)
def test_rational_functions_come_back_as_the_same_object(tree: Tree) -> None:
    from test_expression import built

    expr = built(tree)
    if expr is not None:
        assert from_sympy(to_sympy(expr)) is expr


@pytest.mark.parametrize(
    "value",
    [sympy.Float(0.5), X * 0.5, sympy.sqrt(X), X**Y, sympy.sin(X), sympy.oo, sympy.pi, sympy.zoo, sympy.nan, sympy.I,
     sympy.Piecewise((X, X > Y), (Y, True)), X > Y, "x", 0.5, 3, None],
)  # fmt: skip
def test_refusals(value: Any) -> None:
    with pytest.raises(ExpressionError):
        from_sympy(value)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (0.5, "0.5 is not a sympy expression"),
        (sympy.sqrt(X), "'1/2' is not an integer exponent"),
        (sympy.sin(X), "sin is not part of the language of expressions"),
    ],
)
def test_refusals_say_why(value: Any, message: str) -> None:
    with pytest.raises(ExpressionError, match=message):
        from_sympy(value)


def test_deep_objects_do_not_recurse() -> None:
    value: Any = X
    for _ in range(300):
        value = sympy.Add(1, sympy.Mul(2, value, evaluate=False), evaluate=False)
    assert from_sympy(value).evaluate({"x": 1}) == 2**301 - 1


def test_zero() -> None:
    assert is_zero(x - x)
    assert not is_zero(x - y)
