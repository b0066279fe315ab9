"""Decisions under relations against enumeration of the admissible values on small grids, written here independently."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_expression_nodes import Tree, build, value
from test_expression_nodes import trees as _trees

from bpir.ir.effort import limited
from bpir.ir.expression import ONE, ZERO, Expr, ExpressionError, ceildiv, constant, floordiv, maximum, minimum, symbol, total
from bpir.ir.relations import Facts, Relation
from bpir.ir.relations_witness import candidates
from bpir.ir.verdict import Answer, Verdict

NAMES = ("a", "b", "t")
B, S, H, h, d, t, F, e = (symbol(n) for n in ("B", "S", "H", "h", "d", "t", "F", "e"))
D, c, q, a, b, x, y, z = (symbol(n) for n in ("D", "c", "q", "a", "b", "x", "y", "z"))


def equal(left: Expr, right: Expr) -> Relation:
    return Relation("equal", left, right)


def divides(left: Expr, right: Expr | int) -> Relation:
    return Relation("divides", left, right if isinstance(right, Expr) else constant(right))


def greater(left: Expr, right: Expr | int) -> Relation:
    return Relation("greater", left, right if isinstance(right, Expr) else constant(right))


BLOCK = Facts((equal(H, h * d), divides(t, h), divides(t, F), divides(t, H)))

# Relations with what they say, in Python, so that the tests do not ask `Relation.holds`.
Rule = tuple[Relation, Callable[[int, int, int], bool]]
RULES: list[Rule] = [
    (divides(t, a), lambda a, b, t: a % t == 0),
    (divides(b, a), lambda a, b, t: a % b == 0),
    (divides(t, a * b), lambda a, b, t: a * b % t == 0),
    (divides(t, 12), lambda a, b, t: 12 % t == 0),
    (divides(constant(2), b), lambda a, b, t: b % 2 == 0),
    (divides(b * t, a), lambda a, b, t: a % (b * t) == 0),
    (divides(t, a + b), lambda a, b, t: (a + b) % t == 0),
    (greater(t, 1), lambda a, b, t: t > 1),
    (greater(a, b), lambda a, b, t: a > b),
    (greater(a * b, 5), lambda a, b, t: a * b > 5),
    (equal(a, b * t), lambda a, b, t: a == b * t),
    (equal(a, b), lambda a, b, t: a == b),
    (equal(b, a + 1), lambda a, b, t: b == a + 1),
    (equal(a * b, constant(12)), lambda a, b, t: a * b == 12),
    (equal(a, ceildiv(b, t)), lambda a, b, t: a == -(-b // t)),
    (equal(a * a, b * t), lambda a, b, t: a * a == b * t),
]


def admissible(rules: list[Rule], bindings: dict[str, int], limit: int = 7) -> Iterator[dict[str, int]]:
    for point in product(range(1, limit + 1), repeat=len(NAMES)):
        values = dict(zip(NAMES, point, strict=True))
        if all(values[n] == v for n, v in bindings.items()) and all(rule(*point) for _, rule in rules):
            yield values


def at(tree: Tree, point: dict[str, int]) -> Fraction | None:
    try:
        return value(tree, point)
    except ZeroDivisionError:
        return None


def check(verdict: Verdict, rules: list[Rule], bindings: dict[str, int], claim: Callable[[dict[str, int]], bool | None]) -> None:
    """The verdict is sound: proved where no point differs, refuted by an admissible point where the claim is false."""
    if verdict.answer is Answer.PROVED:
        for point in admissible(rules, bindings):
            assert claim(point) in (True, None), (verdict, point)
    if verdict.answer is Answer.REFUTED:
        witness = verdict.witness
        assert witness is not None and list(witness) == sorted(witness)
        values = {name: witness.get(name, 1) for name in NAMES}
        assert all(type(v) is int and v >= 1 for v in witness.values())
        assert all(rule(*values.values()) for _, rule in rules), (verdict, rules)
        assert all(values[n] == v for n, v in bindings.items())
        assert claim(values) in (False, None), (verdict, values)  # None: a tree divides by zero that its form has not
    else:
        assert verdict.witness is None


rule_lists = st.lists(st.sampled_from(RULES), max_size=3)
bindings_ = st.dictionaries(st.sampled_from(NAMES), st.integers(1, 6), max_size=1)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(rule_lists, bindings_, _trees, _trees)
def test_no_verdict_contradicts_enumeration(rules: list[Rule], bindings: dict[str, int], first: Tree, second: Tree) -> None:
    try:
        p, r = build(first), build(second)
    except ExpressionError:
        return
    facts = Facts([relation for relation, _ in rules], bindings)

    def comparing(compare: Callable[[Fraction, Fraction], bool]) -> Callable[[dict[str, int]], bool | None]:
        def claim(point: dict[str, int]) -> bool | None:
            left, right = at(first, point), at(second, point)
            return None if left is None or right is None else compare(left, right)

        return claim

    def whole(point: dict[str, int]) -> bool | None:
        left = at(first, point)
        return None if left is None else left.denominator == 1

    check(facts.equal(p, r), rules, bindings, comparing(lambda u, v: u == v))
    check(facts.greater(p, r), rules, bindings, comparing(lambda u, v: u > v))
    check(facts.at_least(p, r), rules, bindings, comparing(lambda u, v: u >= v))
    check(facts.integral(p), rules, bindings, whole)
    reduced = facts.reduce(p)
    assert facts.reduce(reduced) is reduced
    for point in admissible(rules, {}):
        expected = at(first, point)
        if expected is not None:
            assert reduced.evaluate(point) == expected


IDENTITIES = [
    (6 * B * S * H * h * d / t, 6 * B * S * H**2 / t),
    (4 * B * S**2 * h * d / t, 4 * B * S**2 * H / t),
    (4 * B * q * c * h * d / t + 5 * B * (h / t) * q * c, 4 * B * q * c * H / t + 5 * B * h * q * c / t),
    (2 * B * c * (h * d / t) * e, 2 * B * c * (H / t) * e),
    (B * S * H * (t - 1) / t, B * S * h * d - B * S * H / t),
    (
        e * maximum(3 * B * q * h * d / t, B * (h / t) * q * c, B * q * F / t),
        maximum(3 * B * e * q * H / t, B * (h / t) * q * c * e, e * B * q * F / t),
    ),
    (S * B * H * (10 + 24 / t + 5 * h * S / (H * t)), 10 * S * B * H + 24 * S * B * h * d / t + 5 * h * S**2 * B / t),
    ((H + 1) / (H * S + S), 1 / S),
    (ceildiv(h, t), h / t),
    (ceildiv(H, t), H / t),
    (ceildiv(h * d + t, t), h * d / t + 1),
    (floordiv(3 * F, t), 3 * F / t),
    (maximum(x, y) + minimum(x, y), x + y),
    (maximum(x, y) * minimum(x, y), x * y),
    (D + e * maximum(x, y), maximum(D + e * x, D + e * y)),
    (maximum(x, minimum(x, y)), x),
    (maximum(minimum(x, y), minimum(x, z)), minimum(x, maximum(y, z))),
    (maximum(h, t), h),
    (minimum(x, y), -maximum(-x, -y)),
    (maximum(x - y, ZERO) + y, maximum(x, y)),
]


@pytest.mark.parametrize(("left", "right"), IDENTITIES, ids=[left.text for left, _ in IDENTITIES])
def test_identities_of_the_reference_block_are_proved(left: Expr, right: Expr) -> None:
    verdict = BLOCK.equal(left, right)
    assert verdict.answer is Answer.PROVED, verdict
    # one more on one side is refuted, with a witness at which the relations hold
    wrong = BLOCK.equal(left, right + 1)
    assert wrong.answer is Answer.REFUTED and wrong.witness is not None
    w = {"H": 0, "h": 0, "d": 0, "t": 0, "F": 0} | wrong.witness
    assert w["H"] == w["h"] * w["d"] and w["h"] % w["t"] == 0 and w["F"] % w["t"] == 0


@pytest.mark.parametrize(
    ("facts", "left", "right"),
    [
        (Facts((greater(a, b),)), maximum(a, b), a),
        (Facts((greater(b, a),)), maximum(a, b), b),
        (Facts((greater(a, b),)), minimum(a, b), b),
        (Facts((greater(b, a),)), minimum(a, b), a),
        (Facts((greater(b, a),)), maximum(a, b, c), maximum(b, c)),
        (Facts((greater(a, b),)), minimum(a, b, c), minimum(b, c)),
        (Facts((divides(t, a * b),)), ceildiv(a * b + c, t), a * b / t + ceildiv(c, t)),
        (Facts((divides(t, a * b),)), floordiv(a * b - c, t), a * b / t - ceildiv(c, t)),
        (Facts((equal(a, b / (t + 1)),)), a * (t + 1), b),
        (Facts((equal(b / (t + 1), a),)), a * (t + 1), b),
    ],
)
def test_equalities_under_facts(facts: Facts, left: Expr, right: Expr) -> None:
    assert facts.equal(left, right).proved
    assert facts.equal(left, right + 1).refuted


def test_forms_too_large_to_compare_are_not_the_same() -> None:
    """The other form of each is a fraction whose common factors are not sought."""
    names = [symbol(f"v{i}") for i in range(601)]
    first, second = (floordiv(x * total(some), 2 * x + y) for some in (names[:-1], names[1:]))
    assert Facts().equal(first, second).answer is Answer.UNKNOWN


def test_a_case_that_divides_by_zero_proves_nothing() -> None:
    assert Facts().greater(a, a / (a - maximum(a, b))).answer is Answer.UNKNOWN
    assert Facts().greater(a, a / (b - maximum(a, b))).answer is Answer.UNKNOWN


def test_the_sign_of_one_difference_says_nothing_of_another() -> None:
    """1/u and 1/v have different signs at B = S = 1, q = 1500; both have the numerator 1."""
    u, v = 1 / (q - B - 1000), 1 / (q - S - 2000)
    product = maximum(ZERO, u) * minimum(ZERO, v)
    assert product.evaluate({"q": 1500, "B": 1, "S": 1}) == Fraction(1, 499) * Fraction(-1, 501)
    assert BLOCK.equal(product, ZERO).answer is not Answer.PROVED
    # a factor of either sign: w is -1 at B = 1 and 1 at B = 1000
    w = floordiv(B - 2, 3) - floordiv(S, S + 1)
    product = maximum(ZERO, w * (q - 1000)) * minimum(ZERO, q - 1000)
    assert product.evaluate({"q": 1, "B": 1, "S": 1}) == 999 * -999
    assert BLOCK.equal(product, ZERO).answer is not Answer.PROVED


def test_a_multiple_of_a_difference_has_its_sign() -> None:
    assert Facts().equal(maximum((x + z) * y, (x + z) * b), (x + z) * maximum(y, b)).proved
    assert Facts().equal(maximum(x * x - y * y, ZERO), (x + y) * maximum(x - y, ZERO)).proved
    assert Facts().equal(maximum(x * x - y * y, ZERO), (x + y) * maximum(y - x, ZERO)).refuted


ROUNDED = [
    (ceildiv(a, b), -floordiv(-a, b)),
    (ceildiv(3 * x, 4), x - floordiv(x, 4)),
    (ceildiv(a, b), floordiv(a + b - 1, b)),
    (ceildiv(a, b), floordiv(a - 1, b) + 1),
    (floordiv(a, b), ceildiv(a - b + 1, b)),
    (ceildiv(a, maximum(b, t)), floordiv(a + maximum(b, t) - 1, maximum(b, t))),
    (maximum(ceildiv(a, b), c), maximum(-floordiv(-a, b), c)),
    (ceildiv(a * ceildiv(b, t), c), -floordiv(a * floordiv(-b, t), c)),
]


@pytest.mark.parametrize(("left", "right"), ROUNDED, ids=[f"{left.text} {right.text}" for left, right in ROUNDED])
def test_one_rounding_is_the_other(left: Expr, right: Expr) -> None:
    assert Facts().equal(left, right).proved
    assert Facts().at_least(left, right).proved and Facts().at_least(right, left).proved
    assert Facts().equal(left, right + 1).refuted


def test_rounding_up_of_fractions_is_not_that_of_integers() -> None:
    assert Facts().equal(ceildiv(a / 2, b), floordiv(a / 2 + b - 1, b)).refuted  # a = b = 1: 1 and 0


def test_reason_names_the_relations_used() -> None:
    assert BLOCK.equal(H * x, h * d * x).reason == "normal form under H = d*h, t | h"
    assert BLOCK.equal(x + y, y + x).reason == "normal form"
    chain = Facts((equal(H, h * d), equal(d, e * x)))
    assert chain.equal(H, h * e * x).reason == "normal form under H = d*h, d = e*x"


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
