"""The file tests of `lit_tests/`, with both FileChecks, and the lint that keeps their directives honest."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from types import ModuleType

import lit.LitTestCase
import lit.Test
import lit.worker
import pytest

LIT_TESTS = Path(__file__).parent.parent.parent / "lit_tests"
FILES = sorted(p for p in LIT_TESTS.rglob("*") if p.suffix in (".bpir", ".mlir", ".test") and not {"Output", "Inputs"} & {*p.parts})
"""The tests; files that they read are in folders called `Inputs`."""


def _lint() -> ModuleType:
    spec = importlib.util.spec_from_file_location("lint_filecheck", LIT_TESTS / "lint_filecheck.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


lint = _lint().lint


JUDGES = ["filecheck", *(["FileCheck-19"] if shutil.which("FileCheck-19") else [])]


@cache
def _cases() -> dict[Path, lit.LitTestCase.LitTestCase]:
    """The tests that lit finds, by path."""
    return {Path(case._test.getSourcePath()): case for case in lit.LitTestCase.load_test_suite([str(LIT_TESTS)])}


def _result(case: lit.LitTestCase.LitTestCase, *judges: str) -> lit.Test.Result:
    """The result of a test run in this process (`lit_tests/helpers/in_process.py`), as `lit` runs it."""
    formats = importlib.import_module("in_process")  # found by the configuration of lit, which is read first
    return formats.InProcess(*judges).execute(case._test, case._lit_config)


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(LIT_TESTS)))
def test_file(path: Path) -> None:
    result = _result(_cases()[path], *JUDGES)
    if result.code is lit.Test.UNSUPPORTED:
        pytest.skip(result.output)
    assert result.code is lit.Test.PASS, result.output


def test_lit_finds_every_file() -> None:
    assert sorted(_cases()) == FILES


LETTERS = "printf 'a\\nb\\n'"


@pytest.mark.parametrize(
    ("command", "passes", "logged"),
    [
        ("%not bp-opt %s 2>&1 | FileCheck %s\n// CHECK: unknown operation", True, "$ refuses bp-opt"),
        ("%not bp-opt %s 2>&1 | FileCheck %s\n// CHECK: expected nothing", False, "exit status 1"),
        ("%not bp-opt %s >%t.out 2>&1\n// RUN: FileCheck %s < %t.out\n// CHECK: unknown operation", True, ""),
        ("%not bp-opt %s 2>&1 >%t.out | FileCheck %s\n// RUN: test ! -s %t.out\n// CHECK: unknown operation", True, ""),
        ("%not bp-opt %s 2>%t.out | FileCheck %s --allow-empty\n// CHECK-NOT: error\n// RUN: test -s %t.out", True, ""),
        ("bp-opt %s", False, "unknown operation"),
        ("%not --status=2 bp-opt %s", False, "expected exit status 2, found 1"),
        ("%not bp-opt --help", False, "expected exit status 1, found 0"),
        ("%not --status=2 bp-opt a b", True, ""),
        (f"{LETTERS} > %t && {LETTERS} >> %t && FileCheck %s --input-file=%t\n// CHECK-COUNT-2: a", True, ""),
        (f"{LETTERS} > %t && {LETTERS} > %t && FileCheck %s --input-file=%t\n// CHECK-COUNT-2: a", False, ""),
        ("%repeat 2 a 1 b | grep aab", True, ""),
        ("false | true", False, "exit status 1"),
        ("! false", True, ""),
        ("! true", False, "exit status 1"),
        ("not false", True, ""),
        ("not true", False, "exit status 1"),
        ("none-such", False, "none-such"),
        ("not none-such", False, "none-such"),
        ("false || true", True, ""),
        ("false ; true", True, ""),
        ("false && true", False, ""),
        ("true\n// RUN: false", False, "$ false"),
        ("sh -c 'echo out; echo err >&2; echo out' 2>&1 | tr '\\n' ' ' | grep 'out err out'", True, ""),
        ("%repeat two a", False, "ValueError"),  # a function that fails is a program with a traceback
        ("%not %repeat two a", False, "the command crashed"),
        ("%not --status=0 bp-opt --version && filecheck --version", True, ""),
    ],
)
@pytest.mark.parametrize("processes", [False, True], ids=["in process", "processes"])
def test_commands_do_the_same_in_one_process(command: str, passes: bool, logged: str, processes: bool, tmp_path: Path) -> None:
    result = _trial(command, processes, tmp_path)
    assert (result.code is lit.Test.PASS) == passes, result.output
    assert logged in result.output or processes


def _trial(command: str, processes: bool, tmp_path: Path) -> lit.Test.Result:
    """The result of a file test with the command."""
    (tmp_path / "a.bpir").write_text(f"// RUN: {command}\nmodel.blok\n")
    parameters = "{'processes': '1'}" if processes else "{}"
    (tmp_path / "lit.cfg.py").write_text(
        f"lit_config.params = {parameters}\nlit_config.load_config(config, {str(LIT_TESTS / 'lit.cfg.py')!r})\n"
        f"config.test_source_root = config.test_exec_root = {str(tmp_path)!r}\n"
    )
    (case,) = lit.LitTestCase.load_test_suite([str(tmp_path)])
    return lit.worker._execute(case._test, case._lit_config)


@pytest.mark.parametrize("command", ["true 3>&1", "true &> %t", "true & false", "none-such", "echo 'a"])
def test_what_cannot_be_run_is_no_success(command: str, tmp_path: Path) -> None:
    assert _trial(command, False, tmp_path).code in (lit.Test.FAIL, lit.Test.UNRESOLVED)


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
