"""The layout of a block's values on the mesh, once its axes are placed: inside tensor-parallel regions, or between them."""

from __future__ import annotations

from bpir.dialects.bp import TensorType
from bpir.dialects.model.rules.operation import ModelOperation
from bpir.dialects.model.rules.sizes import TOKEN_RANK, feature_dims
from bpir.ir.expressions.expression import Expr
from bpir.ir.operation import Operation, Value
from bpir.ir.records import Record
from bpir.passes.distribution.placement import TENSOR, lone_symbol


def sharded(type: TensorType, axes: tuple[str, ...], mesh_axis: str) -> TensorType:
    """The type with its first dimension that is one of the axes on the mesh axis."""
    marks = [type.axes[i] for i in range(len(type.dims))]
    for index, dim in enumerate(feature_dims(type), TOKEN_RANK):
        if lone_symbol(dim) in axes:
            marks[index] = (mesh_axis,)
            break
    return TensorType(type.dims, tuple(marks), type.element, type.unreduced)


class Regions(metaclass=Record):
    """The layout of a block's values: inside a tensor-parallel region sharded at a tensor-parallel axis, outside whole, or sharded at the
    token axis under sequence parallelism (Korthikanti et al. 2022, section 4.2.2).

    Attributes:
        axes: those of the placement that the block has.
        parallel: whether the tensor-parallel degree is more than one.
    """

    axes: tuple[str, ...]
    parallel: bool
    sequence_parallel: bool = False

    def type(self, type: TensorType, whole: bool = False) -> TensorType:
        """The type of a value on the mesh; `whole` says that it has every token on each rank."""
        if not self.parallel:
            return type
        placed = sharded(type, self.axes, TENSOR)
        if not self.sequence_parallel or any(placed.axes) or type.is_index or whole:
            return placed
        marks = list(placed.axes)
        marks[TOKEN_RANK - 1] = (TENSOR,)
        return TensorType(placed.dims, tuple(marks), placed.element, ())

    def enters(self, operation: Operation, index: int) -> bool:
        """Whether an operation shares an axis among ranks that an operand lacks: it reads that whole, and its gradient is a partial sum.

        So does a linear whose weight brings the axis in, and a product of all heads with the one head of K or V. Of an operation with
        several lanes only the results that depend on the operand matter: its one head of K stays whole beside the heads of Q.
        """
        rule = operation.declaration
        if not isinstance(rule, ModelOperation):
            return False
        results = rule.factors(operation).lane_of_operand(index).results
        if any(self.contracts(operation, result) for result in results):
            return False
        shared = any(lone_symbol(dim) in self.axes for result in results for dim in _dims(operation.results[result]))
        return shared and not any(lone_symbol(dim) in self.axes for dim in _dims(operation.operands[index]))

    def contracts(self, operation: Operation, result: int) -> bool:
        """Whether the operation sums over a sharded axis for a result: that is a partial sum."""
        rule = operation.declaration
        return isinstance(rule, ModelOperation) and any(lone_symbol(dim) in self.axes for dim in rule.contracted(operation, result))


def _dims(value: Value) -> tuple[Expr, ...]:
    return value.type.dims if isinstance(value.type, TensorType) else ()
