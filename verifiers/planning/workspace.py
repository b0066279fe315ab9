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
from bpir.ir.expressions.expression import ZERO, Expr
from bpir.ir.operation import Value

Span = tuple[int, int]


def alive(
    tasks: Sequence[dist.Task], mesh: Mapping[str, Expr], elsewhere: Collection[Value], groups: Iterable[Collection[dist.Task]]
) -> list[Expr]:
    """The bytes alive at each task, in order; `elsewhere` are the values that have buffers of their own."""
    spans = _spans(tasks, groups)
    uses: dict[Value, list[dist.Task]] = {}
    for task in tasks:
        for value in task.operation.operands:
            uses.setdefault(value, []).append(task)
    more, less = [ZERO] * (len(tasks) + 1), [ZERO] * (len(tasks) + 1)

    def count(size: Expr, begin: int, end: int) -> None:
        more[begin] += size
        less[end + 1] += size

    for task in tasks:
        begin, end = spans[task]
        part = one_rank.local(task.operation, task.operation, mesh)
        rule = task.rule
        if rule is not None:
            count(rule.scratch(part), begin, end)
        sizes = [type.bytes for type in part.results]
        written: set[Value] = set()
        for value, size in zip(task.operation.results, sizes, strict=True):
            if value in elsewhere:
                continue
            until = max((spans[user][1] for user in uses.get(value, ())), default=end)
            count(size, begin, until)
            over = _overwritten(task, value, size, part.operands, elsewhere, uses, spans)
            if over is not None and over not in written:
                written.add(over)
                count(-size, begin, min(end, until))
    found, total = [], ZERO
    for plus, minus in zip(more[: len(tasks)], less, strict=False):
        total += plus - minus
        found.append(total)
    return found


def _spans(tasks: Sequence[dist.Task], groups: Iterable[Collection[dist.Task]]) -> dict[dist.Task, Span]:
    """Between which places of the text each task may run: not after what reads its results, nor before what it reads."""
    spans = {task: (place, place) for place, task in enumerate(tasks)}
    for group in groups:
        begin = min(spans[task][0] for task in group)
        end = max(spans[task][1] for task in group)
        for task in group:
            spans[task] = (begin, end)
    writers = {value: task for task in tasks for value in task.operation.results}
    needed = {task: [writers[value] for value in task.operation.operands if value in writers] for task in tasks}
    for task in tasks:
        begin, end = spans[task]
        spans[task] = (max((begin, *(spans[other][0] + 1 for other in needed[task]))), end)
    for task in reversed(tasks):
        for other in needed[task]:
            begin, end = spans[other]
            spans[other] = (begin, min(end, spans[task][1] - 1))
    return spans


def _overwritten(
    task: dist.Task,
    result: Value,
    size: Expr,
    operands: Sequence[TensorType],
    elsewhere: Collection[Value],
    uses: Mapping[Value, Sequence[dist.Task]],
    spans: Mapping[dist.Task, Span],
) -> Value | None:
    """The operand of the workspace that the result may be written over; each makes room for one result."""
    for index in _declared(task, result.index):
        value, part = task.operation.operands[index], operands[index]
        same = value.producer is not None and value not in elsewhere and part.bytes is size
        if same and all(other is task or spans[other][1] < spans[task][0] for other in uses[value]):
            return value
    return None


def _declared(task: dist.Task, result: int) -> Iterable[int]:
    """The operands that the operation lets a result be written over. Where it has several lanes, a value that another lane reads, too, is
    none of them: that lane may read it later.
    """
    operands, rule = task.operation.operands, task.rule
    if rule is None:
        yield from task.overwritable
        return
    for lane in rule.equation(frozenset()).places(len(operands), len(task.operation.results)) if task.overwritable else ():
        if result in lane.results:
            for place, index in enumerate(lane.operands):
                shared = any(other is operands[index] for i, other in enumerate(operands) if i not in lane.operands)
                if place in task.overwritable and not shared:
                    yield index
