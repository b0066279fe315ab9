"""Questions of the verifiers about operations of a model and their values."""

from __future__ import annotations

from collections.abc import Iterable

from bpir.dialects.bp import TensorType
from bpir.dialects.model.rules.operation import ModelOperation
from bpir.ir.operation import Operation, Value


def rule_of(operation: Operation) -> ModelOperation:
    """The declaration of an operation of a model, with its work rules."""
    rule = operation.declaration
    assert isinstance(rule, ModelOperation), operation.name
    return rule


def maker_of(value: Value) -> ModelOperation | None:
    """The declaration of the operation of a model that makes a value; None if no such operation makes it."""
    rule = value.owner.declaration if isinstance(value.owner, Operation) else None
    return rule if isinstance(rule, ModelOperation) else None


def tensor_of(value: Value) -> TensorType:
    """The type of a value that is known to be a tensor."""
    assert isinstance(value.type, TensorType), value.type.text
    return value.type


def tensors_of(values: Iterable[Value]) -> list[TensorType]:
    """The types of those of the values that are tensors, in order."""
    return [value.type for value in values if isinstance(value.type, TensorType)]
