"""The sizes that a workload gives a block's axes, in the words of the gate.

The first two dimensions of a block's first argument are its batch axis and its token axis, unless the workload names others of its
dimensions. Prefill works on all visible tokens, decode on one (Vaswani et al. 2017, section 3.2.3); training on whole sequences, where the
visible tokens are the sequence.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from bpir.dialects.bind import as_expr, as_word
from bpir.dialects.bp import ExprAttr, TensorType
from bpir.dialects.model.base import layer_of
from bpir.ir.attributes import Attribute
from bpir.ir.expression import ONE, Expr
from bpir.ir.operation import Operation
from bpir.verifiers.typing_rule import symbol_name, weight_symbols

Fields = Mapping[str, Attribute]


class UnreadableWorkload(Exception):
    """The workload can't be that of the block; the text says why."""


def inference_sizes(block: Operation, workload: Fields) -> tuple[str, Expr, dict[str, Expr]]:
    """The phase, the number of visible tokens, and what stands for each symbol of the model.

    Raises:
        UnreadableWorkload: the workload says no phase or no context, or an axis can't become what it says.
    """
    phase = as_word(workload.get("phase"))
    if phase not in ("prefill", "decode"):
        raise UnreadableWorkload("the workload does not say the phase: add 'phase = prefill' or 'phase = decode'")
    batch, token = _axes(block, workload)
    named = _context(block)
    context = as_expr(workload.get("context")) or named
    if context is None:
        raise UnreadableWorkload("the workload does not say how many tokens are visible")
    sizes = [(batch, as_expr(workload.get("batch")) or batch), (token, context if phase == "prefill" else ONE)]
    return phase, context, _replacing(block, [*sizes, *([(named, context)] if named is not None else [])])


def with_visible(workload: Fields, block: Operation, blocks: Iterable[Operation]) -> Fields:
    """The workload for a block without attention, where it says no context: the one that the attentions of the other blocks name."""
    if "context" in workload or _context(block) is not None:
        return workload
    named = {value for other in blocks for o in other.body if isinstance(value := o.properties.get("context"), ExprAttr)}
    return {**workload, "context": named.pop()} if len(named) == 1 else workload


def training_sizes(block: Operation, workload: Fields) -> dict[str, Expr]:
    """What stands for each symbol of the model.

    Raises:
        UnreadableWorkload: the workload says a phase, or an axis can't become what it says.
    """
    if "phase" in workload:
        raise UnreadableWorkload("training has no phase")
    batch, token = _axes(block, workload)
    tokens = as_expr(workload.get("context")) or token
    sizes = [(batch, as_expr(workload.get("batch")) or batch), (token, tokens)]
    named = _context(block)
    return _replacing(block, [*sizes, *([(named, tokens)] if named is not None and named is not token else [])])


def token_axis(block: Operation) -> Expr:
    """The second dimension of the first argument: the axis that sequence parallelism shards."""
    type = block.regions[0].blocks[0].arguments[0].type
    assert isinstance(type, TensorType)
    return type.dims[1]


def _axes(block: Operation, workload: Fields) -> tuple[Expr, Expr]:
    """The batch axis and the token axis of a block."""
    first = block.regions[0].blocks[0].arguments[0].type if block.regions[0].blocks[0].arguments else None
    if not isinstance(first, TensorType) or len(first.dims) < 2:
        raise UnreadableWorkload("the first argument of the block has no batch axis and token axis")
    known = [dim for dim in first.dims if symbol_name(dim) is not None]
    found = []
    for field, dim in zip(("batch_axis", "token_axis"), first.dims, strict=False):
        named = as_expr(workload.get(field))
        if named is not None and named not in known:
            names = ", ".join(dim.text for dim in known) or "none"
            raise UnreadableWorkload(f"'{field}' must be a symbol that is a dimension of the block's input ({names}), not '{named.text}'")
        found.append(named or dim)
    batch, token = found
    if batch is token:
        raise UnreadableWorkload(f"the batch axis and the token axis are both '{batch.text}'")
    return batch, token


def _context(block: Operation) -> Expr | None:
    """The number of visible tokens that the operations of the block name."""
    found = {value.expr for o in block.body if isinstance(value := o.properties.get("context"), ExprAttr)}
    if len(found) > 1:
        raise UnreadableWorkload("the block names two contexts: " + ", ".join(sorted(expr.text for expr in found)))
    return found.pop() if found else None


def _replacing(block: Operation, sizes: list[tuple[Expr, Expr]]) -> dict[str, Expr]:
    """What stands for each symbol; weights are the same under every workload, so none of their axes is replaced."""
    found = {}
    for axis, size in sizes:
        if axis is not size:
            if symbol_name(axis) is None:
                raise UnreadableWorkload(f"the axis '{axis.text}' can't become '{size.text}'")
            found[axis.text] = size
    for operation in block.body:
        changed = weight_symbols(operation) & found.keys()
        if changed:
            names = ", ".join(sorted(changed))
            raise UnreadableWorkload(f"the weights of '{layer_of(operation)}' have the axis {names}, which the workload replaces")
    return found
