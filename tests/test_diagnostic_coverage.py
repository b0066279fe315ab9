"""Every diagnostic that the sources can raise is raised by a file test with `--verify-diagnostics`, but for a list with reasons."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from diagnostic_templates import pattern, shown, templates

from bpir.ir import diagnostic
from bpir.tools import bp_opt

ROOT = Path(__file__).parent.parent
_RUN = re.compile(r"// RUN: bp-opt (.*--verify-diagnostics.*)")


def runs() -> Iterator[list[str]]:
    """The command lines of `bp-opt` that verify diagnostics."""
    for path in sorted((ROOT / "lit_tests").rglob("*.*")):
        if "Output" in path.parts or path.suffix not in (".bpir", ".mlir", ".test"):
            continue
        for line in _RUN.findall(path.read_text(encoding="latin-1")):
            command = line.split("|")[0].split(">")[0]
            words = shlex.split(command.replace("%s", str(path)).replace("%examples", str(ROOT / "examples")))
            if not any("%" in word for word in words):
                yield words


@pytest.fixture(scope="module")
def ran() -> tuple[set[str], list[str]]:
    """The messages of all diagnostics made while those commands run, and the commands whose annotations are not what they found."""
    found: set[str] = set()
    failed = []
    real = diagnostic.Diagnostic

    def recording(message: str, *rest: Any) -> diagnostic.Diagnostic:
        found.add(message)
        return real(message, *rest)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(diagnostic, "Diagnostic", recording)
        with contextlib.redirect_stdout(io.TextIOWrapper(io.BytesIO())), contextlib.redirect_stderr(io.StringIO()):
            for command in runs():
                if bp_opt.main(command) != 0:
                    failed.append(" ".join(command))
    return found, failed


@pytest.fixture(scope="module")
def raised(ran: tuple[set[str], list[str]]) -> set[str]:
    return ran[0]


def test_every_annotation_is_met(ran: tuple[set[str], list[str]]) -> None:
    assert ran[1] == []


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
    "passes/bind_symbols.py": "options of passes: lit_tests/*/bind_symbols.bpir and mistakes-options.bpir",
    "passes/binding.py": "options and contract files of passes: lit_tests/concrete and tests/test_concrete_gate.py",
    "passes/inputs.py": "options of passes: lit_tests/dist/mistakes-options.bpir",
    "passes/plan_inference.py": "what only a distributed module by hand lacks",
    "passes/planning.py": "as above",
    "passes/training_graph.py": "a model that a strategy does not fit: tests/test_training_options.py",
    "passes/training_tasks.py": "as above",
    "ir/expression.py": "the interface for Python: tests/test_expression_limits.py; a text meets the parser's bounds first",
    "ir/expression_atoms.py": "as above",
    "ir/expression_core.py": "as above",
    "ir/expression_fraction.py": "as above",
    "ir/expression_text.py": "as above",
    "ir/expression_values.py": "as above",
    "ir/relations.py": "as above",
    "passes/pipeline.py": "the command line, not a file: lit_tests/tools/pipeline-errors.test and tests/test_pipeline.py",
    "passes/manager.py": "passes that are not pure: tests/test_pipeline_manager.py",
    "ir/sympy_bridge.py": "for Python only: tests/test_sympy_bridge.py",
}
"""Files whose diagnostics need no annotation, and why."""

_MODEL = "a model by hand: tests/test_gate_distribution.py"
_LARGE = "only an input of megabytes: tests/test_parser_depth.py, tests/test_expression_limits.py"
_BOUND = "a bound module by hand: tests/test_concrete_gate.py"
_GENERIC = "generic form only, and another diagnostic usually comes first"
OTHERS: dict[str, str] = {
    "'...' of a target must be a positive number, not ...": _GENERIC,
    "'...' of a module is a string": _GENERIC,
    "the visibility of a symbol is ..., not '...'": _GENERIC,
    "'work' must be a #bp.work<...>": _BOUND,
    "the count of devices is an expression (#bp.expr<...>)": _BOUND,
    "the size of a region is an expression (#bp.expr<...>)": _BOUND,
    "the ... of a buffer is an expression (#bp.expr<...>)": _BOUND,
    "'...' has one operand and one result": _GENERIC,
    "'...' names a mesh axis twice": _GENERIC,
    "'...' works on !bp.tensor values": _GENERIC,
    "a task works on !bp.tensor values, found ...": _GENERIC,
    "'dist.block' holds one region with one block": _GENERIC,
    "'...' multiplies ... heads with ...": _MODEL,
    "'...' expects one batch axis and one element: ... and ... differ": _MODEL,
    "Q and K differ in heads: ... and ...": _MODEL,
    "the context '...' can't become the token axis '...'": _MODEL,
    "the first argument of the block must be a !bp.tensor with a batch axis and a token axis": _MODEL,
    "the block names two contexts, '...' and '...'": _MODEL,
    "the size of a buffer is an expression (#bp.expr<...>)": _GENERIC,
    "this affine expression is too large": _LARGE,
    "a symbol's name cannot be empty": _GENERIC,
    "a sum has too many terms: the limit is ...": _LARGE,
    "a product has too many factors: the limit is ...": _LARGE,
    "the aliases used so far stand for more than ... bytes": _LARGE,
    "@... does not stand after @..., which it needs": _BOUND,
    "the transfer @... needs two devices; it has ...": _BOUND,
    "the transfer @... needs two devices; the plan has none": _BOUND,
    "the offset of @... ... a multiple of ...: ...": _BOUND,
    "a concrete module has one concrete.plan, found ...": _BOUND,
    "'...' names a ... twice": _BOUND,
    "@... is used by tasks ... to ..., but lives from ... to ...": "tests/test_gate_planning.py",
    "a successor must be a block of the same region": "the parser refuses such a label first",
}
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

