"""Small faults that users met, each with the right behaviour derived by hand (`tests/data/cases/cases.json`).

A case is a list of shell steps and what is expected of the last one: its status, texts that stand or are not in its
output, values of a report in JSON, processor seconds and memory. A case that does not hold yet is in `PENDING` with the
part of the work that it belongs to; its line there must go when it holds.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import attrs
import pytest

ROOT = Path(__file__).parent.parent.parent
FOLDER = Path(__file__).parent.parent / "data" / "cases"
CASES: list[dict[str, Any]] = json.loads((FOLDER / "cases.json").read_text())
INPUTS = sorted(path for path in FOLDER.iterdir() if path.name != "cases.json")

PENDING: dict[str, str] = {}
"""The cases that do not hold yet, and the part of the work that they belong to."""


@attrs.frozen
class Outcome:
    """The result of a step: its status, its two outputs, what it cost."""

    status: int
    out: str
    err: str
    seconds: float = 0.0  # of processor time
    megabytes: float = 0.0


MEASURE = """
import resource, subprocess, sys
status = subprocess.run(["bash", "-o", "pipefail", "-c", sys.argv[1]]).returncode
used = resource.getrusage(resource.RUSAGE_CHILDREN)
with open(sys.argv[2], "w") as file:
    file.write(f"{used.ru_utime + used.ru_stime} {used.ru_maxrss / 1024}")
sys.exit(status)
"""
"""Runs a line of shell and writes down what it cost: in a small process, as a child's peak memory begins with that of its parent."""


def shell(step: str, folder: Path) -> Outcome:
    """Run a line of shell in a folder, with the tools of this environment, as a user would."""
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", "")))
    environment = {**os.environ, "PATH": path, "EXAMPLES": str(ROOT / "examples")}
    with tempfile.NamedTemporaryFile("r") as costs:
        command = [sys.executable, "-I", "-S", "-c", MEASURE, step, costs.name]
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True)
        seconds, megabytes = map(float, costs.read().split())
    out, err = (text.decode("utf-8", "replace") for text in (done.stdout, done.stderr))
    return Outcome(done.returncode, out, err, seconds, megabytes)


def complaints(expected: dict[str, Any], outcome: Outcome) -> list[str]:
    """The differences between the outcome and the expected one; empty if there are none."""
    if "either" in expected:
        answers = [complaints(one, outcome) for one in expected["either"]]
        return [] if [] in answers else [text for answer in answers for text in answer]
    text = f"{outcome.out}\n{outcome.err}"
    found = ["a traceback"] if re.search(r"Traceback|internal error", text) else []
    if "exit" in expected and (outcome.status == 0) != (expected["exit"] == 0):
        found.append(f"status {outcome.status}")
    if outcome.status > 2:
        found.append(f"no tool ends with status {outcome.status}")
    found += [f"there is no {pattern!r}" for pattern in expected.get("has", ()) if not re.search(pattern, text, re.MULTILINE)]
    found += [f"there is {pattern!r}" for pattern in expected.get("lacks", ()) if re.search(pattern, text, re.MULTILINE)]
    found += _wrong_values(expected["json"], outcome.out) if "json" in expected else []
    found += [
        f"{getattr(outcome, what):.1f} {what}, not {expected[what]} at most"
        for what in ("seconds", "megabytes")
        if getattr(outcome, what) > expected.get(what, float("inf"))
    ]
    return found


def _wrong_values(expected: dict[str, Any], text: str) -> list[str]:
    try:
        document = json.loads(text)
    except ValueError:
        return ["the output is no JSON"]
    found = []
    for path, wanted in expected.items():
        value = document
        for key in path.split("."):
            value = value.get(key) if isinstance(value, dict) else None
        bound = re.fullmatch(r"(>=|<=)(\d+)", str(wanted))
        if bound is None:
            fits = value == wanted
        else:
            fits = isinstance(value, int) and (value >= int(bound[2]) if bound[1] == ">=" else value <= int(bound[2]))
        if not fits:
            found.append(f"{path} is {value}, not {wanted}")
    return found


def _marks(case: dict[str, Any]) -> list[pytest.MarkDecorator]:
    owner = PENDING.get(case["id"])
    return [pytest.mark.xfail(strict=True, reason=f"open: {owner}")] if owner else []


@pytest.mark.campaign(keep=17)
@pytest.mark.parametrize("case", [pytest.param(case, id=case["id"], marks=_marks(case)) for case in CASES])
def test_case(case: dict[str, Any], tmp_path: Path) -> None:
    if any("mlir-opt-19" in step for step in case["steps"]) and shutil.which("mlir-opt-19") is None:
        pytest.skip("mlir-opt-19 is not installed")
    for path in INPUTS:
        shutil.copy(path, tmp_path)
    *earlier, last = case["steps"]
    for step in earlier:
        outcome = shell(step, tmp_path)
        assert outcome.status == 0, f"{step}: {outcome.err}"
    outcome = shell(last, tmp_path)
    assert complaints(case["expect"], outcome) == [], f"{case['why']}\n{outcome.out}{outcome.err}"


def test_the_cases_are_those_that_were_met() -> None:
    names = [case["id"] for case in CASES]
    assert len(names) == len(set(names)) == 51
    assert set(PENDING) <= set(names)


GOOD = Outcome(0, '{"memory": {"weights": 224}}', "")


@pytest.mark.parametrize(
    ("expected", "outcome"),
    [
        ({"exit": 0}, Outcome(1, "", "error: no")),
        ({"exit": "not 0"}, GOOD),
        ({"exit": "not 0"}, Outcome(1, "", "Traceback (most recent call last):")),
        ({"exit": "not 0"}, Outcome(1, "", "error: internal error: KeyError")),
        ({"exit": "not 0"}, Outcome(137, "", "")),
        ({"has": ["^x"]}, Outcome(0, "yx", "")),
        ({"lacks": ["x$"]}, Outcome(0, "", "yx\n")),
        ({"json": {"memory.weights": 225}}, GOOD),
        ({"json": {"memory.weights": ">=225"}}, GOOD),
        ({"json": {"memory.weights": "<=223"}}, GOOD),
        ({"json": {"memory.weights.x": 224}}, GOOD),
        ({"json": {"memory.weights": ">=1"}}, Outcome(0, "no", "")),
        ({"json": {"memory.weights": ">=1"}}, Outcome(0, '{"memory": {"weights": "B*H"}}', "")),
        ({"seconds": 2.5}, Outcome(0, "", "", seconds=2.6)),
        ({"megabytes": 600}, Outcome(0, "", "", megabytes=601)),
        ({"either": [{"has": ["x"]}, {"exit": "not 0"}]}, GOOD),
    ],
)
def test_the_judge_refuses(expected: dict[str, Any], outcome: Outcome) -> None:
    assert complaints(expected, outcome)


@pytest.mark.parametrize(
    ("expected", "outcome"),
    [
        ({"exit": 0, "lacks": ["x"]}, GOOD),
        ({"exit": "not 0", "has": ["^error"]}, Outcome(2, "out", "error: no")),
        ({"json": {"memory.weights": 224}}, GOOD),
        ({"json": {"memory.weights": ">=224"}}, GOOD),
        ({"seconds": 2.5, "megabytes": 600}, Outcome(0, "", "", 2.5, 600)),
        ({"either": [{"has": ["x"]}, {"exit": 0}]}, GOOD),
    ],
)
def test_the_judge_accepts(expected: dict[str, Any], outcome: Outcome) -> None:
    assert complaints(expected, outcome) == []
