"""Traces of estimates: the format of Chrome's trace events, and that their durations are the step's."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest
from cost_calculon_cases import CASES, MEASURED, plan, system

from bpir.cost.estimate import Estimate, estimate
from bpir.cost.trace import QUEUES, render_trace

SOME = [MEASURED[2], MEASURED[1], *CASES[:47:11]]


def wrong(trace: Any) -> Iterable[str]:
    """The violations of Chrome's trace format (Google, "Trace Event Format", JSON object format), and tracks that overlap."""
    if not isinstance(trace, dict) or not isinstance(trace.get("traceEvents"), list):
        yield "no list of traceEvents"
        return
    busy: dict[tuple[int, int], float] = {}
    for event in trace["traceEvents"]:
        if not isinstance(event.get("name"), str) or not all(type(event.get(key)) is int for key in ("pid", "tid")):
            yield f"no name or track: {event}"
        elif event["ph"] == "M":
            if event["name"] not in ("process_name", "thread_name") or not isinstance(event["args"]["name"], str):
                yield f"no metadata: {event}"
        elif event["ph"] != "X":
            yield f"no complete event: {event}"
        elif not all(isinstance(event.get(key), int | float) and event[key] >= 0 for key in ("ts", "dur")):
            yield f"no time: {event}"
        else:
            track = event["pid"], event["tid"]
            if event["ts"] < busy.get(track, 0.0) - 1e-3:
                yield f"two events at once on one track: {event}"
            busy[track] = event["ts"] + event["dur"]


def found_of(case: dict[str, Any]) -> Estimate:
    return estimate(plan(case["id"]), system(case["system"]), {})


@pytest.mark.parametrize("case", SOME, ids=lambda case: case["id"])
def test_a_trace_is_well_formed_and_adds_up(case: dict[str, Any]) -> None:
    found = found_of(case)
    trace = json.loads(render_trace(found))
    assert not list(wrong(trace))
    events = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    assert sum(event["dur"] for event in events) / 1e6 == pytest.approx(found.seconds["total"].value, rel=1e-9)
    last = max(event["ts"] + event["dur"] for event in events)
    assert last / 1e6 == pytest.approx(found.seconds["total"].value, rel=1e-9)
    assert all(event["args"]["estimate"] == case["system"] for event in events)
    named = [event["args"]["name"] for event in trace["traceEvents"] if event["name"] == "thread_name"]
    assert named == list(QUEUES)


def test_each_queue_has_its_part() -> None:
    """GPT-3 under tensor parallelism 8 and a pipeline of 8: what is on the tracks is what the seconds say."""
    found = found_of(MEASURED[2])
    events = [event for event in json.loads(render_trace(found))["traceEvents"] if event["ph"] == "X"]
    seconds = {queue: sum(e["dur"] for e in events if e["tid"] == tid) / 1e6 for tid, queue in enumerate(QUEUES)}
    said = {key: value.value for key, value in found.seconds.items()}
    assert seconds["pipeline"] == pytest.approx(said["pipeline_parallel"], rel=1e-9)
    assert seconds["tensor"] == pytest.approx(said["tensor_parallel"] + said["recommunication"], rel=1e-9)
    computed = sum(said[key] for key in ("forward", "backward", "optimizer", "recompute", "bubble"))
    assert seconds["compute"] == pytest.approx(computed, rel=1e-9)


def test_the_checker_finds_what_is_wrong() -> None:
    event = {"name": "a", "ph": "X", "pid": 0, "tid": 0, "ts": 0.0, "dur": 5.0}
    assert not list(wrong({"traceEvents": [event, {**event, "ts": 5.0}]}))
    for bad in ({"ph": "B"}, {"dur": -1}, {"ts": "0"}, {"name": 3}, {"ts": 1.0}):
        assert list(wrong({"traceEvents": [event, {**event, **bad}]})), bad
    assert list(wrong([event]))


def test_many_microbatches_are_drawn_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bpir.cost.trace.MOST", 500)
    found = found_of(MEASURED[2])
    events = [event for event in json.loads(render_trace(found))["traceEvents"] if event["ph"] == "X"]
    assert len(events) <= 800
    assert sum(event["dur"] for event in events) / 1e6 == pytest.approx(found.seconds["total"].value, rel=1e-9)
