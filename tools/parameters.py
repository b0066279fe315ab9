"""How many weights a model has: by layer, and for a network by block with how many such blocks there are."""

from __future__ import annotations

from collections.abc import Iterable

from bpir.dialects.bp import TensorType
from bpir.dialects.model.base import ModelOperation, layer_of, part_of, settings_of
from bpir.dialects.model.macro import expand
from bpir.dialects.network import blocks as blocks_of
from bpir.dialects.network import callees, calls, networks, times_of
from bpir.ir.expression import ONE, ZERO, Expr
from bpir.ir.operation import Operation
from bpir.tools.report import BlockParameters, Parameters


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
    return Parameters(blocks, ZERO, ZERO)


def _layers(operations: Iterable[Operation]) -> dict[str, Expr]:
    """The elements of the weights of each layer that has some."""
    found: dict[str, Expr] = {}
    for operation in operations:
        elements = _weights(operation)
        if elements is not ZERO:
            found[layer_of(operation)] = found.get(layer_of(operation), ZERO) + elements
    return found


def _weights(operation: Operation) -> Expr:
    """The elements of weights of an operation's own; those that it is tied to are another layer's."""
    rule = operation.declaration
    types = [v.type for v in (*operation.operands, *operation.results)]
    tensors = tuple(t for t in types if isinstance(t, TensorType))
    if not isinstance(rule, ModelOperation) or len(tensors) < len(types) or rule.tied_shape(operation) is not None:
        return ZERO
    count = len(operation.operands)
    return rule.weights(part_of(rule, settings_of(operation), tensors[:count], tensors[count:], (True,) * count))
