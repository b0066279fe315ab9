"""The places where the partial sums of a block are reduced: as late as they can be.

A partial sum passes an operation that is linear in its operands (or in some of them, times complete ones) if these are all partial over
the same mesh axes, and nothing else reads them; what it makes is partial then. Everywhere else a partial sum is reduced where it arises.
So attention and MLP in parallel are added first and reduced once, and `(y + w) + x` costs one reduction where `(y + x) + w` costs two.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from bpir.dialects.model.rules.operation import ModelOperation
from bpir.ir.operation import Operation, Value
from bpir.verifiers.distribution.typing_rule import Placed, typing_of
from bpir.verifiers.model_operations import maker_of, tensor_of


class PartialSums:
    """The partial sums of a block of a model under a placement.

    Args:
        erased: whether an operation is taken for what it reads, as dropout does in inference.
    """

    def __init__(self, block: Operation, placed: Placed, erased: Callable[[Operation], bool]) -> None:
        self._placed = placed
        self._same: dict[Value, Value] = {}  # what an erased operation gives, and what it reads
        self._over: dict[Value, tuple[str, ...]] = {}
        self._passing: set[Value] = set()
        left = []
        for operation in block.body:
            if isinstance(operation.declaration, ModelOperation) and erased(operation):
                pairs = zip(operation.results, operation.operands, strict=True)
                self._same.update((value, self._read(operand)) for value, operand in pairs)
            else:
                left.append(operation)
        self._readers = self._readers_of(left)
        for operation in left:
            if isinstance(operation.declaration, ModelOperation):
                self._operation(operation, operation.declaration)

    def _readers_of(self, operations: Iterable[Operation]) -> dict[Value, list[Operation]]:
        """The operations that read each value, once a use, those erased left out."""
        found: dict[Value, list[Operation]] = {}
        for operation in operations:
            for value in operation.operands:
                found.setdefault(self._read(value), []).append(operation)
        return found

    def over(self, value: Value) -> tuple[str, ...]:
        """The mesh axes over which the operation that makes a value leaves a partial sum."""
        return self._over.get(value, ())

    def passes(self, value: Value) -> bool:
        """Whether a partial sum is read as such, and reduced behind its reader."""
        return self._read(value) in self._passing

    def _read(self, value: Value) -> Value:
        return self._same.get(value, value)

    def _operation(self, operation: Operation, rule: ModelOperation) -> None:
        typing = typing_of(operation, self._placed)
        for lane in typing.factors.lanes:
            operands = [self._read(operation.operands[index]) for index in lane.operands if index not in rule.factors_of_sums]
            passed = self._passed(operation, operands) if rule.passes_sums else ()
            if passed:
                self._passing.update(operands)
            for index in lane.results:
                result = operation.results[index]
                type = tensor_of(result)
                self._over[result] = passed or typing.result(index, type, type).unreduced

    def _passed(self, operation: Operation, operands: Sequence[Value]) -> tuple[str, ...]:
        """The mesh axes of the partial sums that an operation passes: of all its operands the same, and nothing else reads them."""
        over = {self._over.get(value, ()) for value in operands}
        alone = all(self._readers[value] == [operation] and _is_sum(value) for value in operands)
        return next(iter(over)) if len(over) == 1 and alone else ()


def _is_sum(value: Value) -> bool:
    """Whether the parts of a value on several ranks add up to it: of others a maximum is taken, which no addition may pass."""
    maker = maker_of(value)
    return maker is None or maker.reduction == "sum"
