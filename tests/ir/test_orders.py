"""Integers, orders, bounds and witnesses under relations: cases by hand."""

from __future__ import annotations

import time

import pytest
from relation_cases import BLOCK, B, D, F, H, S, a, b, c, d, divides, e, equal, greater, h, t, x, y, z

from bpir.ir.effort import limited
from bpir.ir.expressions.expression import ONE, ZERO, Expr, ExpressionError, ceildiv, constant, floordiv, maximum, minimum, symbol, total
from bpir.ir.relations.facts import Facts, Relation
from bpir.ir.relations.verdict import Answer
from bpir.ir.relations.witness import candidates


@pytest.mark.parametrize(
    ("facts", "expr", "answer"),
    [
        (BLOCK, B * h * d / t, Answer.PROVED),
        (BLOCK, B * H / t + 3 * F / t, Answer.PROVED),
        (BLOCK, B * S / t, Answer.REFUTED),
        (BLOCK, B * S * (S + 1) / 2, Answer.PROVED),
        (BLOCK, B * h * S * (S + 1) / (2 * t), Answer.PROVED),
        (BLOCK, B * S / 2, Answer.REFUTED),
        (BLOCK, d / t, Answer.REFUTED),
        (Facts((equal(H, h * d), divides(t, H))), H * x / t, Answer.PROVED),
        (Facts((equal(H, h * d), divides(t, H))), h * d * x / t, Answer.PROVED),
        (Facts((equal(H, h * d), divides(t, H))), h / t, Answer.REFUTED),
        (Facts((divides(t, h), divides(D, h))), h / t + h / D, Answer.PROVED),
        (Facts((divides(t, h), divides(D, h))), h / (t * D), Answer.REFUTED),
        (Facts((divides(t, h), divides(D, h))), h**2 / (t * D), Answer.PROVED),
        (Facts((divides(t, H), equal(H, h * d), divides(D, h))), H * h / (D * t), Answer.PROVED),
        (Facts((divides(D * t, h),)), h / t, Answer.PROVED),
        (Facts((divides(t, h),), {"t": 8, "h": 96}), h / t, Answer.PROVED),
        (Facts((divides(t, h),), {"h": 96}), h / t, Answer.PROVED),
        (Facts((divides(constant(2), h),)), h / 2 + x, Answer.PROVED),
        (Facts(), x / (x + 1), Answer.REFUTED),
        (Facts(), maximum(ceildiv(x, t), y) * floordiv(x, y), Answer.PROVED),
        (Facts((divides(t, a * b),)), a * b * x / t + (a * b / t) ** 3, Answer.PROVED),
        (Facts((divides(t, a * b),)), c / t**9, Answer.REFUTED),
        (Facts((divides(D, F * H + F),)), (12 + e) * (F * H + F) / D, Answer.PROVED),
        (Facts((divides(D, F * H + F),)), b / D, Answer.REFUTED),
        (Facts((divides(D, F * H + F),)), (F * H + F) / (2 * D), Answer.REFUTED),
    ],
)
def test_integrality(facts: Facts, expr: Expr, answer: Answer) -> None:
    assert facts.integral(expr).answer is answer


@pytest.mark.parametrize(
    ("facts", "expr", "answer"),
    [
        (BLOCK, B * S * H * (t - 1) / t, Answer.REFUTED),  # t = 1 gives zero
        (Facts((greater(t, 1),)), B * S * H * (t - 1) / t, Answer.PROVED),
        (Facts((greater(t, 1), divides(t, h))), h - 1, Answer.PROVED),
        (Facts((greater(a, b),)), a - b, Answer.PROVED),
        (Facts((greater(a, b), greater(b, t))), a - t - 1, Answer.PROVED),
        (Facts((greater(a, b),)), a - b - 1, Answer.REFUTED),
        (Facts(), maximum(x, y) - x + 1, Answer.PROVED),
        (Facts(), ceildiv(x, 256) * 256 - x + 1, Answer.PROVED),
        (Facts(), x + 256 - 256 * ceildiv(x, 256), Answer.PROVED),
        (Facts(), x + 1 - minimum(x, y), Answer.PROVED),
        (Facts(), x - y, Answer.REFUTED),
        (Facts(), 1000 - x, Answer.REFUTED),
        (Facts(), (x + 1) / (y + 1), Answer.PROVED),
        (Facts(), floordiv(x, 2) * y, Answer.REFUTED),  # x = 1
    ],
)
def test_strict_order(facts: Facts, expr: Expr, answer: Answer) -> None:
    assert facts.greater(expr, ZERO).answer is answer


# Relations that no substitution says: a bound from above, a sum, an order of what an equality has replaced.
BOUNDED = [
    (Facts((greater(c + 1, S),)), B * c * e, B * S * e, True),
    (Facts((greater(c + 1, S),)), c, S + 1, False),
    (Facts((greater(constant(40), c),)), constant(39), c, True),
    (Facts((greater(constant(40), c),)), constant(38), c, False),
    (Facts((greater(constant(40), c),)), constant(1521), c**2, True),
    (Facts((greater(constant(40), c),)), constant(1520), c**2, False),
    (Facts((greater(a, b), equal(a * b, constant(12)))), a, b + 1, True),
    (Facts((greater(a, b), equal(a * b, constant(12)))), a, b + 2, False),  # 4 and 3
    (Facts((divides(t, a + b),)), a + b, t, True),
    (Facts((divides(t, a), divides(b * t, a))), a, b * t, True),
    (Facts((divides(t, a), divides(b * t, a))), a, b * t + 1, False),
    (Facts((greater(a / 2, b / 3),)), 3 * a, 2 * b + 2, False),  # 1 and 1
    (Facts((greater(a / 2, b / 3),)), 3 * a, 2 * b + 1, True),  # 3*a - 2*b > 0 is an integer
    (Facts(), (floordiv(a / 2, t) + 1) * t, a / 2, True),
    (Facts(), ceildiv(a / 2, t) * t, a / 2, True),
    (Facts(), a / 2 + t, ceildiv(a / 2, t) * t, True),
    (Facts(), a / 2, ceildiv(a / 2, t) * t, False),
    (Facts(), ceildiv(a, t) * (floordiv(b, c) + 1), a * (floordiv(b, c) + 1) / t, True),
]


@pytest.mark.parametrize(("facts", "left", "right", "true"), BOUNDED, ids=[f"{left.text} {right.text}" for _, left, right, _ in BOUNDED])
def test_orders_by_bounds(facts: Facts, left: Expr, right: Expr, true: bool) -> None:
    assert facts.at_least(left, right).answer is (Answer.PROVED if true else Answer.REFUTED)


def test_what_its_form_shows_is_an_integer_whatever_is_put_in() -> None:
    assert Facts((equal(a * b, constant(12)), divides(b * t, a))).integral(c + minimum(a, c)).proved


def test_zero_is_not_negative() -> None:
    assert BLOCK.nonnegative(B * S * H * (t - 1) / t).proved
    assert BLOCK.at_least(h, t).proved
    assert BLOCK.nonnegative(h - 2 * t).refuted
    assert Facts().at_least(x / y + (y - 1) / y, ceildiv(x, y)).proved
    assert Facts().at_least(ceildiv(x, y), x / y + (y - 1) / y).refuted  # 1 and 3/2 at 2 and 2
    assert Facts().at_least(floordiv(x, y), x / y - (y - 1) / y).proved
    assert Facts().at_least(floordiv(x, y), x / y).refuted


def test_divides() -> None:
    assert BLOCK.divides(t, h * x).proved
    assert BLOCK.divides(t, x).refuted
    with pytest.raises(ExpressionError, match="division by zero"):
        BLOCK.divides(ZERO, x)


def test_bindings_and_violations() -> None:
    bound = BLOCK.bind({"t": 3, "h": 64, "d": 2, "H": 12})
    assert [r.text for r in bound.violations()] == ["H = d*h", "t | h"]
    assert bound.contradiction is not None
    assert BLOCK.bind({"t": 4, "h": 64}).violations() == []
    assert BLOCK.bind({"h": 64}).bind({"t": 4}).equal(h / t, constant(16)).proved
    assert BLOCK.bind({"H": 7, "h": 2}).violations() == []
    odd = BLOCK.bind({"H": 7, "h": 2}).satisfied  # d would be 7/2
    assert odd.impossible and [r.text for r in odd.relations] == ["H = d*h"]
    assert [r.text for r in Facts((greater(t, 1),), {"t": 1}).violations()] == ["t > 1"]
    for wrong in (0, -3, True, 2.0):
        with pytest.raises(ExpressionError, match="must be a positive integer"):
            Facts((), {"t": wrong})  # type: ignore[dict-item]


def test_nothing_is_decided_where_relations_contradict() -> None:
    facts = Facts((equal(a, b + 1), equal(b, a + 1)))
    assert facts.contradiction is not None
    for verdict in (facts.equal(a, b), facts.greater(a, b), facts.integral(a / 2)):
        assert verdict.answer is Answer.UNKNOWN
        assert "contradict" in verdict.reason


def test_cycles_of_equalities() -> None:
    facts = Facts((equal(a, b), equal(b, t), equal(t, a)))
    assert facts.equal(a * b, t**2).proved
    assert facts.contradiction is None
    facts = Facts((equal(a, 2 * b), equal(b, a / 2), equal(x, a * b)))
    assert facts.equal(x, 2 * b**2).proved
    assert facts.equal(x, a**2).refuted


def test_equalities_that_cannot_be_oriented_serve_witnesses() -> None:
    facts = Facts((equal(x**2 + y**2, constant(25)),))
    verdict = facts.equal(x, y)
    assert verdict.witness in ({"x": 3, "y": 4}, {"x": 4, "y": 3})


def test_large_bindings_leave_few_admissible_values() -> None:
    facts = Facts((equal(H, h * d), divides(t, h), divides(t, F)), {"H": 12288, "F": 49152})
    assert facts.equal(h * d, constant(12288)).proved
    assert facts.equal(h, constant(96)).refuted
    assert facts.integral(F * h / t**2).proved
    assert facts.integral(d / t).refuted


def test_reduce() -> None:
    assert BLOCK.reduce(6 * B * S * H * h * d / t).text == "6*B*H**2*S/t"
    assert BLOCK.reduce(x / (h * d)) is x / H
    assert BLOCK.reduce(h**2 * d**3) is H**2 * d
    assert BLOCK.reduce(maximum(h * d * x, y)) is maximum(H * x, y)
    assert BLOCK.reduce((h * d + 1) / (h * d + 2)) is (H + 1) / (H + 2)
    assert BLOCK.reduce(h / t) is h / t
    facts = Facts((equal(x, a * b), equal(y, a * b * t), equal(z, 2 * a * e)))
    assert facts.reduce(a * b * t) is y  # the longest product first
    assert facts.reduce(4 * a * e * c) is 2 * z * c
    assert facts.reduce(3 * a * e) is 3 * a * e
    assert Facts((equal(a, b), equal(b, a))).reduce(a * b) is a * b


def test_witnesses_in_the_corners_of_the_grid() -> None:
    """Each claim is false at one kind of point only."""
    off = (a - 14) ** 2 + (b - 12) ** 2
    assert Facts().greater(off, ZERO).witness == {"a": 14, "b": 12}
    names = [symbol(f"w{i}") for i in range(8)]
    place = (1, 2, 2, 1, 2, 1, 1, 2)
    off = total((s - n) ** 2 for s, n in zip(names, place, strict=True))
    assert Facts().greater(off, ZERO).witness == {f"w{i}": n for i, n in enumerate(place)}
    assert Facts().at_least(10_000 * a, minimum(b, c, d)).refuted  # all but one are large
    assert Facts().at_least(10_000 * b, a).refuted  # one is large
    # zero unless both are above 20 and differ: neither on the grid of small values nor where all but one are equal
    far = maximum(a - 20, ZERO) * maximum(b - 20, ZERO) * (a - b) ** 2
    assert Facts().equal(far, ZERO).refuted
    many = [symbol(f"w{i}") for i in range(12)]
    assert Facts().at_least(total(many[1:]), many[0]).refuted


def test_witnesses_where_a_rounding_is_exact() -> None:
    """`ceildiv(n, 300)*300 = n` at multiples of 300 alone: there a buffer has no slack behind it."""
    rounded = 300 * ceildiv(a, 300)
    assert Facts().greater(rounded, a).witness == {"a": 300}
    everywhere = Facts().at_least(70_007 * ceildiv(a * b + c, 70_007), a * b + c + 1)
    assert everywhere.witness == {"a": 1, "b": 70_007, "c": 70_007}
    bound = Facts((), {"d": 900})
    assert bound.greater(d * ceildiv(a, d), a).witness == {"a": 900, "d": 900}
    # inside another rounding, and of a multiple that lies above a declared bound
    above = Facts((greater(a, constant(1000)),))
    assert above.greater(maximum(rounded, ZERO), a).witness == {"a": 1200}


def test_candidates_are_positive_integers() -> None:
    below, half = equal(b, a - 3), equal(x, a / 2)
    found = list(candidates(Facts((below, half))._system, (below, half), ["a", "b", "x"]))
    assert {4, 6, 8, 10} <= {v["a"] for v in found}
    assert all(v["a"] == v["b"] + 3 == 2 * v["x"] and v["b"] >= 1 for v in found)


def test_spelling() -> None:
    assert [r.text for r in (equal(H, h * d), divides(t, h), greater(t, 1))] == ["H = d*h", "t | h", "t > 1"]
    with pytest.raises(ValueError, match="kind"):
        Relation("less", t, ONE)
    assert BLOCK.equal(h, t).text.startswith("refuted by F = ")


def test_decisions_are_fast() -> None:
    many = [symbol(f"m{i}") for i in range(40)]
    facts = Facts([divides(t, m) for m in many] + [equal(H, h * d)])
    started = time.process_time()
    assert facts.equal(maximum(*many[:12]) + minimum(*many[:12]), many[0] + many[1]).refuted
    assert facts.equal(maximum(*(m - t for m in many[:12])) + t, maximum(*many[:12])).answer is not Answer.REFUTED
    assert facts.integral(many[3] * many[5] / t**2).proved
    assert time.process_time() - started < 4


def test_a_multiple_may_be_zero_or_negative() -> None:
    """`F | H - 1` at H = 1, `2 | c - S` at c < S: a divisor says nothing of the sign of a difference."""
    facts = Facts((divides(F, H - 1),))
    assert facts.greater(H, ONE).refuted and facts.at_least(H, constant(2)).refuted
    facts = Facts((divides(constant(2), c - S),))
    assert facts.at_least(c, S).refuted and facts.greater(c, S - 2).refuted
    assert facts.integral((c - S) / 2).proved
    both = Facts((greater(S, c), divides(constant(2), c - S)))
    assert both.contradiction is None
    assert both.at_least(S, c + 1).proved
    # a quotient of positive values is a positive integer
    assert Facts((divides(t, a * b),)).at_least(a * b, t).proved


def test_an_unknown_verdict_says_what_was_tried() -> None:
    """Schur's inequality holds, and nothing here proves it."""
    schur = a * (a - b) * (a - c) + b * (b - a) * (b - c) + c * (c - a) * (c - b)
    few = Facts().equal(minimum(schur, ZERO), ZERO)
    assert few.answer is Answer.UNKNOWN
    assert few.methods == ("normal form", "cases of max and min", "signs")


@pytest.mark.parametrize(("degree", "least"), [(1, 1), (2, 3), (2, 10), (3, 9), (5, 7)])
def test_what_grows_bounds_its_symbol(degree: int, least: int) -> None:
    """`a**n + a > k` for the largest k that `least` exceeds, so that `a >= least`, and no more."""
    facts = Facts([Relation("greater", a**degree + a, constant((least - 1) ** degree + least - 1))], {})
    assert facts.at_least(a, constant(least)).proved
    assert facts.at_least(a, constant(least + 1)).witness == {"a": least}


def test_a_maximum_is_at_least_each_of_its_arguments_at_little_effort() -> None:
    """The workspace of a parallel block that two ranks share: the gate asks for each of its arguments, within one budget."""
    H, F, c, d, h, t = map(symbol, ("H", "F", "c", "d", "h", "t"))
    two = constant(2)
    facts = Facts([Relation("divides", by, of) for by in (t, two) for of in (h, F, H)])
    arguments = [2 * H + maximum(3 * d * h + F, c * h), c * h + d * h + F + 2 * H, d * h + F + 4 * H]
    with limited(20_000):
        for argument in arguments:
            assert facts.at_least(maximum(*arguments), argument).proved


def test_a_maximum_grows_with_what_stands_in_one_of_its_arguments() -> None:
    """One argument of the inner maximum is enough for a lower bound, whatever the relations make of the symbols."""
    H, d, g, h, c = map(symbol, ("H", "d", "g", "h", "c"))
    facts = Facts((Relation("divides", g, h),), {})
    size = maximum(H + maximum(2 * d * g + d * h, c * h), c * h + d * h)
    assert facts.at_least(size, H + d * h).proved
    assert facts.greater(size, H + d * h).proved
    assert facts.at_least(size, H + 3 * d * h).refuted
    assert facts.at_least(-size, -H - d * h).refuted
