"""The typing rule over the mesh axis of experts: which factor of each operation it splits, and where values change their layout.

It splits the factor of experts where an operation has it, and with that the rows of tokens, of which each lies where its expert does; of an
operation that works on such rows element by element, their factor; of any other operation the batch. A tensor that has the factor is
sharded there. Where a value is made under one layout and read under another, an all-to-all is between.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from bpir.dialects.model.exchange import Exchange, exchange
from bpir.dialects.model.rules.factors import Tensor
from bpir.dialects.model.rules.layers import group_of, layer_of
from bpir.dialects.model.rules.local import settings_of
from bpir.dialects.model.rules.operation import ModelOperation
from bpir.ir.expressions.expression import Expr
from bpir.ir.operation import Operation, Value
from bpir.verifiers.distribution.typing_rule import symbol_name
from bpir.verifiers.model_operations import tensors_of

BATCH = 0
"""The dimension that expert parallelism shares where there are no experts."""


class ExpertRows:
    """The layouts of the values of one block of a model.

    Args:
        parallel: whether several ranks share the experts; else nothing is sharded.
    """

    def __init__(self, block: Operation, parallel: bool) -> None:
        self.parallel = parallel
        self._made: dict[Value, int] = {}
        self._read: dict[Operation, list[int]] = {}
        for operation in block.body if parallel else ():
            rule = operation.declaration
            if isinstance(rule, Exchange):
                given, taken = rule.way(operation)
                self._read[operation], self._made[operation.results[0]] = [given], taken
            elif isinstance(rule, ModelOperation):
                self._operation(operation, rule)

    def made(self, value: Value) -> int:
        """The dimension at which a value is sharded where it is made."""
        return self._made.get(value, BATCH)

    def read(self, operation: Operation, index: int) -> int:
        """The dimension at which an operation, or the end of the block, reads an operand sharded."""
        places = self._read.get(operation)
        return BATCH if places is None else places[index]

    def moves(self, operation: Operation, index: int) -> bool:
        """Whether an operand lies otherwise than the operation reads it."""
        return self.read(operation, index) != self.made(operation.operands[index])

    def _operation(self, operation: Operation, rule: ModelOperation) -> None:
        factors = rule.factors(operation)
        split = _name(factors.operands[0][BATCH])
        if rule.expert_factor:
            split = rule.expert_factor
        elif rule.pointwise:
            lying = [(tensor, self.made(value)) for tensor, value in zip(factors.operands, operation.operands, strict=True)]
            split = next((_name(tensor[place]) for tensor, place in lying if place != BATCH), split)
        self._read[operation] = [_place(tensor, split) for tensor in factors.operands]
        self._made.update((value, _place(tensor, split)) for tensor, value in zip(factors.results, operation.results, strict=True))


def exchanging(block: Operation) -> None:
    """Put into a block in parts, as training computes it, the exchanges that its layouts need; the block is changed.

    Each is called after the operation of experts that reads what goes there, or that makes what comes back.
    """
    rows = ExpertRows(block, True)
    taken = {layer_of(operation) for operation in block.body}
    moved: dict[Value, Value] = {}
    found: list[Operation] = []
    for operation in block.body:
        for index, value in enumerate(operation.operands):
            if rows.moves(operation, index):
                if value not in moved:
                    found.append(_exchange(operation, value, rows.made(value) == BATCH, taken))
                    moved[value] = found[-1].results[0]
                operation.operands[index] = moved[value]
        found.append(operation)
    block.regions[0].blocks[0].operations[:] = found


def _exchange(reader: Operation, value: Value, there: bool, taken: set[str]) -> Operation:
    """The exchange of a value, to its experts (`there`) or back, called as no other layer that is taken."""
    of = reader if there else value.owner
    assert isinstance(of, Operation)
    name = _called(f"{group_of(layer_of(of))}.{'input' if there else 'output'}_exchange", layer_of(of), taken)
    return exchange(value, there, name, of)


def _called(name: str, layer: str, taken: set[str]) -> str:
    """The name; after the layer itself where another one has it."""
    part = name.rpartition(".")[2]
    while name in taken:
        name = layer = f"{layer}.{part}"
    taken.add(name)
    return name


def _name(factor: str) -> str:
    """The name of a factor without the number of its lane."""
    return factor.partition("|")[0]


def _place(tensor: Tensor, split: str) -> int:
    return next(index for index, factor in enumerate(tensor) if _name(factor) == split)


def experts_of(operation: Operation) -> Expr | None:
    """The number of experts of an operation; None if it has none."""
    rule = operation.declaration
    if not isinstance(rule, ModelOperation) or not rule.expert_factor:
        return None
    return rule.own_dims(settings_of(operation)).get(rule.expert_factor)


def axes_of_experts(blocks: Iterable[Operation]) -> set[str | None]:
    """The symbols that count experts; None among them if a number does."""
    sizes = (experts_of(operation) for block in blocks for operation in block.body)
    return {symbol_name(size) for size in sizes if size is not None}


def axes_of_batches(blocks: Sequence[Operation]) -> set[str | None]:
    """The symbols of the first dimensions of what blocks are given; None among them if one is a number."""
    return {symbol_name(type.dims[BATCH]) for block in blocks for type in tensors_of(block.arguments)}


def shared_by_experts(block: Operation, sizes: Mapping[str, Expr]) -> list[Expr]:
    """The parts of a block that the expert-parallel ranks share: its experts, and its batches.

    Args:
        sizes: what the workload puts in the place of symbols.
    """
    counts = filter(None, map(experts_of, block.body))
    batches = [type.dims[BATCH].substitute(sizes) for type in tensors_of(block.arguments)]
    return list(dict.fromkeys([*counts, *batches]))
