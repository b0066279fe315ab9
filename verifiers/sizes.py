"""The bytes of values and weights on one rank, in the gate's own words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from bpir.dialects.bp import TensorType, product
from bpir.dialects.dist.tasks import Task
from bpir.ir.expressions.expression import ZERO, Expr, total


def local_bytes(types: Iterable[object], mesh: Mapping[str, Expr]) -> Expr:
    """The bytes of one rank's parts of tensors: the local elements, each as wide as the type says."""
    return total(product((*type.local_dims(mesh), type.element_bytes)) for type in types if isinstance(type, TensorType))


def weight_bytes(task: Task) -> Expr:
    """The bytes of the weights of a task: as it says, else of the element of what it reads first, or gives; 0 if it has none."""
    if task.says(Task.weight_bytes):
        return task.weight_bytes
    like = task.operation.results if task.rule is not None and task.rule.weights_like_result else task.operation.operands
    first = next((value.type for value in like), None)
    return task.weights * first.element_bytes if isinstance(first, TensorType) else ZERO
