"""What a fused attention kernel, which a plan names as an alternative, would not hold in memory."""

from __future__ import annotations

from collections.abc import Iterable

from bpir.dialects.levels import PortablePlanIR
from bpir.dialects.plan import Task

WITHIN = ("softmax", "dropout")
"""The tasks between the two products of attention."""


def scores_of_attention(plan: PortablePlanIR) -> frozenset[str]:
    """The buffers of scores, of probabilities, of their masks and gradients: all that lies between the two products of attention.

    A fused kernel makes them part by part, in forward and again in backward, and writes none of them. Source: Dao et al. 2022
    (2205.14135), section 3.1; of each row it keeps the logarithm of the sum of exponentials instead (4 bytes a token and head).
    """
    products = _used(task for task in plan.tasks if task.kind_of_work == "batch_matmul")
    within = [task for task in plan.tasks if task.kind_of_work in WITHIN]
    found = _used(task for task in within if task.kind_of_work == "softmax" and not products.isdisjoint(_used([task])))
    while more := _used(task for task in within if not found.isdisjoint(_used([task]))) - found:
        found |= more
    return frozenset(buffer.symbol for buffer in plan.buffers if buffer.symbol in found and buffer.role in ("activation", "gradient"))


def _used(tasks: Iterable[Task]) -> set[str]:
    return {name for task in tasks for name in (*task.reads, *task.writes)}
