"""Questions about a tool (`--help`, `--version`) import neither the grammar nor the algebra."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = ("sympy", "lark")
LOADED = """
import sys
from bpir.tools.{module} import main
status = main({arguments!r})
print(status, *sorted({names!r} & sys.modules.keys()), file=sys.stderr)
"""


def loaded(module: str, arguments: list[str], names: set[str]) -> list[str]:
    """The exit status of a tool, and which of the names it imported."""
    code = LOADED.format(module=module, arguments=arguments, names=names)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stderr.split()


def test_the_list_of_families_needs_neither() -> None:
    assert loaded("bp_import", ["--list-families"], set(HEAVY)) == ["0"]


@pytest.mark.parametrize("option", ["--list-passes", "--show-dialects", "--explain=plan-inference"])
def test_questions_need_neither_grammar_nor_algebra(option: str) -> None:
    assert loaded("bp_opt", [option], set(HEAVY)) == ["0"]


TOOLS = ["bp_cost", "bp_export", "bp_import", "bp_lsp", "bp_opt", "bp_report", "bp_run", "bp_sweep", "bp_verify"]


@pytest.mark.parametrize("module", TOOLS)
def test_help_imports_next_to_nothing(module: str) -> None:
    assert loaded(module, ["--help"], {*HEAVY, "attrs", "attr", "argparse", "inspect", "bpir.ir"}) == ["0"]


@pytest.mark.parametrize("module", TOOLS)
def test_the_version_is_told_at_once(module: str) -> None:
    """Within 20 ms of the processor: an interpreter takes 13 of them, and `typing` alone would take 3."""
    assert loaded(module, ["--version"], {*HEAVY, "attrs", "attr", "typing", "inspect", "dataclasses", "bpir.ir", "pygls"}) == ["0"]


def test_passes_are_imported_when_they_are_named() -> None:
    assert loaded("bp_opt", ["--help"], {"bpir.passes.inference.plan_inference"}) == ["0"]
    assert loaded("bp_opt", ["--list-passes"], {"bpir.passes.inference.plan_inference"}) == ["0", "bpir.passes.inference.plan_inference"]


def test_a_block_through_two_passes_loads_no_library_that_it_can_do_without() -> None:
    """Each would be a part of every short run: attrs costs 20 ms and a quarter of one a class, sympy half a second."""
    example = str(Path(__file__).parent.parent.parent / "examples" / "gpt3_175b.bpir")
    command = [example, "--pass=distribute-inference", "--pass=plan-inference", "--verify-only"]
    loaded("bp_opt", command, set())  # writes the tables of the grammar, for which lark is loaded once
    assert loaded("bp_opt", command, {*HEAVY, "attrs", "attr", "inspect", "dataclasses", "argparse"}) == ["0"]
