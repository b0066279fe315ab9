r"""The seconds of a training job: forward, backward, what is done again, messages, and the bubble of the pipeline.

Rules (Isaev et al. 2023, `llm.py`, whose seconds they reproduce to 1e-9; Narayanan et al. 2021, section 2.2, for the bubble), with `n`
microbatches, `p` stages of `v` chunks, `l` blocks a device of `L`:

- a block's seconds times `l` and `n`; the optimizer's times `l`, once a step;
- pipeline: `n*v` messages forward and as many backward;
- data: the gradients of the weights of `l` blocks, each in one `all_reduce`, or `reduce_scatter` and `all_gather` where the optimizer is
  shared out;
- bubble: $(p - 1 + extra)\,chunk - saved$. A chunk is `l/v` blocks, of which the last one sends, forward and backward; $extra = (v-1)(p -
  n \bmod p)$ if `p` does not divide `n`; $saved$ is `l*p - L` times the mean of a block within a chunk and the last one.

Where stages differ, as the text of a plan says, the busiest one sets the pace, and the bubble is what the other stages take once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

import attrs

from bpir.cost.figures import Evidence
from bpir.cost.seconds import NONE, Seconds, in_all
from bpir.cost.shape import Device, Shape
from bpir.cost.tasks import P2P, Costs, TaskCost, number
from bpir.dialects.bind import as_word

KEYS = (
    "forward",
    "backward",
    "optimizer",
    "recompute",
    "recommunication",
    "bubble",
    "tensor_parallel",
    "pipeline_parallel",
    "data_parallel",
    "expert_parallel",
)
"""What the seconds of a step are of; their sum is `total`."""

EXPERT = KEYS[-1]
"""Only said where experts are spread."""

_OF_PHASE = {
    "forward": "forward",
    "recompute": "recompute",
    "activation_gradient": "backward",
    "weight_gradient": "backward",
    "gradient_reduction": "backward",
    "optimizer": "optimizer",
}
_ONCE = ("optimizer", "gradient_reduction")
"""Phases that run once a step, whatever the number of microbatches."""


@attrs.frozen(eq=False)
class JobCost:
    """The seconds of a step on the busiest device, and what they are of.

    Attributes:
        seconds: by key, with their `total`.
        device: which one it is.
        border: one message between stages.
        evidence: of the messages that are no tasks.
    """

    seconds: Mapping[str, Seconds]
    device: Device
    place: int
    border: Seconds
    evidence: tuple[Evidence, ...]


def job_cost(shape: Shape, costs: Costs, tasks: Sequence[TaskCost]) -> JobCost:
    """The seconds of a training step.

    Raises:
        DiagnosticError: the system lacks a figure of a message.
    """
    blocks = [_Device(shape, device, tasks) for device in shape.devices]
    border, found = _border(shape, costs)
    place = max(range(len(blocks)), key=lambda index: blocks[index].busy.value)
    device = blocks[place]
    count = float(shape.microbatches)
    seconds = {key: device.repeated[key].times(count) + device.once[key] for key in KEYS if key != "bubble"}
    seconds["pipeline_parallel"] += border.times(2 * count * shape.chunks)
    if shape.calculon:
        sent, proof = _replicas(shape, costs)
        seconds["data_parallel"] = sent.times(float(next(iter(device.device.runs.values()), 0)))
        found += proof
        seconds["bubble"] = _calculon_bubble(shape, device, border)
    else:
        seconds["bubble"] = _bubble(shape, blocks, place)
    ordered = {key: seconds[key] for key in KEYS if key != EXPERT or "expert" in shape.ranks}
    return JobCost({**ordered, "total": in_all(ordered.values())}, device.device, place, border, found)


class _Device:
    """The seconds of a device, by what they are of: those of each microbatch, and those of a step."""

    def __init__(self, shape: Shape, device: Device, tasks: Sequence[TaskCost]) -> None:
        self.device = device
        self.repeated = dict.fromkeys(KEYS, NONE)
        self.once = dict.fromkeys(KEYS, NONE)
        for section in shape.sections:
            times = float(device.runs.get(section.name, 0))
            for place in section.tasks if times else ():
                cost = tasks[place]
                if shape.calculon and cost.axis == "data":
                    continue  # what Calculon counts of it is a message of the job
                into = self.once if cost.task.phase in _ONCE else self.repeated
                key = key_of(cost)
                into[key] = into[key] + cost.seconds.times(times)

    @property
    def busy(self) -> Seconds:
        """Of one microbatch."""
        return in_all(self.repeated.values())


def key_of(cost: TaskCost) -> str:
    """Which of the seconds of a job a task is a part of."""
    if cost.task.phase == "recommunication":
        return "recommunication"
    if cost.task.moves == "transfer":
        return "pipeline_parallel"
    if cost.task.collective:
        return f"{cost.axis}_parallel"
    return _OF_PHASE[cost.task.phase]


def _border(shape: Shape, costs: Costs) -> tuple[Seconds, tuple[Evidence, ...]]:
    """One message from a stage to the next; nothing where transfers are tasks, or there is one stage."""
    message = shape.messages.get("pipeline_forward", Fraction(0))
    if not shape.calculon or shape.stages == 1 or not message:
        return NONE, ()
    return costs.message(P2P, message, "pipeline")


def _replicas(shape: Shape, costs: Costs) -> tuple[Seconds, tuple[Evidence, ...]]:
    """The reduction of the gradients of one block, as Calculon counts it."""
    message = shape.messages.get("data_parallel", Fraction(0))
    if shape.ranks.get("data", 1) == 1 or not message:
        return NONE, ()
    shared = as_word(shape.fields.get("optimizer_sharding")) == "true" or as_word(shape.fields.get("zero")) in ("1", "2", "3")
    found = [costs.message(kind, message, "data") for kind in (("reduce_scatter", "all_gather") if shared else ("all_reduce",))]
    return in_all(seconds for seconds, _ in found), tuple(proof for _, proofs in found for proof in proofs)


def _calculon_bubble(shape: Shape, device: _Device, border: Seconds) -> Seconds:
    if shape.stages == 1:
        return NONE
    held = int(next(iter(device.device.runs.values()), 0))
    inner = device.busy.times(1 / held)
    edge = inner + border.times(2)
    chunk = inner.times(held / shape.chunks - 1) + edge
    rest = shape.microbatches % shape.stages
    extra = (shape.chunks - 1) * (shape.stages - rest) if rest else 0
    missing = held * shape.stages - shape.blocks
    saved = edge if held // shape.chunks == 1 else (inner + edge).times(0.5)
    return chunk.times(shape.stages - 1 + extra) - saved.times(missing)


def _bubble(shape: Shape, blocks: Sequence[_Device], place: int) -> Seconds:
    """What the other stages take of one microbatch, in chunks; and what microbatches that do not fill a round of chunks leave."""
    if shape.stages == 1:
        return NONE
    busy = [block.busy for block in blocks]
    others = in_all(seconds for index, seconds in enumerate(busy) if index != place).times(1 / shape.chunks)
    rest = shape.microbatches % shape.stages
    extra = (shape.chunks - 1) * (shape.stages - rest) if rest else 0
    return others + busy[place].times(extra / shape.chunks)


def model_operations(shape: Shape, device: Device, tasks: Sequence[TaskCost]) -> Fraction:
    """The operations of matrix products that a device does in a step and the model needs: nothing that is computed again."""
    found = Fraction(0)
    for section in shape.sections:
        for place in section.tasks:
            task = tasks[place].task
            if task.phase in ("forward", "activation_gradient", "weight_gradient", "prefill", "decode"):
                found += number(task.work.matmul, task) * device.runs.get(section.name, 0)
    return found * shape.microbatches
