"""Warnings about an inference phase of a block: work that nobody uses, and attention without a cache."""

from __future__ import annotations

from bpir.dialects.bp import TensorType
from bpir.dialects.model.attention import BatchMatmul
from bpir.dialects.model.rules.layers import has_effect, layer_of
from bpir.dialects.model.structure import Return
from bpir.ir.diagnostic import Diagnostic, note, warning
from bpir.ir.expressions.expression import ONE, Expr
from bpir.ir.operation import Operation, Value


def dead_operations(block: Operation) -> list[Diagnostic]:
    """A warning for each operation whose results reach neither a result of the block nor an effect."""
    needed: set[Value] = set()
    dead = []
    for operation in reversed(list(block.body)):
        if Return.of(operation) is not None or has_effect(operation) or any(result in needed for result in operation.results):
            needed.update(operation.operands)
        else:
            dead.append(operation)
    return [
        warning(
            f"the result of '{layer_of(operation)}' reaches no result of the block, but its work and its weights are counted",
            operation.span,
            note("remove it, or run canonicalize"),
        )
        for operation in reversed(dead)
    ]


def attention_without_cache(block: Operation, tokens: Expr) -> list[Diagnostic]:
    """A warning where hand-written attention multiplies with K or V of the new tokens alone; `tokens` is the block's token axis."""
    found = [o for o in block.body if isinstance(o.declaration, BatchMatmul) and _has_axis(o.operands[1], tokens)]
    if not found or tokens is ONE:
        return []
    others = [note(f"and '{layer_of(operation)}'", operation.span) for operation in found[1:]]
    message = f"'{layer_of(found[0])}' reads no cache, but the new tokens alone: in decode it sees one token"
    return [warning(message, found[0].span, *others, note("append K and V to the cache with model.kv_append, and read what it gives"))]


def _has_axis(value: Value, tokens: Expr) -> bool:
    return isinstance(value.type, TensorType) and value.type.dims[1] is tokens
