"""The memory of a distributed block on one rank: weights, KV cache, values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from bpir.dialects.bp import TensorType
from bpir.dialects.dist.tasks import Task
from bpir.ir.expressions.expression import ZERO, Expr, total


def weight_bytes(task: Task) -> Expr:
    """The bytes of the weights of a task: as it says, else elements times the width of its first operand's element, or of its result's."""
    if task.weight_bytes is not ZERO:
        return task.weight_bytes
    elements, rule = task.weights, task.rule
    values = task.operation.results if rule is not None and rule.weights_like_result else task.operation.operands
    if elements is ZERO or not values:
        return ZERO
    type = values[0].type
    return elements * type.element_bytes if isinstance(type, TensorType) else ZERO


def local_bytes(types: Iterable[object], mesh: Mapping[str, Expr]) -> Expr:
    """The bytes of one rank's parts of the tensors."""
    return total(t.local(mesh).bytes for t in types if isinstance(t, TensorType))
