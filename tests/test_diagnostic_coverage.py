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

from bpir.tools import bp_opt, bp_verify

ROOT = Path(__file__).parent.parent
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
    """What is raised while those commands run; each of them finds what it expects."""
    failed = []
    with pytest.MonkeyPatch.context() as patch, recorded() as found:
        for written, (tool, *arguments) in runs():
            patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(written.encode())))
            with contextlib.redirect_stdout(io.TextIOWrapper(io.BytesIO())), contextlib.redirect_stderr(io.StringIO()):
                if _TOOLS[tool](arguments) != 0:
                    failed.append([tool, *arguments])
    assert failed == []
    yield found


EXCEPTIONS: dict[str, tuple[str, str]] = {}
"""Diagnostics that no text raises (`FILE: MESSAGE`): why, and the test that raises them."""


def test_every_diagnostic_has_a_file_test(raised: Raised) -> None:
    assert sorted(f"{s.key} (line {s.first})" for s in sites() if s.key not in EXCEPTIONS and not raised.at(s)) == []


def test_the_list_of_exceptions_is_not_longer_than_it_must_be(raised: Raised) -> None:
    known = {site.key: site for site in sites()}
    assert [key for key in EXCEPTIONS if key not in known] == []
    assert [key for key in EXCEPTIONS if raised.at(known[key])] == []
