"""The number of weights of a model: by layer, and in a network by block, with the number of such blocks."""

from __future__ import annotations

from collections.abc import Iterable

from bpir.dialects.bp import TensorType
from bpir.dialects.model.macro import expand
from bpir.dialects.model.rules.layers import layer_of, part_of
from bpir.dialects.model.rules.local import Local, settings_of
from bpir.dialects.model.rules.operation import ModelOperation
from bpir.dialects.network import blocks as blocks_of
from bpir.dialects.network import callees, calls, networks, times_of
from bpir.ir.expressions.expression import ONE, ZERO, Expr, total
from bpir.ir.operation import Operation
from bpir.tools.reports.report import BlockParameters, Parameters


def parameters_by_layer(module: Operation) -> dict[str, Expr]:
    """The elements of each layer's weights, all blocks together."""
    found: dict[str, Expr] = {}
    for block in blocks_of(expand(module)).values():
        for layer, elements in _layers(block.body).items():
            found[layer] = found.get(layer, ZERO) + elements
    return found


def parameters_of_network(module: Operation) -> Parameters | None:
    """The parameters of a model of several blocks; None of a module of one block without a network.

    Without a network each block counts once.
    """
    module = expand(module)
    known, found = blocks_of(module), networks(module)
    if not found and len(known) < 2:
        return None
    counts: dict[str, Expr] = {} if found else dict.fromkeys(known, ONE)
    for call in calls(found[0]) if found else ():
        for name in callees(call):
            counts[name] = counts.get(name, ZERO) + times_of(call)
    blocks = {name: BlockParameters(count, _layers(known[name].body)) for name, count in counts.items()}
    bodies = [known[name].body for name in blocks]
    embedding = total(counts[name] * _tables(known[name].body) for name in blocks)
    return Parameters(blocks, embedding, _head(bodies[-1]) if found and bodies else ZERO)


def _layers(operations: Iterable[Operation]) -> dict[str, Expr]:
    """The elements of the weights of each layer that has some."""
    found: dict[str, Expr] = {}
    for operation in operations:
        elements = _weights(operation)
        if elements is not ZERO:
            found[layer_of(operation)] = found.get(layer_of(operation), ZERO) + elements
    return found


def _tables(operations: Iterable[Operation]) -> Expr:
    """The elements of the tables of tokens: weights of operations that read numbers of rows."""
    return total(_weights(o) for o in operations if any(isinstance(v.type, TensorType) and v.type.is_index for v in o.operands))


def _head(operations: Iterable[Operation]) -> Expr:
    """The weights of the matrix product that gives what a block returns, if nothing but operations without weights follows it."""
    made = {result: operation for operation in operations for result in operation.results}
    waiting = [value for operation in operations if _ends(operation) for value in operation.operands]
    while waiting:
        operation = made.get(waiting.pop())
        rule = operation.declaration if operation is not None else None
        if operation is None or not isinstance(rule, ModelOperation):
            continue
        local = _local(rule, operation)
        if local is None or rule.weights(local) is ZERO:
            waiting += operation.operands
        elif rule.matmul_operations(local) is not ZERO:
            return _weights(operation)
    return ZERO


def _ends(operation: Operation) -> bool:
    return operation.declaration is not None and operation.declaration.terminator


def _weights(operation: Operation) -> Expr:
    """The elements of weights of an operation's own; those that it is tied to are another layer's."""
    rule = operation.declaration
    local = _local(rule, operation) if isinstance(rule, ModelOperation) and rule.tied_shape(operation) is None else None
    return rule.weights(local) if isinstance(rule, ModelOperation) and local is not None else ZERO


def _local(rule: ModelOperation, operation: Operation) -> Local | None:
    """The whole operation as its rules read it; None if a value is no tensor."""
    types = [v.type for v in (*operation.operands, *operation.results)]
    tensors = tuple(t for t in types if isinstance(t, TensorType))
    count = len(operation.operands)
    if len(tensors) < len(types):
        return None
    return part_of(rule, settings_of(operation), tensors[:count], tensors[count:], (True,) * count)
