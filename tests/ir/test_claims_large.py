"""No claim that only large numbers refute is proved; `claims_large_report.py` asks about more of them."""

from __future__ import annotations

from itertools import islice
from random import Random

import pytest
from algebra import large_counterexamples
from algebra.claim_judge import Fooled
from algebra.claim_trees import NAMES, value
from algebra.large_counterexamples import DEPTH, SMALL, Claim, claims, false_kinds, judge, thresholds
from claims_large_report import run, summary
from hypothesis import given, settings
from hypothesis import strategies as st
from tiers import examples

from bpir.ir.relations.facts import Facts
from bpir.ir.relations.verdict import Answer, proved, refuted

pytestmark = pytest.mark.slow


@settings(max_examples=examples(20), deadline=None)
@given(st.integers(0, 2**32))
def test_no_false_claim_is_proved(seed: int) -> None:
    for claim in islice(claims(Random(seed)), 3):
        judge(claim)


@pytest.mark.campaign
def test_the_claims_are_false_at_their_points_and_hold_at_small_ones() -> None:
    for claim in islice(claims(Random(1)), 60):
        assert claim.kind in false_kinds(claim.left, claim.right, claim.point)
        assert max(claim.point.values()) > 60
        assert not any(claim.kind in false_kinds(claim.left, claim.right, p) for p in SMALL[::37] if _admissible(claim, p))


def _admissible(claim: Claim, point: dict[str, int]) -> bool:
    return all(large_counterexamples.RULES[i].says(*(point[name] for name in NAMES)) for i in claim.rules)


def test_thresholds_change_where_they_say() -> None:
    for k in (1000, 10**12):
        for tree in thresholds(("s", "a"), k):
            assert all(value(tree, {"a": n}) == 0 for n in (1, 7, k))
            assert all(value(tree, {"a": n}) > 0 for n in (k + 1, 2 * k + 1)), tree


A_CLAIM = Claim("equal", ("max", ("n", 0), ("-", ("s", "a"), ("n", 10**9))), ("n", 0), (), dict.fromkeys(NAMES, 10**9 + 1))


def test_what_is_refuted_has_a_large_witness() -> None:
    assert judge(A_CLAIM) is Answer.REFUTED


@pytest.mark.parametrize(
    ("verdict", "message"),
    [(proved("a mistake"), r"proved \(a mistake\), but equal: max"), (refuted({"a": 7}, "a mistake"), "but it holds there")],
)
def test_a_wrong_answer_is_noticed(monkeypatch: pytest.MonkeyPatch, verdict: object, message: str) -> None:
    monkeypatch.setattr(Facts, "equal", lambda *_: verdict)
    with pytest.raises(Fooled, match=message):
        judge(A_CLAIM)


@pytest.mark.campaign
def test_the_report_counts() -> None:
    found = run(25)
    lines = summary(found).splitlines()
    assert lines[0].startswith("25 false claims (")
    assert [int(word) for word in lines[-1].split()[1:4]] == [0, *(sum(a is x for _, a in found) for x in (Answer.REFUTED, Answer.UNKNOWN))]
    assert all(large_counterexamples.depth(claim.left) <= DEPTH + 2 for claim, _ in found)
