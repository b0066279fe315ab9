"""What differs between two reports, task by task: `bp-report A B`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import attrs

from bpir.ir.diagnostic import fail
from bpir.ir.expressions.expression import ZERO, Expr, total
from bpir.tools.reports.report import Report, TaskRow, Work, by_block, by_section, grouped, summed, vector
from bpir.tools.reports.report_json import number
from bpir.tools.reports.report_text import Table

_WIDTH = 130  # columns of a table: two values and their difference
COMPONENTS = ("ops", "read", "write", "msg")
Value = Expr | str


@attrs.frozen
class Difference:
    """One thing that differs.

    Attributes:
        of: the task, or the group of tasks, or `total`, or the row of the memory.
        what: a component of work, `times`, `operation` or `bytes`.
        one: what the first file says; None where it has no such thing.
        other: what the second file says.
    """

    of: str
    what: str
    one: Value | None
    other: Value | None

    @property
    def change(self) -> Value:
        """The second less the first where both are numbers; else empty."""
        one, other = (ZERO if value is None else value for value in (self.one, self.other))
        return other - one if isinstance(one, Expr) and isinstance(other, Expr) else ""


@attrs.frozen
class Comparison:
    """All that differs between two reports.

    Attributes:
        by: how tasks were grouped.
        only: the tasks that one of the two has, `0` or `1`, by name.
    """

    by: str
    tasks: Sequence[Difference]
    totals: Sequence[Difference]
    memory: Sequence[Difference]
    only: Mapping[str, int]

    @property
    def changed(self) -> list[str]:
        """The names of tasks that differ."""
        return list(dict.fromkeys(difference.of for difference in self.tasks))

    def __bool__(self) -> bool:
        return bool(self.tasks or self.totals or self.memory)


def compared(one: Report, other: Report, by: str = "task") -> Comparison:
    """What differs between two reports, with their tasks grouped as reports group them; of two models their weights by layer.

    Raises:
        DiagnosticError: one is of a model, and the other is not.
    """
    if (one.level == "model") != (other.level == "model"):
        raise fail(f"a module of level '{one.level}' and one of level '{other.level}' have nothing that could differ")
    left, right = _facts(one, by), _facts(other, by)
    names = _merged(list(left), list(right))
    tasks = [difference for name in names for difference in _differing(name, left.get(name), right.get(name))]
    sums = [_sum(report) for report in (one, other)]
    memory = [report.memory_and_peak() for report in (one, other)]
    rows = [(name, memory[0].get(name), memory[1].get(name)) for name in _merged(list(memory[0]), list(memory[1]))]
    return Comparison(
        by if one.level != "model" else "layer",
        tasks,
        list(_differing("total", *sums)),
        [Difference(name, "bytes", a, b) for name, a, b in rows if a is not b],
        {name: int(name in right) for name in names if (name in left) != (name in right)},
    )


def difference_tables(found: Comparison) -> list[Table]:
    """The differences as tables: work, then memory; a table that says so if there is none."""
    if not found:
        return [Table(("no difference",), ())]
    tables = []
    rows = [*(found.tasks if found.by != "total" else ()), *found.totals]
    if rows:
        head = (found.by if found.by != "total" else "", "of", "A", "B", "B - A")
        tables.append(Table(head, tuple((d.of, d.what, _cell(d.one), _cell(d.other), d.change) for d in rows), words=2, width=_WIDTH))
    if found.memory:
        memory = tuple((d.of, _cell(d.one), _cell(d.other), d.change) for d in found.memory)
        tables.append(Table(("memory, in bytes", "A", "B", "B - A"), memory))
    return tables


def render_difference_json(found: Comparison) -> str:
    """The differences for other programs; numbers as in a report, null for what one of the two does not have."""

    def shown(differences: Sequence[Difference]) -> list[dict[str, Any]]:
        return [
            {"of": d.of, "what": d.what, "a": d.one, "b": d.other, "difference": d.change if isinstance(d.change, Expr) else None}
            for d in differences
        ]

    rows = {"tasks": shown(found.tasks), "totals": shown(found.totals), "memory": shown(found.memory)}
    return json.dumps({"by": found.by, **rows}, indent=1, default=number) + "\n"


def _cell(value: Value | None) -> Value:
    return "-" if value is None else value


def _sum(report: Report) -> dict[str, Value]:
    if report.level == "model":
        return {"elements": report.network.total if report.network else total(report.parameters.values())}
    return _work(summed(task.in_all for task in report.tasks))


def _facts(report: Report, by: str) -> dict[str, dict[str, Value]]:
    """What each task, or group of tasks, says."""
    if report.level == "model":
        return _elements(report)
    if by == "task":
        return {task.name: _task(task) for task in report.tasks}
    if by in ("section", "block"):
        groups = by_section(report) if by == "section" else by_block(report)
        return {f"@{name}" if name else "": _work(summed(works)) for name, works in groups.items()}
    if by == "total":
        return {}
    rows = grouped(report.tasks, lambda task: task.phase if by == "phase" else task.layer)
    return {name: _work(summed(task.in_all for task in tasks)) for name, tasks in rows.items()}


def _elements(report: Report) -> dict[str, dict[str, Value]]:
    """The weights of each layer of a model; of a network those of all its blocks of a kind."""
    whole = report.network
    if whole is None:
        return {layer: {"elements": value} for layer, value in report.parameters.items()}
    return {f"@{name} {layer}": {"elements": b.count * value} for name, b in whole.blocks.items() for layer, value in b.layers.items()}


def _task(task: TaskRow) -> dict[str, Value]:
    return {"operation": task.operation, "times": task.times, **_work(task.work)}


def _work(work: Work) -> dict[str, Value]:
    components = vector(work)
    return {name: components[name] for name in COMPONENTS}


def _differing(name: str, one: Mapping[str, Value] | None, other: Mapping[str, Value] | None) -> Iterable[Difference]:
    """What differs of one thing; of what one side does not have, all that is not zero."""
    for what in one or other or ():
        a, b = (side[what] if side is not None else None for side in (one, other))
        if a is None or b is None:
            value = b if a is None else a
            if what == "times" or value is ZERO:
                continue
        elif a is b or (isinstance(a, str) and a == b):
            continue
        yield Difference(name, what, a, b)


def _merged(one: Sequence[str], other: Sequence[str]) -> list[str]:
    """The names of both in the order of the first; what only the second has is behind what it is behind there."""
    known = set(one)
    behind: dict[str, list[str]] = {}
    last = ""
    for name in other:
        if name in known:
            last = name
        else:
            behind.setdefault(last, []).append(name)
    found = list(behind.get("", ()))
    for name in one:
        found += [name, *behind.get(name, ())]
    return found
