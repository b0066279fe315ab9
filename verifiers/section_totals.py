"""Totals over the runs of sections."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from bpir.dialects.bp import Work
from bpir.dialects.sections import Section
from bpir.ir.expressions.expression import ZERO, Expr, total


def runs_of_members(sections: Iterable[Section], count: int) -> list[Expr]:
    """How often each of so many tasks or commands runs, in all sections together."""
    often = [ZERO] * count
    for section in sections:
        for place in section.extent[: max(0, count - section.extent.start)]:
            often[place] += section.times
    return often


def total_work(works: Iterable[Work], times: Sequence[Expr]) -> Work:
    """All work together, each as often as it is done; the same work that is done as often is multiplied before it is added."""
    pairs = Counter(zip(works, times, strict=True))
    parts = [[count * often * value for value in work.components] for (work, often), count in pairs.items()]
    return Work(*(total(part[index] for part in parts) for index in range(len(Work.names()))))
