"""The work of a step of a whole job: of all ranks, stages and replicas, and what of it the model without any of them would not do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import attrs

from bpir.dialects.bind import as_word
from bpir.dialects.bp import SymbolTable, product
from bpir.dialects.network import OPTIMIZER, part_of_phase
from bpir.dialects.stages import PIPELINE
from bpir.ir.attributes import Attribute
from bpir.ir.expressions.expression import ONE, Expr
from bpir.tools.reports.report import TaskRow, Work, summed, vector
from bpir.tools.reports.report_ranks import TENSOR, all_ranks


def work_of_step(
    tasks: Sequence[TaskRow], mesh: Mapping[str, Expr], microbatches: Expr, fields: Mapping[str, Attribute], table: SymbolTable
) -> dict[str, Work]:
    """The `total` of a step over all ranks; where the text says it, of that the part of the `model` alone, and the `extra` work.

    Each stage runs its part of the tasks, so that their sum over all layers is that of one rank of each stage. Forward and backward run
    once a microbatch on every replica of the batch; weights are updated once a step, by one replica's work where replicas share that, and
    by that of each where they don't.
    """
    degree = mesh.get(TENSOR, ONE)
    replicas = product(size for axis, size in mesh.items() if axis not in (TENSOR, PIPELINE))
    updates = [task for task in tasks if part_of_phase(task.phase) == OPTIMIZER]
    passes = [attrs.evolve(t, times=microbatches * t.times) for t in tasks if part_of_phase(t.phase) != OPTIMIZER]
    ranks = degree * replicas
    everything = _times(ranks, summed(task.in_all for task in (*passes, *updates)))
    models = _models([passes, updates], degree, table)
    if models is None:
        return {"total": everything}
    shared = as_word(fields.get("zero")) not in (None, "0") or as_word(fields.get("optimizer_sharding")) == "true"
    model = summed([_times(replicas, models[0]), _times(replicas if shared else ONE, models[1])])
    return {"model": model, "extra": _difference(everything, model), "total": everything}


def _models(groups: Sequence[Sequence[TaskRow]], degree: Expr, table: SymbolTable) -> list[Work] | None:
    """Of each group of tasks the work of the model alone; None where the text does not say it."""
    if degree is ONE:
        return [summed(task.in_all for task in group if task.collective is None and task.moves is None) for group in groups]
    found = [each.model for group in groups if (each := all_ranks(group, degree, table)) is not None]
    return found if len(found) == len(groups) else None


def _times(count: Expr, work: Work) -> Work:
    return Work(**{name: count * value for name, value in vector(work).items()})


def _difference(work: Work, other: Work) -> Work:
    less = vector(other)
    return Work(**{name: value - less[name] for name, value in vector(work).items()})
