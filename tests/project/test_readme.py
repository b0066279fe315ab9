"""Every command of the README is run, and its output is compared with what the README shows.

In a fenced `console` or `sh` block, a line `$ command` is a command (a backslash at the end continues it), and the
lines after it are what it prints, on both streams. A line `...` stands for any lines. A command with nothing after it
must succeed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from console import Step, agrees, sections, steps

ROOT = Path(__file__).parent.parent.parent
_NOT_RUN = ("make", ".ci/run", "git ", "python3 -m venv", "pip ", "python -m pytest", "pytest", "cd ")
"""Commands that make the environment or run this test."""


README = sections((ROOT / "README.md").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project, where commands may write, with this environment as its `.venv`."""
    copy = tmp_path_factory.mktemp("readme") / "bpir"
    unwanted = shutil.ignore_patterns(".git", ".venv", "__pycache__", "Output", "build", ".*_cache", ".hypothesis")
    shutil.copytree(ROOT, copy, symlinks=True, ignore=unwanted)
    (copy / ".venv").symlink_to(sys.prefix)
    return copy


def test_the_readme_shows_the_tools() -> None:
    assert any("bp-opt" in step.command and step.output for section in README for step in section)


@pytest.mark.parametrize("section", README, ids=lambda section: f"line {section[0].line}")
def test_readme(section: list[Step], checkout: Path) -> None:
    run = [step for step in section if not step.command.startswith(_NOT_RUN)]
    if not run:
        pytest.skip("makes the environment, or runs the tests")
    for step in run:
        _shows(step, checkout)


def _shows(step: Step, checkout: Path) -> None:
    """Run a command in the checkout, and compare what it prints."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", step.command],
        cwd=checkout,
        env={**os.environ, "PATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    if step.output:
        assert agrees(done.stdout, step.output), f"line {step.line}: {done.stdout}"
    else:
        assert done.returncode == 0, f"line {step.line}: {done.stdout}"


def test_how_steps_are_read() -> None:
    text = "```sh\nno command\n```\n```console\n$ a b\nx\n\n$ c \\\n  d\n...\n$ e\n```\n$ not in a block\n"
    assert steps(text) == [Step(5, "a b", ("x", "")), Step(8, "c   d", ("...",)), Step(11, "e", ())]


def test_commands_of_one_section_stay_together() -> None:
    text = "# A\n```console\n$ a\n```\n```bpir\n# no heading\n$ none\n```\n```sh\n$ b\n```\n"
    text += "### B\n```sh\n$ c\n```\n## C\n```sh\n$ d\n```\n# D\n"
    assert [[step.command for step in section] for section in sections(text)] == [["a", "b", "c"], ["d"]]


@pytest.mark.parametrize(
    ("output", "shown", "equal"),
    [
        ("a\nb\n", ("a", "b"), True),
        ("a \nb\n\n", ("a", "b", ""), True),
        ("a\nb\n", ("a",), False),
        ("a\nb\nc\n", ("a", "...", "c"), True),
        ("a\nc\n", ("a", "...", "c"), True),
        ("a\nb\nc\n", ("...", "c"), True),
        ("a\nb\n", ("a", "..."), True),
        ("a\nb\nd\n", ("a", "...", "c"), False),
        ("axb\n", ("a.b",), False),
    ],
)
def test_how_output_is_compared(output: str, shown: tuple[str, ...], equal: bool) -> None:
    assert agrees(output, shown) is equal
