"""The bytes of a block's values that are alive in its workspace at each task, for `plan-inference.R9`.

A value lives from the task that writes it to the last one that reads it. Tasks that the plan lets run at once are taken for running as
long as any of them, as far as what they read and what reads them lets them. A result does not count beside an operand that it may be
written over: one that has as many bytes, that nobody reads later, and that the operation declares (`in_place`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from bpir.dialects.bp import TensorType
from bpir.dialects.dist import one_rank
from bpir.dialects.dist import tasks as dist
from bpir.dialects.model.rules.local import Local
from bpir.ir.expressions.expression import ZERO, Expr
from bpir.ir.operation import Value

Span = tuple[int, int]


def alive(
    tasks: Sequence[dist.Task], mesh: Mapping[str, Expr], elsewhere: Collection[Value], groups: Iterable[Collection[dist.Task]]
) -> list[Expr]:
    """The bytes alive at each task, in order; `elsewhere` are the values that have buffers of their own."""
    workspace = _Workspace(tasks, elsewhere, groups)
    for task in tasks:
        workspace.task(task, one_rank.local(task.operation, task.operation, mesh))
    return workspace.alive()


class _Workspace:
    """Counts what is in the workspace, from one task to another."""

    def __init__(self, tasks: Sequence[dist.Task], elsewhere: Collection[Value], groups: Iterable[Collection[dist.Task]]) -> None:
        self.elsewhere = elsewhere
        self.spans = _spans(tasks, groups)
        self.uses: dict[Value, list[dist.Task]] = {}
        for task in tasks:
            for value in task.operation.operands:
                self.uses.setdefault(value, []).append(task)
        self.more, self.less = [ZERO] * (len(tasks) + 1), [ZERO] * (len(tasks) + 1)

    def alive(self) -> list[Expr]:
        """The bytes at each task."""
        found, total = [], ZERO
        for plus, minus in zip(self.more[:-1], self.less, strict=False):
            total += plus - minus
            found.append(total)
        return found

    def _count(self, size: Expr, begin: int, end: int) -> None:
        """So many bytes are there from one task to another."""
        self.more[begin] += size
        self.less[end + 1] += size

    def task(self, task: dist.Task, part: Local) -> None:
        """Count what a task needs for itself, and its results, of which each may be written over an operand."""
        begin, end = self.spans[task]
        if task.rule is not None:
            self._count(task.rule.scratch(part), begin, end)
        written: set[Value] = set()
        for value, type in zip(task.operation.results, part.results, strict=True):
            if value not in self.elsewhere:
                self._result(task, value, type.bytes, self._overwritten(task, value, type.bytes, part.operands), written)

    def _result(self, task: dist.Task, value: Value, size: Expr, over: Value | None, written: set[Value]) -> None:
        """Count a result, which takes the room of the operand that it is written over, if that is not another result's already."""
        begin, end = self.spans[task]
        until = max((self.spans[user][1] for user in self.uses.get(value, ())), default=end)
        self._count(size, begin, until)
        if over is not None and over not in written:
            written.add(over)
            self._count(-size, begin, min(end, until))

    def _overwritten(self, task: dist.Task, result: Value, size: Expr, operands: Sequence[TensorType]) -> Value | None:
        """The operand of the workspace that the result may be written over; each makes room for one result."""
        for index in _declared(task, result.index):
            value = task.operation.operands[index]
            if operands[index].bytes is size and self._dies_at(value, task):
                return value
        return None

    def _dies_at(self, value: Value, task: dist.Task) -> bool:
        """Whether a value that a task made in the workspace is read by nobody later."""
        if value.producer is None or value in self.elsewhere:
            return False
        begin = self.spans[task][0]
        return all(other is task or self.spans[other][1] < begin for other in self.uses[value])


def _spans(tasks: Sequence[dist.Task], groups: Iterable[Collection[dist.Task]]) -> dict[dist.Task, Span]:
    """Between which places of the text each task may run: not after what reads its results, nor before what it reads."""
    spans = _of_groups(tasks, groups)
    needed = _needed(tasks)
    for task in tasks:
        begin, end = spans[task]
        spans[task] = (max((begin, *(spans[other][0] + 1 for other in needed[task]))), end)
    for task in reversed(tasks):
        for other in needed[task]:
            begin, end = spans[other]
            spans[other] = (begin, min(end, spans[task][1] - 1))
    return spans


def _of_groups(tasks: Sequence[dist.Task], groups: Iterable[Collection[dist.Task]]) -> dict[dist.Task, Span]:
    """The places of tasks; one of a group may run as long as any of them."""
    spans = {task: (place, place) for place, task in enumerate(tasks)}
    for group in groups:
        together = min(spans[task][0] for task in group), max(spans[task][1] for task in group)
        spans.update(dict.fromkeys(group, together))
    return spans


def _needed(tasks: Sequence[dist.Task]) -> dict[dist.Task, list[dist.Task]]:
    """The tasks whose results each task reads."""
    writers = {value: task for task in tasks for value in task.operation.results}
    return {task: [writers[value] for value in task.operation.operands if value in writers] for task in tasks}


def _declared(task: dist.Task, result: int) -> Iterable[int]:
    """The operands that the operation lets a result be written over. Where it has several lanes, a value that another lane reads, too, is
    none of them: that lane may read it later.
    """
    if not task.overwritable or task.rule is None:
        return task.overwritable
    lanes = task.rule.equation(frozenset()).places(len(task.operands), len(task.operation.results))
    of_result = (lane.operands for lane in lanes if result in lane.results)
    return [index for own in of_result for index in _own_of_lane(task, own)]


def _own_of_lane(task: dist.Task, own: Sequence[int]) -> list[int]:
    """Of the operands of a lane, those that may be written over and that no other lane reads."""
    operands = task.operation.operands
    others = {operand for index, operand in enumerate(operands) if index not in own}
    return [index for place, index in enumerate(own) if place in task.overwritable and operands[index] not in others]
