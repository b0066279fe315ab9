"""Every diagnostic that the sources can raise is raised by a file test with `--verify-diagnostics`, but for a short list with reasons."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from diagnostic_templates import Raised, recorded, sites
from support import test_file

from bpir.tools import bp_opt, bp_verify

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent.parent
_RUN = re.compile(r"^(?://|#) RUN: ((?:echo|%repeat|bp-opt|bp-verify) .*--verify-diagnostics.*)", re.MULTILINE)
_TOOLS = {"bp-opt": bp_opt.main, "bp-verify": bp_verify.main}


def runs() -> Iterator[tuple[str, list[str]]]:
    """Standard input and command line of every run of a tool that verifies diagnostics."""
    for path in sorted((ROOT / "lit_tests").rglob("*.*")):
        if "Output" in path.parts or path.suffix not in (".bpir", ".mlir", ".test"):
            continue
        for line in _RUN.findall(path.read_text(encoding="latin-1")):
            words = shlex.split(line)
            written = ""
            if words[0] == "echo":
                written = " ".join(words[1 : words.index("|")]).replace("%%", "%")
            elif words[0] == "%repeat":
                made = words[1 : words.index("|")]
                written = "".join(int(count) * text for count, text in zip(made[::2], made[1::2], strict=True))
            command = words[words.index("|") + 1 :] if written else words
            command = command[: next((i for i, word in enumerate(command) if word[0] in "|>"), None)]
            for name, value in (("%examples", ROOT / "examples"), ("%S", path.parent), ("%s", path)):
                command = [word.replace(name, str(value)) for word in command]
            if not any("%" in word for word in command):
                yield written, command


@pytest.fixture(scope="module")
def raised() -> Iterator[Raised]:
    """The diagnostics raised while those commands run; each command finds what it expects."""
    failed = []
    with pytest.MonkeyPatch.context() as patch, recorded() as found:
        for written, (tool, *arguments) in runs():
            patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(written.encode())))
            with contextlib.redirect_stdout(io.TextIOWrapper(io.BytesIO())), contextlib.redirect_stderr(io.StringIO()):
                if _TOOLS[tool](arguments) != 0:
                    failed.append([tool, *arguments])
    assert failed == []
    yield found


_ARGUMENTS = "an argument of a function: the parser passes none that is wrong"
_BUILT = "IR that Python built: the parser refuses it first"
_CHANGED = ("a change of a derived text", "test_changed_texts.py::test_a_changed_text_is_refused")
_UNSOUND = "a target that bp-verify and the manager refuse before: its structure is not sound"
_UNSOUND_TEST = "test_gate_distribution.py::test_the_boundary_of_an_unsound_target"
EXCEPTIONS = {
    "ir/expressions/expression.py: an integer is too large": (
        "more digits than the parser lets through",
        "test_expression_limits.py::test_bounds_answer_at_once",
    ),
    "ir/expressions/expression.py: '...' is not an integer": (_ARGUMENTS, "test_expression.py::test_literals_that_are_no_digits"),
    "ir/expressions/nodes.py: ... needs an argument": (_ARGUMENTS, "test_expression_nodes.py::test_refusals"),
    "ir/expressions/atoms.py: '...' is not the name of a symbol": (_ARGUMENTS, "test_expression.py::test_names_that_are_not_identifiers"),
    "ir/expressions/normal_form.py: ... is not an exact number": (_ARGUMENTS, "test_expression.py::test_mixed_operands"),
    "ir/expressions/values.py: the symbol '...' has no value": (_ARGUMENTS, "test_expression.py::test_division_by_zero"),
    "ir/relations/facts.py: ... = ...: the value of a symbol must be a positive integer": (
        _ARGUMENTS,
        "test_orders.py::test_bindings_and_violations",
    ),
    "ir/relations/witness.py: a value is too large": (
        "a candidate that is given up: the next is tried",
        "test_effort.py::test_a_candidate_of_thousands_of_digits_is_given_up",
    ),
    "ir/expressions/sympy_bridge.py: ... is not a sympy expression": (_ARGUMENTS, "test_sympy_bridge.py::test_refusals_say_why"),
    "ir/expressions/sympy_bridge.py: '...' is not an integer exponent": (_ARGUMENTS, "test_sympy_bridge.py::test_refusals_say_why"),
    "ir/expressions/sympy_bridge.py: sympy's ... evaluates wrongly: use sympy.Function('...'), which is opaque to it": (
        _ARGUMENTS,
        "test_sympy_bridge.py::test_refusals_say_why",
    ),
    "ir/expressions/sympy_bridge.py: ... has two arguments, not ...": (_ARGUMENTS, "test_sympy_bridge.py::test_refusals_say_why"),
    "ir/expressions/sympy_bridge.py: ... is not part of the language of expressions": (
        _ARGUMENTS,
        "test_sympy_bridge.py::test_refusals_say_why",
    ),
    "passes/manager.py: pass '...' is not pure: it changed the module that it was given": (
        "a pass that changes its input: ours do not",
        "test_pipeline_manager.py::test_replay_refuses_a_pass_that_changes_its_input",
    ),
    "passes/manager.py: pass '...' is not deterministic: its second run differs from line ... on": (
        "a pass that answers differently: ours do not",
        "test_pipeline_manager.py::test_replay_refuses_a_pass_that_answers_differently",
    ),
    "verifiers/ssa/operations.py: '...' lacks its property '...'": (_BUILT, "test_structure.py::test_a_missing_property"),
    "verifiers/ssa/operations.py: '...' has no property '...'...": (_BUILT, "test_structure.py::test_a_property_of_another_name"),
    "verifiers/ssa/operations.py: a successor must be a block of the same region": (
        _BUILT,
        "test_structure.py::test_a_successor_in_another_region",
    ),
    "dialects/model/rules/operation.py: '...' does not fit its equation: ...": (
        "an operation whose author wrote a wrong equation: ours fit",
        "test_factors.py::test_what_does_not_fit_the_equation_of_its_operation_is_told_at_its_place",
    ),
    "dialects/dist/one_rank.py: a task works on !bp.tensor values, found ...": (_UNSOUND, _UNSOUND_TEST),
    "verifiers/chosen_bindings.py: the block names no dist.mesh of the module": (_UNSOUND, _UNSOUND_TEST),
    "dialects/dist/one_rank.py: the mesh has no axis '...'...": (_UNSOUND, _UNSOUND_TEST),
    "dialects/dist/tasks.py: only a task of the phase recompute can be unread": _CHANGED,
    "passes/training/distribute_training.py: Calculon does not repeat the product with V: use recompute = attention with convention = calculon": (  # noqa: E501
        "an option of the command line",
        "test_changed_texts.py::test_calculon_has_no_repeated_product_with_v",
    ),
    "verifiers/planning/block.py: the size of @... (the workspace)": _CHANGED,
    "verifiers/planning/block.py: ... has no buffer: ... bytes are needed": _CHANGED,
    "verifiers/planning/module.py: the size of the mesh axis '...'": _CHANGED,
    "verifiers/training/block.py: '...' is marked unread, and backward reads it": _CHANGED,
    "verifiers/training/block.py: '...' is repeated, and backward reads nothing of it: mark the task 'unread'": _CHANGED,
    "verifiers/training/borders.py: '...' has ... operands, and a border has one value": _CHANGED,
    "verifiers/training/weights.py: '...' does not give every rank the sum: expected ...": _CHANGED,
    "verifiers/training/weights.py: the gradients of the weights of '...' are complete on every rank": _CHANGED,
    "verifiers/planning/block.py: '...' reads a state as it was before '...', which has written to it by then": (
        "a source that no pass plans",
        "test_gate_buffers.py::test_r8_what_reads_a_cache_that_was_written_by_then_is_refused",
    ),
    "verifiers/stages/capacity.py: that ... fits can't be decided (unknown is not success): too many sizes may be the largest": (
        "more sizes than a maximum may have",
        "test_job_memory.py::test_too_many_sizes_decide_nothing",
    ),
    "verifiers/stages/rows.py: a plan of stages is bound as if one device ran all of it": (
        "a source that no pass binds",
        "test_gate_stages.py::test_what_is_bound_has_no_stages",
    ),
    "verifiers/planning/module.py: the source of a plan has a dist.block, and this one has none": (
        "a source that is of no level: bp-verify refuses it first",
        "test_gate_planning.py::test_r1_a_source_without_blocks",
    ),
}
"""Diagnostics that no text raises (`FILE: MESSAGE`): why, and the test that raises them."""


def test_every_diagnostic_has_a_file_test(raised: Raised) -> None:
    missing = sorted(f"{s.key} (line {s.first})" for s in sites() if s.key not in EXCEPTIONS and not raised.at(s))
    assert missing == [], "\n".join(missing)


@pytest.mark.campaign
def test_the_list_of_exceptions_is_not_longer_than_it_must_be(raised: Raised) -> None:
    assert sorted(EXCEPTIONS.keys() - {site.key for site in sites()}) == []
    assert sorted({site.key for site in sites() if site.key in EXCEPTIONS and raised.at(site)}) == []


@pytest.mark.campaign
def test_the_exceptions_are_raised_by_the_tests_that_they_name() -> None:
    tests = sorted({str(test_file(name)) + "::" + test for name, _, test in (value.partition("::") for _, value in EXCEPTIONS.values())})
    with recorded() as found, contextlib.redirect_stdout(io.StringIO()):
        assert pytest.main(["-q", "-p", "no:cacheprovider", "--tier", "all", *tests]) == 0
    assert sorted(site.key for site in sites() if site.key in EXCEPTIONS and not found.at(site)) == []
