"""The file tests of `lit_tests/`, with both FileChecks, and the lint that keeps their directives honest."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

LIT_TESTS = Path(__file__).parent.parent / "lit_tests"
FILES = sorted(p for p in LIT_TESTS.rglob("*") if p.suffix in (".bpir", ".mlir", ".test") and not {"Output", "Inputs"} & {*p.parts})
"""The tests; files that they read stand in folders called `Inputs`."""


def _lint() -> ModuleType:
    spec = importlib.util.spec_from_file_location("lint_filecheck", LIT_TESTS / "lint_filecheck.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


lint = _lint().lint


@pytest.mark.parametrize("filecheck", ["filecheck", "FileCheck-19"])
def test_lit(filecheck: str) -> None:
    tool = shutil.which(filecheck, path=str(Path(sys.executable).parent)) or shutil.which(filecheck)
    if tool is None:
        pytest.skip(f"{filecheck} is not installed")
    lit = Path(sys.executable).parent / "lit"  # the script: `python -m lit.main` does nothing
    command = [str(lit), "-v", f"-Dfilecheck={tool}", str(LIT_TESTS)]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace")
    assert done.returncode == 0, done.stdout + done.stderr
    passed = re.search(r"Passed\s*:\s*(\d+)", done.stdout)
    skipped = re.search(r"Unsupported\s*:\s*(\d+)", done.stdout)
    assert passed is not None
    assert int(passed[1]) + (int(skipped[1]) if skipped else 0) == len(FILES)


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(LIT_TESTS)))
def test_directives_check_something(path: Path) -> None:
    text = path.read_text(encoding="latin-1")
    assert "RUN:" in text
    assert lint(text) == []


RUN = "// RUN: bp-opt %s | FileCheck %s\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (RUN, "prefix CHECK is never used"),
        (RUN + "// CHECK\n// CHECK: a", "no colon after CHECK: this line checks nothing"),
        (RUN + "// CHECK a\n// CHECK: a", "no colon after CHECK: this line checks nothing"),
        (RUN + "// CHECK_NEXT: a\n// CHECK: a", "misspelt directive CHECK_NEXT"),
        (RUN + "// CHECK-NXT: a\n// CHECK: a", "unknown directive CHECK-NXT"),
        (RUN + "// CHECK-NEXT: a", "NEXT before any CHECK"),
        (RUN + "// CHECK:", "empty check string"),
        (RUN + "// CHECK-LABEL: [[A:a]]", "variable in a LABEL"),
        (RUN + "// CHECK: {{\\d+}}", "regex class such as \\d: not POSIX; write [0-9]"),
        (RUN + "// CHECK: a {{ +}}b", "regex of blanks: LLVM reads several as one; write one"),
        (RUN + "// CHECK: {{a+?}}", "lookaround or lazy quantifier: not POSIX"),
        (RUN + "// CHECK: [[#A:]]", "numeric block [[#A:]]: LLVM only"),
        (RUN + "// CHECK: [[1, 2]]", "[[1, 2]] is not a variable: write {{\\[\\[}}"),
        ("// RUN: FileCheck --match-everything %s\n// CHECK: a", "option --match-everything is not in both tools"),
        ("// RUN: FileCheck --check-prefixes=A,B %s\n// A: a", "prefix B is never used"),
    ],
)
def test_the_lint_finds(text: str, message: str) -> None:
    assert message in [m for _, m in lint(text)]


@pytest.mark.parametrize(
    "directives",
    [
        "// CHECK: a\n// CHECK-NEXT: [[A:[a-z]+]]\n// CHECK-COUNT-2: {{a|b}}\n// CHECK-EMPTY:",
        "// CHECK{LITERAL}: [[1]]",
    ],
)
def test_the_lint_accepts(directives: str) -> None:
    assert lint(RUN + directives) == []


REFUSES = [sys.executable, str(LIT_TESTS / "helpers" / "refuses.py")]


@pytest.mark.parametrize(
    ("script", "status"),
    [
        ("import sys; sys.exit(1)", 0),
        ("pass", 1),
        ("import sys; sys.exit(2)", 1),
        ("raise ValueError", 1),
        ("import sys; sys.exit('error: internal error: ValueError')", 1),
        ("import os; os.abort()", 1),
    ],
)
def test_a_refusal_is_no_crash(script: str, status: int) -> None:
    done = subprocess.run([*REFUSES, sys.executable, "-c", script], capture_output=True)
    assert done.returncode == status


def test_another_status_may_be_demanded() -> None:
    command = [*REFUSES, "--status=2", sys.executable, "-c", "import sys; sys.exit(2)"]
    assert subprocess.run(command).returncode == 0
