"""Which axes of a block tensor parallelism shards: a consequence of shapes and uses, for passes and verifiers alike.

A dimension symbol is a logical axis. An axis may be sharded where a weight brings it in, and no operation needs it
whole (Shoeybi
et al. 2019: the head axes and the feed-forward axis; Narayanan et al. 2021, figure 5).
"""

from __future__ import annotations

from bpir.dialects.bp import TensorType
from bpir.dialects.model.base import TOKEN_RANK, ModelOperation, feature_dims
from bpir.ir import attrs
from bpir.ir.expression import Expr
from bpir.ir.operation import Operation

TENSOR = "tensor"
"""The mesh axis of tensor parallelism."""


def lone_symbol(dim: Expr) -> str | None:
    """The name of the symbol that the dimension is, or None for a number or a composite."""
    return dim.text if dim.symbols == (dim.text,) else None


def shardable_axes(block: Operation) -> tuple[str, ...]:
    """The axes of a model block that tensor parallelism shards, in order of appearance.

    An axis is excluded if it is a literal or composite dimension; stands on the boundary of the block or is a token axis there; is
    needed whole by an operation; stands behind another such axis in the same result; or is brought in by a weight that contracts a
    sharded axis (its result is a partial sum already).
    """
    boundary = [value.type for value in block.regions[0].blocks[0].arguments]
    boundary += [value.type for value in block.body[-1].operands] if block.body else []
    excluded = {dim for type in boundary if isinstance(type, TensorType) for dim in type.dims}
    for operation in block.body:
        if isinstance(operation.declaration, ModelOperation):
            excluded.update(operation.declaration.whole(operation))
            for result in operation.results:
                if isinstance(result.type, TensorType):
                    excluded.update(result.type.dims[:TOKEN_RANK])
    axes: dict[str, None] = {}
    for operation in block.body:
        if not isinstance(operation.declaration, ModelOperation):
            continue
        partial = any(lone_symbol(dim) in axes for dim in operation.declaration.contracted(operation))
        for shape in operation.declaration.produced(operation):
            candidates = [dim for dim in shape if lone_symbol(dim) and dim not in excluded]
            if partial:
                excluded.update(candidates)
                for dim in candidates:
                    axes.pop(dim.text, None)
                continue
            if candidates:
                axes[candidates[0].text] = None
                excluded.update(dim for dim in candidates[1:] if dim.text not in axes)
    return tuple(axes)


def sharded(type: TensorType, axes: tuple[str, ...], mesh_axis: str) -> TensorType:
    """The type with its first dimension that is one of the axes on the mesh axis."""
    marks = [type.axes[i] for i in range(len(type.dims))]
    for index, dim in enumerate(feature_dims(type), TOKEN_RANK):
        if lone_symbol(dim) in axes:
            marks[index] = (mesh_axis,)
            break
    return TensorType(type.dims, tuple(marks), type.element, type.unreduced)


@attrs.frozen
class Regions:
    """Where the values of a block live: inside a tensor-parallel region sharded at a tensor-parallel axis, outside whole, or sharded at the
    token axis under sequence parallelism (Korthikanti et al. 2022, section 4.2.2).

    Attributes:
        axes: the shardable axes of the block.
        parallel: whether the tensor-parallel degree is more than one.
    """

    axes: tuple[str, ...]
    parallel: bool
    sequence_parallel: bool = False

    def type(self, type: TensorType) -> TensorType:
        """The type of a value on the mesh."""
        if not self.parallel:
            return type
        placed = sharded(type, self.axes, TENSOR)
        if not self.sequence_parallel or any(placed.axes):
            return placed
        marks = list(placed.axes)
        marks[TOKEN_RANK - 1] = (TENSOR,)
        return TensorType(placed.dims, tuple(marks), placed.element, ())

    def enters(self, operation: Operation) -> bool:
        """Whether the operation brings a sharded axis in: it reads its operand whole, and the operand's gradient is a partial sum."""
        rule = operation.declaration
        if not isinstance(rule, ModelOperation):
            return False
        brings = any(lone_symbol(dim) in self.axes for shape in rule.produced(operation) for dim in shape)
        return brings and not self.contracts(operation)

    def contracts(self, operation: Operation) -> bool:
        """Whether the operation sums over a sharded axis: its result is a partial sum."""
        rule = operation.declaration
        return isinstance(rule, ModelOperation) and any(lone_symbol(dim) in self.axes for dim in rule.contracted(operation))


def whole(type: TensorType) -> TensorType:
    """The type without shards, as the entry of a region gives it."""
    return TensorType(type.dims, ((),) * len(type.dims), type.element, ())


def partial(type: TensorType) -> TensorType:
    """The type of a value that is still to be summed over the ranks."""
    return TensorType(type.dims, type.axes, type.element, (TENSOR,))


def reduced(type: TensorType) -> TensorType:
    """The type of a value whose partial sums are summed."""
    return TensorType(type.dims, type.axes, type.element, ())
