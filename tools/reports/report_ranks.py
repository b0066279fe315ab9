"""What all ranks of tensor parallelism and all replicas do together: what the model takes, what each of them does again, and what sums and
gathers cost.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from bpir.ir.expressions.expression import ONE, ZERO, Expr
from bpir.ir.records import Record
from bpir.tools.reports.report import AllRanks, TaskRow, Work, summed, vector

if TYPE_CHECKING:
    from bpir.dialects.bp import SymbolTable

TENSOR = "tensor"
FORK = "fork"


class Replicas(metaclass=Record):
    """How many replicas of the batch there are, each with a batch of its own, and whether they share the optimizer."""

    count: Expr = ONE
    shared: bool = False

    def together(self, tasks: Sequence[TaskRow]) -> Work:
        """The work of tasks on all replicas, that of the optimizer once: each updates its share, or all do what one could."""
        updates = summed(task.in_all for task in tasks if task.phase == "optimizer")
        others = summed(task.in_all for task in tasks if task.phase != "optimizer")
        return summed([_times(self.count, others), _times(self.count, updates) if self.shared else updates])


ONE_REPLICA = Replicas()


def all_ranks(
    tasks: Sequence[TaskRow],
    degree: Expr,
    table: SymbolTable,
    replicas: Replicas = ONE_REPLICA,
    alone: tuple[Sequence[TaskRow], Replicas] | None = None,
) -> AllRanks | None:
    """The work of all ranks, in three parts whose sum it is.

    `model` is the work that one rank would have of the batches of all replicas, and of one update of the weights. `reduced` are the
    collectives, and the sums of gradients that are made for a reduction: what is added before it and what is added behind it would be one
    sum. All else is `replicated`: each rank does what one could, as a norm of whole values, or reads what all read, as the operand of a
    column-parallel linear.

    Args:
        degree: how many ranks of tensor parallelism there are. Where it is a symbol, the work on one rank is that of the text with 1 in its
            place: every share is a size divided by it.
        alone: the tasks of the same step on one rank of tensor parallelism, where the degree is a number, and its replicas.

    Returns:
        None where nothing says what one rank would do, or where there is one.
    """
    count = degree * replicas.count
    if count is ONE:
        return None
    if alone is None and degree is not ONE and not _is_free(degree, table):
        return None
    sent, computed = [task for task in tasks if not _computes(task)], [task for task in tasks if _computes(task)]
    everything = _times(count, summed(task.in_all for task in tasks))
    extra = _times(replicas.count, _summed_apart(tasks))
    reduced = summed([_times(count, summed(task.in_all for task in sent)), extra])
    if alone is not None:
        single, theirs = alone
        model = Replicas(replicas.count, theirs.shared).together([t for t in single if _computes(t)])
    else:
        model = _difference(_with_one(replicas.together(computed), degree), extra)
    return AllRanks(count, model, _difference(_difference(everything, model), reduced), reduced)


def _is_free(degree: Expr, table: SymbolTable) -> bool:
    """Whether the degree is a symbol that no size is made of."""
    defined = {name for relation in table.relations if relation.kind == "equal" for name in relation.symbols}
    return degree.symbols == (degree.text,) and degree.text not in defined


def _summed_apart(tasks: Sequence[TaskRow]) -> Work:
    """The extra traffic of gradients before and behind a reduction: `n` of each are written and read again, which one sum would not do."""
    named = {task.name: task for task in tasks}
    found = []
    for task in tasks:
        collectives = [named[name] for name in task.after if task.operation == FORK and named[name].collective is not None]
        for first in (named[name] for collective in collectives for name in collective.after):
            if first.operation == FORK:
                found.append(Work(read=first.in_all.write, write=first.in_all.write))
    return summed(found)


def _with_one(work: Work, degree: Expr) -> Work:
    if degree is ONE:
        return work
    return _mapped(work, lambda value: value.substitute({degree.text: ONE}))


def _computes(task: TaskRow) -> bool:
    """Whether a task sends nothing."""
    return task.collective is None and task.moves is None


def _times(count: Expr, work: Work) -> Work:
    return _mapped(work, lambda value: count * value)


def _difference(work: Work, other: Work) -> Work:
    less: Mapping[str, Expr] = vector(other)
    return Work(**{name: value - less.get(name, ZERO) for name, value in vector(work).items()})


def _mapped(work: Work, change: Callable[[Expr], Expr]) -> Work:
    return Work(**{name: change(value) for name, value in vector(work).items()})
