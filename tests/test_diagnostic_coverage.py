"""Every diagnostic that the sources can raise is raised by a file test with `--verify-diagnostics`, but for a list with reasons."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest
from diagnostic_templates import pattern, shown, templates

from bpir.ir import diagnostic, expression_bounds
from bpir.tools import bp_opt

ROOT = Path(__file__).parent.parent
_RUN = re.compile(r"// RUN: bp-opt (.*--verify-diagnostics.*)")


def runs() -> Iterator[list[str]]:
    """The command lines of `bp-opt` that verify diagnostics."""
    for path in sorted((ROOT / "lit_tests").rglob("*.*")):
        if "Output" in path.parts or path.suffix not in (".bpir", ".mlir", ".test"):
            continue
        for line in _RUN.findall(path.read_text(encoding="latin-1")):
            command = line.split("|")[0].split(">")[0].replace("2", "2")
            words = shlex.split(command.replace("%s", str(path)).replace("%examples", str(ROOT / "examples")))
            if not any("%" in word for word in words):
                yield words


@pytest.fixture(scope="module")
def raised() -> set[str]:
    """The messages of all diagnostics made while those commands run."""
    found: set[str] = set()
    real = diagnostic.Diagnostic

    def recording(message: str, *rest: Any) -> diagnostic.Diagnostic:
        found.add(message)
        return real(message, *rest)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(diagnostic, "Diagnostic", recording)
        with contextlib.redirect_stdout(io.TextIOWrapper(io.BytesIO())), contextlib.redirect_stderr(io.StringIO()):
            for command in runs():
                bp_opt.main(command)
    return found


COVERED_ELSEWHERE = {
    "verifiers/binding.py": "a boundary rule: it reads two files, in lit_tests/verify and tests/test_corruption.py",
    "verifiers/boundary.py": "a boundary rule, as above",
    "verifiers/distribution.py": "a boundary rule, as above",
    "verifiers/inputs.py": "a boundary rule, as above",
    "verifiers/planning.py": "a boundary rule, as above",
    "verifiers/rules.py": "a boundary rule, as above",
    "verifiers/training.py": "a boundary rule, as above",
    "verifiers/training_block.py": "a boundary rule, as above",
    "verifiers/training_memory.py": "a boundary rule, as above",
    "passes/pipeline.py": "the command line, not a file: lit_tests/tools/pipeline-errors.test and tests/test_pipeline.py",
    "passes/manager.py": "passes that are not pure: tests/test_pipeline_manager.py",
    "ir/sympy_bridge.py": "for Python only: tests/test_sympy_bridge.py",
}
"""Files whose diagnostics need no annotation, and why."""

OTHERS: dict[str, str] = {}
"""Messages without an annotation, and why."""


def test_every_diagnostic_has_a_file_test(raised: set[str]) -> None:
    missing = []
    for template, place in templates().items():
        if place.partition(":")[0] in COVERED_ELSEWHERE or shown(template) in OTHERS:
            continue
        if not any(map(pattern(template).search, raised)):
            missing.append(f"{place}: {shown(template)}")
    assert sorted(missing) == []


def test_the_list_of_exceptions_is_not_longer_than_it_must_be(raised: set[str]) -> None:
    known = {shown(template): template for template in templates()}
    assert [text for text in OTHERS if text not in known] == []
    assert [text for text in OTHERS if any(map(pattern(known[text]).search, raised))] == []

