"""A copy of the project with changes that a page shows, and the tools of the copy.

The copy is imported by a process of its own, which runs many commands, as start-up is most of what a command costs.
"""

from __future__ import annotations

import atexit
import compileall
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import attrs
from support import ROOT

FOLDERS = (
    "cost",
    "dialects",
    "exporter",
    "importer",
    "ir",
    "parser",
    "passes",
    "run",
    "startup",
    "sweep",
    "tools",
    "verifiers",
    "src",
    "examples",
    "docs",
)
_FENCE = re.compile(r"^```diff\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_SESSION = """
import contextlib, io, json, sys
from importlib import import_module
found = []
for tool, *arguments in json.load(sys.stdin):
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        if tool == "page":
            sys.path.insert(0, "docs")
            from site_pages import reference_pages
            print(reference_pages()[arguments[0]])
            status = 0
        else:
            status = import_module("bpir.tools." + tool.replace("-", "_")).main(arguments)
    found.append([status, *(stream.buffer.getvalue().decode() for stream in (out, err))])
json.dump(found, sys.__stdout__)
"""


def diffs(page: str) -> list[str]:
    """The changes that a page of the documentation shows, in order."""
    return _FENCE.findall((ROOT / "docs" / page).read_text(encoding="utf-8"))


def changed_files(diff: str) -> list[str]:
    """The files that a diff changes, or makes."""
    return re.findall(r"^\+\+\+ b/(\S+)$", diff, re.MULTILINE)


@attrs.frozen
class Done:
    """The result of a command."""

    status: int
    out: str
    err: str


@cache
def _compiled() -> Path:
    """A copy that all others are made of, with its bytecode: to compile the project anew is most of what a copy costs."""
    folder = Path(mkdtemp(prefix="bpir-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    for name in FOLDERS:
        shutil.copytree(ROOT / name, folder / name, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    assert compileall.compile_dir(folder, quiet=1)
    return folder


@attrs.frozen
class Copy:
    """A copy of the project in a folder."""

    folder: Path

    @classmethod
    def of_project(cls, folder: Path) -> Copy:
        shutil.copytree(_compiled(), folder, symlinks=True, dirs_exist_ok=True)
        return cls(folder)

    def apply(self, diff: str) -> None:
        """Apply a diff as `git apply` does."""
        subprocess.run(["git", "apply", "-"], input=diff, text=True, cwd=self.folder, check=True)

    def write(self, name: str, text: str) -> str:
        (self.folder / name).write_text(text, encoding="utf-8")
        return name

    def read(self, name: str) -> str:
        return (self.folder / name).read_text(encoding="utf-8")

    def run(self, *commands: Sequence[str]) -> list[Done]:
        """Run commands of the copy's tools in the folder, in order, in one process; `page PATH` is a page of the language reference."""
        environment = {**os.environ, "PYTHONPATH": str(self.folder / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run(
            [sys.executable, "-c", _SESSION],
            input=json.dumps(commands),
            capture_output=True,
            text=True,
            cwd=self.folder,
            env=environment,
        )
        assert done.returncode == 0, done.stderr
        return [Done(*row) for row in json.loads(done.stdout)]

    def good(self, *commands: Sequence[str]) -> list[str]:
        """The output of the commands, none of which may fail."""
        found = self.run(*commands)
        for command, done in zip(commands, found, strict=True):
            assert done.status == 0, f"{' '.join(command)}\n{done.err}{done.out}"
        return [done.out for done in found]
