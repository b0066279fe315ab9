"""The workspace of inference: bytes for the intermediate values that are alive at once, in the order of the tasks in the text."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from bpir.dialects.bp import TensorType
from bpir.dialects.dist.one_rank import local
from bpir.dialects.dist.tasks import Block, Task
from bpir.dialects.model.rules.sizes import feature_dims
from bpir.ir.expressions.expression import ZERO, Expr, maximum
from bpir.ir.operation import Value
from bpir.ir.relations.facts import Facts

Places = tuple[int, int]
"""The first and the last place at which a task may run: its own, or those of the tasks that it may run at once with."""


class _Slot:
    """Memory for one value at a time: a result that is written over an operand takes over the slot of the operand.

    Attributes:
        first, last: the places between which it is alive.
        projected: whether it begins as a result of a projection that is not of the width of the residual stream.
    """

    def __init__(self, size: Expr, first: int, last: int, projected: bool = False) -> None:
        self.size, self.first, self.last, self.projected = size, first, last, projected


def workspace_bytes(
    block: Block,
    mesh: Mapping[str, Expr],
    elsewhere: Collection[Value],
    groups: Iterable[Sequence[Task]],
    facts: Facts,
) -> Expr:
    """`D + max(...)`, and where that is not proved to be enough the larger of it and of the bytes that are alive at a task.

    `D` is one value as wide as the block's input. The maximum is over the results of projections that are alive at once, and what
    operations hold unfused (attention Q, K and V together, and the scores: what FlashAttention avoids, Dao et al. 2022). For a serial
    block with `h*d` at most `t*H` nothing more is ever alive.

    Args:
        elsewhere: the values that have buffers of their own.
        groups: tasks that may run at once.
    """
    arguments, tasks = block.arguments, block.tasks
    hidden = arguments[0].type if arguments else None
    if not isinstance(hidden, TensorType):
        return ZERO
    slots, unfused = _slots(tasks, mesh, elsewhere, _places(tasks, groups), hidden)
    width = ZERO if hidden.is_index else hidden.local(mesh).bytes
    room = dict.fromkeys(c for c in (*_alive((s for s in slots if s.projected), len(tasks)), *unfused) if c is not ZERO)
    bounds = [width + candidate for candidate in room] or [width]
    open_peaks: list[Expr] = []
    for peak in dict.fromkeys(_alive(slots, len(tasks))):
        if not facts.some_at_least((*bounds, *open_peaks), peak):
            open_peaks.append(peak)
    return maximum(width + maximum(*room) if room else width, *open_peaks)


def _places(tasks: Sequence[Task], groups: Iterable[Sequence[Task]]) -> dict[Task, Places]:
    places = {task: (index, index) for index, task in enumerate(tasks)}
    for group in groups:
        at = [places[task][0] for task in group]
        places.update(dict.fromkeys(group, (min(at), max(at))))
    return places


def _slots(
    tasks: Sequence[Task],
    mesh: Mapping[str, Expr],
    elsewhere: Collection[Value],
    places: Mapping[Task, Places],
    hidden: TensorType,
) -> tuple[list[_Slot], list[Expr]]:
    """The slots that the tasks need; and what their operations hold unfused, each alone."""
    readers: dict[Value, list[Task]] = {}
    for task in tasks:
        for operand in task.operation.operands:
            readers.setdefault(operand, []).append(task)
    slots: list[_Slot] = []
    unfused: list[Expr] = []
    held: dict[Value, _Slot] = {}
    for task in tasks:
        first, last = places[task]
        rule = task.rule
        part = local(task.operation, task.operation, mesh)
        taken: set[_Slot] = set()
        if rule is not None:
            unfused.extend(rule.workspace(part))
            if rule.scratch(part) is not ZERO:
                slots.append(_Slot(rule.scratch(part), first, last))
        for value, type in zip(task.operation.results, part.results, strict=True):
            if value in elsewhere:
                continue
            slot = _taken_over(task, value, type.bytes, held, readers, places)
            if slot is None or slot in taken:
                wide = rule is not None and rule.brings_axes and _is_wide(value, hidden)
                slot = _Slot(type.bytes, first, first, wide)
                slots.append(slot)
            taken.add(slot)
            held[value] = slot
            slot.last = max(slot.last, max((places[reader][1] for reader in readers.get(value, ())), default=last))
    return slots, unfused


def _is_wide(value: Value, hidden: TensorType) -> bool:
    return isinstance(value.type, TensorType) and (feature_dims(value.type) != feature_dims(hidden) or any(value.type.axes))


def _taken_over(
    task: Task,
    result: Value,
    size: Expr,
    held: Mapping[Value, _Slot],
    readers: Mapping[Value, Sequence[Task]],
    places: Mapping[Task, Places],
) -> _Slot | None:
    """The slot of an operand that the result may be written over: nobody reads the operand then or later, nor another result's lane."""
    for index in _overwritable(task, result.index):
        operand = task.operation.operands[index]
        slot = held.get(operand)
        if slot is None or slot.size is not size:
            continue
        if all(places[reader][1] < places[task][0] for reader in readers[operand] if reader is not task):
            return slot
    return None


def _overwritable(task: Task, result: int) -> list[int]:
    """The operands that a result may be written over, as the operation declares: of the lane of the result, and no other lane's."""
    rule, operands = task.rule, task.operation.operands
    if rule is None or not task.overwritable:
        return list(task.overwritable)
    lanes = rule.equation(frozenset()).places(len(operands), len(task.operation.results))
    (own,) = (lane.operands for lane in lanes if result in lane.results)
    elsewhere = {operands[index] for lane in lanes if lane.operands != own for index in lane.operands}
    return [own[place] for place in task.overwritable if place < len(own) and operands[own[place]] not in elsewhere]


def _alive(slots: Iterable[_Slot], count: int) -> list[Expr]:
    """The bytes that are alive at each place."""
    change = [ZERO] * (count + 1)
    for slot in slots:
        change[slot.first] += slot.size
        change[slot.last + 1] -= slot.size
    found, total = [], ZERO
    for step in change[:count]:
        total += step
        found.append(total)
    return found
