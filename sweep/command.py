"""What `bp-sweep` does: the sweep, its rows in a file, the best of them on standard output, and what became of the others."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import attrs

from bpir.cost.system import System
from bpir.ir.diagnostic import Diagnostic, fail, note, warning
from bpir.sweep.best import Objectives, Row
from bpir.sweep.checked import Checked, checked
from bpir.sweep.conditions import column_of
from bpir.sweep.engines import engine
from bpir.sweep.progress import Progress
from bpir.sweep.run import Request, Result, sweep
from bpir.tools.common import read_source, report, write_output

SHOWN = 20
"""Rows of a Pareto front that are shown where no number is asked for."""


@attrs.frozen
class Wanted:
    """What is done with the rows."""

    output: str | None = None
    minimize: tuple[str, ...] = ()
    top: int = 0
    plans: str | None = None
    plot: str | None = None
    system: str | None = None
    scheduler: str | None = None
    workers: int = 0
    progress: str = "auto"
    color: bool = False


def run(request: Request, wanted: Wanted) -> int:
    """Sweep; the exit status.

    Raises:
        DiagnosticError: what is asked for can't be done.
    """
    system = System(read_source(wanted.system)) if wanted.system is not None else None
    with _scratch(wanted) as folder, engine(wanted.scheduler, wanted.workers) as where:
        progress = Progress(wanted.progress)
        try:
            result = sweep(request, where, folder, progress.tell)
        finally:
            progress.end()
        report(_account(result), wanted.color)
        names = tuple(column_of(name, result.table.names, None) for name in wanted.minimize)
        if wanted.output is not None:
            _write(result, wanted.output)
        elif not names:
            _show_all(result, folder)
        if not names:
            return 0
        return _best(request, wanted, result, names, system)


def _best(request: Request, wanted: Wanted, result: Result, names: tuple[str, ...], system: System | None) -> int:
    """Show the best rows, draw them, and derive and verify their plans; the exit status."""
    objectives = Objectives(result.table, names)
    rows = objectives.best(wanted.top or SHOWN)
    swept = [one.name for one in result.plan.swept if len(one.axis.values) > 1]
    shown = dict.fromkeys(name for name in (*swept, "devices", *names) if name in result.table.names)
    write_output(_aligned(rows, list(shown)), None)
    found = [checked(request, result, row, place, system) for place, row in enumerate(rows[: wanted.top or 0], 1)]
    _write_checked(found, wanted)
    if wanted.plot is not None:
        _draw(result, objectives, rows[: wanted.top or 5], swept, wanted.plot)
    against = [diagnostic for one in found for diagnostic in one.against]
    report(against, wanted.color)
    return 1 if against else 0


def _write_checked(found: Sequence[Checked], wanted: Wanted) -> None:
    """The verdicts, and the plans where they are asked for."""
    if found:
        write_output("\n" + "".join(f"{one.text}\n" for one in found), None)
    if wanted.plans is not None:
        _write_plans(found, wanted.plans)


def _draw(result: Result, objectives: Objectives, rows: Sequence[Row], swept: Sequence[str], path: str) -> None:
    from bpir.sweep.picture import picture

    write_output(picture(result.table, objectives, rows, swept).encode().decode("latin-1"), path)


@contextmanager
def _scratch(wanted: Wanted) -> Iterator[str]:
    """A folder for the parts, beside the output, where workers of other machines find it, too."""
    beside = os.path.dirname(os.path.abspath(wanted.output)) if wanted.output is not None else None
    try:
        folder = tempfile.mkdtemp(prefix=".bp-sweep-", dir=beside)
    except OSError as failure:
        raise fail(f"cannot write beside '{wanted.output}': {failure.strerror}", None) from None
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _write(result: Result, path: str) -> None:
    """Write all rows to one file, whole or not at all."""
    part = f"{path}.{os.getpid()}.part"
    try:
        result.table.write(part, path.rpartition(".")[2])
        os.replace(part, path)
    except OSError as failure:
        raise fail(f"cannot write '{path}': {failure.strerror}", None) from None
    finally:
        if os.path.exists(part):
            os.unlink(part)


def _show_all(result: Result, folder: str) -> None:
    """Write all rows as CSV to standard output."""
    path = os.path.join(folder, "rows.csv")
    result.table.write(path, "csv")
    with open(path, "rb") as file:
        while block := file.read(1 << 22):
            write_output(block.decode("latin-1"), None)


def _write_plans(found: Sequence[Checked], folder: str) -> None:
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as failure:
        raise fail(f"cannot make the folder '{folder}': {failure.strerror}", None) from None
    for place, one in enumerate(found, 1):
        for level, text in (("dist", one.dist), ("plan", one.plan)):
            write_output(text, os.path.join(folder, f"{place}.{level}.bpir"))


def _account(result: Result) -> list[Diagnostic]:
    """What became of all points."""
    left_out = [note(f"{number:,} points do not satisfy '{label}'") for label, number in result.filtered.items()]
    left_out += [note(f"{number:,} points are refused: {message}") for message, number in result.refused.items()]
    whole = f"{result.kept:,} of {result.points:,} points are rows"
    return [note(whole), *left_out] if result.kept else [warning(whole), *left_out]


def _aligned(rows: Sequence[Row], names: Sequence[str]) -> str:
    """Rows one a line, words first; wide rather than broken, because rows are there to be compared."""
    words = [name for name in names if any(isinstance(row[name], str) and not _is_number(row[name]) for row in rows)]
    ordered = [*words, *(name for name in names if name not in words)]
    cells = [["", *ordered], *([str(place), *(_cell(row[name]) for name in ordered)] for place, row in enumerate(rows, 1))]
    widths = [max(len(line[column]) for line in cells) for column in range(len(ordered) + 1)]
    cells.insert(1, ["-" * width for width in widths])
    return "".join(_line(line, widths, 1 + len(words)) for line in cells)


def _line(cells: Sequence[str], widths: Sequence[int], words: int) -> str:
    """The cells in columns: the first ones are words."""
    aligned = [c.ljust(w) if i < words else c.rjust(w) for i, (c, w) in enumerate(zip(cells, widths, strict=True))]
    return "  ".join(aligned).rstrip() + "\n"


def _cell(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)


def _is_number(text: str) -> bool:
    return text.replace("/", "").removeprefix("-").isdigit()
