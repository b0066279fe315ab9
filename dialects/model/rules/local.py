"""The part of an operation on one rank: its settings, operands and results."""

from __future__ import annotations

from collections.abc import Sequence

from bpir.dialects.bp import ExprAttr, TensorType
from bpir.dialects.bp.parts import Expression as Expression
from bpir.dialects.model.rules.factors import Own
from bpir.dialects.model.rules.sizes import TOKEN_RANK
from bpir.ir.attributes import Attribute
from bpir.ir.diagnostic import fail
from bpir.ir.expressions.expression import Expr
from bpir.ir.operation import Operation, Value
from bpir.ir.records import Interned


class Local(metaclass=Interned):
    """One rank's part of an operation: what the work rules read. Layers that repeat have the same one.

    Attributes:
        settings: what the operation says besides its operands and its layer (`settings_of`).
        operands, results: the local tensors (sizes divided by the mesh axes that shard them).
        first_use: for each operand whether it is the first use of its value ("every distinct operand is read once").
        own: the dimensions that weights alone have (the rows of an embedding).
    """

    settings: tuple[tuple[str, Attribute], ...]
    operands: tuple[TensorType, ...]
    results: tuple[TensorType, ...]
    first_use: tuple[bool, ...]
    own: Own = ()

    @property
    def distinct_operands(self) -> tuple[TensorType, ...]:
        return tuple(t for t, first in zip(self.operands, self.first_use, strict=True) if first)

    def expression(self, name: str) -> Expr | None:
        """The expression that the operation says under a name, or that the derivation adds to what it says; None if there is none."""
        return next((value.expr for own, value in self.settings if own == name and isinstance(value, ExprAttr)), None)

    def says(self, name: str) -> bool:
        """Whether the operation has the property."""
        return any(name == own for own, _ in self.settings)

    def setting(self, name: str) -> Attribute | None:
        """A property of the operation; None if it has none of the name."""
        return next((value for own, value in self.settings if own == name), None)


def summed_alone(operands: Sequence[TensorType], results: Sequence[TensorType]) -> tuple[str, ...]:
    """The mesh axes over which the first result is a partial sum, and no operand says why."""
    sums = results[0].unreduced if results else ()
    known = {axis for type in operands for names in (*type.axes, type.unreduced) for axis in names}
    return tuple(axis for axis in sums if axis not in known)


def settings_of(operation: Operation) -> tuple[tuple[str, Attribute], ...]:
    """The settings of a model operation besides its operands and its layer: `bias`, `features`, `context`."""
    return tuple([item for item in operation.properties.items() if item[0] != "layer"])


def tensor_type(operation: Operation, value: Value) -> TensorType:
    """The type of a value, which must be a tensor with its token axes."""
    if not isinstance(value.type, TensorType):
        raise fail(f"'{operation.name}' expects a !bp.tensor, found {value.type.text}", operation.span)
    if len(value.type.dims) <= TOKEN_RANK:
        raise fail(f"'{operation.name}' expects a batch axis, a token axis and more, found {value.type.text}", operation.span)
    return value.type
