"""A tool that fails ends with a message and a status, never with a traceback or half a file."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bpir.tools import bp_opt

BIN = Path(sys.executable).parent
GOOD = '"e.a"() : () -> ()\n'


def run(command: str, cwd: Path, tool: str = "bp-opt") -> subprocess.CompletedProcess[str]:
    """A shell command in which TOOL stands for the tool."""
    text = command.replace("TOOL", str(BIN / tool))
    return subprocess.run(["bash", "-c", text], cwd=cwd, capture_output=True, text=True)


@pytest.fixture
def good(tmp_path: Path) -> Path:
    path = tmp_path / "good.mlir"
    path.write_text(GOOD)
    return path


def opt(*arguments: object) -> int:
    return bp_opt.main([*map(str, arguments), "--allow-unregistered-dialect"])


@pytest.mark.parametrize("tool", ["bp-opt", "bp-report"])
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("absent", "cannot read 'absent': No such file or directory"),
        (".", "cannot read '.': Is a directory"),
        ("$'a\\xff'", "No such file or directory"),
        ("- <&-", "cannot read '-'"),
        ("--help >/dev/full", "cannot write 'standard output': No space left on device"),
        ("--help >&-", "cannot write 'standard output'"),
    ],
)
def test_files_that_cannot_be_used(tool: str, arguments: str, said: str, tmp_path: Path) -> None:
    done = run(f"TOOL {arguments}", tmp_path, tool)
    assert done.returncode == 1
    assert "error: " in done.stderr
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert "Exception" not in done.stderr


def test_a_reader_that_goes_away_is_no_error_worth_a_word(tmp_path: Path, good: Path) -> None:
    done = run("TOOL --list-passes | true; TOOL good.mlir --allow-unregistered-dialect | head -c 1", tmp_path)
    assert done.stderr == ""


def test_closed_standard_error_is_survived(tmp_path: Path) -> None:
    done = run("TOOL absent 2>&-; echo status $?", tmp_path)
    assert done.stdout == "status 1\n"


@pytest.mark.usefixtures("fake_passes")
@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("zero", "error: internal error: ZeroDivisionError: oops\nnote: at "),
        ("recursion", "error: internal error: nested too deeply\nnote: at "),
        ("memory", "error: out of memory\n"),
        ("interrupt", "error: interrupted\n"),
    ],
)
def test_exceptions_become_messages(kind: str, said: str, good: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert opt(good, f"--pass=fake-crash{{kind={kind}}}") == 1
    captured = capsys.readouterr()
    assert captured.err.startswith(said)
    assert captured.out == ""


@pytest.mark.usefixtures("fake_passes")
def test_a_pass_that_fails_publishes_nothing(good: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert opt(good, "--pass=fake-gate") == 1
    assert capsys.readouterr().out == ""
    assert opt(good, "--pass=fake-gate", "-o", out) == 1
    assert not out.exists()


@pytest.mark.usefixtures("fake_passes")
def test_all_wrong_passes_are_reported(good: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert opt(good, "--pass=fake-gon", "--pass-pipeline=fake-mark,fake-options{fast=2}") == 1
    said = capsys.readouterr().err
    assert "<command line>:1:8: error: unknown pass 'fake-gon'" in said
    assert "option 'fast' expects true or false" in said


@pytest.mark.usefixtures("fake_passes")
def test_a_crash_leaves_a_reproducer(good: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "again.mlir"
    assert opt(good, "--pass=fake-mark{text='two words'}", "--pass=fake-crash{kind=a}", f"--crash-reproducer={path}") == 1
    first, second = path.read_text().split("\n", 1)
    assert first == f"// bp-opt {path} '--pass=fake-crash{{kind=a}}' --allow-unregistered-dialect"
    assert 'mark = "two words"' in second
    capsys.readouterr()
    assert opt(path, "--pass=fake-crash{kind=a}") == 1
    assert "ZeroDivisionError" in capsys.readouterr().err


def test_an_output_file_is_replaced_as_a_whole(good: Path, tmp_path: Path) -> None:
    out, link = tmp_path / "out", tmp_path / "link"
    out.write_text("old")
    out.chmod(0o640)
    link.symlink_to(out)
    assert opt(good, "-o", link) == 0
    assert link.is_symlink()
    assert '"e.a"() : () -> ()' in out.read_text()
    assert out.stat().st_mode & 0o777 == 0o640
    assert sorted(p.name for p in tmp_path.iterdir()) == ["good.mlir", "link", "out"]


def test_a_file_may_be_rewritten_in_place(good: Path) -> None:
    assert opt(good, "-o", good) == 0
    first = good.read_text()
    assert opt(good, "-o", good) == 0
    assert good.read_text() == first


def test_an_output_that_fails_leaves_the_old_file(good: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "out"
    out.write_text("old")

    def refuse(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", refuse)
    assert opt(good, "-o", out) == 1
    assert out.read_text() == "old"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["good.mlir", "out"]


def test_a_device_is_written_to(good: Path) -> None:
    assert opt(good, "-o", "/dev/null") == 0
    assert not Path("/dev/null").is_file()


@pytest.mark.parametrize(("when", "painted"), [("always", True), ("never", False), ("auto", False)])
def test_color(when: str, painted: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert opt(tmp_path / "absent", f"--color={when}") == 1
    assert ("\033[1;31merror" in capsys.readouterr().err) is painted


def test_bytes_that_are_no_ascii_survive_in_comments_and_are_escaped_in_strings(tmp_path: Path) -> None:
    path, out = tmp_path / "in.mlir", tmp_path / "out.mlir"
    path.write_bytes('// é\n"e.a"() {s = "é"} : () -> ()\n'.encode())
    assert opt(path, "-o", out) == 0
    assert b'"\\C3\\A9"' in out.read_bytes()
