"""Corruptions of every derived module: each is refused, or proved equivalent; `corruption_report.py` runs more than these."""

from __future__ import annotations

from functools import cache

import pytest
from corruption_report import Outcome, alone, run_case
from corruptions.corruption import sampled
from corruptions.judge import EQUIVALENT, REFUSED, UNKNOWN, WRONG, equivalent, judge
from corruptions.levels import corruptions
from corruptions.network import networks, sections
from corruptions.placement import caches, meshes, placements, sums
from corruptions.valid_modules import CACHE, NETWORK, PARALLEL, SHARED, Case, cases

from bpir.dialects.bp import ExprAttr
from bpir.ir.attributes import StringAttr
from bpir.ir.expressions.expression import ZERO, symbol
from bpir.ir.operation import clone
from bpir.verifiers.structure.levels import level_of

pytestmark = pytest.mark.slow

CHOSEN = (1, 4, 16, 21, 26, 29, 36, 37, 46, 49, 50, 51, 54, 61)  # of `cases()`: each level, one and several ranks, both conventions


@cache
def judged(case: Case) -> list[Outcome]:
    return run_case(case, 1)


def chosen() -> list[Case]:
    return [cases()[index] for index in CHOSEN] + [case for case in cases() if case.example == SHARED]


@pytest.mark.campaign(keep=2)
@pytest.mark.parametrize("case", chosen(), ids=lambda c: f"{c.name} {len(c.options)}")
def test_every_corruption_is_refused_or_proved_equivalent(case: Case) -> None:
    found = judged(case)
    wrong = [f"{o.kind}: {o.where} {o.verdict.first}" for o in found if o.verdict.outcome in (WRONG, UNKNOWN)]
    assert not wrong, "\n".join(wrong)
    assert len(found) > 60
    assert {o.verdict.outcome for o in found} == {REFUSED, EQUIVALENT}


@pytest.mark.campaign
def test_the_boundaries_are_all_there_and_their_rules_fire_alone() -> None:
    outcomes = [o for case in chosen() for o in judged(case)]
    levels = {o.level for o in outcomes}
    derived = {f"{verb}-{kind}" for verb in ("distribute", "plan") for kind in ("inference", "training")}
    assert levels == derived | {"model", "bind-queue", "bind-slot"}
    assert len(alone(outcomes)) > 25


@pytest.mark.campaign
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


OF_PARALLEL = [case for case in cases() if case.example == PARALLEL]


@pytest.mark.campaign(keep=3)
@pytest.mark.parametrize("case", OF_PARALLEL, ids=lambda c: f"{c.name} {len(c.options)}")
def test_where_things_are_in_a_parallel_block(case: Case) -> None:
    source, valid = case.modules()
    operations = list(valid.walk())
    found = sampled((c for maker in (placements, sums, caches, meshes) for c in maker(operations)), 1)
    kinds = {c.kind: judge(source, valid, c.apply(valid)).outcome for c in found}
    if level_of(valid) == "dist":
        assert kinds.pop("placement: axis in a group of its own") == EQUIVALENT  # it says the same
        assert "1 operands reduced before the addition" in kinds
        assert "reduced behind the addition" in kinds
    assert len(kinds) > 4
    assert set(kinds.values()) == {REFUSED}, kinds


def test_a_smaller_workspace_is_judged_by_what_is_in_use() -> None:
    """Attention of one query over c tokens: h scores a sequence and a token are all that is in no other buffer."""
    source, valid = next(c for c in cases() if c.name == CACHE).modules()
    scores = symbol("B") * symbol("h") * symbol("c") * symbol("e")
    outcomes = []
    for size in (scores, scores - 1, ZERO):
        smaller = clone(valid)
        workspace = next(o for o in smaller.walk() if o.properties.get("role") is StringAttr("workspace"))
        workspace.properties["size"] = ExprAttr(size)
        outcomes.append((equivalent(valid, smaller, source=source), judge(source, valid, smaller).outcome))
    assert outcomes == [(True, EQUIVALENT), (False, REFUSED), (False, REFUSED)]


OF_NETWORK = [case for case in cases() if case.example == NETWORK]


@pytest.mark.campaign(keep=2)
@pytest.mark.parametrize("case", OF_NETWORK, ids=lambda c: f"{c.name} {len(c.options)} {c.side}")
def test_what_a_network_runs_and_how_often(case: Case) -> None:
    """A changed, dropped or added number of repetitions is refused at every boundary, whatever else agrees with it."""
    source, target = case.modules()
    valid = target if case.side == "target" else source
    found = sampled((c for maker in (networks, sections) for c in maker(list(valid.walk()))), 3)
    outcomes = [(c.kind, c.where, judge(source, target, c.apply(valid), case.side)) for c in found]
    wrong = [f"{kind}: {where} {v.outcome} {v.first}" for kind, where, v in outcomes if v.outcome in (WRONG, UNKNOWN)]
    assert not wrong, "\n".join(wrong)
    assert len({kind for kind, _, _ in outcomes}) > 8
    repeated = [v.outcome for kind, _, v in outcomes if "times" in kind or kind.startswith("repetitions")]
    assert len(repeated) > 3 and REFUSED in repeated
