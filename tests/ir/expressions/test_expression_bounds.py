"""The form of an expression gives its sign, whether it is an integer, and its bounds: cases by hand."""

from __future__ import annotations

from fractions import Fraction

import pytest

from bpir.ir.effort import EffortError, limited
from bpir.ir.expressions.bounds import integral, lower_bound, nonnegative, positive
from bpir.ir.expressions.expression import ZERO, Expr, ceildiv, constant, floordiv, maximum, minimum, symbol
from bpir.ir.expressions.intervals import Interval, interval

a, b, c, x, y, z = (symbol(name) for name in "abcxyz")
HALF = constant(Fraction(1, 2))


@pytest.mark.parametrize(
    ("expr", "whole"),
    [
        (ZERO, True),
        (3 * a - b, True),
        (a + b / 2, False),
        (a / 2 + b, False),
        (a + 1 / b, False),
        (1 / (a + 1), False),
        (floordiv(a, 2) * maximum(a, b) - 4, True),
        (maximum(a / 2, b), False),
        (maximum(a / 2, b) + a, False),
    ],
)
def test_integral(expr: Expr, whole: bool) -> None:
    assert integral(expr) is whole


@pytest.mark.parametrize(
    ("expr", "above_zero"),
    [
        (ZERO, False),
        (a, True),
        (a + b - 1, True),  # 1 at least
        (a + b - 2, False),  # 0 where both are 1
        (a - HALF, True),
        (a * floordiv(a, 2), False),  # 0 at 1
        (a * floordiv(a, 2) + 1, True),
        (ceildiv(a, 2), True),
        (a / (b + 1), True),
        (a / (b - c), False),
        (1 / (b - c), False),
        (floordiv(a, 2) / (b + 1), False),
        (minimum(a, b - c), False),
        (maximum(a, b - c), True),
        (maximum(b - 4, c / 2), True),
    ],
)
def test_positive(expr: Expr, above_zero: bool) -> None:
    assert positive(expr) is above_zero


@pytest.mark.parametrize(
    ("expr", "least"),
    [
        (ZERO, 0),
        (a + 2 * b - 7, -4),
        (a - b, None),
        (3 * a / b, 0),
        (a / (a + b), 0),  # as small as one likes
        (a / (a - b), None),
        (floordiv(a, 2) * b, 0),
        (floordiv(a, 2) * b + 3, 3),
        (maximum(5, a) ** 2, 25),
        (minimum(5, a) + 1, 2),
        (ceildiv(a, b), 1),
        (floordiv(a + 7, 4), 2),
        (ceildiv(a + 8, 4), 3),
        (floordiv(a - 8, 4), -2),  # -7/4 rounded down
        (maximum(a - b, 3), 3),
        (minimum(a - b, 3), None),
        (a * minimum(b - 3, c), None),
    ],
)
def test_lower_bound(expr: Expr, least: int | None) -> None:
    assert lower_bound(expr) == least


F = floordiv(a, 2)  # may be zero


@pytest.mark.parametrize(
    ("expr", "strict", "shown"),
    [
        (a * b - 1, False, True),
        (a * b - 1, True, False),
        (a * b * b - b, False, True),
        (a**2 - 2 * a + 1, False, True),
        (a**2 - 3 * a + 2, False, False),
        ((a * b - 1) / (a + b), False, True),
        ((a * b - 1) / (a - b), False, False),
        ((a + b) / (a - b), False, False),
        (F, False, True),
        (F, True, False),
        (F * b, True, False),
        (F * b + 1, True, True),
        (F * b * (b + 1) - F, True, False),
        (b * (F + 1) - F, True, True),  # b - 1 times F, plus b
        (b * (F + 1) - F - 1, True, False),
        (1 / F - 1 / (F * b), False, False),  # no value where F is zero
        (minimum(a - 3, b) * a, False, False),
        (-a, False, False),
        (ZERO, False, True),
        (ZERO, True, False),
    ],
)
def test_nonnegative(expr: Expr, strict: bool, shown: bool) -> None:
    assert nonnegative(expr, strict=strict) is shown


def test_better_lower_bounds() -> None:
    atom = a.atoms()[0]
    assert not nonnegative(a - 4)
    assert nonnegative(a - 4, {atom: 4}) and not nonnegative(a - 4, {atom: 4}, strict=True)
    assert nonnegative(a - 4, {atom: 5}, strict=True)


def test_many_terms_are_not_shifted() -> None:
    assert nonnegative(a**150 * b - a)  # 150*2 + 1 terms
    assert not nonnegative(a**1000 * b - a)


def test_what_is_negative_at_its_least_is_seen_without_a_shift() -> None:
    """`a**150*b - 2*a` at a = b = 1 is -1; its shift has 302 terms, of which the first would do."""
    with limited(200):
        assert not nonnegative(a**150 * b - 2 * a)
    with limited(200), pytest.raises(EffortError):
        nonnegative(a**150 * b - a)


BOX: dict[str, Interval] = {"x": (Fraction(2), Fraction(6)), "y": (Fraction(3), None)}


@pytest.mark.parametrize(
    ("expr", "low", "high"),
    [
        (x, 2, 6),
        (y, 3, None),
        (z, 1, None),
        (2 * x - 3, 1, 9),
        (3 - x, -3, 1),
        (x - y, None, 3),
        (1 / x, Fraction(1, 6), Fraction(1, 2)),
        (1 / y, 0, Fraction(1, 3)),
        (x / y, 0, 2),
        (x**2 / z, 0, 36),
        (x * (y + 1), 8, None),
        ((x + 2) / (x + 1), Fraction(4, 7), Fraction(8, 3)),  # sound, not tight
        (x / (y + 1), 0, Fraction(3, 2)),
        (x / (x - z), None, None),
        (x / (x - y), None, None),
        ((x - 2) / (x + 1), 0, Fraction(4, 3)),
        ((x - 3) / (x + 1), None, None),
        (ceildiv(x, 4), 1, 2),
        (floordiv(x, 4), 0, 1),
        (floordiv(x, y), 0, 2),
        (floordiv(floordiv(x, 4) * (x + 1), 2), 0, 3),
        (1 / floordiv(x, 4), None, None),
        (maximum(x, y), 3, None),
        (minimum(x, y), 2, 6),
        (maximum(x, z - y), 2, None),
        (minimum(x, z - y), None, 6),
        (maximum(x, 5), 5, 6),
        (minimum(x, 5), 2, 5),
        (minimum(z - y, 2), None, 2),
    ],
)
def test_intervals(expr: Expr, low: int | Fraction | None, high: int | Fraction | None) -> None:
    assert interval(expr, BOX) == (low, high)


def test_symbols_are_positive_whatever_the_interval_says() -> None:
    assert interval(x, {"x": (None, None)}) == (1, None)
    assert interval(x, {"x": (Fraction(-3), Fraction(4))}) == (1, 4)
