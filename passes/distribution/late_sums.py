"""Which partial sums are not reduced where they arise, but behind the operation that adds them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection

from bpir.dialects.model.rules.operation import ModelOperation
from bpir.ir.operation import Operation, Value
from bpir.passes.distribution.placement import lone_symbol


def late_sums(block: Operation, axes: Collection[str], erased: Callable[[Operation], bool] | None = None) -> set[Value]:
    """The values of a model block that stay partial sums until their one reader, an addition of partial sums, has read them.

    Args:
        axes: those that lie on the mesh.
        erased: whether an operation is erased, so that its result is its operand: dropout in inference.
    """
    computed = _computed(block, erased)
    uses = Counter(value for _, operands in computed for value in operands)
    late: set[Value] = set()
    partial: set[Value] = set()
    for operation, operands in computed:
        rule = operation.declaration
        if not isinstance(rule, ModelOperation):
            continue
        for lane in rule.factors(operation).lanes:
            read = [operands[index] for index in lane.operands if index not in rule.factors_of_sums]
            made = [operation.results[index] for index in lane.results]
            passed = rule.passes_sums and partial.issuperset(read) and all(uses[value] == 1 for value in read)
            if passed:
                late.update(read)
            if passed or _sums_shards(operation, rule, lane.results[0], axes):
                partial.update(made)
    return late


def _sums_shards(operation: Operation, rule: ModelOperation, result: int, axes: Collection[str]) -> bool:
    """Whether a result is a sum over an axis that lies on the mesh."""
    return rule.reduction == "sum" and any(lone_symbol(dim) in axes for dim in rule.contracted(operation, result))


def _computed(block: Operation, erased: Callable[[Operation], bool] | None) -> list[tuple[Operation, list[Value]]]:
    """The operations that are not erased, with their operands, for which those of erased ones stand."""
    same: dict[Value, Value] = {}
    computed: list[tuple[Operation, list[Value]]] = []
    for operation in block.body:
        operands = [same.get(value, value) for value in operation.operands]
        if erased is not None and isinstance(operation.declaration, ModelOperation) and erased(operation):
            same.update(zip(operation.results, operands, strict=True))
        else:
            computed.append((operation, operands))
    return computed
