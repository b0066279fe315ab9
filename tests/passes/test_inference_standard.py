"""Every fact of the standard convention that a second program computed for GPT blocks (`tests/data/README.md`)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support import DATA, ROOT, example, report, run

from bpir.tools.reports.report import Report, vector

CASES = [json.loads(line) for line in (DATA / "standard_inference.jsonl").read_text().splitlines()]


def derive(case: dict[str, Any]) -> Report:
    """The report of the bound plan of a case."""
    file = ROOT / case["file"]
    options = " ".join(f"{name}={value}" for name, value in case["options"].items())
    numbers = " ".join(f"{name}={value}" for name, value in case["bind"].items())
    passes = (f"distribute-inference{{{options}}}", "plan-inference", f"bind-symbols{{{numbers}}}")
    return report(run(example(file.stem), *passes))


def stated(found: Report, key: str) -> int | str | None:
    """The value of a fact `layers|phase|component`: a sum over layers joined by `+`, or over the whole `block`."""
    layers, phase, component = key.split("|")
    names = {layer.removesuffix("?") for layer in layers.split("+")}
    rows = [t for t in found.tasks if t.phase == phase and (layers == "block" or t.layer in names)]
    if component == "collective":
        (row,) = rows
        return row.collective
    values = [vector(row.work)[component].integer for row in rows]
    assert None not in values, f"{key} is not an integer"
    return sum(value for value in values if value is not None)


def test_the_rows_cover_both_phases_and_one_to_eight_ranks() -> None:
    assert {(c["options"]["phase"], c["options"]["tensor"] > 1) for c in CASES} == {
        ("decode", True), ("decode", False), ("prefill", True), ("prefill", False),
    }  # fmt: skip
    assert max(c["options"]["tensor"] for c in CASES) == 8


@pytest.mark.parametrize("case", CASES, ids=[c["id"] for c in CASES])
def test_all_facts_and_all_memory_are_equal(case: dict[str, Any]) -> None:
    found = derive(case)
    facts = {key: stated(found, key) for key in case["facts"]}
    memory = {name: found.memory[name].integer for name in case["memory"]}
    assert (facts, memory) == (case["facts"], case["memory"])
