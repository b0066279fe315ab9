"""A report as JSON, for other programs: an integer is a number, a fraction "p/q", anything symbolic its expression."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from bpir.ir.expressions.expression import Expr
from bpir.tools.reports.report import (
    NOT_DERIVED,
    AllRanks,
    BufferRow,
    Fact,
    Job,
    Report,
    TaskRow,
    Work,
    by_block,
    by_section,
    grouped,
    summed,
    with_total,
)


def render_json(report: Report, by: str = "task") -> str:
    """The report, grouped `by` task (all of it), layer (no tasks), phase (no layers), section, block, or not at all (`total`)."""
    return json.dumps(converted(document(report, by), number), indent=1) + "\n"


def converted(value: Any, leaf: Callable[[Expr], Any]) -> Any:
    """A document with each expression as `leaf` says it, and its words as Python has them: the words of a module are bytes of UTF-8."""
    match value:
        case dict():
            return {converted(key, leaf): converted(inner, leaf) for key, inner in value.items()}
        case list() | tuple():
            return [converted(inner, leaf) for inner in value]
        case str():
            return value if value.isascii() else value.encode("latin-1").decode("utf-8", "replace")
        case Expr():
            return leaf(value)
    return value


def document(report: Report, by: str = "task") -> dict[str, Any]:
    """The same as nested dictionaries and lists, in which values are still expressions."""
    found: dict[str, Any] = {"module": report.module, "level": report.level}
    if report.level == "model":
        found["parameters"] = _parameters(report)
    else:
        if by == "task":
            found["tasks"] = [_task(task, report.level) for task in report.tasks]
        if by in ("task", "layer"):
            found["layers"] = _layers(report)
        if by in ("task", "section") and report.sections:
            found["sections"] = _sections(report)
        if by == "block":
            found["blocks"] = [{"name": name, **_work(summed(works), matmul=True)} for name, works in by_block(report).items()]
        found["totals"] = _totals(report)
        if by in ("total", "section", "block"):
            del found["totals"]["by_phase"]
        if report.ranks is not None:
            found["ranks"] = _ranks(report.ranks)
        if report.job is not None:
            found["job"] = _job(report.job)
        found["memory"] = report.memory_in_full()
        if by == "task" and report.buffers:
            found["buffers"] = [_buffer(buffer) for buffer in report.buffers]
    return found


def number(value: Fact) -> int | str | bool:
    """The value as JSON holds it: what is left to `json.dumps` of a document."""
    if isinstance(value, bool):
        return value
    return value.integer if value.integer is not None else value.text


def _work(work: Work, matmul: bool = False) -> dict[str, Any]:
    shown: dict[str, Expr] = {"ops": work.ops, "read": work.read, "write": work.write, "msg": work.msg}
    if matmul:
        shown["matmul_ops"] = work.matmul
    return shown


def _ranks(ranks: AllRanks) -> dict[str, Any]:
    parts = ranks.parts()
    return {"count": ranks.count, **{name: _work(work, matmul=True) for name, work in parts.items()}}


def _stages(job: Job) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = [{"memory": stage} for stage in job.stages]
    for stage, held in zip(found, job.fused_attention, strict=False):
        stage["fused_attention"] = held
    for stage, held in zip(found, job.fused_kernels, strict=False):
        stage["fused_kernels"] = held
    return found


def _job(job: Job) -> dict[str, Any]:
    return {
        "stages": _stages(job),
        "microbatches": job.microbatches,
        "memory": job.memory,
        "messages": job.messages,
        "not_derived": list(NOT_DERIVED),
        "work": {name: _work(each, matmul=True) for name, each in job.work.items()},
    }


def _parameters(report: Report) -> dict[str, Any]:
    """Of a network by block; of one block flat, by layer."""
    whole = report.network
    if whole is None:
        return dict(with_total(report.parameters))
    blocks = {
        name: {
            "count": block.count,
            "elements": block.elements,
            "layers": dict(block.layers),
        }
        for name, block in whole.blocks.items()
    }
    return {"total": whole.total, "blocks": blocks, "embedding": whole.embedding, "head": whole.head}


def _task(task: TaskRow, level: str) -> dict[str, Any]:
    place = {"name": task.name, "layer": task.layer, "phase": task.phase}
    work = {**_work(task.work), "matmul": task.work.matmul, "times": task.times}
    shown = {**place, "kind": task.kind, "collective": task.collective, **work, "source": task.source}
    if task.expected_experts is not None:
        shown["expected_experts"] = task.expected_experts
    if level != "dist":
        shown |= {"after": list(task.after), "reads": list(task.reads), "writes": list(task.writes)}
    return shown


def _sections(report: Report) -> list[dict[str, Any]]:
    """Each section with its extent, and its work over all runs."""
    works = by_section(report)
    return [
        {
            "name": row.name,
            "times": row.times,
            "tasks": [row.tasks[0], row.tasks[-1]],
            "after": list(row.after),
            **_work(summed(works[row.name]), matmul=True),
        }
        for row in report.sections
    ]


def _buffer(buffer: BufferRow) -> dict[str, Any]:
    shown: dict[str, Any] = {"name": buffer.name, "role": buffer.role, "storage": buffer.storage, "size": buffer.size}
    return {**shown, "times": buffer.times, **({"live": list(buffer.live)} if buffer.live else {})}


def _layers(report: Report) -> list[dict[str, Any]]:
    """Each layer with its work by phase and its facts; first those that have tasks, in their order."""
    tasks = grouped(report.tasks, lambda task: task.layer)
    found = []
    for name in dict.fromkeys([*tasks, *report.layers]):
        phases = {}
        for phase, rows in grouped(tasks.get(name, ()), lambda task: task.phase).items():
            collectives = [row.collective for row in rows if row.collective]
            phases[phase] = {
                **_work(summed(row.in_all for row in rows)),
                "collective": collectives[0] if collectives else None,
            }
        found.append({"name": name, "phases": phases, **report.layers.get(name, {})})
    return found


def _totals(report: Report) -> dict[str, Any]:
    by_phase = grouped(report.tasks, lambda task: task.phase)
    return {
        **_work(summed(task.in_all for task in report.tasks), matmul=True),
        "by_phase": {p: _work(summed(t.in_all for t in rows), matmul=True) for p, rows in by_phase.items()},
    }
