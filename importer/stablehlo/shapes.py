"""Whether the shape of a node is the one that its operation gives: a text that says otherwise is not what JAX wrote."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from bpir.importer.stablehlo.evaluate import ON_ELEMENTS
from bpir.importer.stablehlo.graph import Node

_COUNTS = {"select": 3, "clamp": 3, "convert": 1, "reduce_precision": 1, "compare": 2}
_TWO = ("add", "subtract", "multiply", "divide", "maximum", "minimum", "power", "remainder", "and", "or", "xor")


def fits(node: Node) -> bool:
    """Whether the shapes and attributes of a node agree; of operations that are not known nothing is asked."""
    if node.kind in _CHECKS:
        return len(node.operands) == _OPERANDS.get(node.kind, len(node.operands)) and _CHECKS[node.kind](node)
    if node.kind in ON_ELEMENTS or node.kind in _COUNTS:
        count = _COUNTS.get(node.kind, 2 if node.kind in _TWO else 1)
        scalars = node.kind in ("select", "clamp")
        shapes = [operand.shape for operand in node.operands]
        return len(shapes) == count and all(shape == node.shape or (scalars and not shape) for shape in shapes)
    return True


def _are(dimensions: Sequence[int], shape: Sequence[int]) -> bool:
    """Whether these are different dimensions of a shape."""
    return len(set(dimensions)) == len(dimensions) and all(0 <= d < len(shape) for d in dimensions)


def _broadcast(node: Node) -> bool:
    dimensions, shape = node.says["dimensions"], node.operands[0].shape
    if len(dimensions) != len(shape) or not _are(dimensions, node.shape):
        return False
    return all(size in (1, node.shape[d]) for d, size in zip(dimensions, shape, strict=True))


def _transpose(node: Node) -> bool:
    permutation, shape = node.says["permutation"], node.operands[0].shape
    return len(permutation) == len(shape) and _are(permutation, shape) and node.shape == tuple(shape[d] for d in permutation)


def _slice(node: Node) -> bool:
    shape = node.operands[0].shape
    parts = [node.says[name] for name in ("start", "limit", "strides")]
    if any(len(part) != len(shape) for part in parts):
        return False
    if not all(0 <= first <= last <= size and step > 0 for first, last, step, size in zip(*parts, shape, strict=True)):
        return False
    return node.shape == tuple(-(-(last - first) // step) for first, last, step in zip(*parts, strict=True))


def _concatenate(node: Node) -> bool:
    d = node.says["dimension"]
    shapes = [operand.shape for operand in node.operands]
    if not shapes or not _are([d], node.shape) or any(len(shape) != len(node.shape) for shape in shapes):
        return False
    others = {(*shape[:d], *shape[d + 1 :]) for shape in (*shapes, node.shape)}
    return len(others) == 1 and sum(shape[d] for shape in shapes) == node.shape[d]


def _reduce(node: Node) -> bool:
    operand, start = node.operands
    dimensions = node.says["dimensions"]
    kept = tuple(size for d, size in enumerate(operand.shape) if d not in dimensions)
    return _are(dimensions, operand.shape) and kept == node.shape and not start.shape


def _dot(node: Node) -> bool:
    left, right = (operand.shape for operand in node.operands)
    says = node.says
    for kind in ("batching", "contracting"):
        one, other = says[f"lhs_{kind}"], says[f"rhs_{kind}"]
        if len(one) != len(other) or not _are(one, left) or not _are(other, right):
            return False
        if [left[d] for d in one] != [right[d] for d in other]:
            return False
    taken = [{*says[f"{side}_batching"], *says[f"{side}_contracting"]} for side in ("lhs", "rhs")]
    free = [size for shape, gone in zip((left, right), taken, strict=True) for d, size in enumerate(shape) if d not in gone]
    return node.shape == (*(left[d] for d in says["lhs_batching"]), *free)


_OPERANDS = {
    "broadcast_in_dim": 1,
    "reshape": 1,
    "transpose": 1,
    "slice": 1,
    "reverse": 1,
    "iota": 0,
    "constant": 0,
    "reduce": 2,
    "dot_general": 2,
}
_CHECKS: dict[str, Callable[[Node], bool]] = {
    "broadcast_in_dim": _broadcast,
    "reshape": lambda node: prod(node.shape) == prod(node.operands[0].shape),
    "transpose": _transpose,
    "slice": _slice,
    "concatenate": _concatenate,
    "reverse": lambda node: node.shape == node.operands[0].shape and _are(node.says["dimensions"], node.shape),
    "iota": lambda node: _are([node.says["dimension"]], node.shape),
    "constant": lambda node: len(node.says["values"]) in (1, prod(node.shape)),
    "reduce": _reduce,
    "dot_general": _dot,
}
