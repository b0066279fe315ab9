"""An estimate as a Chrome trace (Perfetto, chrome://tracing): one track a queue of the busiest device.

The events are complete ones (`ph: X`), in microseconds: what is estimated of one device in one step, task after task, in the order of a
pipeline (forward of as many microbatches as are in flight, then backward and forward in turn). Their durations add up to the step's.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import attrs

from bpir.cost.estimate import Estimate
from bpir.cost.tasks import TaskCost

QUEUES = ("compute", "tensor", "pipeline", "data", "expert")
MOST = 200_000
"""Events of a trace; where there would be more, microbatches are drawn together."""

_FORWARD, _ONCE = ("forward",), ("optimizer", "gradient_reduction")


@attrs.frozen
class _Event:
    name: str
    queue: str
    seconds: float
    arguments: dict[str, Any]


def render_trace(found: Estimate) -> str:
    """The trace as JSON; every event says that it is an estimate, and of which system."""
    label = f"estimate: {found.system.name}"
    events = [_named("process_name", 0, f"{found.report.module} ({label})")]
    events += [_named("thread_name", tid, queue) for tid, queue in enumerate(QUEUES)]
    at = 0.0
    for event in _events(found):
        tid = QUEUES.index(event.queue)
        arguments = {"estimate": found.system.name, **event.arguments}
        microseconds = event.seconds * 1e6
        place = {"pid": 0, "tid": tid, "ts": at, "dur": microseconds}
        events.append({"name": event.name, "ph": "X", "cat": event.queue, **place, "args": arguments})
        at += microseconds
    other = {"estimate": True, "system": found.system.name}
    return json.dumps({"displayTimeUnit": "ms", "otherData": other, "traceEvents": events}) + "\n"


def _named(kind: str, tid: int, name: str) -> dict[str, Any]:
    return {"name": kind, "ph": "M", "pid": 0, "tid": tid, "args": {"name": name}}


def _events(found: Estimate) -> Iterator[_Event]:
    """What the device does, one after the other."""
    if found.job is None:
        yield from (event for place in range(len(found.tasks)) for event in _task(found, place, 1.0))
        return
    once = [p for p, cost in enumerate(found.tasks) if cost.task.phase in _ONCE]
    yield from _microbatches(found, found.job.border.times(float(found.shape.microbatches * found.shape.chunks)).value)
    sent = sum(cost.seconds.value * float(found.runs(p)) for p, cost in enumerate(found.tasks) if _is_data(cost))
    rest = found.seconds["data_parallel"].value - (0.0 if found.shape.calculon else sent)
    if rest > 1e-12:
        yield _Event("gradients of replicas", "data", rest, {})
    for place in once:
        yield from _task(found, place, 1.0)


def _microbatches(found: Estimate, border: float) -> Iterator[_Event]:
    """Forward and backward of the microbatches that are drawn, the bubble, and the seconds at the borders of stages."""
    forward = [p for p, cost in enumerate(found.tasks) if cost.task.phase in _FORWARD]
    backward = [p for p, cost in enumerate(found.tasks) if cost.task.phase not in (*_FORWARD, *_ONCE)]
    drawn, share = _drawn(found)
    sends = border / drawn
    warm = min(drawn, found.shape.stages)
    order = ["forward"] * warm + ["backward", "forward"] * (drawn - warm) + ["backward"] * warm
    bubble = found.seconds["bubble"].value
    for step, direction in enumerate(order):
        if step == warm and bubble:
            yield _Event("bubble", "compute", bubble, {})
        for place in forward if direction == "forward" else backward:
            yield from _task(found, place, share)
        if sends:
            yield _Event(f"send {direction}", "pipeline", sends, {})


def _drawn(found: Estimate) -> tuple[int, float]:
    """How many microbatches are drawn, and the share of all runs of a task that is in each."""
    count = found.shape.microbatches
    drawn = count if count * len(found.tasks) <= MOST else max(MOST // max(len(found.tasks), 1), 1)
    return drawn, 1.0 / drawn


def _is_data(cost: TaskCost) -> bool:
    return bool(cost.task.collective) and cost.axis == "data"


def _task(found: Estimate, place: int, share: float) -> Iterator[_Event]:
    """A task with all of its runs, or a share of them."""
    cost = found.tasks[place]
    if found.shape.calculon and _is_data(cost):
        return
    seconds = cost.seconds.value * float(found.runs(place)) * share
    if seconds:
        queue = cost.axis if cost.network.value else "compute"
        runs = float(found.runs(place)) * share
        yield _Event(cost.task.name, queue, seconds, {"layer": cost.task.layer, "runs": runs, "waits_for": cost.bottleneck})
