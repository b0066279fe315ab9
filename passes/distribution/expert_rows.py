"""Expert parallelism: its ranks share the batch, and the rows of tokens lie where their experts do.

Of an operation with experts the mesh axis splits the factor of experts, of every other one the batch. What works element by element on
rows stays with them: only where the layout of a value changes there is an all-to-all, before the first operation of experts and behind
the last (Lepikhin et al. 2020).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from bpir.dialects.bind import as_expr
from bpir.dialects.bp import SymbolTable, TensorType
from bpir.dialects.dist.all_to_all import AllToAll
from bpir.dialects.dist.one_rank import collective_work
from bpir.dialects.model.exchange import Exchange, exchange
from bpir.dialects.model.rules.layers import free_name, group_of, layer_of
from bpir.dialects.model.rules.local import settings_of
from bpir.dialects.model.rules.operation import ModelOperation
from bpir.dialects.model.rules.sizes import TOKEN_RANK
from bpir.ir.attributes import I64, ArrayAttr, Attribute, IntegerAttr, StringAttr
from bpir.ir.diagnostic import fail, note
from bpir.ir.expressions.expression import ONE, Expr, symbol
from bpir.ir.operation import Operation, Value
from bpir.ir.records import Record
from bpir.passes.distribution.distribution import Assumptions
from bpir.passes.distribution.placement import EXPERT, lone_symbol
from bpir.passes.inference.phases import input_axis
from bpir.passes.inputs import Binding


class ExpertRows:
    """The values of a block that lie with experts, and not with the ranks' parts of the batch.

    Attributes:
        operations: those that work on rows where the experts of these are.
        values: what they make.
    """

    def __init__(self, block: Operation) -> None:
        self.operations: set[Operation] = set()
        self.values: set[Value] = set()
        for operation in block.body:
            rule = operation.declaration
            if isinstance(rule, Exchange):
                self.values.update(operation.results if rule.way(operation)[1] == TOKEN_RANK else ())
            elif isinstance(rule, ModelOperation) and (
                rule.expert_factor or (rule.pointwise and not self.values.isdisjoint(operation.operands))
            ):
                self.operations.add(operation)
                self.values.update(operation.results)

    def moves(self, operation: Operation, value: Value) -> bool:
        """Whether a value lies elsewhere than an operation reads it."""
        return (value in self.values) != (operation in self.operations)


def shared_batch(type: TensorType, with_experts: bool) -> TensorType:
    """The type with its batch on the ranks of experts; or its rows."""
    marks = list(type.axes)
    place = TOKEN_RANK if with_experts else 0
    marks[place] = (*marks[place], EXPERT)
    return TensorType(type.dims, tuple(marks), type.element, type.unreduced)


def with_exchanges(block: Operation) -> set[Value]:
    """Put an exchange into a block of training wherever a value changes its layout, once for all that read it there; the block is changed.

    Returns:
        The values that lie with experts.
    """
    rows = ExpertRows(block)
    names = {layer_of(operation) for operation in block.body}
    made: dict[Value, Value] = {}
    body = block.regions[0].blocks[0]
    for operation in list(body.operations):
        for index, value in enumerate(operation.operands):
            if not rows.moves(operation, value):
                continue
            if value not in made:
                to_experts = operation in rows.operations
                source = operation if to_experts else value.owner
                assert isinstance(source, Operation)
                layer = layer_of(source)
                name = free_name(f"{group_of(layer)}.{'input' if to_experts else 'output'}_exchange", layer, names)
                new = exchange(value, to_experts, name, source)
                body.operations.insert(body.operations.index(operation), new)
                new.parent = body
                made[value] = new.results[0]
            operation.operands[index] = made[value]
    return ExpertRows(block).values


class Experts(metaclass=Record):
    """Expert parallelism in a strategy: its degree, and whether there are several ranks."""

    degree: Expr
    parallel: bool

    @classmethod
    def of(cls, strategy: Binding, table: SymbolTable) -> Experts:
        degree = as_expr(strategy.fields.get(EXPERT)) or ONE
        return cls(degree, not table.facts.equal(degree, ONE).proved)

    @property
    def mesh(self) -> dict[str, Expr]:
        """Its axis of the mesh, if it has one."""
        return {EXPERT: self.degree} if self.parallel else {}

    def place(self, blocks: Sequence[Operation], strategy: Binding) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The axes of experts and of batches that lie on the mesh axis.

        Raises:
            DiagnosticError: there are no experts, or a number counts them or the batch.
        """
        if not self.parallel:
            return (), ()
        return _expert_axes(blocks, self.degree, strategy), _batch_axes(blocks, self.degree)

    def require(self, assumptions: Assumptions, block: Operation, sized: Callable[[Expr], Expr]) -> None:
        """Each rank has as many experts of a block, and as many sequences.

        Args:
            sized: what the workload makes of the batch.

        Raises:
            DiagnosticError: the ranks do not divide them.
        """
        if not self.parallel:
            return
        for operation in block.body:
            for size in _sizes_of_experts(operation):
                assumptions.require_divides(self.degree, size, operation.span, "expert-parallel degree")
        for name in _batch_axes([block], self.degree):
            assumptions.share_batch(self.degree, sized(symbol(name)), block.span)


def moved(value: Value, to_experts: bool, names: Mapping[str, Attribute], mesh: Mapping[str, Expr], source: Operation) -> Operation:
    """The all-to-all that brings a value to the experts of its rows, or back."""
    ends = (0, TOKEN_RANK) if to_experts else (TOKEN_RANK, 0)
    name = f"{value.name}_moved" if value.name else None
    task = all_to_all(value, Value(_moved_type(value, ends), name=name), ends, names, source)
    task.properties["work"] = collective_work(task, mesh)
    return task


def _moved_type(value: Value, ends: tuple[int, int]) -> TensorType:
    type, (given, taken) = value.type, ends
    assert isinstance(type, TensorType)
    marks = list(type.axes)
    marks[given] = tuple(axis for axis in marks[given] if axis != EXPERT)
    marks[taken] = (*marks[taken], EXPERT)
    return TensorType(type.dims, tuple(marks), type.element, type.unreduced)


def all_to_all(value: Value, result: Value, ends: tuple[int, int], names: Mapping[str, Attribute], source: Operation) -> Operation:
    """The task that shards a value at another dimension."""
    properties: dict[str, Attribute] = {
        **names,
        "axes": ArrayAttr((ArrayAttr((StringAttr(EXPERT),)),)),
        "from": IntegerAttr(ends[0], I64),
        "to": IntegerAttr(ends[1], I64),
        "message": StringAttr("payload"),
    }
    return AllToAll.build([value], [result], properties, span=source.span)


def _expert_axes(blocks: Sequence[Operation], degree: Expr, strategy: Binding) -> tuple[str, ...]:
    """The symbols that count experts, in order of appearance.

    Raises:
        DiagnosticError: there are none, or a number counts them, so that no rank can have a part.
    """
    found: dict[str, None] = {}
    for operation in (operation for block in blocks for operation in block.body):
        for size in _sizes_of_experts(operation):
            name = lone_symbol(size)
            if name is None:
                what = f"expert = {degree.text} shards no experts: {size.text} is no symbol, and only a symbol names an axis"
                raise fail(what, operation.span, note(f"declare a symbol for {size.text}: 'bp.symbols E where {degree.text} | E'"))
            found[name] = None
    if not found:
        message = f"expert = {degree.text} shards nothing: no block has experts (model.experts)"
        raise fail(message, strategy.operation.span, note("use 'data' for more ranks that share no weights"))
    return tuple(found)


def _sizes_of_experts(operation: Operation) -> list[Expr]:
    """The number of experts of an operation; nothing if it has none."""
    rule = operation.declaration
    own = rule.own_dims(settings_of(operation)) if isinstance(rule, ModelOperation) and rule.expert_factor else {}
    return [size for factor, size in own.items() if isinstance(rule, ModelOperation) and factor == rule.expert_factor]


def _batch_axes(blocks: Iterable[Operation], degree: Expr) -> tuple[str, ...]:
    """The symbols of the first dimension of what blocks are given, which the ranks share.

    Raises:
        DiagnosticError: one is a number, and only a symbol names an axis.
    """
    found: dict[str, None] = {}
    for block in blocks:
        for index, argument in enumerate(block.arguments):
            assert isinstance(argument.type, TensorType)
            batch = argument.type.dims[0] if index else input_axis(block, 0)
            name = lone_symbol(batch)
            if name is None:
                raise fail(f"the {degree.text} ranks of 'expert' share the batch, which is {batch.text} and no symbol", block.span)
            found[name] = None
    return tuple(found)
