"""The peak of one rank in training, from the lifetimes of the buffers of its plan."""

from __future__ import annotations

from collections.abc import Iterable

from bpir.dialects.plan import Buffer
from bpir.ir.expressions.expression import ZERO, Expr


def held_at_once(buffers: Iterable[Buffer]) -> tuple[Expr, ...]:
    """Bytes: `P + sum(s_b)` over the buffers `b` that live at task `i`, for the tasks after which less is held.

    `P` is the size of what outlives the step: weights and optimizer state. Any other buffer (a value, a gradient, an input or a result of
    the block) lives from the first task that uses it to the last one, both included, in the order of the plan. The largest is the peak.
    Sizes are not padded: alignment is the target's. Source: `docs/conventions.md`, "The peak of a rank".
    """
    held = ZERO
    more: dict[int, Expr] = {}
    less: dict[int, Expr] = {}
    for buffer in buffers:
        size = buffer.size
        if buffer.storage == "persistent":
            held += size
        else:
            begin, end = buffer.live
            more[begin] = more.get(begin, ZERO) + size
            less[end + 1] = less.get(end + 1, ZERO) + size
    found: list[Expr] = []
    grows = False
    for task in sorted({*more, *less}):
        if grows and task not in less:
            found.pop()  # nothing has ended, so no less is held now
        grows = task in more
        held += more.get(task, ZERO) - less.get(task, ZERO)
        if grows:
            found.append(held)
    return tuple(found)
