"""Relations are accepted, called impossible, or left undecided: sets whose truth is known, and cases by hand."""

from __future__ import annotations

from random import Random

import pytest
from algebra.relation_sets import NAMES, holds, impossible_set, satisfiable_set
from relation_report import judge, run

from bpir.ir.expressions.expression import Expr, ceildiv, constant, floordiv, maximum, minimum, symbol
from bpir.ir.relations.facts import Facts, Relation
from bpir.ir.satisfiability import decide
from bpir.ir.satisfiability.decision import independent

a, b, c, d, t, h, H, F, S = (symbol(name) for name in ("a", "b", "c", "d", "t", "h", "H", "F", "S"))


def equal(x: Expr, y: Expr | int) -> Relation:
    return Relation("equal", x, y if isinstance(y, Expr) else constant(y))


def divides(x: Expr | int, y: Expr) -> Relation:
    return Relation("divides", x if isinstance(x, Expr) else constant(x), y)


def greater(x: Expr | int, y: Expr | int) -> Relation:
    return Relation("greater", *(s if isinstance(s, Expr) else constant(s) for s in (x, y)))


@pytest.mark.campaign
@pytest.mark.slow
def test_no_answer_about_random_sets_is_wrong_and_few_are_missing() -> None:
    found = run(100, seed=7)
    undecided = sum(n for (_, _, answer), n in found.items() if answer == "undecided")
    assert undecided <= 5
    assert sum(n for (known, _, answer), n in found.items() if known == "satisfiable" and answer == "accepted") >= 20
    assert sum(n for (_, _, answer), n in found.items() if answer == "impossible") >= 20


def test_a_wrong_answer_is_noticed() -> None:
    drawn = satisfiable_set(Random(1), NAMES[:3])
    assert judge(drawn) == "accepted"
    impossible = impossible_set(Random(3))
    with pytest.raises(AssertionError, match="called unsatisfiable"):
        judge(type(drawn)(impossible.relations, dict.fromkeys(NAMES, 1), False, "a false claim"))
    with pytest.raises(AssertionError, match="accepted, but no numbers satisfy"):
        judge(type(drawn)(drawn.relations, None, True, "a false claim"))


@pytest.mark.parametrize("seed", range(5))
def test_a_satisfiable_set_comes_with_its_witness(seed: int) -> None:
    drawn = satisfiable_set(Random(seed), NAMES[:4], 3)
    assert len(drawn.relations) == 3 and drawn.witness is not None
    assert all(holds(relation, drawn.witness) for relation in drawn.relations)


# What each of these says is plain: a reason is beside it.
IMPOSSIBLE = {
    "even and odd": [equal(2 * a, 2 * b + 1)],
    "neither 5 nor 6 is a multiple of 4": [greater(c, 4), greater(7, c), divides(4, c)],
    "7 is prime": [equal(a * b, 7), greater(a, 1), greater(b, 1)],
    "a is at most the maximum": [equal(maximum(a, b), 3), greater(a, 4)],
    "a sum of two is at least 2": [equal(a + b, 1)],
    "a is -c": [equal(a, b - c - b)],
    "each is larger than the other": [equal(S, c + a), equal(c, S + b)],
    "a circle": [greater(a, b), greater(b, c), greater(c, a)],
    "the root of 2 is irrational": [equal(a**2, 2 * b**2)],
    "the golden ratio is irrational": [equal(a**2, a * b + b**2)],
    "a square leaves 0 or 1 by 4": [equal(a**2, 4 * b + 3)],
    "nothing between b**2 and (b + 1)**2": [equal(a**2, b**2 + b)],
    "divisors of neighbours": [divides(t, a), divides(t, a + 1), greater(t, 1)],
    "rounded up less than one above": [greater(b * ceildiv(a, b), a + b)],
    "rounded down not above": [greater(floordiv(a, b), a)],
    "the minimum of integers": [equal(2 * minimum(a, b), 7)],
    "a divisor is not larger": [divides(h, t), greater(h, t)],
}


@pytest.mark.parametrize("reason", IMPOSSIBLE)
def test_what_no_numbers_satisfy(reason: str) -> None:
    others = [equal(H, h * d), divides(t, F)]
    answer = decide([*others, *IMPOSSIBLE[reason]], {})
    assert answer.impossible and answer.witness is None
    assert set(answer.relations) <= set(IMPOSSIBLE[reason])
    for relation in IMPOSSIBLE[reason]:  # the plain reason needs all of them
        rest = [r for r in IMPOSSIBLE[reason] if r is not relation]
        assert decide(rest, {}).witness is not None


SATISFIABLE = [
    ([equal(H, h * d), divides(t, h), divides(t, F), equal(F, 4 * H), greater(c, S), equal(S, t * c - t)], {"H": 12288}),
    ([equal(H, h * d), divides(t, h), divides(128, d), greater(t, 7), greater(h, t)], {"H": 12288}),
    ([equal(a * b, constant(7007)), greater(a, 13), greater(b, a)], {}),
    ([equal(a**2, b**2 + c**2), greater(c, 20), greater(b, c)], {}),
    ([equal(F, a * ceildiv(8 * H, 3 * a)), greater(a, 255)], {"H": 4096}),
    ([equal(a, b**7), greater(b, 9), greater(a, c**3), greater(c, 1000)], {}),
    ([divides(t, constant(2**20 + 7)), greater(t, 1)], {}),
    ([equal(maximum(a, 3 * b), 4 * minimum(b, c)), greater(a, 2 * b), divides(6, b)], {}),
    ([equal(h / t, 4), greater(t, 3)], {}),
]


@pytest.mark.parametrize("index", range(len(SATISFIABLE)))
def test_a_witness_satisfies_the_relations(index: int) -> None:
    relations, bindings = SATISFIABLE[index]
    answer = decide(relations, bindings)
    assert answer.witness is not None
    assert all(n >= 1 for n in answer.witness.values())
    assert all(relation.holds(answer.witness) for relation in relations)
    assert bindings.items() <= answer.witness.items()


def test_what_is_beyond_the_effort_is_not_called_unsatisfiable() -> None:
    """The smallest solution of Pell's equation for 61 has nine digits (Fermat 1657): it exists, and is not found."""
    pell = equal(a**2, 61 * b**2 + 1)
    assert pell.holds({"a": 1766319049, "b": 226153980})
    answer = decide([pell], {})
    assert answer.witness is None and not answer.impossible
    assert answer.text({}) == "can't find numbers that satisfy 'a**2 = 61*b**2 + 1'"


def test_messages_name_numbers_and_few_relations() -> None:
    answer = decide([equal(H, h * d)], {"H": 7, "h": 2})
    assert answer.text({"H": 7, "h": 2, "t": 3}) == "no numbers satisfy 'H = d*h' for H = 7, h = 2"
    many = [greater(symbol(f"s{i}"), symbol(f"s{(i + 1) % 20}")) for i in range(20)]
    assert decide(many, {}).text({}).endswith(", and 14 more")


def test_independent_relations_are_decided_by_themselves() -> None:
    relations = [equal(a, b), greater(c, d), divides(t, a), greater(d, 1)]
    assert independent(relations, {}) == [[relations[0], relations[2]], [relations[1], relations[3]]]
    assert independent(relations, {"d": 2}) == [[relations[0], relations[2]], [relations[1]], [relations[3]]]


def test_facts_ask() -> None:
    assert Facts((greater(t, 1), divides(t, h)), {"h": 12}).satisfied.witness == {"h": 12, "t": 2}
    assert Facts((greater(t, 1), divides(t, h)), {"h": 1}).satisfied.impossible
