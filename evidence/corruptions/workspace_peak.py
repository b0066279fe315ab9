"""The bytes of a workspace in use, counted on numbers: no slots, no intervals, no formula, and no verifier.

The distributed block is bound to numbers; tasks are run one after another in the order of the text. Those that the plan lets run at once
are running together from the first to the last of them, and one that is running holds its operands, its results and its scratch.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

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

    def scores(self, task: Operation) -> int:
        """The bytes of the scores of an attention; 0 of another task."""
        if raw.kind_of(task) != "attention":
            return 0
        query, key = (value.type for value in task.operands[:2])
        assert isinstance(query, TensorType) and isinstance(key, TensorType)
        tokens, head_size = (dim.evaluate(self.sizes).numerator for dim in (key.dims[1], query.dims[3]))
        return tokens * self.size(task.operands[0]) // head_size


class _Run:
    """The tasks of a block in the order of the text, those that run beside each, and the values in the workspace."""

    def __init__(self, block: Operation, plan: Operation, numbers: Numbers) -> None:
        self.numbers = numbers
        self.tasks = [o for o in block.body if raw.work_of(o) is not None]
        self.running = _running([raw.name_of(task) for task in self.tasks], plan)
        self.kept = _kept(block)
        self.readers = {v: [t for t in self.tasks if v in t.operands] for task in self.tasks for v in task.results}
        names = [raw.name_of(task) for task in self.tasks]
        self.first = {task: min(i for i, name in enumerate(names) if raw.name_of(task) in self.running[name]) for task in self.tasks}

    def now(self, task: Operation) -> list[Operation]:
        """The tasks that run while a task runs."""
        return [t for t in self.tasks if raw.name_of(t) in self.running[raw.name_of(task)]]

    def in_use(self, task: Operation) -> int:
        """The bytes in use while a task runs."""
        now, alive = self.now(task), self.alive(task)
        written_over = sum(self.overwritten(t) for t in now if t.results[0] in alive)
        return sum(map(self.numbers.size, alive)) + sum(map(self.numbers.scores, now)) - written_over

    def alive(self, task: Operation) -> set[Value]:
        """The values of the workspace that are there while a task runs: written by now, and read now or later."""
        index, now = self.tasks.index(task), self.now(task)
        waiting = [t for t in self.tasks if t in now or self.tasks.index(t) >= index]
        found = set()
        for value, readers in self.readers.items():
            written = value.owner in now or self.first[value.owner] <= index  # type: ignore[index]
            wanted = any(t in waiting for t in readers) if readers else value.owner in now
            if value not in self.kept and written and wanted:
                found.add(value)
        return found

    def overwritten(self, task: Operation) -> int:
        """The bytes of the result that take the place of an operand: of its size, in the workspace, read by nobody else from now on."""
        if raw.kind_of(task) not in IN_PLACE or task.results[0] in self.kept:
            return 0
        read = {v for t in self.later(task) for v in t.operands}
        candidates = task.operands[:1] if raw.kind_of(task) == "attention" else task.operands
        size = self.numbers.size(task.results[0])
        return size if any(v not in self.kept and v not in read and self.numbers.size(v) == size for v in candidates) else 0

    def later(self, task: Operation) -> list[Operation]:
        """The other tasks that run while this one runs, or after it began."""
        began = min(i for i, t in enumerate(self.tasks) if raw.name_of(task) in self.running[raw.name_of(t)])
        names = {name for t in self.tasks[began:] for name in self.running[raw.name_of(t)]}
        return [t for t in self.tasks if t is not task and raw.name_of(t) in names]


def peak(block: Operation, plan: Operation, numbers: Numbers) -> int:
    """The most bytes of the workspace that are in use while the tasks run."""
    run = _Run(block, plan, numbers)
    return max(map(run.in_use, run.tasks), default=0)


def _running(names: list[str], plan: Operation) -> dict[str, set[str]]:
    """The tasks that run while each task runs: itself, and the groups between whose first and last member it is."""
    running = {name: {name} for name in names}
    for group in top_level(plan):
        if group.name == "plan.concurrent":
            members = [symbol_of_source(plan, name) for name in names_of(group, "tasks")]
            for name in names[min(map(names.index, members)) : max(map(names.index, members)) + 1]:
                running[name] |= {*members}
    return running


def _kept(block: Operation) -> set[Value]:
    """The values in buffers of their own: arguments and results, the cache, the residual stream."""
    kept = {*block.regions[0].blocks[0].arguments, *block.body[-1].operands}
    for operation in block.body:
        if operation.name == "dist.state" or raw.writes_state(operation) or raw.kind_of(operation) == "add":
            kept |= {*operation.results}
    return kept


def symbol_of_source(plan: Operation, name: str) -> str:
    return next(text_of(o, "source") for o in top_level(plan) if o.name == "plan.task" and symbol_of(o) == name)
