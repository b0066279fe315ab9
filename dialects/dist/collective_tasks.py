"""Collectives: what each gives every rank, and its work."""

from __future__ import annotations

from typing import Any, ClassVar

from bpir.dialects import model as model
from bpir.dialects.bp import TensorType, Work
from bpir.dialects.dist.parts import CollectiveAxes
from bpir.dialects.dist.tasks import Task
from bpir.dialects.model.rules.sizes import gather_work, reduction_work
from bpir.ir.attributes import Attribute
from bpir.ir.declaration import Problems
from bpir.ir.expressions.expression import Expr
from bpir.ir.operation import Operation
from bpir.ir.property_parts import Flag, Word
from bpir.ir.syntax import Clause, Operands, ResultTypes


class Collective(Task):
    """A task in which the ranks of a mesh axis take part; `work` has the logical bytes of the message."""

    axes = CollectiveAxes()
    kind_of_plan = "collective"
    elements = Flag()  # whether it works on equal shares of the elements, whatever the dimensions
    reduces: ClassVar[bool] = False
    joins: ClassVar[bool] = False  # several tensors in one message, by their dimensions too
    in_place: ClassVar[tuple[int, ...]] = ()  # the operands that its result may be written over, where they die there

    @property
    def overwritable(self) -> tuple[int, ...]:
        return self.in_place

    @property
    def mesh_axes(self) -> list[str]:
        """The mesh axes of all dimensions, in order."""
        return [axis for axes in self.axes for axis in axes]

    def verify(self, operation: Operation, report: Problems) -> None:
        super().verify(operation, report)
        names = Collective(operation).mesh_axes
        if len(set(names)) != len(names):
            report.error(operation, f"'{self.name}' names a mesh axis twice")
            return
        if len(operation.operands) != len(operation.results):
            counts = f"{len(operation.operands)} operand(s) and {len(operation.results)} result(s)"
            report.error(operation, f"'{self.name}' has one result for each operand, found {counts}")
            return
        if len(operation.operands) > 1 and not self.joins and not Collective(operation).elements:
            report.error(operation, f"'{self.name}' sends several tensors in one message only by their 'elements'")
            return
        for operand, result in zip(operation.operands, operation.results, strict=True):
            self._verify_types(operation, operand.type, result.type, report)

    def _verify_types(self, operation: Operation, operand: Attribute, result: Attribute, report: Problems) -> None:
        names = Collective(operation).mesh_axes
        if not isinstance(operand, TensorType) or not isinstance(result, TensorType):
            report.error(operation, f"'{self.name}' works on !bp.tensor values")
            return
        expected = self.result(operand, operation)
        if expected is None:
            over = ", ".join(f'"{name}"' for name in names) or "no axis"
            need = "a partial sum over them (unreduced={...})" if self.reduces else "sharded as its axes say"
            if Collective(operation).elements and not self.reduces:
                need = "shared by its elements over them (shared={...})"
            report.error(operation, f"'{self.name}' over {over} needs an operand that is {need}, found {operand.text}")
        elif expected is not result:
            report.error(operation, f"the axes of '{self.name}' lead from {operand.text} to {expected.text}, not to {result.text}")

    def result(self, operand: TensorType, operation: Operation) -> TensorType | None:
        """The type that the collective gives; None if the operand does not fit."""
        raise NotImplementedError

    def forward(self, operand: TensorType, result: TensorType, ranks: Expr) -> Work:
        """The work on one rank, from the local operand and result and the number of ranks that take part."""
        raise NotImplementedError


def _collective_syntax(*parts: Any, most: int | None = 1) -> tuple[Any, ...]:
    return (
        Task.label,
        *parts,
        Collective.axes,
        Operands(1, most),
        ResultTypes(maximum=most),
        Clause("from", (Task.source,), optional=False),
        Clause("phase", (Task.phase,), optional=False, line=False),
        Task.work,
    )


class AllReduce(Collective):
    r"""`%z = dist.all_reduce "attention.output_collective.decode" sum [{"tensor"}] %y : T`: every rank gets the sum.

    Each of `t` ranks reduces its `N/t` of `t` parts. Local traffic: read the operand, write the result; the message is the whole tensor.
    Several operands, each with its result, are one message: the gradients of a layer's weights in the phase `gradient_reduction`.

    Equations (`N` logical elements, `t` ranks, `e` bytes an element):

    - E1: $\mathrm{ops} = N(t-1)/t$
    - E2: $\mathrm{msg} = Ne$
    - E3: $\mathrm{read} = Ne$, $\mathrm{write} = Ne$

    Source: Rabenseifner 2004; Shoeybi et al. 2019, figure 3.
    """

    name = "dist.all_reduce"
    reduction = Word(choices=("sum", "max"))
    syntax = _collective_syntax(reduction, most=None)
    reduces = True
    joins = True
    in_place = (0,)

    def result(self, operand: TensorType, operation: Operation) -> TensorType | None:
        axes = Collective(operation).mesh_axes
        if not axes or not set(axes) <= set(operand.unreduced):
            return None
        unreduced = tuple(a for a in operand.unreduced if a not in axes)
        return TensorType(operand.dims, operand.axes, operand.element, unreduced, operand.shared)

    def forward(self, operand: TensorType, result: TensorType, ranks: Expr) -> Work:
        return reduction_work(operand, result, ranks)


class AllGather(Collective):
    r"""`%z = dist.all_gather "attention.input_collective.forward" [{}, {"tensor"}, {}] %y : T`: every rank gets all shards.

    `elements [{"data"}]` gathers tensors from equal shares of their elements, several in one message: a layer's weights.

    Equations (`N` logical elements of the gathered tensor, `t` ranks, `e` bytes an element):

    - E1: $\mathrm{ops} = 0$
    - E2: $\mathrm{msg} = Ne$
    - E3: $\mathrm{read} = Ne/t$, $\mathrm{write} = Ne$

    Source: Korthikanti et al. 2022, figure 5.
    """

    name = "dist.all_gather"
    syntax = _collective_syntax(Collective.elements, most=None)

    def result(self, operand: TensorType, operation: Operation) -> TensorType | None:
        gathered = Collective(operation).axes
        if Collective(operation).elements:
            whole = TensorType(operand.dims, operand.axes, operand.element, operand.unreduced)
            return whole if gathered == (operand.shared,) and operand.shared else None
        if operand.shared or len(gathered) != len(operand.dims) or not any(gathered):
            return None
        axes = []
        for have, gone in zip(operand.axes, gathered, strict=True):
            if not set(gone) <= set(have):
                return None
            axes.append(tuple(a for a in have if a not in gone))
        return TensorType(operand.dims, tuple(axes), operand.element, operand.unreduced)

    def forward(self, operand: TensorType, result: TensorType, ranks: Expr) -> Work:
        return gather_work(operand, result)


class ReduceScatter(Collective):
    r"""`%z = dist.reduce_scatter "attention.output_collective.forward" sum [{}, {"tensor"}, {}] %y : T`: each rank gets a part of the sum.

    `elements [{"data"}]` gives each rank an equal share of the elements, `ceildiv(n, D)` of `n`, of several tensors in one message: the
    gradients of a layer's weights.

    Equations (`N` logical elements of the whole tensor, `t` ranks, `e` bytes an element):

    - E1: $\mathrm{ops} = N(t-1)/t$
    - E2: $\mathrm{msg} = Ne$
    - E3: $\mathrm{read} = Ne$, $\mathrm{write} = Ne/t$

    Source: Korthikanti et al. 2022, figure 5.
    """

    name = "dist.reduce_scatter"
    reduction = Word(choices=("sum",))
    syntax = _collective_syntax(reduction, Collective.elements, most=None)
    reduces = True

    def result(self, operand: TensorType, operation: Operation) -> TensorType | None:
        scattered = Collective(operation).axes
        names = tuple(a for axes in scattered for a in axes)
        if operand.shared or not names or not set(names) <= set(operand.unreduced):
            return None
        rest = tuple(a for a in operand.unreduced if a not in names)
        if Collective(operation).elements:
            return TensorType(operand.dims, operand.axes, operand.element, rest, names) if len(scattered) == 1 else None
        if len(scattered) != len(operand.dims):
            return None
        axes = tuple((*have, *new) for have, new in zip(operand.axes, scattered, strict=True))
        return TensorType(operand.dims, axes, operand.element, rest)

    def forward(self, operand: TensorType, result: TensorType, ranks: Expr) -> Work:
        return reduction_work(operand, result, ranks)
