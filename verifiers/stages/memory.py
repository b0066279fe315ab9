"""Computes what a device of each stage of a pipeline holds, from the buffers of a plan: exact, in the plan's order of tasks.

A step holds weights, gradients of weights and optimizer states all the time; of each microbatch in flight what a later part reads; and what
the tasks that run have between them. The fullest moment is the largest sum over the tasks that a device runs while as many microbatches are
in flight as ever. Source: Narayanan et al. 2021 (2104.04473), section 2.2, for what is in flight; `docs/memory.md`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from bpir.dialects.levels import PortablePlanIR
from bpir.dialects.network import BACKWARD, OPTIMIZER, part_of_phase
from bpir.dialects.plan import Buffer, Task
from bpir.dialects.stages import Run
from bpir.ir.expressions.expression import ONE, ZERO, Expr, maximum, total
from bpir.ir.records import Record

TRAINING = {
    "weights": "weights",
    "activations": "activations",
    "activation_checkpoints": "activation_checkpoints",
    "weight_gradients": "weight_gradients",
    "activation_gradients": "busy",
    "optimizer": "optimizer",
}
"""The kinds of values that a device holds in training, and their names while they are summed."""
SERVING = {"weights": "weights", "kv_cache": "kv_cache", "workspace": "busy"}
"""The same in inference."""
HELD = {"constant": "weights", "optimizer": "optimizer", "state": "kv_cache", "gradient": "weight_gradients"}
"""The kinds of values in buffers that outlive a part of a step, by the role of the buffer; all others hold activations."""


class Chunk(metaclass=Record):
    """A part of a network that a device runs: its sections with how often, and of how many microbatches it holds what backward reads."""

    runs: Sequence[tuple[str, Expr]]
    in_flight: Expr


def chunks_by_device(plan: PortablePlanIR) -> list[list[Chunk]]:
    """The chunks of each device; where the plan has no stages, one device runs all of it once."""
    if not plan.stages:
        return [[Chunk([(section.symbol, section.times) for section in plan.sections], ONE)]]
    found: dict[int, list[Chunk]] = {}
    for stage in plan.stages:
        found.setdefault(stage.place, []).append(Chunk(stage.runs, stage.in_flight))
    return [found[place] for place in sorted(found)]


def named(plan: PortablePlanIR, held: Mapping[str, Expr]) -> dict[str, Expr]:
    """The bytes of a device by what they hold, and their `total`."""
    found = {name: held.get(kind, ZERO) for name, kind in (TRAINING if plan.activations else SERVING).items()}
    return {**found, "total": total(found.values())}


class StageMemory:
    """The bytes of a device of each stage, by what they hold.

    Args:
        again: whether backward makes all again but for what is in front of a block: what is kept is a checkpoint.
        unwritten: buffers that take no memory, as their values never leave a kernel.
    """

    def __init__(self, plan: PortablePlanIR, again: bool, unwritten: Collection[str] = ()) -> None:
        self.plan = plan
        self.again = again
        self.buffers = {buffer.symbol: buffer for buffer in plan.buffers}
        self.sizes = {buffer.symbol: ZERO if buffer.symbol in unwritten else buffer.size for buffer in plan.buffers}
        self.sections = {section.symbol: section for section in plan.sections}
        self.tasks = plan.tasks
        self._extents: dict[range, list[str]] = {}
        for section in plan.sections:
            self._extents.setdefault(section.extent, []).append(section.symbol)
        self._users = {extent: self._used(self.tasks[extent.start : extent.stop]) for extent in self._extents}
        self._parts = {extent: part_of_phase(self.tasks[extent.start].phase) for extent in self._extents}
        self._outlives = {name for name, buffer in self.buffers.items() if self._is_kept(buffer)}
        self._peaks: dict[range, Expr] = {}

    @staticmethod
    def _used(tasks: Iterable[Task]) -> dict[str, None]:
        return dict.fromkeys(name for task in tasks for name in (*task.reads, *task.writes))

    def _is_kept(self, buffer: Buffer) -> bool:
        """Whether a buffer holds something from one part of a step to a later one."""
        parts = {self._parts[extent] for extent, used in self._users.items() if buffer.symbol in used}
        return len(parts) > 1 or buffer.storage == "persistent"

    # --- a device

    def device(self, chunks: Sequence[Chunk]) -> dict[str, Expr]:
        """The bytes of a device at its fullest moment: by kind, and `busy`, what the tasks that run hold besides.

        Raises:
            ExpressionError: too many sizes with symbols may be the largest.
        """
        sums: dict[str, list[Expr]] = {}
        for chunk in chunks:
            for kind, bytes in self._kept(chunk).items():
                sums.setdefault(kind, []).append(bytes)
        for name in dict.fromkeys(name for chunk in chunks for name in self._shared(chunk)):
            sums.setdefault(self._kind(self.buffers[name]), []).append(self.sizes[name])
        held = {kind: total(found) for kind, found in sums.items()}
        activations = total(held.get(kind, ZERO) for kind in ("activations", "activation_checkpoints"))
        return {**held, "busy": _largest(size for chunk in chunks for size in self._busy(chunk, activations))}

    def _kind(self, buffer: Buffer) -> str:
        return HELD.get(buffer.role, "activation_checkpoints" if self.again else "activations")

    def _counts(self, chunk: Chunk) -> dict[range, Expr]:
        """How often a chunk runs the tasks of each extent."""
        found: dict[range, Expr] = {}
        for name, times in chunk.runs:
            extent = self.sections[name].extent
            found[extent] = found[extent] + times if extent in found else times
        return found

    def _kept(self, chunk: Chunk) -> dict[str, Expr]:
        """The bytes that a chunk holds once for each of its layers: of activations as often as microbatches are in flight."""
        found: dict[str, list[Expr]] = {}
        for name, times in self._own(chunk).items():
            buffer = self.buffers[name]
            kind = self._kind(buffer)
            often = chunk.in_flight if kind not in ("weights", "optimizer", "weight_gradients") else ONE
            found.setdefault(kind, []).append(often * times * self.sizes[name])
        return {kind: total(sizes) for kind, sizes in found.items()}

    def _own(self, chunk: Chunk) -> dict[str, Expr]:
        """The buffers that outlive a part and that no other block has, with how often the first tasks that use them run."""
        found: dict[str, Expr] = {}
        for extent, times in self._counts(chunk).items():
            for name in self._users[extent]:
                if name in self._outlives and not self._is_shared(self.buffers[name]):
                    found.setdefault(name, times)
        return found

    def _is_shared(self, buffer: Buffer) -> bool:
        """Whether one buffer of weights serves several blocks: a device has it once."""
        blocks = {extent for extent, used in self._users.items() if buffer.symbol in used}
        return buffer.role in ("constant", "optimizer") and buffer.times is ONE and len(blocks) > 0

    def _shared(self, chunk: Chunk) -> list[str]:
        used = (name for extent in self._counts(chunk) for name in self._users[extent])
        return [name for name in used if name in self._outlives and self._is_shared(self.buffers[name])]

    # --- the tasks that run

    def _busy(self, chunk: Chunk, activations: Expr) -> list[Expr]:
        """The bytes that the tasks of each section of a chunk hold besides, less the activations in flight that are not there then."""
        runs = self._by_part(chunk)
        optimizer = [self._peak(name) - activations for name, _ in runs.get(OPTIMIZER, ())]
        return [*self._peaks_of(runs.get("", [])[::-1]), *self._peaks_of(runs.get(BACKWARD, [])), *optimizer]

    def _by_part(self, chunk: Chunk) -> dict[str, list[Run]]:
        """The sections of a chunk by the part of the step: backward, the optimizer's, and ("") those that go forward."""
        found: dict[str, list[Run]] = {}
        for name, times in chunk.runs:
            part = self._part(name)
            found.setdefault(part if part in (BACKWARD, OPTIMIZER) else "", []).append((name, times))
        return found

    def _peaks_of(self, runs: Iterable[Run]) -> Iterator[Expr]:
        """The bytes that each section holds besides, less those of this microbatch that the sections behind have freed, or not yet made."""
        freed = ZERO
        for name, times in runs:
            yield self._peak(name) - freed
            freed += times * self._made(name)

    def _part(self, name: str) -> str:
        return self._parts[self.sections[name].extent]

    def _made(self, name: str) -> Expr:
        """The bytes of activations that one run of a section keeps for a later part, or takes from an earlier one."""
        return total(self.sizes[b] for b in self._users[self.sections[name].extent] if self._is_activation(b))

    def _is_activation(self, name: str) -> bool:
        return name in self._outlives and self.buffers[name].role not in HELD

    def _peak(self, name: str) -> Expr:
        """The most that one run of a section holds besides what is kept.

        Of what this run keeps itself less is there before it is made, and after its last reader.
        """
        extent = self.sections[name].extent
        if extent not in self._peaks:
            more: dict[int, list[Expr]] = {}
            less: dict[int, list[Expr]] = {}
            kept = [self._live(self.buffers[used], extent, more, less) for used in self._users[extent]]
            self._peaks[extent] = _largest(_held(more, less, -total(kept)))
        return self._peaks[extent]

    def _live(self, buffer: Buffer, extent: range, more: _Sizes, less: _Sizes) -> Expr:
        """Note from which task of an extent a buffer is there besides what is kept, and from which it is not; the bytes of what is kept
        and not there before it is made.
        """
        size = self.sizes[buffer.symbol]
        begin, end = (buffer.live[0], buffer.live[1]) if len(buffer.live) == 2 else (extent.start, extent.stop - 1)
        if buffer.symbol not in self._outlives:
            more.setdefault(max(begin, extent.start), []).append(size)
            less.setdefault(min(end, extent.stop - 1) + 1, []).append(size)
        elif self._is_activation(buffer.symbol):
            if begin > extent.start:  # made here: until then it is not there
                more.setdefault(begin, []).append(size)
                return size
            if end < extent.stop - 1:  # freed here
                less.setdefault(end + 1, []).append(size)
        return ZERO


_Sizes = dict[int, list[Expr]]
"""Sizes by the place of a task."""


def _largest(sizes: Iterable[Expr]) -> Expr:
    """The largest of the sizes, each compared once; 0 if there is none."""
    found = dict.fromkeys(sizes)
    return maximum(*found) if found else ZERO


def _held(more: Mapping[int, Sequence[Expr]], less: Mapping[int, Sequence[Expr]], held: Expr) -> tuple[Expr, ...]:
    """The bytes that are held at the tasks after which fewer are."""
    found: list[Expr] = []
    grows = False
    for task in sorted({*more, *less}):
        if grows and task not in less:
            found.pop()  # nothing has ended, so no less is held now
        grows = task in more
        held += total(more.get(task, ())) - total(less.get(task, ()))
        if grows:
            found.append(held)
    return tuple(dict.fromkeys(found))
