"""The stages of a pipeline, run: the network part by part, what goes from one to the next, and how many microbatches are in flight.

The schedule is played device by device: one forward, one backward; with several chunks as Megatron-LM's interleaved schedule
(`forward_backward_pipelining_with_interleaving`), in rounds of as many microbatches as there are devices.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

import attrs

from bpir.dialects.dist.stages import Border, Stage, Transfer
from bpir.dialects.levels import DistributedTaskIR
from bpir.dialects.network import BACKWARD, part_of_phase
from bpir.dialects.replicas import REPLICAS
from bpir.dialects.stages import PIPELINE
from bpir.ir.diagnostic import Diagnostic, DiagnosticError, error
from bpir.run.call import Array
from bpir.run.numbers import Numbers
from bpir.run.ranks.mesh import Mesh

MOST = 4096
"""Runs of chunks that are played of a schedule."""


@attrs.frozen
class Part:
    """So many repetitions of a call, which a stage runs."""

    call: int
    times: int
    stage: int


def parts_of(
    stages: Sequence[Stage], calls: Sequence[tuple[tuple[str, ...], int]], origins: Mapping[str, str], numbers: Numbers
) -> list[Part]:
    """What each stage runs of the calls of a network, each of some blocks so many times.

    Raises:
        DiagnosticError: the stages run something else than the calls, or in another order.
    """
    found: list[Part] = []
    index = done = 0
    for place, stage in enumerate(stages):
        runs = [(origins.get(name, name), numbers.fraction(times)) for name, times in stage.runs]
        runs = [run for run in runs if run[1]]
        while runs:
            if index == len(calls):
                raise DiagnosticError(error(f"the stage runs @{runs[0][0]} when the network has ended", stage.span))
            blocks, times = calls[index]
            taken, runs = runs[: len(blocks)], runs[len(blocks) :]
            count = _runs_of(taken, blocks, times - done, stage)
            found.append(Part(index, int(count), place))
            done += int(count)
            if done == times:
                index, done = index + 1, 0
    if index < len(calls):
        raise DiagnosticError(error(f"no stage runs the last of @{calls[index][0][0]}", stages[-1].span))
    return found


def _runs_of(taken: Sequence[tuple[str, Fraction]], blocks: Sequence[str], left: int, stage: Stage) -> Fraction:
    """How often a stage runs the blocks of a call, which the network runs so often from there on.

    Raises:
        DiagnosticError: the stage runs others, or not all as often, or more often.
    """
    count = taken[0][1]
    if [name for name, _ in taken] != list(blocks) or any(often != count for _, often in taken) or count > left:
        shown = ", ".join(f"@{name} {often} times" for name, often in taken)
        wanted = ", ".join(f"@{name}" for name in blocks)
        raise DiagnosticError(error(f"the stage runs {shown}, where the network has {wanted}, {left} times", stage.span))
    return count


def wrong_transfers(border: Border, mesh: Mesh, sent: Sequence[tuple[str, Array]], numbers: Numbers) -> list[Diagnostic]:
    """Transfers of other bytes than those of what crosses a border: a rank's part of the values, in forward and in backward."""
    found = []
    for task in border.tasks:
        if not isinstance(task, Transfer):
            continue
        value = task.operation.operands[0]
        layout = numbers.layout(value, task).among({axis: mesh.sizes[axis] for axis in REPLICAS if axis in mesh.sizes})
        part = BACKWARD if part_of_phase(task.phase) == BACKWARD else "forward"
        for array in (array for name, array in sent if name == part):
            if array.shape != layout.dims:
                found.append(error(f"'{task.label}' sends a value of {layout.dims}, and {array.shape} crosses the border", task.span))
                return found
            bytes = {mesh.cut(array, layout, rank).size * numbers.width(value) for rank in mesh.ranks}
            for name in ("read", "write", "msg"):
                stated = numbers.fraction(getattr(task.work, name))
                if bytes != {stated}:
                    found.append(error(f"'{task.label}' has {name} = {stated} bytes, and each rank sends {max(bytes)}", task.span))
            if found:
                return found
    return found


def wrong_flights(ir: DistributedTaskIR, numbers: Numbers, training: bool) -> list[Diagnostic]:
    """Stages that hold another number of microbatches than are in flight when the schedule is played."""
    stages = ir.stages
    devices = max(stage.place for stage in stages) + 1
    chunks = max(stage.chunk for stage in stages) + 1
    microbatches = int(numbers.fraction(stages[0].microbatches))
    if microbatches * chunks * devices > MOST or (chunks > 1 and microbatches % devices):
        return []  # too long to play; or the last round is not whole, and the schedule stands still
    held = _played(devices, chunks, microbatches) if training else {}
    found = []
    for stage in stages:
        most = held.get((stage.place, stage.chunk), 0) if training else microbatches
        if numbers.fraction(stage.in_flight) != most:
            said = numbers.fraction(stage.in_flight)
            found.append(error(f"of {said} microbatches the stage holds activations, and {most} are in flight", stage.span))
    return found


def _played(devices: int, chunks: int, microbatches: int) -> dict[tuple[int, int], int]:
    """How many microbatches each chunk has between forward and backward when its device first goes back.

    Every device runs in its own order. From then on it has as many in all, or fewer: its chunks only change places.
    """
    orders = [list(_order(device, devices, chunks, microbatches)) for device in range(devices)]
    play = _Play()
    places = [0] * devices
    moved = True
    while moved:
        moved = False
        for device, order in enumerate(orders):
            while places[device] < len(order):
                way, chunk, batch = order[places[device]]
                if not _ready(way, device, chunk, batch, devices, chunks, play.done):
                    break
                play.run(way, device, chunk, batch)
                places[device] += 1
                moved = True
    assert all(place == len(order) for place, order in zip(places, orders, strict=True)), "the schedule stands still"
    assert all(sum(play.first[device].values()) == play.most[device] for device in range(devices)), "more is in flight later"
    return {key: count for counts in play.first.values() for key, count in counts.items()}


class _Play:
    """The runs that are done, and the microbatches in flight.

    Attributes:
        most: the most that each device has had at once.
        first: the microbatches of each chunk of a device when it first goes back.
    """

    def __init__(self) -> None:
        self.done: set[tuple[str, int, int, int]] = set()
        self.most: dict[int, int] = {}
        self.first: dict[int, dict[tuple[int, int], int]] = {}
        self._held: dict[tuple[int, int], int] = {}

    def run(self, way: str, device: int, chunk: int, batch: int) -> None:
        """Run a microbatch through a chunk, forward or backward."""
        if way == "backward" and device not in self.first:
            self.first[device] = self._of(device)
        self.done.add((way, device, chunk, batch))
        self._held[device, chunk] = self._held.get((device, chunk), 0) + (1 if way == "forward" else -1)
        self.most[device] = max(self.most.get(device, 0), sum(self._of(device).values()))

    def _of(self, device: int) -> dict[tuple[int, int], int]:
        return {key: count for key, count in self._held.items() if key[0] == device}


def _ready(way: str, device: int, chunk: int, batch: int, devices: int, chunks: int, done: set[tuple[str, int, int, int]]) -> bool:
    """Whether what a run needs has been sent: by the part before it, in backward by the one behind."""
    index = chunk * devices + device
    if way == "forward":
        return index == 0 or ("forward", (index - 1) % devices, (index - 1) // devices, batch) in done
    last = index == devices * chunks - 1
    return ("forward", device, chunk, batch) in done and (
        last or ("backward", (index + 1) % devices, (index + 1) // devices, batch) in done
    )


def _order(device: int, devices: int, chunks: int, microbatches: int) -> Iterable[tuple[str, int, int]]:
    """The runs of a device: forward ones to warm up, then one forward and one backward in turns, then what is left."""
    forward = _sequence(devices, chunks, microbatches)
    backward = [(chunks - 1 - chunk, batch) for chunk, batch in forward]
    behind = devices - device - 1
    warm = min(behind if chunks == 1 else 2 * behind + (chunks - 1) * devices, len(forward))
    yield from (("forward", *run) for run in forward[:warm])
    for index, run in enumerate(forward[warm:]):
        yield ("forward", *run)
        yield ("backward", *backward[index])
    yield from (("backward", *run) for run in backward[len(forward) - warm :])


def _sequence(devices: int, chunks: int, microbatches: int) -> list[tuple[int, int]]:
    """The chunk and the microbatch of each forward run: all of one chunk for a round of microbatches, then the next."""
    found = []
    for first in range(0, microbatches, devices):
        found += [(chunk, batch) for chunk in range(chunks) for batch in range(first, min(first + devices, microbatches))]
    return found


def mesh_of_stage(mesh: Mapping[str, int]) -> dict[str, int]:
    """The sizes of the mesh of one stage: its ranks run a block, those of other stages do not."""
    return {name: size for name, size in mesh.items() if name != PIPELINE}
