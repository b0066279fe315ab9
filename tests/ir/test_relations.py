"""Decisions under relations agree with an enumeration of the admissible values on small grids, written here independently."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from integer_trees import Tree, build
from integer_trees import trees as _trees
from relation_cases import BLOCK, B, D, F, H, S, a, at, b, c, d, divides, e, equal, greater, h, q, t, x, y, z
from tiers import examples

from bpir.ir.expressions.expression import ZERO, Expr, ExpressionError, ceildiv, constant, floordiv, maximum, minimum, symbol, total
from bpir.ir.relations.facts import Facts, Relation
from bpir.ir.relations.verdict import Answer, Verdict

NAMES = ("a", "b", "t")


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
@settings(max_examples=examples(150), deadline=None)
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
