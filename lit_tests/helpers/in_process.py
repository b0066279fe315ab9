"""A format of file tests that calls the tools as functions, in the process that runs the test.

Start-up is most of what a command of a file test costs. lit finds the tests, reads their directives and substitutes; the
commands are run here: those of `PROGRAMS` as functions over streams in memory, all others as processes. A command of a
pipe gets what the one before it wrote, once that has ended. `lit -Dprocesses=1 lit_tests` runs all of them as processes.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import io
import os
import re
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from unittest import mock

import lit.ShUtil
import lit.Test
import lit.TestRunner
import refuses
import repeat
from lit.formats import ShTest
from lit.ShCommands import Command, GlobItem, Pipeline, Seq

Program = Callable[[list[str]], object]  # of the words of a command, its name first; to an exit status

_JUDGE = "FileCheck"  # as the tests call what compares a text with their directives


class InProcess(ShTest):
    """Runs each file test in this process.

    Args:
        judges: names or paths of FileChecks; each of them judges every expectation.
    """

    def __init__(self, *judges: str) -> None:
        super().__init__()
        self.judges = judges

    def execute(self, test: lit.Test.Test, lit_config: object) -> lit.Test.Result:
        """The verdict on one file, with a log of its commands."""
        script = lit.TestRunner.parseIntegratedTestScript(test)
        if isinstance(script, lit.Test.Result):  # it needs what is not here, or has no command
            return script
        folder, base = lit.TestRunner.getTempPaths(test)
        substitutions = lit.TestRunner.getDefaultSubstitutions(test, folder, base)
        lines = lit.TestRunner.applySubstitutions(script, substitutions, recursion_limit=test.config.recursiveExpansionLimit)
        where = Path(base).parent
        where.mkdir(parents=True, exist_ok=True)
        shell = _Shell(self.judges)
        with contextlib.chdir(where), mock.patch.dict(os.environ, test.config.environment, clear=True):
            good = all(shell.run(_parsed(line)) == 0 for line in lines)
        return lit.Test.Result(lit.Test.PASS if good else lit.Test.FAIL, "\n".join(shell.log))


def _parsed(line: str) -> Seq | Pipeline:
    """The commands of a line of a script; lit has written in front of it where it stands."""
    marked = re.fullmatch(lit.TestRunner.kPdbgRegex, line)
    return lit.ShUtil.ShParser(marked[2] if marked else line, pipefail=True).parse()


class _Streams:
    """What a command reads, and what its standard output and standard error lead to."""

    def __init__(self, stdin: bytes, redirects: list[tuple[tuple[object, ...], str]]) -> None:
        self.stdin, self.pipe = stdin, io.BytesIO()
        self.stdout, self.stderr = self.pipe, io.BytesIO()
        self._files: list[tuple[str, str, io.BytesIO]] = []
        for operator, target in redirects:  # in their order: `2>&1 >file` sends only errors down the pipe
            match operator:
                case ("<",):
                    self.stdin = Path(target).read_bytes()
                case (">",):
                    self.stdout = self._file(target, "wb")
                case (">>",):
                    self.stdout = self._file(target, "ab")
                case (">", 2):
                    self.stderr = self._file(target, "wb")
                case (">&", 2) if target == "1":
                    self.stderr = self.stdout
                case _:
                    raise ValueError(f"a redirection that is not supported: {operator} {target}")

    def _file(self, path: str, mode: str) -> io.BytesIO:
        stream = io.BytesIO()
        self._files.append((path, mode, stream))
        return stream

    def close(self) -> None:
        """Write the files."""
        for path, mode, stream in self._files:
            with open(path, mode) as file:
                file.write(stream.getvalue())

    def shown(self) -> str:
        """All that was written."""
        streams = dict.fromkeys([self.stdout, self.stderr])
        return "".join(stream.getvalue().decode("utf-8", "replace") for stream in streams)


class _Shell:
    """Runs parsed commands, and logs them."""

    def __init__(self, judges: Sequence[str]) -> None:
        self.judges = judges
        self.log: list[str] = []

    def run(self, commands: Seq | Pipeline) -> int:
        """The exit status."""
        if isinstance(commands, Pipeline):
            return self._pipeline(commands)
        status = self.run(commands.lhs)
        ends = {"&&": status != 0, "||": status == 0, ";": False}[commands.op]
        return status if ends else self.run(commands.rhs)

    def _pipeline(self, pipeline: Pipeline) -> int:
        """The status of the last command that failed; 0 if all succeeded."""
        found, data = 0, b""
        for command in pipeline.commands:
            streams = _Streams(data, command.redirects)
            status = self._command(_words(command), streams)
            streams.close()
            found, data = status or found, streams.pipe.getvalue()
        return found

    def _command(self, words: list[str], streams: _Streams) -> int:
        self.log.append(f"$ {' '.join(words)}")
        negated = words[0] in ("!", "not")
        try:
            status = self._status(words[negated:], streams)
        except OSError as failure:  # as a shell says it
            streams.stderr.write(f"{failure}\n".encode())
            status, negated = 127, False
        if negated:
            status = int(status <= 0)  # ended by a signal: no refusal
        if status != 0:
            self.log.append(f"{streams.shown()}exit status {status}")
        return status

    def _status(self, words: list[str], streams: _Streams) -> int:
        name, *arguments = words
        if name == _JUDGE:
            return max(self._status([judge, *arguments], streams) for judge in self.judges)
        if name == "refuses":
            expected, refused = refuses.demanded(arguments)
            begin = streams.stderr.tell()
            status = self._status(refused, streams)
            complaint = refuses.complaint(status, streams.stderr.getvalue()[begin:], expected)
            streams.stderr.write(complaint.encode())
            return int(complaint != "")
        if name in PROGRAMS:
            return _call(PROGRAMS[name], words, streams)
        both = subprocess.STDOUT if streams.stderr is streams.stdout else subprocess.PIPE
        done = subprocess.run(words, input=streams.stdin, stdout=subprocess.PIPE, stderr=both)
        streams.stdout.write(done.stdout)
        streams.stderr.write(done.stderr or b"")
        return done.returncode


def _words(command: Command) -> list[str]:
    found: list[str] = []
    for part in command.args:
        found += part.resolve(os.getcwd()) if isinstance(part, GlobItem) else [part]
    return found


def _call(program: Program, words: list[str], streams: _Streams) -> int:
    """The exit status of a function that is called as a program."""
    collects = gc.isenabled()
    with _standard_streams(streams):
        try:
            status = program(list(words))
        except SystemExit as end:
            status = end.code
        except Exception:
            traceback.print_exc()
            status = 1
    if collects:
        gc.enable()  # the tools switch it off, for the process is theirs
    return status if isinstance(status, int) else int(status is not None)


@contextlib.contextmanager
def _standard_streams(streams: _Streams) -> Iterator[None]:
    """The standard streams of this process are those of a command."""
    opened = {
        name: io.TextIOWrapper(buffer, encoding="utf-8", errors="backslashreplace", write_through=True)
        for name, buffer in (("stdin", io.BytesIO(streams.stdin)), ("stdout", streams.stdout), ("stderr", streams.stderr))
    }
    with mock.patch.multiple(sys, **opened):
        try:
            yield
        finally:
            for wrapper in opened.values():
                wrapper.flush()
                wrapper.detach()  # or it closes what it wraps


def _tool(module: str) -> Program:
    return lambda words: importlib.import_module(module).main(words[1:])


def _filecheck(words: list[str]) -> object:
    return importlib.import_module("filecheck.main").main(words)


PROGRAMS: dict[str, Program] = {
    "bp-opt": _tool("bpir.tools.bp_opt"),
    "bp-report": _tool("bpir.tools.bp_report"),
    "bp-run": _tool("bpir.tools.bp_run"),
    "bp-import": _tool("bpir.tools.bp_import"),
    "bp-lsp": _tool("bpir.tools.bp_lsp"),
    "bp-export": _tool("bpir.tools.bp_export"),
    "bp-cost": _tool("bpir.tools.bp_cost"),
    "bp-sweep": _tool("bpir.tools.bp_sweep"),
    "bp-verify": _tool("bpir.tools.bp_verify"),
    "filecheck": _filecheck,
    "repeat": lambda words: repeat.main(words[1:]),
}
"""The commands that are functions."""
