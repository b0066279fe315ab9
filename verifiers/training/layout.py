"""How the values of a training block lie on the mesh, by the typing rule: the layout inside a region, and the partial sums.

The placement names axes of the model, so the rule reads the block with the sizes of the model, and gives types with those of the workload.
"""

from __future__ import annotations

from collections.abc import Iterable

from bpir.dialects.bp import TensorType
from bpir.dialects.model.rules.local import settings_of
from bpir.dialects.model.rules.operation import ModelOperation
from bpir.dialects.model.rules.sizes import TOKEN_RANK
from bpir.ir.expressions.expression import Expr, symbol
from bpir.ir.operation import Operation, Value
from bpir.verifiers.distribution.expert_rows import ExpertRows
from bpir.verifiers.distribution.partial_sums import PartialSums
from bpir.verifiers.distribution.placed_axes import EXPERT, TENSOR
from bpir.verifiers.distribution.typing_rule import Placed, symbol_name, typing_of
from bpir.verifiers.model_operations import maker_of, tensor_of, tensors_of


def _names_of_dims(operation: Operation) -> set[str]:
    """The symbols that are dimensions of what an operation makes, or of its own, as the rows of a table, which no result has."""
    dims = [dim for type in tensors_of(operation.results) for dim in type.dims]
    if isinstance(operation.declaration, ModelOperation):
        dims += operation.declaration.own_dims(settings_of(operation)).values()
    return {name for name in map(symbol_name, dims) if name}


class Layout:
    """The layout of one block.

    Args:
        sized: the block that the gate judges, in parts, with the sizes of the workload.
        named: the same block with the sizes of the model, whose axes a placement names.
        placed: the placement; with one rank, the one that several would have.
        parallel: whether there are several ranks.
        scattered: whether the tokens are sharded between regions.
    """

    def __init__(self, sized: Operation, named: Operation, placed: Placed, parallel: bool, scattered: bool) -> None:
        self.scattered = scattered
        self._placed = placed
        self._parallel = parallel
        self._named: dict[Value, Value] = {}
        self._types: dict[Value, TensorType] = {}
        ours, theirs = (block.regions[0].blocks[0] for block in (sized, named))
        self._named.update(zip(ours.arguments, theirs.arguments, strict=True))
        self._entering: set[tuple[Operation, int]] = set()
        self._factors: set[tuple[Operation, int]] = set()  # operands that partial sums may be multiplied by
        self.axes: list[str] = []  # those of the placement that the block has
        found: set[str] = set()
        everywhere = Placed(placed.axes)
        for operation, twin in zip(ours.operations, theirs.operations, strict=True):
            self._named.update(zip(operation.results, twin.results, strict=True))
            found.update(_names_of_dims(twin))
            if isinstance(twin.declaration, ModelOperation):
                self._enter(operation, twin, twin.declaration, everywhere)
        self.axes = [name for name in placed.axes if name in found]
        self.collectives = parallel and bool(self.axes)
        self._sums = PartialSums(named, everywhere, lambda _: False)
        self._rows = ExpertRows(sized, bool(placed.experts))

    def _enter(self, operation: Operation, twin: Operation, rule: ModelOperation, placed: Placed) -> None:
        """Note the operands of an operation that enter a region, and those that partial sums may be multiplied by."""
        typing = typing_of(twin, placed)
        operands = [(i, twin.operands[i].type) for i in rule.with_gradient(twin)]
        types = [(i, type) for i, type in operands if isinstance(type, TensorType)]
        self._entering.update((operation, index) for index, type in types if typing.missing(index, type))
        self._factors.update((operation, index) for index in rule.factors_of_sums)

    def size(self, axis: str) -> Expr:
        """The size of a placed axis on the ranks."""
        return self._placed.resized.get(axis, symbol(axis))

    def type(self, value: Value) -> TensorType:
        """The type of the image of a value, complete: inside a region sharded at its axis, outside at the tokens or whole."""
        found = self._types.get(value)
        if found is None:
            found = self._types[value] = self._type(value)
        return found

    def _type(self, value: Value) -> TensorType:
        type = tensor_of(value)
        axes: list[tuple[str, ...]] = self._tensor_axes(value) if self._parallel else [() for _ in type.dims]
        if self._rows.parallel:
            axes[self._rows.made(value)] = (EXPERT,)
        return TensorType(type.dims, tuple(axes), type.element, ()) if self._parallel or self._rows.parallel else type

    def _tensor_axes(self, value: Value) -> list[tuple[str, ...]]:
        """The tensor-parallel axes that shard each dimension: the placed ones, else the tokens where the sequence is shared."""
        axes = list(self._marks(value))
        if self.scattered and not any(axes) and not self.has_every_token(value):
            axes[TOKEN_RANK - 1] = (TENSOR,)
        return axes

    @staticmethod
    def has_every_token(value: Value) -> bool:
        """Whether a value lies whole where the sequence is shared: numbers of rows, and what an operation gives for every token."""
        type, maker = value.type, maker_of(value)
        return (maker is not None and maker.every_token) or (isinstance(type, TensorType) and type.is_index)

    def enters_region(self, operation: Operation, index: int) -> bool:
        """Whether an operand enters a region that several ranks would share: it lacks the axis that they share in the operation."""
        return (operation, index) in self._entering

    def enters(self, operation: Operation, index: int) -> bool:
        """Whether an operand enters a region of several ranks: it is read whole, and its gradient is a partial sum.

        So it is where the operand is multiplied by partial sums.
        """
        if not self.collectives:
            return False
        multiplied = (operation, index) in self._factors and any(map(self.passes, operation.operands))
        return multiplied or (operation, index) in self._entering

    def is_partial(self, value: Value) -> bool:
        """Whether the operation that makes the value leaves a partial sum."""
        return self.collectives and bool(self._sums.over(self._named[value]))

    def passes(self, value: Value) -> bool:
        """Whether a partial sum is read as such, to be reduced later."""
        return self.collectives and self._sums.passes(self._named[value])

    def leaves(self, value: Value) -> bool:
        """Whether a region ends with the value: a partial sum that is reduced."""
        return self.is_partial(value) and not self.passes(value)

    def _marks(self, value: Value) -> Iterable[tuple[str, ...]]:
        names = map(symbol_name, tensor_of(self._named[value]).dims)
        return ((self._placed.axes[name],) if name is not None and name in self._placed.axes else () for name in names)
