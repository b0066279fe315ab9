"""The values that are alive between tasks, against the stored bytes that the text states."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

import attrs

from bpir.dialects.dist import tasks as dist
from bpir.ir.diagnostic import Diagnostic, error, note
from bpir.ir.operation import Value
from bpir.run.call import Array
from bpir.run.numbers import Numbers


@attrs.frozen
class Alive:
    """Bytes that are alive, on the rank with the most, and the bytes that the text has for them."""

    what: str
    alive: Fraction
    stated: Fraction


def stored_activations(
    block: dist.Block, inputs: int, arrays: Mapping[Value, Sequence[Array]], numbers: Numbers
) -> tuple[list[Alive], list[Diagnostic]]:
    """Values made before forward ends, or given, that a task after it reads, against `stored` and `checkpoint`."""
    facts = next(iter(block.activations), None)
    if facts is None:
        return [], []
    given, tasks = set(block.arguments[:inputs]), block.tasks
    end = max((i + 1 for i, task in enumerate(tasks) if task.phase == "forward"), default=0)
    before = {v for task in tasks[:end] for v in task.results} | given
    kept: dict[Value, dist.Task] = {}
    for task in tasks[end:]:
        for value in task.operands:
            if value in before:
                kept.setdefault(value, task)
    alive = max(
        (sum((arrays[v][rank].size * numbers.width(v) for v in kept), Fraction(0)) for rank in range(_ranks(arrays))), default=Fraction(0)
    )
    held = facts.facts
    stated = numbers.fraction(held.stored) + numbers.fraction(held.checkpoint)
    found = [Alive("stored activations", alive, stated)]
    if alive <= stated:
        return found, []
    notes = [note(f"'%{v.name or v.index}' is read by '{task.label}'", task.span) for v, task in kept.items()]
    message = f"{alive} bytes of forward are alive until backward, 'stored' and 'checkpoint' are {stated}"
    return found, [error(message, facts.span, *notes[:12])]


def _ranks(arrays: Mapping[Value, Sequence[Array]]) -> int:
    return len(next(iter(arrays.values()), ()))
