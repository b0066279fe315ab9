"""max, min, ceildiv and floordiv agree with Python's integers; equal ones have one form."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from integer_trees import GRID, NAMES, Tree, build, trees, value
from tiers import examples

from bpir.ir.expressions.expression import (
    ONE,
    ZERO,
    Expr,
    ExpressionError,
    ceildiv,
    constant,
    floordiv,
    maximum,
    minimum,
    symbol,
)

a, b, t, x, y, z, e, h, n = (symbol(name) for name in ("a", "b", "t", "x", "y", "z", "e", "h", "n"))


@settings(max_examples=examples(500), deadline=None)
@given(trees)
def test_evaluation_agrees_with_integers(tree: Tree) -> None:
    try:
        expr = build(tree)
    except ExpressionError as error:
        assert str(error) == "division by zero"
        return
    for point in GRID[::3]:
        try:
            expected = value(tree, point)
        except ZeroDivisionError:
            continue
        try:
            found = expr.evaluate(point)
        except ExpressionError:
            # a form may divide by what is zero here only where the tree does so as well
            pytest.fail(f"{expr} has no value at {point}, the tree has {expected}")
        assert found == expected, (expr.text, point)


@settings(max_examples=examples(300), deadline=None)
@given(trees, st.sampled_from(NAMES), st.integers(1, 5))
def test_substitution_commutes_with_evaluation(tree: Tree, name: str, number: int) -> None:
    try:
        expr = build(tree)
        bound = expr.substitute({name: constant(number)})
        renamed = expr.substitute({name: symbol("fresh") + 1})
    except ExpressionError:
        return
    for point in GRID[::5]:
        point = {**point, name: number}
        try:
            expected = expr.evaluate(point)
        except ExpressionError:
            continue
        try:
            assert bound.evaluate(point) == expected
        except ExpressionError as error:
            pytest.fail(f"{bound}: {error}")
        if number > 1:
            assert renamed.evaluate({**point, "fresh": number - 1}) == expected


@settings(max_examples=examples(200), deadline=None)
@given(trees, trees, trees)
def test_lattice_axioms(first: Tree, second: Tree, third: Tree) -> None:
    try:
        p, q, r = build(first), build(second), build(third)
    except ExpressionError:
        return
    assert maximum(p, q) is maximum(q, p)
    assert maximum(p, p) is p
    assert minimum(p, q, r) is minimum(r, q, p, q)
    assert maximum(p) is p


SAME = [
    (maximum(e * x, e * y), e * maximum(x, y)),
    (maximum(x / t, y), maximum(x, t * y) / t),
    (maximum(4 * x, 6 * y), 2 * maximum(2 * x, 3 * y)),
    (maximum(x / 2, y / 3), maximum(3 * x, 2 * y) / 6),
    (maximum(x, maximum(y, z)), maximum(z, x, y)),
    (maximum(e * x, e * maximum(y, z)), e * maximum(x, y, z)),
    (maximum(maximum(a, b) * maximum(a, t)), maximum(a, b) * maximum(a, t)),
    (maximum(a, a + b), a + b),
    (maximum(a, ONE), a),
    (maximum(2 * a, a + 1), 2 * a),
    (maximum(a, ZERO), a),
    (minimum(a, a + b), a),
    (minimum(e * a, e), e),
    (maximum(constant(3), constant(5), x), maximum(5, x)),
    (maximum(constant(3), constant(5)), constant(5)),
    (minimum(-x, -y), -maximum(x, y)),
    (maximum(x / (a + 1), y / (a + 1)), maximum(x, y) / (a + 1)),
    (ceildiv(3 * a, 3 * b), ceildiv(a, b)),
    (ceildiv(a * t, b * t), ceildiv(a, b)),
    (ceildiv(a + n * b, b), n + ceildiv(a, b)),
    (ceildiv(a + n * (x + y), x + y), n + ceildiv(a, x + y)),
    (ceildiv(a * b, b), a),
    (ceildiv(7 * x, 4), x + ceildiv(3 * x, 4)),
    (floordiv(-x, 4) + x, floordiv(3 * x, 4)),
    (ceildiv(7, 2), constant(4)),
    (floordiv(-7, 2), constant(-4)),
    (ceildiv(1, t), ONE),
    (floordiv(1, t + 1), ZERO),
    (ceildiv(ceildiv(x, 4), t), ceildiv(x, 4 * t)),
    (floordiv(floordiv(x, a) + 2 * b, b), floordiv(x, a * b) + 2),
    (ceildiv(256 * ceildiv(x, 256), 64), 4 * ceildiv(x, 256)),
    (ceildiv(x + y, x + y), ONE),
    (floordiv((a + 1) * x, (a + 1) * y), floordiv(x, y)),
    (ceildiv(b**3 + n * (x + y), x + y), n + ceildiv(b**3, x + y)),
    (ceildiv(-3, 4 * a), ZERO),
    (ceildiv(-a, a + b), ZERO),
    (floordiv(-3, 3 * a), constant(-1)),
    (floordiv(-a, a + b), constant(-1)),
    (floordiv(x - ceildiv(y, a), b), floordiv(a * x - y, a * b)),
    (ceildiv(-floordiv(x, a), b), ceildiv(-x, a * b)),
]

OTHER = [
    (ceildiv(-4, 3 * a), ZERO),  # a = 1: -1
    (ceildiv(1 - a, a), ONE),  # 0
    (floordiv(-4, 3 * a), constant(-1)),  # a = 1: -2
    (floordiv(1 - a, a), constant(-1)),  # a = 1: 0
    (floordiv(x - ceildiv(y, a) - ceildiv(z, a), b), floordiv(a * x - y - z, a * b)),  # 1, 1, 1, 2, 3: -1 and 0
    (ceildiv(-2 * floordiv(x, a), b), ceildiv(-2 * x, a * b)),  # x = 1, a = 2, b = 1: 0 and -1
]


@pytest.mark.parametrize(("left", "right"), OTHER, ids=[left.text for left, _ in OTHER])
def test_other_forms(left: Expr, right: Expr) -> None:
    assert left is not right


@pytest.mark.parametrize(("left", "right"), SAME, ids=[left.text for left, _ in SAME])
def test_one_form(left: Expr, right: Expr) -> None:
    assert left is right


@pytest.mark.parametrize(
    ("expr", "text"),
    [
        (maximum(e * y, e * x), "e*max(x, y)"),
        (2 * z * maximum(x, y) ** 2, "2*max(x, y)**2*z"),
        (4 * ceildiv(x, 4), "4*ceildiv(x, 4)"),
        (floordiv(x, y) + 1, "floordiv(x, y) + 1"),
        (x / maximum(y, z), "x/max(y, z)"),
        (x + y / 2 + Fraction(1, 3), "x + y/2 + 1/3"),
        (x - y / 2 - Fraction(1, 3), "x - y/2 - 1/3"),
    ],
)
def test_text(expr: Expr, text: str) -> None:
    assert expr.text == text


def test_aligned_offsets_do_not_nest() -> None:
    """The offsets of a concrete plan: 300 symbolic sizes at mixed alignments stay shallow and short."""
    offset, point = ZERO, {}
    expected = 0
    for index in range(300):
        alignment = (64, 256, 128, 4096)[index % 4]
        point[f"s{index}"] = 37 * index + 11
        offset = ceildiv(offset + symbol(f"s{index}"), alignment) * alignment
        expected = -(-(expected + point[f"s{index}"]) // alignment) * alignment
    assert offset.depth <= 3
    assert len(offset.text) < 20_000
    assert offset.evaluate(point) == expected


def test_refusals() -> None:
    with pytest.raises(ExpressionError, match="max needs an argument"):
        maximum()
    acts: list[Callable[[], Expr]] = [lambda: ceildiv(x, 0), lambda: floordiv(x, y - y)]
    for act in acts:
        with pytest.raises(ExpressionError, match="division by zero"):
            act()
    with pytest.raises(ExpressionError, match="division by zero"):
        ceildiv(x, y - z).evaluate({"x": 1, "y": 2, "z": 2})
    with pytest.raises(ExpressionError, match="division by zero"):
        (x / floordiv(x, y)).evaluate({"x": 1, "y": 2})
    with pytest.raises(ExpressionError, match="division by zero"):
        (x / floordiv(x, y) ** 2 + x).evaluate({"x": 1, "y": 2})
