"""A report as JSON, for other programs: an integer is a number, a fraction "p/q", anything symbolic its expression."""

from __future__ import annotations

import json
from typing import Any

from bpir.ir.expression import Expr
from bpir.tools.report import Fact, Report, TaskRow, Work, grouped, summed, with_total


def render_json(report: Report, by: str = "task") -> str:
    """The report, grouped `by` task (all of it), layer (no tasks), phase (no layers) or not at all (`total`: no phases)."""
    document: dict[str, Any] = {"module": report.module, "level": report.level}
    if report.level == "model":
        document["parameters"] = {name: number(value) for name, value in with_total(report.parameters).items()}
    else:
        if by == "task":
            document["tasks"] = [_task(task) for task in report.tasks]
        if by in ("task", "layer"):
            document["layers"] = _layers(report)
        document["totals"] = _totals(report)
        if by == "total":
            del document["totals"]["by_phase"]
        document["memory"] = {name: number(value) for name, value in report.memory_and_peak().items()}
    return json.dumps(document, indent=1) + "\n"


def number(value: Fact) -> int | str | bool:
    """The value as JSON holds it."""
    if isinstance(value, bool):
        return value
    return value.integer if value.integer is not None else value.text


def _work(work: Work, matmul: bool = False) -> dict[str, Any]:
    shown: dict[str, Expr] = {"ops": work.ops, "read": work.read, "write": work.write, "msg": work.msg}
    if matmul:
        shown["matmul_ops"] = work.matmul
    return {name: number(value) for name, value in shown.items()}


def _task(task: TaskRow) -> dict[str, Any]:
    place = {"name": task.name, "layer": task.layer, "phase": task.phase}
    return {**place, "kind": task.kind, "collective": task.collective, **_work(task.work)}


def _layers(report: Report) -> list[dict[str, Any]]:
    """Each layer with its work by phase and its facts; first those that have tasks, in their order."""
    tasks = grouped(report.tasks, lambda task: task.layer)
    found = []
    for name in dict.fromkeys([*tasks, *report.layers]):
        phases = {}
        for phase, rows in grouped(tasks.get(name, ()), lambda task: task.phase).items():
            collectives = [row.collective for row in rows if row.collective]
            phases[phase] = {
                **_work(summed(row.work for row in rows)),
                "collective": collectives[0] if collectives else None,
            }
        facts = {fact: number(value) for fact, value in report.layers.get(name, {}).items()}
        found.append({"name": name, "phases": phases, **facts})
    return found


def _totals(report: Report) -> dict[str, Any]:
    by_phase = grouped(report.tasks, lambda task: task.phase)
    return {
        **_work(summed(task.work for task in report.tasks), matmul=True),
        "by_phase": {p: _work(summed(t.work for t in rows), matmul=True) for p, rows in by_phase.items()},
    }
