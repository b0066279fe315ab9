"""No answer about random expressions is wrong; `claims_report.py` asks about more of them."""

from __future__ import annotations

from fractions import Fraction

import pytest
from algebra import claim_judge
from algebra.claim_judge import Fooled, judge
from algebra.claim_trees import NAMES, RULES, Pair, Tree, admissible, value, value_or_none
from algebra.random_claims import larger, pairs, places, positives, rewrites, trees
from claims_report import run, summary
from hypothesis import given, settings
from tiers import examples

from bpir.ir.relations.facts import Facts
from bpir.ir.relations.verdict import proved, refuted

pytestmark = pytest.mark.slow


@settings(max_examples=examples(150), deadline=None)
@given(pairs())
def test_no_answer_is_wrong(pair: Pair) -> None:
    judge(pair)


@settings(max_examples=examples(100), deadline=None)
@given(trees(), positives())
def test_the_laws_are_true(tree: Tree, k: Tree) -> None:
    for point in admissible((), ())[::17]:
        assert value(k, point) >= 1 and value(k, point).denominator == 1
        for _, part in places(tree):
            before = value_or_none(part, point)
            for law, after in rewrites(part, k):
                assert before is None or value(after, point) == before, law
            for law, after in larger(part, k):
                assert before is None or value(after, point) >= before, law


def test_what_a_relation_says_is_said_twice() -> None:
    for index, rule in enumerate(RULES):
        assert len(admissible((index,), ())) > 5
        for point in admissible((), ()):
            assert rule.says(*(point[name] for name in NAMES)) == rule.relation.holds(point)
        for old, new in rule.same:
            assert all(value(old, p) == value(new, p) for p in admissible((index,), ()))


def test_values() -> None:
    a, b = (("s", name) for name in "ab")
    point = {"a": 7, "b": 2, "c": 1, "t": 1}
    values = [value((kind, a, b), point) for kind in ("+", "-", "*", "/", "max", "min", "ceildiv", "floordiv")]
    assert values == [9, 5, 14, Fraction(7, 2), 7, 2, 4, 3]
    assert value(("floordiv", ("n", -7), b), point) == -4 and value(("ceildiv", ("n", -7), b), point) == -3


A_PAIR = Pair(("s", "a"), ("s", "b"), (0,), (), (), "?")  # a and b where t divides a


@pytest.mark.parametrize(
    ("verdict", "message"),
    [
        (proved("a mistake"), "equal is proved"),
        (refuted({"a": 2, "b": 2, "t": 1}, "a mistake"), "equal holds at the witness"),
        (refuted({"a": 2, "b": 3, "t": 3}, "a mistake"), "not admissible"),
        (refuted({"a": 2, "b": 0, "t": 1}, "a mistake"), "no witness"),
    ],
)
def test_a_wrong_answer_is_noticed(monkeypatch: pytest.MonkeyPatch, verdict: object, message: str) -> None:
    monkeypatch.setattr(Facts, "equal", lambda *_: verdict)
    with pytest.raises(Fooled, match=message):
        judge(A_PAIR)


def test_a_wrong_form_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    true = claim_judge.build
    monkeypatch.setattr(claim_judge, "build", lambda tree: true(tree) + 1)
    with pytest.raises(Fooled, match=r"is 2 at .* and not 1"):
        judge(A_PAIR)


@pytest.mark.campaign
def test_the_report_counts() -> None:
    found = run(60)
    assert len(found) >= 60
    text = summary(found)
    assert text.startswith(f"{len(found)} pairs (")
    rows = {line.split("  ")[0].strip(): line for line in text.splitlines()}
    for claim in ("equal", "at least", "greater", "integral", "divides"):
        counts = [int(word) for word in rows[claim].removeprefix(claim).split()[:3]]
        assert sum(counts) == sum(o.claim == claim for _, outcomes in found for o in outcomes) > 0
