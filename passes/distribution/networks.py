"""Networks: which blocks a derivation works on, and the calls of the distributed blocks."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from bpir.dialects.bp import ExprAttr
from bpir.dialects.dist import network as dist_network
from bpir.dialects.dist import tasks as dist
from bpir.dialects.model.network import Repeat
from bpir.dialects.model.structure import Return
from bpir.dialects.network import blocks, called, callees, calls, name_of, networks, returned_by, times_of
from bpir.ir.attributes import Attribute, StringAttr
from bpir.ir.diagnostic import Diagnostic, DiagnosticError, error, note, warning
from bpir.ir.operation import Block, Operation, Region, Value
from bpir.passes.inference.phases import context_axis


def blocks_to_derive(module: Operation) -> list[Operation]:
    """The blocks that a network calls, in the order of the text; all blocks where there is no network."""
    used = called(module)
    return [block for name, block in blocks(module).items() if name in used]


def unused_blocks(module: Operation) -> list[Diagnostic]:
    """Warnings of blocks that the network does not call."""
    used = called(module)
    return [
        warning(f"the network does not call the block @{name}: nothing is derived of it", block.span)
        for name, block in blocks(module).items()
        if name not in used
    ]


def with_context(fields: Mapping[str, Attribute], block: Operation, others: Iterable[Operation]) -> Mapping[str, Attribute]:
    """The fields of a workload for a block that names no context, with the one that the other blocks of the network name."""
    if "context" in fields or {"query", "prefix"} <= fields.keys() or context_axis(block) is not None:
        return fields
    named = {context for other in others if (context := context_axis(other)) is not None}
    return {**fields, "context": ExprAttr(named.pop())} if len(named) == 1 else fields


def distributed_networks(module: Operation, derived: Sequence[Operation], replaced: Collection[str]) -> list[Operation]:
    """The network of a module, of distributed blocks; none if the module has none.

    Args:
        derived: the distributed blocks, each called like its own.
        replaced: the symbols that the workload replaces in the blocks.

    Raises:
        DiagnosticError: how often a block is repeated depends on the workload, or the borders of two blocks do not fit.
    """
    known = {name_of(block): block for block in derived}
    found = networks(module)
    sorted_out([wrong for network in found for wrong in counts_of_calls(network, replaced)])
    return [_Calls(network, known).network() for network in found]


def counts_of_calls(network: Operation, replaced: Collection[str]) -> list[Diagnostic]:
    """Repeats of which the number depends on the workload."""
    found = []
    for call in calls(network):
        changed = [name for name in times_of(call).symbols if name in replaced]
        if changed:
            message = f"how often @{callees(call)[0]} is repeated depends on '{changed[0]}', which the workload replaces"
            found.append(error(message, call.span, note("give the number of repetitions a symbol of its own")))
    return found


def sorted_out(wrong: Sequence[Diagnostic]) -> None:
    """Raise what is wrong, if anything is.

    Raises:
        DiagnosticError: with all of it.
    """
    if wrong:
        raise DiagnosticError(*wrong)


class _Calls:
    """The calls of one network, with the types that its blocks have at their borders."""

    def __init__(self, source: Operation, blocks: Mapping[str, Operation]) -> None:
        self.source = source
        self.blocks = blocks
        self.values: dict[Value, Value] = {}

    def network(self) -> Operation:
        entry = self.source.regions[0].blocks[0]
        arguments = [Value(a.type, name=a.name) for a in entry.arguments]
        self.values.update(zip(entry.arguments, arguments, strict=True))
        body = Block(arguments)
        for operation in entry.operations:
            operands = [self.values[value] for value in operation.operands]
            if Return.of(operation) is not None:
                body.append(dist.Return.build(operands, span=operation.span))
            else:
                body.append(self._call(operation, operands, arguments))
        name = StringAttr(name_of(self.source))
        return dist_network.Network.build(properties={"sym_name": name, "source": name}, regions=[Region([body])], span=self.source.span)

    def _call(self, operation: Operation, operands: list[Value], arguments: list[Value]) -> Operation:
        names = callees(operation)
        for value, wanted in zip(operands, self._arguments(names[0]), strict=True):
            if value in arguments:
                value.type = wanted.type  # each goes to a call; two that differ in what they take, the structure refuses
        types = returned_by(self.blocks[names[-1]]) or ()
        results = [Value(type_, name=value.name) for type_, value in zip(types, operation.results, strict=True)]
        self.values.update(zip(operation.results, results, strict=True))
        calling = dist_network.Repeat if isinstance(operation.declaration, Repeat) else dist_network.Call
        return calling.build(operands, results, operation.properties, span=operation.span)

    def _arguments(self, name: str) -> list[Value]:
        return self.blocks[name].regions[0].blocks[0].arguments
