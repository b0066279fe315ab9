"""Expressions are the same after a conversion to sympy and back; what sympy evaluates wrongly is refused."""

from __future__ import annotations

from typing import Any

import pytest
import sympy
from hypothesis import given, settings
from integer_trees import GRID, Tree, build, trees
from rational_trees import trees as rational_trees
from tiers import examples

from bpir.ir.expressions.expression import ExpressionError, ceildiv, floordiv, maximum, minimum, symbol
from bpir.ir.expressions.sympy_bridge import NODES, from_sympy, to_sympy

x, y = symbol("x"), symbol("y")
X, Y = sympy.Symbol("x", integer=True, positive=True), sympy.Symbol("y", integer=True, positive=True)


def test_each_construct() -> None:
    assert to_sympy(x / (2 * y) + 3) == X / (2 * Y) + 3
    assert to_sympy(maximum(x * x, y)) == sympy.Function("max")(X**2, Y)
    assert to_sympy(minimum(x * x, y)) == sympy.Function("min")(X**2, Y)
    assert to_sympy(ceildiv(x, y)) == sympy.Function("ceildiv")(X, Y)
    assert to_sympy(floordiv(x, y)) == sympy.Function("floordiv")(X, Y)
    assert to_sympy((x + 1) / (x + y)) == (X + 1) / (X + Y)
    for expr in (maximum(x * x, y), minimum(x * x, y), ceildiv(x, y), floordiv(x, y), (x + 1) / (x + y)):
        assert from_sympy(to_sympy(expr)) is expr


def test_symbols_keep_their_names_whatever_sympy_calls_them() -> None:
    for name in ("S", "E", "I", "N", "O", "Q", "pi", "lambda_"):
        assert to_sympy(symbol(name)) == sympy.Symbol(name, integer=True, positive=True)
        assert from_sympy(sympy.Symbol(name)) is symbol(name)


@settings(max_examples=examples(150), deadline=None)
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
    assert from_sympy(there.subs(numbers)).constant == expected
    assert back.evaluate(point) == expected
    assert not there.has(sympy.Max, sympy.Min, sympy.floor, sympy.ceiling)


def test_sympy_does_not_look_into_nodes() -> None:
    """Of each of these, sympy's own functions say something that is false (1.14)."""
    b, t = symbol("b"), symbol("t")
    expr = maximum(3, 3 / maximum(b, t))
    outside = NODES["max"](3, 3 / NODES["max"](sympy.Symbol("b"), sympy.Symbol("t")))
    assert from_sympy(outside).evaluate({"b": 1, "t": 2}) == 3
    assert from_sympy(sympy.expand(to_sympy(expr))).evaluate({"b": 1, "t": 2}) == 3
    nested = minimum(2, ceildiv(4, maximum(b, t)))
    assert from_sympy(sympy.expand(to_sympy(nested))) is nested
    assert nested.evaluate({"b": 64, "t": 8}) == 1


@settings(max_examples=examples(150), deadline=None)
@given(rational_trees)
def test_rational_functions_come_back_as_the_same_object(tree: Tree) -> None:
    from rational_trees import built

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
        (sympy.Max(X, Y), r"sympy's Max evaluates wrongly: use sympy.Function\('max'\), which is opaque to it"),
        (1 + sympy.Min(X, Y), r"sympy's Min evaluates wrongly: use sympy.Function\('min'\)"),
        (sympy.floor(X / Y), r"sympy's floor evaluates wrongly: use sympy.Function\('floordiv'\)"),
        (sympy.ceiling(X / Y), r"sympy's ceiling evaluates wrongly: use sympy.Function\('ceildiv'\)"),
        (sympy.Function("ceildiv")(X), "ceildiv has two arguments, not 1"),
        (sympy.Function("max")(), "max needs an argument"),
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
