"""Arrays of exact numbers: no value wraps, and every point of a grid has the value that Python integers give."""

from __future__ import annotations

import itertools
import random
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiers import examples

from bpir.ir.expressions.expression import Expr, ExpressionError, ceildiv, constant, floordiv, maximum, minimum, symbol
from bpir.sweep.arithmetic.evaluation import Evaluator, fractions_at
from bpir.sweep.arithmetic.whole import LARGEST, SMALLEST, Whole, scalar, whole

t, B, D, p = (symbol(name) for name in "tBDp")


def everywhere(expr: Expr, axes: dict[str, list[int]]) -> list[Fraction | None]:
    values = Evaluator({name: len(numbers) for name, numbers in axes.items()}).on(axes)
    return fractions_at(values.of(expr), values.shape)


def one_by_one(expr: Expr, axes: dict[str, list[int]]) -> list[Fraction | None]:
    """The oracle: each point by itself, in Python integers and fractions."""
    found: list[Fraction | None] = []
    for point in itertools.product(*axes.values()):
        try:
            found.append(expr.evaluate(dict(zip(axes, point, strict=True))))
        except ExpressionError:
            found.append(None)
    return found


def test_the_type_is_chosen_where_the_largest_value_leaves_64_bits() -> None:
    """2**62 + (2**62 - 1) is the largest number of 64 bits, one more is none; so for products and differences."""
    half = scalar(2**62)
    assert (half + scalar(2**62 - 1)).values.dtype == np.int64
    above = half + half
    assert above.values.dtype == np.object_ and above.values.item() == 2**63
    assert (scalar(3_037_000_499) * scalar(3_037_000_499)).values.dtype == np.int64  # the largest square below 2**63
    square = scalar(3_037_000_500) * scalar(3_037_000_500)
    assert square.values.dtype == np.object_ and square.values.item() == 3_037_000_500**2 > LARGEST
    below = scalar(SMALLEST) - scalar(1)
    assert below.values.dtype == np.object_ and below.values.item() == -(2**63) - 1


def test_a_value_that_fits_again_is_64_bits_again() -> None:
    back = whole([2**40, 2**41]) * scalar(2**30) // scalar(2**35)
    assert back.values.tolist() == [2**35, 2**36] and back.values.dtype == np.int64


def test_bounds_that_are_too_wide_are_measured_before_python_integers_are_used() -> None:
    loose = Whole(np.array([1, 2]), 0, 2**62)
    assert (loose * loose).values.dtype == np.int64


def test_no_operation_of_numpy_is_done_but_where_the_type_is_chosen() -> None:
    """By construction: in the module of `Whole` values are computed in `_done` and `where` alone, and elsewhere with `Whole` alone."""
    import ast
    import inspect

    from bpir.sweep.arithmetic import ratio
    from bpir.sweep.arithmetic import whole as module

    made = {
        function.name
        for function in ast.walk(ast.parse(inspect.getsource(module)))
        if isinstance(function, ast.FunctionDef)
        for node in ast.walk(function)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Whole"
    }
    assert made == {"_done", "where", "tight", "whole", "scalar"}
    source = inspect.getsource(ratio)
    assert "Whole(" not in source and all(f".values {sign}" not in source for sign in "+-*/%")


CASES = {
    "beyond 64 bits": 2 * B * 10**18 * t + D * B,
    "a share": (12 * B * D * 10**15 + 6 * B) / t / 6,
    "nodes": maximum(B * t * 10**17, D * D * 10**14) * ceildiv(D + B, t) / p,
    "rounded": floordiv(B * 10**18 - D * 10**17 * t, p) * 4,
    "a pole": (t + 1) / (p - 3),
    "fractions in a maximum": maximum(constant(1) / t, B / (D + 1)),
    "a minimum of three": minimum(B / t, D / p, constant(Fraction(7, 3))),
    "signs": (B - D) ** 5 / (t - 7) / 7,
    "cancels": (B * 10**18 - (B - 1) * 10**18) * D,
    "a number": constant(10**30),
}


@pytest.mark.parametrize("expr", CASES.values(), ids=CASES)
def test_values_on_a_grid_are_those_of_python_integers(expr: Expr) -> None:
    axes = {"t": [1, 2, 3, 7, 8], "B": [1, 5, 64], "D": [1, 1000, 7], "p": [1, 3, 96]}
    assert everywhere(expr, axes) == one_by_one(expr, axes)


def leaves() -> st.SearchStrategy[Expr]:
    numbers = st.one_of(st.integers(-9, 9), st.integers(-(2**70), 2**70)).map(constant)
    return st.one_of(st.sampled_from([t, B, D]), numbers)


def composed(inner: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    def combined(kind: str, a: Expr, b: Expr) -> Expr:
        try:
            if kind in "+-*":
                return a + b if kind == "+" else a - b if kind == "-" else a * b
            return {"/": lambda: a / b, "max": lambda: maximum(a, b), "min": lambda: minimum(a, b), "ceil": lambda: ceildiv(a, b)}[kind]()
        except ExpressionError:
            return a

    return st.builds(combined, st.sampled_from(["+", "-", "*", "/", "max", "min", "ceil"]), inner, inner)


@settings(max_examples=examples(150), deadline=None)
@given(st.recursive(leaves(), composed, max_leaves=8))
def test_any_expression(expr: Expr) -> None:
    axes = {"t": [1, 2, 8], "B": [3, 2**40], "D": [1, 5]}
    assert everywhere(expr, axes) == one_by_one(expr, axes)


def test_two_thousand_random_points_with_values_beyond_64_bits() -> None:
    """Sums of products like those of a plan; most points have a value that 64 bits do not hold."""
    draw = random.Random(16)
    expr = 24 * B * 4096 * D * 12288**2 * 96 / t + ceildiv(12 * D * 12288, t) * B**3 + maximum(B * D**2, 10**19 // 7 * t) / p
    axes = {"t": [1, 2, 4, 8], "B": draw.sample(range(1, 10**4), 20), "D": draw.sample(range(1, 10**5), 25), "p": [1, 2, 16, 96]}
    found, points = everywhere(expr, axes), list(itertools.product(*axes.values()))
    places = draw.sample(range(len(points)), 2_000)
    expected = [expr.evaluate(dict(zip(axes, points[place], strict=True))) for place in places]
    assert [found[place] for place in places] == expected
    assert sum(value > LARGEST for value in expected) > 1_000


def test_a_symbol_without_values_is_refused() -> None:
    with pytest.raises(ExpressionError, match="'x' has no value"):
        everywhere(symbol("x") + t, {"t": [1]})
