"""The bytes of a workspace in use, counted on numbers: no slots, no intervals, no formula, and no verifier.

The distributed block is bound to numbers; tasks are run one after another in the order of the text. Those that the plan lets run at once
are running together from the first to the last of them, and one that is running holds its operands, its results and its scratch.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

import attrs
import raw
from raw import names_of, symbol_of, text_of

from bpir.dialects.bp import TensorType
from bpir.ir.operation import Operation, Value, top_level

IN_PLACE = {"gelu", "silu", "relu", "mul", "softmax", "attention", "all_reduce"}
"""Kinds of tasks whose result may be written over an operand (attention's over Q): `design` of the workspace, by name."""


@attrs.frozen
class Numbers:
    """The values of symbols, and the ranks of the mesh axis that shards."""

    sizes: Mapping[str, int]
    ranks: int

    def size(self, value: Value) -> int:
        """The bytes of one rank's part of a value."""
        type = value.type
        assert isinstance(type, TensorType)
        parts = self.ranks ** sum(len(axes) for axes in type.axes)
        return prod(dim.evaluate(self.sizes).numerator for dim in type.dims) * type.element_bytes.evaluate(self.sizes).numerator // parts


def peak(block: Operation, plan: Operation, numbers: Numbers) -> int:
    """The most bytes of the workspace that are in use while the tasks run."""
    tasks = [o for o in block.body if raw.work_of(o) is not None]
    names = [raw.name_of(task) for task in tasks]
    running = {name: {name} for name in names}  # the tasks that run while a task runs
    for group in top_level(plan):
        if group.name == "plan.concurrent":
            members = [symbol_of_source(plan, name) for name in names_of(group, "tasks")]
            between = names[min(map(names.index, members)) : max(map(names.index, members)) + 1]
            for name in between:
                running[name] |= {*members}
    kept = {*block.regions[0].blocks[0].arguments, *block.body[-1].operands}  # arguments, results: buffers of their own
    for operation in block.body:
        if operation.name == "dist.state" or raw.writes_state(operation) or raw.kind_of(operation) == "add":
            kept |= {*operation.results}  # the cache, the residual stream
    readers = {v: [t for t in tasks if v in t.operands] for task in tasks for v in task.results}
    first = {task: min(i for i, name in enumerate(names) if raw.name_of(task) in running[name]) for task in tasks}
    most = 0
    for index, task in enumerate(tasks):
        now = [t for t in tasks if raw.name_of(t) in running[raw.name_of(task)]]
        waiting = [t for t in tasks if t in now or tasks.index(t) >= index]
        alive = set()
        for value in readers:
            written = value.owner in now or first[value.owner] <= index  # type: ignore[index]
            wanted = any(t in waiting for t in readers[value]) if readers[value] else value.owner in now
            if value not in kept and written and wanted:
                alive.add(value)
        total = sum(numbers.size(v) for v in alive)
        for current in now:
            if raw.kind_of(current) == "attention":
                query, key = current.operands[:2]
                scores = key.type.dims[1].evaluate(numbers.sizes).numerator * numbers.size(query)  # type: ignore[attr-defined]
                total += scores // query.type.dims[3].evaluate(numbers.sizes).numerator  # type: ignore[attr-defined]
            if current.results[0] in alive:
                total -= overwritten(current, tasks, running, kept, numbers)
        most = max(most, total)
    return most


def overwritten(task: Operation, tasks: list[Operation], running: dict[str, set[str]], kept: set[Any], numbers: Numbers) -> int:
    """The bytes of the result that take the place of an operand: of its size, in the workspace, read by nobody else from now on."""
    if raw.kind_of(task) not in IN_PLACE or task.results[0] in kept:
        return 0
    places = [i for i, t in enumerate(tasks) if raw.name_of(task) in running[raw.name_of(t)]]
    later = [t for t in tasks if t is not task and any(raw.name_of(t) in running[raw.name_of(u)] for u in tasks[min(places) :])]
    for operand in task.operands[:1] if raw.kind_of(task) == "attention" else task.operands:
        others = [t for t in later if operand in t.operands]
        if operand not in kept and not others and numbers.size(operand) == numbers.size(task.results[0]):
            return numbers.size(operand)
    return 0


def symbol_of_source(plan: Operation, name: str) -> str:
    return next(text_of(o, "source") for o in top_level(plan) if o.name == "plan.task" and symbol_of(o) == name)
