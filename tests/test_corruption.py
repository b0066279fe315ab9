"""Corruptions of every derived module: each is refused, or proved equivalent; `corruption_report.py` runs more than these."""

from __future__ import annotations

from functools import cache

import pytest
from corruption import sampled
from corruption_cases import Case, cases
from corruption_judge import EQUIVALENT, REFUSED, UNKNOWN, WRONG, equivalent, judge
from corruption_levels import corruptions
from corruption_report import Outcome, alone, run_case

CHOSEN = (1, 4, 16, 21, 26, 29, 36, 37, 46, 49, 50, 51, 54, 61)  # of `cases()`: each level, one and several ranks, both conventions


@cache
def judged(case: Case) -> list[Outcome]:
    return run_case(case, 1)


def chosen() -> list[Case]:
    return [cases()[index] for index in CHOSEN]


@pytest.mark.parametrize("case", chosen(), ids=lambda c: f"{c.name} {len(c.options)}")
def test_every_corruption_is_refused_or_proved_equivalent(case: Case) -> None:
    found = judged(case)
    wrong = [f"{o.kind}: {o.where} {o.verdict.first}" for o in found if o.verdict.outcome in (WRONG, UNKNOWN)]
    assert not wrong, "\n".join(wrong)
    assert len(found) > 60
    assert {o.verdict.outcome for o in found} == {REFUSED, EQUIVALENT}


def test_the_boundaries_are_all_there_and_their_rules_fire_alone() -> None:
    outcomes = [o for case in chosen() for o in judged(case)]
    levels = {o.level for o in outcomes}
    derived = {f"{verb}-{kind}" for verb in ("distribute", "plan") for kind in ("inference", "training")}
    assert levels == derived | {"model", "bind-queue", "bind-slot"}
    assert len(alone(outcomes)) > 25


def test_a_valid_module_is_its_own_equivalent_and_another_is_not() -> None:
    for first in (False, True):
        found = [c.modules()[1] for c in cases()[:46] if (len(c.options) == 1) is first]
        assert equivalent(found[0], found[0])
        assert not equivalent(found[0], found[1])


def test_corruptions_are_deterministic() -> None:
    _, valid = cases()[0].modules()
    once, twice = ([(c.kind, c.where) for c in sampled(corruptions(valid), 3)] for _ in range(2))
    assert once == twice


def test_the_judge_sees_what_a_verifier_would_let_through() -> None:
    source, valid = cases()[0].modules()
    changed = next(c for c in corruptions(valid) if c.kind == "work: coefficient changed").apply(valid)
    assert not equivalent(valid, changed)
    assert judge(source, valid, changed).outcome == REFUSED
