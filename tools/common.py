"""Shared by all tools: reading, writing, and the one place where failures become messages.

A tool exits 0 on success, 1 on a diagnostic, 2 on wrong usage, and never with a traceback.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Iterable

from bpir import __version__
from bpir.startup.image import Image
from bpir.tools.options import COLOR, HELP, VERSION, Arguments, Option, UsageError, help_text, parse

TYPE_CHECKING = False  # without `typing`, which is a part of every start
if TYPE_CHECKING:
    from typing import BinaryIO

    from bpir.ir.diagnostic import Diagnostic, Source
    from bpir.ir.operation import Operation


_MAXIMUM_SHOWN = 200  # diagnostics of one input


class Tool:
    """A command-line tool: its texts, its options, and `body`, which returns the exit status."""

    def __init__(
        self,
        name: str,
        usage: str,
        about: str,
        table: list[Option],
        body: Callable[[Arguments], int],
        closing: str = "",
    ) -> None:
        self.name, self.usage, self.about, self.body, self.closing = name, usage, about, body, closing
        self.table = [*table, COLOR, VERSION, HELP]

    def run(self, argv: list[str] | None = None) -> int:
        """Run the tool on the arguments. Those of the process by default: then the tool is all of it, and ends it."""
        if argv is not None:
            return self._run(argv)
        image = Image()
        status = self._run(sys.argv[1:], image)
        for stream in (sys.stdout, sys.stderr):
            try:  # noqa: SIM105  (contextlib is not loaded on the short path)
                stream.flush()
            except (AttributeError, OSError, ValueError):  # there is none, its reader has gone, or it is closed
                pass
        image.keep()
        os._exit(status)  # taking a large module apart, object by object, is a sixteenth of the run

    def _run(self, argv: list[str], image: Image | None = None) -> int:
        arguments = Arguments()
        gc.disable()  # a module is one tree that lives until the end: collecting it again and again costs a quarter of the run
        try:
            arguments = parse(argv, self.table)
            if arguments.flag("help"):
                write_output(help_text(self.usage, self.about, self.table, self.closing), None)
                return 0
            if arguments.flag("version"):
                write_output(f"{self.name} {__version__}\n", None)
                return 0
            if image is not None:
                image.install()
            from bpir.ir.effort import BASE, limited

            with limited(BASE):
                return self.body(arguments)
        except UsageError as failure:
            _complain(f"{self.name}: {failure}\nusage: {self.usage}\nTry '{self.name} --help'.\n")
            return 2
        except (Exception, KeyboardInterrupt) as failure:
            report(explain_exception(failure), wants_color(arguments))
            return 1


def explain_exception(failure: BaseException) -> list[Diagnostic]:
    """The text that a user should read about any exception; nothing for a reader that closed the pipe."""
    from bpir.ir.diagnostic import DiagnosticError, error, note
    from bpir.ir.expressions.expression import ExpressionError

    if isinstance(failure, DiagnosticError):
        return list(failure.diagnostics)
    if isinstance(failure, ExpressionError):  # an expression outgrew its bounds, away from any text
        return [error(str(failure))]
    if isinstance(failure, BrokenPipeError):
        return []
    if isinstance(failure, KeyboardInterrupt):
        return [error("interrupted")]
    if isinstance(failure, MemoryError):
        return [error("out of memory")]
    if isinstance(failure, OSError):
        what = f"'{failure.filename}': " if failure.filename else ""
        return [error(f"{what}{failure.strerror or failure}")]
    reason = "nested too deeply" if isinstance(failure, RecursionError) else f"{type(failure).__name__}: {failure}"
    where = note(f"at {_place(failure)}; this is a bug in bpir, please report it")
    return [error(f"internal error: {reason}", None, where)]


def _place(failure: BaseException) -> str:
    """The innermost frame of our own code that the exception passed through."""
    place = "an unknown place"
    trace = failure.__traceback__
    while trace is not None:
        module = str(trace.tb_frame.f_globals.get("__name__", ""))
        if module.startswith("bpir."):
            place = f"{module}:{trace.tb_lineno}"
        trace = trace.tb_next
    return place


def wants_color(arguments: Arguments) -> bool:
    """Whether diagnostics are coloured: by `--color`, else on a terminal that does not refuse it (`NO_COLOR`)."""
    chosen = arguments.value("color") or "auto"
    if chosen != "auto":
        return chosen == "always"
    return sys.stderr is not None and sys.stderr.isatty() and not os.environ.get("NO_COLOR")


def paints_output(arguments: Arguments) -> bool:
    """Whether a module is coloured that goes to standard output: by `--color`, else on a terminal that does not refuse it."""
    chosen = arguments.value("color") or "auto"
    if chosen != "auto":
        return chosen == "always"
    return sys.stdout is not None and sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def report(diagnostics: Iterable[Diagnostic], color: bool = False) -> None:
    """Show diagnostics on standard error; of very many the first."""
    shown = list(diagnostics)
    for diagnostic in shown[:_MAXIMUM_SHOWN]:
        _complain(diagnostic.render(color) + "\n")
    if len(shown) > _MAXIMUM_SHOWN:
        _complain(f"note: {len(shown) - _MAXIMUM_SHOWN} more are not shown\n")


def _complain(text: str) -> None:
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except (OSError, AttributeError):  # standard error is closed: there is nobody to tell
        pass


def read_source(path: str) -> Source:
    """The file, or standard input for `-`: bytes decoded as latin-1, so that an offset is a byte offset.

    Raises:
        DiagnosticError: it cannot be read.
    """
    from bpir.ir.diagnostic import Source, fail

    if path != "-":
        return read_file(path)
    try:
        return Source("<stdin>", sys.stdin.buffer.read().decode("latin-1"))
    except (OSError, ValueError, AttributeError) as failure:
        raise fail(f"cannot read '-': {_reason(failure)}") from None


def read_file(path: str) -> Source:
    """The file, also one that is called `-`.

    Raises:
        DiagnosticError: it cannot be read.
    """
    from bpir.ir.diagnostic import Source, fail

    try:
        with open(path, "rb") as file:
            return Source(path, file.read().decode("latin-1"))
    except (OSError, ValueError) as failure:
        raise fail(f"cannot read '{path}': {_reason(failure)}") from None


def _reason(failure: Exception) -> str:
    """Why a file or a stream can't be read."""
    return str(failure.strerror) if isinstance(failure, OSError) else "the name or the stream is not usable"


def read_module(path: str, color: bool) -> Operation:
    """The module of a file, structurally verified; warnings are shown.

    Raises:
        DiagnosticError: it cannot be read or parsed, or is malformed.
    """
    warnings: list[Diagnostic] = []
    module = sound_module(read_source(path), warnings)
    report(warnings, color)
    return module


def sound_module(source: Source, warnings: list[Diagnostic], allow_unregistered: bool = False) -> Operation:
    """The module of a text, structurally verified; warnings are added to the list.

    Raises:
        DiagnosticError: it cannot be parsed, or is malformed.
    """
    from bpir.ir.diagnostic import DiagnosticError
    from bpir.parser import parse_module
    from bpir.verifiers.structure.exhaustion import placed
    from bpir.verifiers.structure.module import verify

    module = parse_module(source, allow_unregistered=allow_unregistered)
    with placed(module):
        found = verify(module)
    if any(d.severity == "error" for d in found):
        raise DiagnosticError(*found)
    warnings += found
    return module


def only_file(arguments: Arguments, most: int = 1) -> str:
    """The one file of the command line; standard input if there is none and it is not a terminal.

    Args:
        most: how many files the tool would take.

    Raises:
        UsageError: there are several files, or there is nothing to read.
    """
    if len(arguments.positional) > 1:
        expected = "one input file" if most == 1 else f"{most} input files at most"
        raise UsageError(f"expected {expected}, found {' '.join(arguments.positional)}")
    if arguments.positional:
        return arguments.positional[0]
    if sys.stdin is None or sys.stdin.isatty():
        raise UsageError("an input file is missing ('-' is standard input)")
    return "-"


def write_output(text: str, path: str | None) -> None:
    """Write the text (bytes decoded as latin-1) to standard output, or to a file, whole or not at all.

    Raises:
        DiagnosticError: it cannot be written.
        BrokenPipeError: the reader of standard output went away.
    """
    write_pieces([text], path)


def write_pieces(pieces: Iterable[str], path: str | None) -> None:
    """The same of a text in pieces.

    Raises:
        DiagnosticError: it cannot be written.
        BrokenPipeError: the reader of standard output went away.
    """
    if path is None or path == "-":
        _write_standard_output(pieces)
        return
    try:
        target = os.path.realpath(path)
        if os.path.exists(target) and not os.path.isfile(target):  # a device or a pipe: nothing to replace
            with open(target, "wb") as stream:
                _write_to(stream, pieces)
        else:
            _replace_file(target, pieces)
    except OSError as failure:
        raise _cannot_write(path, failure) from None


def _write_to(stream: BinaryIO, pieces: Iterable[str]) -> None:
    for piece in pieces:
        stream.write(piece.encode("latin-1"))


def _write_standard_output(pieces: Iterable[str]) -> None:
    try:
        if sys.stdout is None:
            raise OSError(9, "it is closed")
        sys.stdout.flush()
        _write_to(sys.stdout.buffer, pieces)
        sys.stdout.buffer.flush()
    except OSError as failure:
        if sys.stdout is not None:  # or the interpreter tries to flush once more at its end, and complains
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(failure, BrokenPipeError):
            raise
        raise _cannot_write("standard output", failure) from None


def _replace_file(target: str, pieces: Iterable[str]) -> None:
    """Write beside the target, then move over it."""
    part = f"{target}.{os.getpid()}.part"
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        with open(descriptor, "wb") as stream:
            _write_to(stream, pieces)
        if os.path.exists(target):
            os.chmod(part, os.stat(target).st_mode & 0o7777)
        os.replace(part, target)
    except BaseException:
        os.unlink(part)
        raise


def _cannot_write(path: str, failure: OSError) -> Exception:
    from bpir.ir.diagnostic import fail

    return fail(f"cannot write '{path}': {failure.strerror}")
