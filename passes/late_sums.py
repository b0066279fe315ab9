"""Which partial sums are not reduced where they arise, but behind the operation that adds them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection

from bpir.dialects.model.base import ModelOperation
from bpir.ir.operation import Operation, Value
from bpir.passes.placement import lone_symbol


def late_sums(block: Operation, axes: Collection[str], erased: Callable[[Operation], bool] | None = None) -> set[Value]:
    """The values of a model block that stay partial sums until their one reader, an addition of partial sums, has read them.

    Args:
        axes: those that lie on the mesh.
        erased: whether an operation is erased, so that its result is its operand: dropout in inference.
    """
    same: dict[Value, Value] = {}
    computed: list[tuple[Operation, ModelOperation | None, list[Value]]] = []
    for operation in block.body:
        rule = operation.declaration if isinstance(operation.declaration, ModelOperation) else None
        operands = [same.get(value, value) for value in operation.operands]
        if rule is not None and erased is not None and erased(operation):
            same.update(zip(operation.results, operands, strict=True))
        else:
            computed.append((operation, rule, operands))
    uses = Counter(value for _, _, operands in computed for value in operands)
    late: set[Value] = set()
    partial: set[Value] = set()
    for operation, rule, operands in computed:
        for lane in rule.factors(operation).lanes if rule is not None else ():
            assert rule is not None
            read = [operands[index] for index in lane.operands if index not in rule.factors_of_sums]
            made = [operation.results[index] for index in lane.results]
            if rule.passes_sums and partial.issuperset(read) and all(uses[value] == 1 for value in read):
                late.update(read)
                partial.update(made)
            elif rule.reduction == "sum" and any(lone_symbol(dim) in axes for dim in rule.contracted(operation, lane.results[0])):
                partial.update(made)
    return late
