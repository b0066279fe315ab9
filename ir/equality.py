"""Structural equality of two trees, whatever their values and blocks are called."""

from __future__ import annotations

from typing import TypeVar

from bpir.ir.operation import Block, Operation, Value

T = TypeVar("T", Value, Block)


def equal(a: Operation, b: Operation) -> bool:
    """Whether two operations are the same IR: names, properties, attributes, types, uses and structure; not locations."""
    values: dict[Value, Value] = {}
    blocks: dict[Block, Block] = {}
    pairs: list[tuple[Operation, Operation]] = []
    stack = [(a, b)]
    while stack:
        x, y = stack.pop()
        pairs.append((x, y))
        if not _same_head(x, y) or not _same_values(x.results, y.results, values):
            return False
        for block_x, block_y in zip(x.blocks, y.blocks, strict=True):
            blocks[block_x] = block_y
            if not _same_values(block_x.arguments, block_y.arguments, values) or len(block_x.operations) != len(block_y.operations):
                return False
            stack.extend(zip(block_x.operations, block_y.operations, strict=True))
    return all(_same_uses(x.operands, y.operands, values) and _same_uses(x.successors, y.successors, blocks) for x, y in pairs)


def _same_head(x: Operation, y: Operation) -> bool:
    """Whether two operations say the same by themselves, and have as many blocks in each region."""
    said = x.name == y.name and x.properties == y.properties and x.attributes == y.attributes
    return said and [len(region.blocks) for region in x.regions] == [len(region.blocks) for region in y.regions]


def _same_uses(a: list[T], b: list[T], images: dict[T, T]) -> bool:
    """Whether the operands (or successors) of one operation are the images of those of the other."""
    return len(a) == len(b) and all(images.get(x, x) is y for x, y in zip(a, b, strict=True))


def _same_values(a: list[Value], b: list[Value], values: dict[Value, Value]) -> bool:
    if len(a) != len(b):
        return False
    for x, y in zip(a, b, strict=True):
        if x.type is not y.type:
            return False
        values[x] = y
    return True
