"""The memory and messages of a whole job: the stages of a pipeline, the microbatches in flight, the layers of each device."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from operator import add

from bpir.dialects.bind import as_word
from bpir.dialects.levels import PortablePlanIR
from bpir.dialects.network import BACKWARD, FORWARD, OPTIMIZER, part_of_phase
from bpir.dialects.plan import Section, Task
from bpir.ir.attributes import Attribute
from bpir.ir.expressions.error import ExpressionError
from bpir.ir.expressions.expression import ONE, Expr, total
from bpir.tools.reports.fused_kernels import gated_activations, gradients_beside_sums, scores_of_attention
from bpir.tools.reports.job_calculon import device_of_calculon
from bpir.tools.reports.report import Job
from bpir.verifiers.stages.memory import StageMemory, chunks_by_device, named

GRADIENTS = ".gradients.gradient_reduction"
"""How the tasks are called in which replicas sum the gradients of a layer's weights."""


def job_of(plan: PortablePlanIR) -> Job | None:
    """The job that a plan is a part of; None where it has no sections, so that nothing says how often its blocks run."""
    if not plan.sections or not plan.meshes:
        return None
    named = plan.meshes[0].strategy
    fields = next((strategy.fields for strategy in plan.strategies if strategy.symbol == named), {})
    devices = _devices(plan, fields)
    scores = scores_of_attention(plan)
    fused = tuple(device["total"] for device in _devices(plan, fields, scores)) if scores and devices else ()
    microbatches = plan.stages[0].microbatches if plan.stages else ONE
    kernels = _with_fused_kernels(plan, fields, scores) if devices else ()
    return Job(devices, microbatches, _messages(plan), fused_attention=fused, fused_kernels=kernels) if devices else None


def _with_fused_kernels(plan: PortablePlanIR, fields: Mapping[str, Attribute], scores: Collection[str]) -> tuple[Expr, ...]:
    """The bytes of a device of each stage in training, were all that frameworks fuse fused: attention, gates, sums of gradients in f32."""
    unwritten = {*scores, *gated_activations(plan)}
    if not plan.activations or as_word(fields.get("convention")) == "calculon":
        return ()
    totals = [device["total"] for device in _devices(plan, fields, unwritten)]
    if as_word(fields.get("gradients")) != "f32":
        return tuple(totals)
    try:
        beside = [gradients_beside_sums(plan, [run for chunk in chunks for run in chunk.runs]) for chunks in chunks_by_device(plan)]
    except ExpressionError:  # too many sizes with symbols may be the largest: numbers tell
        return ()
    return tuple(map(add, totals, beside))


def _devices(plan: PortablePlanIR, fields: Mapping[str, Attribute], unwritten: Collection[str] = ()) -> tuple[Mapping[str, Expr], ...]:
    """The memory of a device of each stage, without the buffers that are never written; nothing where that is not known."""
    chunks = chunks_by_device(plan)
    if plan.activations and as_word(fields.get("convention")) == "calculon":
        if unwritten:
            return ()  # Calculon has no such figure
        device = device_of_calculon(plan, fields)
        return (device,) * len(chunks) if device is not None else ()
    memory = StageMemory(plan, as_word(fields.get("recompute")) == "full", unwritten)
    known: dict[object, dict[str, Expr]] = {}
    found = []
    try:
        for each in chunks:
            key = tuple((tuple(chunk.runs), chunk.in_flight) for chunk in each)
            if key not in known:
                known[key] = named(plan, memory.device(each))
            found.append(known[key])
    except ExpressionError:  # too many sizes with symbols may be the largest: numbers tell
        return ()
    return tuple(found)


def _messages(plan: PortablePlanIR) -> dict[str, Expr]:
    """Bytes: of one block the sum of what tensor parallelism sends in each part, and of its gradients; of a border one message."""
    layer = next((section for section in plan.sections if section.says(Section.times)), plan.sections[0])
    block = _block_of(plan.tasks[layer.extent.start].source)
    whole = [task for task in plan.tasks if _block_of(task.source) == block]
    gathers = _gathers(plan, whole)
    of_block = [task for task in whole if task not in gathers]
    sent = {part: _sent(plan.tasks, part) for part in (FORWARD, BACKWARD, "")}
    found = {"tensor_forward": _sum(of_block, FORWARD) + _sum(of_block, ""), "tensor_backward": _sum(of_block, BACKWARD)}
    found["pipeline_forward"] = sent[FORWARD] + sent[""]
    found["pipeline_backward"] = sent[BACKWARD]
    if gathers:
        found["weight_gathers"] = total(task.work.msg for task in gathers)
    found["data_parallel"] = total(task.work.msg for task in of_block if task.source.endswith(GRADIENTS))
    return found


def _gathers(plan: PortablePlanIR, tasks: Sequence[Task]) -> list[Task]:
    """The tasks that gather weights for a microbatch; what gathers updated weights runs once a step."""
    weights = {buffer.symbol for buffer in plan.buffers if buffer.role == "constant"}
    reading = [task for task in tasks if task.kind == "collective" and not weights.isdisjoint(task.reads)]
    return [task for task in reading if part_of_phase(task.phase) != OPTIMIZER]


def _block_of(name: str) -> str:
    """The block of a task or a layer, `block/layer`; nothing where the plan has one block."""
    return name.partition("/")[0] if "/" in name else ""


def _sent(tasks: Sequence[Task], part: str) -> Expr:
    """What the transfers of a part send from one stage to the next."""
    return total(task.work.msg for task in tasks if task.kind == "transfer" and part_of_phase(task.phase) == part)


def _sum(tasks: Sequence[Task], part: str) -> Expr:
    """What the collectives of a part of a block send."""
    return total(task.work.msg for task in tasks if task.kind == "collective" and part_of_phase(task.phase) == part)
