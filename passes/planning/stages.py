"""The stages of a plan: which of its sections each device of a pipeline runs, and the sections of what goes between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bpir.dialects import plan
from bpir.dialects.dist.stages import Stage
from bpir.dialects.network import BACKWARD, FORWARD, OPTIMIZER
from bpir.dialects.stages import Run, runs_attribute
from bpir.ir.expressions.expression import ZERO, Expr, total
from bpir.ir.operation import Operation

Placed = Mapping[tuple[str, str], Sequence[plan.Section]]
"""The sections of each block and part of a training step, in the order of the calls that run them forward."""


def planned_stages(stages: Sequence[Stage], sections: Placed) -> list[Operation]:
    """The stages of a plan."""
    part = FORWARD if any(part == FORWARD for _, part in sections) else ""
    rows = _by_call(stages, sections, part)
    found = []
    for stage, calls in zip(stages, rows, strict=True):
        forward = _runs([(block, part, index, times) for block, index, times in calls], sections)
        backward = _runs([(block, BACKWARD, index, times) for block, index, times in reversed(calls)], sections)
        blocks = dict.fromkeys(block for block, _, _ in calls)
        sums = [(block, OPTIMIZER, 0, total(times for name, _, times in calls if name == block)) for block in blocks]
        runs = [*forward, *backward, *_runs(sums, sections)]
        properties = {**stage.operation.properties, plan.Stage.runs.name: runs_attribute(runs)}
        found.append(plan.Stage.build(properties=properties, span=stage.span))
    return found


def _by_call(stages: Sequence[Stage], sections: Placed, part: str) -> list[list[tuple[str, int, Expr]]]:
    """What each stage runs: a block, which of the calls of the block, and how often."""
    calls: dict[str, int] = {}
    left: dict[str, Expr] = {}
    rows = []
    for stage in stages:
        row = []
        for block, times in stage.runs:
            own = sections.get((block, part), ())
            index = calls.setdefault(block, 0)
            row.append((block, index, times))
            if index < len(own) - 1:  # where that is all of this call, the next one follows
                left[block] = left.get(block, own[index].times) - times
                if left[block] is ZERO:
                    calls[block] += 1
                    del left[block]
        rows.append(row)
    return rows


def _runs(wanted: Sequence[tuple[str, str, int, Expr]], sections: Placed) -> list[Run]:
    """The runs of sections, of those that have tasks."""
    return [
        (sections[block, part][index].symbol, times) for block, part, index, times in wanted if index < len(sections.get((block, part), ()))
    ]
