"""The seconds of whole jobs against Calculon's, and against what Korthikanti et al. 2022 measured (Table 5)."""

from __future__ import annotations

from typing import Any

import pytest
from cost_calculon_cases import CASES, MEASURED, plan, system

from bpir.cost.estimate import estimate
from bpir.cost.job import KEYS

QUICK = MEASURED + CASES[:47:5]


def seconds(case: dict[str, Any], ideal: bool = False) -> dict[str, float]:
    found = estimate(plan(case["id"]), system(case["system"], ideal), {}).seconds
    return {key: value.value for key, value in found.items()}


def compare(case: dict[str, Any]) -> None:
    assert seconds(case) == pytest.approx(case["model_seconds"], rel=1e-9, abs=0)
    assert list(seconds(case)) == [*KEYS[:-1], "total"]


@pytest.mark.campaign(keep=4)
@pytest.mark.parametrize("case", QUICK, ids=lambda case: case["id"])
def test_seconds_are_calculon_s(case: dict[str, Any]) -> None:
    compare(case)


@pytest.mark.campaign
@pytest.mark.slow
def test_all_seconds_are_calculon_s() -> None:
    assert len(CASES) == 47 + 8
    for case in CASES:
        compare(case)


def mean_error(found: dict[str, float], expected: dict[str, float]) -> float:
    """In percent of what is expected."""
    return sum(abs(found[name] / expected[name] - 1) for name in expected) / len(expected) * 100


@pytest.mark.campaign
def test_the_error_against_measurements_is_that_of_the_rules_and_curves() -> None:
    """Calculon says 3.65 % of itself (Isaev et al. 2023); without its curves it is four times as much."""
    paper = {case["id"]: case["paper_seconds"] for case in MEASURED}
    calculon = {case["id"]: case["model_seconds"]["total"] for case in MEASURED}
    curves = {case["id"]: seconds(case)["total"] for case in MEASURED}
    ideal = {case["id"]: seconds(case, ideal=True)["total"] for case in MEASURED}
    assert f"{mean_error(curves, paper):.6f}" == "3.654361"
    assert f"{mean_error(ideal, paper):.6f}" == "15.147724"
    assert f"{mean_error(ideal, calculon):.6f}" == "12.993831"
