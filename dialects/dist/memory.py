"""What a distributed block keeps in memory on one rank: weights, KV cache, and the workspace bound."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from bpir.dialects.bp import TensorType
from bpir.dialects.dist.tasks import local, rule_of, weights_of, whole_operation
from bpir.dialects.model.base import feature_dims
from bpir.ir.expression import ZERO, Expr, maximum, total
from bpir.ir.operation import Operation


def weight_bytes(task: Operation) -> Expr:
    """The bytes of the weights of a task: elements times the width of its first operand's element."""
    elements = weights_of(task)
    if elements is ZERO or not task.operands:
        return ZERO
    type = task.operands[0].type
    return elements * type.element_bytes if isinstance(type, TensorType) else ZERO


def local_bytes(types: Iterable[object], mesh: Mapping[str, Expr]) -> Expr:
    """The bytes of one rank's parts of the tensors."""
    return total(t.local(mesh).bytes for t in types if isinstance(t, TensorType))


def workspace_bound(block: Operation, mesh: Mapping[str, Expr]) -> Expr:
    """`C_workspace = D + max(...)`: a conservative bound for unfused execution, no schedule's peak.

    `D` is one temporary as wide as the block's input. The maximum is over the results of each linear that are not of that width (those
    of one linear together), and what an operation needs unfused (for attention Q, K and V together, and the scores: what FlashAttention
    avoids, Dao et al. 2022). Softmax and activations run in place; K and V go to the cache; the block's input, the residual stream and
    the output are boundary buffers.
    """
    arguments = block.regions[0].blocks[0].arguments
    hidden = arguments[0].type if arguments else None
    if not isinstance(hidden, TensorType):
        return ZERO
    candidates: list[Expr] = []
    for task in block.body:
        rule = rule_of(task)
        if rule is None or not whole_operation(task):
            continue
        part = local(task, task, mesh)
        if rule.brings_axes:
            wide = [
                p
                for p, v in zip(part.results, task.results, strict=True)
                if isinstance(v.type, TensorType) and (feature_dims(v.type) != feature_dims(hidden) or any(v.type.axes))
            ]
            candidates.append(total(p.bytes for p in wide))
        candidates.extend(rule.workspace(part))
    room = [c for c in candidates if c is not ZERO]
    return hidden.local(mesh).bytes + (maximum(*room) if room else ZERO)


