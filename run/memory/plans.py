"""The plan's buffers for the KV cache, for weights and for intermediate values, against what was alive on the ranks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

import attrs

from bpir.dialects import plan
from bpir.dialects.dist import tasks as dist
from bpir.ir.diagnostic import Diagnostic, error, fail
from bpir.ir.operation import Operation, Value
from bpir.run.call import Array, Meter
from bpir.run.memory.activations import Alive
from bpir.run.numbers import Numbers
from bpir.run.operations import SEMANTICS

OVERWRITES = ("all_reduce",)
"""Collectives whose result may lie where their operand does."""


@attrs.frozen(eq=False)
class Buffer:
    """One buffer of a plan: what it is for, what it is derived from, the tasks that write it, its bytes."""

    operation: plan.Buffer
    role: str
    origin: str
    producers: frozenset[str]
    size: Fraction


def buffers_of(module: Operation, numbers: Numbers, block: str = "") -> list[Buffer]:
    """The buffers of a plan; of a plan of several blocks those of one, with origins and tasks as the block calls them.

    Raises:
        DiagnosticError: the module has none.
    """
    tasks = {task.symbol: task.source for task in plan.Task.each(module.walk())}
    several = any(section.takes or len(set(section.extent)) < len(tasks) for section in plan.Section.each(module.walk()))
    prefix = f"{block}/" if several else ""
    found = [
        Buffer(
            buffer,
            buffer.role,
            buffer.source.removeprefix(prefix),
            frozenset(tasks.get(name, name).removeprefix(prefix) if several else name for name in buffer.producers),
            numbers.fraction(buffer.size),
        )
        for buffer in plan.Buffer.each(module.walk())
        if not several or buffer.role == "workspace" or buffer.source.startswith(prefix) or buffer.source == block
    ]
    if not found:
        raise fail("expected a plan, found a module without buffers", module.span)
    return found


def _overwritten(task: dist.Task) -> Iterator[tuple[Value, list[Value]]]:
    """Results with the operands that each may be written over; with lanes its own, unless that is an operand of another lane, too."""
    semantics = SEMANTICS.get(task.kind_of_work)
    places = (0,) if task.kind_of_work in OVERWRITES else semantics.in_place if semantics is not None else ()
    if places and semantics is not None and semantics.lanes:
        for result, operand in zip(task.results, task.operands, strict=False):
            yield result, [operand] if task.operands.count(operand) == 1 else []
    elif task.results:
        yield task.results[0], [task.operands[i] for i in places if i < len(task.operands)]


@attrs.frozen(eq=False)
class PlanMemory:
    """Compares the buffers of a plan with what a block had alive on its ranks."""

    block: dist.Block
    buffers: Sequence[Buffer]
    arrays: Mapping[Value, Sequence[Array]]
    meters: Mapping[dist.Task, Sequence[Meter]]
    numbers: Numbers

    def compare(self) -> tuple[list[Alive], list[Diagnostic]]:
        """The bytes that were alive for each kind of buffer, and the buffers that are too small."""
        found, against = [], []
        for what, needed, buffers in (*self._caches(), *self._weights(), *self._workspace()):
            stated = sum((buffer.size for buffer in buffers), Fraction(0))
            found.append((what, needed, stated))
            if needed > stated:
                where = buffers[0].operation.span if buffers else self.block.span
                against.append(error(f"{needed} bytes are alive for the {what}, the plan has {stated}", where))
        totals: dict[str, Alive] = {}
        for what, needed, stated in found:
            kind = what.partition(" of ")[0]
            old = totals.get(kind, Alive(kind, Fraction(0), Fraction(0)))
            totals[kind] = Alive(kind, old.alive + needed, old.stated + stated)
        return list(totals.values()), against

    def _caches(self) -> list[tuple[str, Fraction, list[Buffer]]]:
        states = self.block.states
        return [(f"KV cache of '{o.label}'", self._most(o.results), self._from(o.label, "state")) for o in states]

    def _weights(self) -> list[tuple[str, Fraction, list[Buffer]]]:
        """By the task that a buffer of weights is made from: it reads them whole."""
        found = []
        for buffer in self.buffers:
            task = next((t for t in self.meters if t.label == buffer.origin), None)
            if buffer.role == "constant" and task is not None:
                needed = max(sum(m.held.values(), Fraction(0)) for m in self.meters[task])
                found.append((f"weights of '{buffer.origin}'", needed, [buffer]))
        shares = self.block.shares
        return found + [(f"weights of '{each.label}'", self._most(each.results), self._from(each.label, "constant")) for each in shares]

    def _workspace(self) -> list[tuple[str, Fraction, list[Buffer]]]:
        """The most bytes of values without a buffer of their own, at any task."""
        owned = frozenset().union(*(buffer.producers for buffer in self.buffers))
        made = {v: i for i, task in enumerate(self.block.tasks) if task.label not in owned for v in task.results}
        if not made:
            return []
        last = {v: i for i, task in enumerate(self.block.tasks) for v in task.operands if v in made}

        def needed(place: int, task: dist.Task) -> Fraction:
            alive = [v for v, start in made.items() if start <= place <= last.get(v, start)]
            dying = [v for v in alive if last.get(v) == place]
            return self._most(alive) - self._reused(task, dying, made) + max(m.scratch for m in self.meters[task])

        peak = max(Fraction(0), *(needed(place, task) for place, task in enumerate(self.block.tasks)))
        return [("workspace", peak, [buffer for buffer in self.buffers if buffer.role == "workspace"])]

    def _reused(self, task: dist.Task, dying: Sequence[Value], made: Mapping[Value, int]) -> Fraction:
        """The bytes of results that lie where operands were; with lanes, of each result where its own operand was."""
        reused = Fraction(0)
        for result, operands in _overwritten(task):
            size = self._most([result])
            if result in made and any(self._most([value]) >= size for value in operands if value in dying):
                reused += size
        return reused

    def _most(self, values: Sequence[Value]) -> Fraction:
        """The bytes of values on the rank with the most."""
        if not values:
            return Fraction(0)
        ranks = range(len(self.arrays[values[0]]))
        return max(sum((self.arrays[v][rank].size * self.numbers.width(v) for v in values), Fraction(0)) for rank in ranks)

    def _from(self, origin: str, role: str) -> list[Buffer]:
        return [buffer for buffer in self.buffers if buffer.origin == origin and buffer.role == role]
