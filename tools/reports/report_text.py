"""A report as text for people (table, Markdown) and for spreadsheets (CSV)."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from itertools import pairwise

import attrs

from bpir.ir.expressions.expression import ONE, Expr
from bpir.tools.reports.report import (
    MEANINGS,
    NOT_DERIVED,
    AllRanks,
    Job,
    Parameters,
    Report,
    Work,
    by_block,
    by_section,
    grouped,
    summed,
    with_total,
)

_WIDTH = 100  # columns that a table should fit into, unless it says another number
_COMPONENTS = ("ops", "read", "write", "msg")


@attrs.frozen
class Table:
    """Rows of cells under a head; the first `words` columns are words, the others values."""

    head: tuple[str, ...]
    rows: tuple[tuple[str | Expr, ...], ...]
    words: int = 1
    width: int = _WIDTH


def tables(report: Report, by: str, explained: bool = False) -> list[Table]:
    """The tables of the report when its tasks are grouped `by` task, phase, layer or not at all (`total`).

    Where the memory is `explained`, each of its rows says what it holds.
    """
    if report.network is not None:
        return _network_tables(report.network, by)
    if report.level == "model":
        return [_named("parameters", "elements", with_total(report.parameters))]
    found = [_work_table(report, by)]
    if report.memory:
        memory = report.memory_in_full() if explained else report.memory_and_peak()
        if explained:
            rows = tuple((name, MEANINGS[name], value) for name, value in memory.items())
            found.append(Table(("memory", "what it holds", "bytes"), rows, words=2))
        else:
            found.append(_named("memory", "bytes", memory))
    if by == "total" and report.ranks is not None:
        found.append(_ranks_table(report.ranks))
    if by == "total" and report.job is not None and report.job.is_staged:
        found += _job_tables(report.job)
    return found


def _job_tables(job: Job) -> list[Table]:
    """The memory of each stage, of stages that are alike once, and the messages."""
    rows: list[tuple[str | Expr, ...]] = []
    fused = {"with fused attention": job.fused_attention, "with fused kernels": job.fused_kernels}
    names = [*job.stages[0], *(name for name, held in fused.items() if held)]
    places = [0, *(place for place in range(1, len(job.stages)) if job.stages[place] != job.stages[place - 1]), len(job.stages)]
    for first, end in pairwise(places):
        stages = f"stage {first}" if end == first + 1 else f"stages {first} to {end - 1}"
        rows.append((stages, *job.stages[first].values(), *(held[first] for held in fused.values() if held)))
    messages = {name.replace("_", " "): value for name, value in job.messages.items()}
    step = Table(("a step", "times"), (("microbatches", job.microbatches),))
    devices = {"model": "of the model", "total": "all devices"}
    work: list[tuple[str | Expr, ...]] = [(devices.get(name, name), *_cells(each)) for name, each in job.work.items()]
    return [
        Table(("a device of", *names), tuple(rows)),
        Table(("not derived", "what a device holds besides"), tuple(NOT_DERIVED.items()), words=2),
        _named("messages", "bytes", messages),
        step,
        *([Table(("work of a step", *_COMPONENTS), tuple(work))] if work else []),
    ]


def _ranks_table(ranks: AllRanks) -> Table:
    names = {"model": "of the model", "total": f"all {readable(ranks.count)} ranks"}
    rows: list[tuple[str | Expr, ...]] = [(names.get(name, name), *_cells(work)) for name, work in ranks.parts().items()]
    return Table(("together", *_COMPONENTS), tuple(rows))


def _network_tables(whole: Parameters, by: str) -> list[Table]:
    """The blocks of a network, with how many there are; unless only the total is asked for, their layers too."""
    rows = tuple((f"@{name}", b.count, b.elements, b.count * b.elements) for name, b in whole.blocks.items())
    last = ("total", "", "", whole.total)
    found = [Table(("block", "blocks", "elements", "in all"), (*rows, last))]
    if by != "total":
        layers = tuple((f"@{name}", layer, value) for name, block in whole.blocks.items() for layer, value in block.layers.items())
        found.append(Table(("block", "layer", "elements"), layers, words=2))
    return found


def _named(title: str, unit: str, values: Mapping[str, Expr]) -> Table:
    return Table((title, unit), tuple(values.items()))


def _work_table(report: Report, by: str) -> Table:
    everything = summed(task.in_all for task in report.tasks)
    if by == "task":
        return _task_table(report, everything)
    rows: list[tuple[str | Expr, ...]] = []
    if by in ("section", "block"):
        groups = by_section(report) if by == "section" else by_block(report)
        rows = [(f"@{name}" if name else "", *_cells(summed(works))) for name, works in groups.items()]
    elif by != "total":
        tasks = grouped(report.tasks, lambda task: task.phase if by == "phase" else task.layer)
        rows = [(name, *_cells(summed(t.in_all for t in rows))) for name, rows in tasks.items()]
    return Table(("" if by == "total" else by, *_COMPONENTS), (*rows, ("total", *_cells(everything))))


def _task_table(report: Report, everything: Work) -> Table:
    """The work of one run of each task; where some run more than once, how often, and the total is over all runs."""
    repeated = any(task.times is not ONE for task in report.tasks)
    rows: list[tuple[str | Expr, ...]] = [
        (t.name, t.collective or t.kind, *((t.times,) if repeated else ()), *_cells(t.work)) for t in report.tasks
    ]
    times = ("times",) if repeated else ()
    return Table(("task", "kind", *times, *_COMPONENTS), (*rows, ("total", "", *("",) * repeated, *_cells(everything))), words=2)


def _cells(work: Work) -> tuple[Expr, ...]:
    return (work.ops, work.read, work.write, work.msg)


def render_table(shown: Sequence[Table]) -> str:
    """Aligned columns, or, where the values are too long for that, one value a line."""
    return "\n".join(_aligned(t) or _stacked(t) for t in shown)


def _aligned(table: Table) -> str:
    """The table in columns; "" if it is too wide."""
    cells = [table.head, *[tuple(map(readable, row)) for row in table.rows]]
    widths = [max(len(row[i]) for row in cells) for i in range(len(table.head))]
    if sum(widths) + 2 * (len(widths) - 1) > table.width:
        return ""
    lines = []
    for row in cells:
        aligned = [c.ljust(w) if i < table.words else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths, strict=True))]
        lines.append("  ".join(aligned).rstrip())
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(lines) + "\n"


def _stacked(table: Table) -> str:
    """One paragraph a row, one line a value; zeros are left out."""
    names = table.head[table.words :]
    width = max(map(len, names)) + 2
    lines = []
    for row in table.rows:
        lines.append("  ".join(str(cell) for cell in row[: table.words]).rstrip())
        for name, value in zip(names, row[table.words :], strict=True):
            if readable(value) not in ("", "0"):
                lines.append(f"    {name:<{width}}{readable(value)}")
    return "\n".join(lines) + "\n"


def render_markdown(shown: Sequence[Table]) -> str:
    """Pipe tables, values to the right."""
    return "\n".join(_markdown(table) for table in shown)


def _markdown(table: Table) -> str:
    rule = [":--" if i < table.words else "--:" for i in range(len(table.head))]
    rows = [table.head, rule]
    rows += [[_escaped(readable(cell), i >= table.words) for i, cell in enumerate(row)] for row in table.rows]
    return "".join("| " + " | ".join(row) + " |\n" for row in rows)


def _escaped(text: str, value: bool) -> str:
    """Stars of a product are no emphasis."""
    return f"`{text}`" if value and not text.replace(",", "").isdigit() else text


def render_csv(shown: Sequence[Table]) -> str:
    """The tables, exact and without thousands separators; an empty line is between them."""
    return "\n".join(map(_csv, shown))


def _csv(table: Table) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(table.head)
    writer.writerows([str(cell) for cell in row] for row in table.rows)
    return out.getvalue()


def numbers_table(report: Report) -> list[Table]:
    """The values that have been put in for symbols; no table if there are none."""
    return [_named("symbol", "number", dict(sorted(report.numbers.items())))] if report.numbers else []


def readable(cell: str | Expr) -> str:
    """A cell for a reader: an integer with commas between its thousands."""
    if isinstance(cell, str):
        return cell
    return f"{cell.integer:,}" if cell.integer is not None else cell.text
