"""The values of a block on every rank of its mesh, and whether they are those of the model."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from bpir.dialects.dist import tasks as dist
from bpir.dialects.dist.collective_tasks import Collective
from bpir.ir.declaration import Place
from bpir.ir.diagnostic import Diagnostic, DiagnosticError, error
from bpir.ir.operation import Value
from bpir.run.call import Array, Operand
from bpir.run.numbers import Numbers
from bpir.run.ranks.compare import compare
from bpir.run.ranks.mesh import Layout, Mesh

TOKEN = 1
"""The place of the token axis among the dimensions of a value."""
OF_WEIGHTS = ("weight_gradient", "gradient_reduction", "optimizer")
"""The phases of tasks that give gradients of weights, or weights."""
BACKWARD = ("activation_gradient", "weight_gradient", "gradient_reduction", "optimizer")


@attrs.define(eq=False)
class Ranks:
    """The arrays of all ranks.

    Attributes:
        arrays: of each value the array of each rank.
        expected: of each value the whole array that it must be, where the model says one.
        floor: a value without an element as large counts as noise of this size.
        replicas: the mesh axes along which each rank has a batch of its own.
        maxima: the values of whose parts the maximum is taken, not the sum.
        largest: the largest relative difference, in forward and in backward.
    """

    mesh: Mesh
    numbers: Numbers
    floor: float
    replicas: tuple[str, ...] = ()
    arrays: dict[Value, list[Array]] = attrs.field(factory=dict)
    expected: dict[Value, Array] = attrs.field(factory=dict)
    layouts: dict[Value, Layout] = attrs.field(factory=dict)
    maxima: set[Value] = attrs.field(factory=set)
    largest: dict[str, float] = attrs.field(factory=lambda: {"forward": 0.0, "backward": 0.0})

    def layout(self, value: Value, reader: Place) -> Layout:
        """How a value lies on the mesh."""
        if value not in self.layouts:
            self.layouts[value] = self._replicated(value, self.numbers.layout(value, reader))
        return self.layouts[value]

    def _replicated(self, value: Value, layout: Layout) -> Layout:
        """The layout among replicas, each of which has its own part of the batch: all values but those of weights begin with it."""
        replicas, task = self.replicas, dist.Task.of(value.producer)
        if not replicas or (task is not None and task.phase in OF_WEIGHTS) or shares_of(value):
            return layout
        return layout.among({axis: self.mesh.sizes[axis] for axis in replicas})

    def placed(self, task: dist.Task | dist.State | dist.Shares | dist.Block, array: Array, layout: Layout) -> list[Array]:
        """The ranks' parts of a whole array; of a partial sum the first rank has all."""
        try:
            array = self.mesh.fitted(array, layout.axes)
            return [self.mesh.cut(array, layout, rank) * float(self.mesh.first(rank, layout.unreduced)) for rank in self.mesh.ranks]
        except ValueError as failure:
            raise cannot(task, str(failure)) from None

    def operands(self, task: dist.Task, rank: int, context: int = 0) -> list[Operand]:
        """The arrays that a task reads on a rank, with so many visible tokens."""
        found = []
        for value in task.operands:
            layout = self.layout(value, task)
            ranges, count = self.mesh.ranges(layout, rank), layout.dims[TOKEN]
            (sequence, _), (start, _), (first, _) = ranges[0], ranges[TOKEN], ranges[-1]
            found.append(
                Operand(
                    self.arrays[value][rank],
                    value,
                    self.numbers.width(value),
                    max(context - count, 0) + start,
                    first,
                    self.mesh.rows_of(layout.dims[-1], layout.axes[-1]),
                    (sequence, start, count),
                    self.mesh.with_experts(layout, rank),
                )
            )
        return found

    def judge(self, task: dist.Task | dist.Return, value: Value, whole: Array, what: str) -> None:
        """Compare a value on all ranks with the whole array that it must be.

        Raises:
            DiagnosticError: an element differs.
        """
        layout = self.layouts[value]
        whole = self.mesh.fitted(whole, layout.axes) if whole.ndim == len(layout.axes) else whole
        if whole.shape != layout.dims:
            raise error_at(task, f"{what} a tensor of {sizes(layout.dims)}, the model's is {sizes(whole.shape)}")
        largest, mismatch = compare(self.mesh, self.arrays[value], layout, whole, self.floor, value in self.maxima)
        side = "backward" if isinstance(task, dist.Task) and task.phase in BACKWARD else "forward"
        self.largest[side] = max(self.largest[side], largest)
        if mismatch is not None:
            name = f" '%{value.name}'" if value.name else ""
            place = ", ".join(map(str, mismatch.place))
            where = f"at [{place}] on rank {mismatch.rank}"
            if layout.unreduced:
                where += f", summed over {', '.join(layout.unreduced)}"
            raise error_at(task, f"{what}{name} {mismatch.found:.17g} {where}; expected {mismatch.expected:.17g}")

    def complete(self, task: dist.Task | dist.Return, value: Value, what: str) -> None:
        """Each rank goes on with its own: a sum must be complete."""
        if self.layouts[value].unreduced:
            raise error_at(task, f"{what} a partial sum that is still to be reduced over {', '.join(self.layouts[value].unreduced)}")


def shares_of(value: Value) -> list[Value]:
    """The shares of weights that a value is one of, or is gathered from."""
    producer = value.producer
    if dist.Shares.of(producer) is not None:
        return [value]
    gathers = producer is not None and Collective.of(producer) is not None
    return [other for other in producer.operands if dist.Shares.of(other.producer) is not None] if gathers and producer is not None else []


def error_at(task: Place, message: str, *notes: Diagnostic) -> DiagnosticError:
    """An error at the place of a task."""
    return DiagnosticError(error(message, task.span, *notes))


def cannot(task: dist.Task | dist.State | dist.Shares | dist.Block, why: str) -> DiagnosticError:
    """A task, a state or a block that can't be run."""
    name = task.symbol if isinstance(task, dist.Block) else task.label
    return error_at(task, f"'{name}' can't run: {why}")


def sizes(shape: Sequence[int]) -> str:
    """The text of a shape."""
    return " x ".join(map(str, shape))
