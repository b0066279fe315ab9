"""Structural equality of two trees, whatever their values and blocks are called."""

from __future__ import annotations

from bpir.ir.operation import Block, Operation, Value


def equal(a: Operation, b: Operation) -> bool:
    """Whether two operations are the same IR: names, properties, attributes, types, uses and structure; not locations."""
    values: dict[Value, Value] = {}
    blocks: dict[Block, Block] = {}
    pairs: list[tuple[Operation, Operation]] = []
    stack = [(a, b)]
    while stack:
        x, y = stack.pop()
        pairs.append((x, y))
        if x.name != y.name or x.properties != y.properties or x.attributes != y.attributes:
            return False
        if not _same_values(x.results, y.results, values) or len(x.regions) != len(y.regions):
            return False
        for region_x, region_y in zip(x.regions, y.regions, strict=True):
            if len(region_x.blocks) != len(region_y.blocks):
                return False
            for block_x, block_y in zip(region_x.blocks, region_y.blocks, strict=True):
                blocks[block_x] = block_y
                if not _same_values(block_x.arguments, block_y.arguments, values):
                    return False
                if len(block_x.operations) != len(block_y.operations):
                    return False
                stack.extend(zip(block_x.operations, block_y.operations, strict=True))
    for x, y in pairs:
        if len(x.operands) != len(y.operands) or len(x.successors) != len(y.successors):
            return False
        if any(values.get(u, u) is not v for u, v in zip(x.operands, y.operands, strict=True)):
            return False
        if any(blocks.get(u, u) is not v for u, v in zip(x.successors, y.successors, strict=True)):
            return False
    return True


def _same_values(a: list[Value], b: list[Value], values: dict[Value, Value]) -> bool:
    if len(a) != len(b):
        return False
    for x, y in zip(a, b, strict=True):
        if x.type is not y.type:
            return False
        values[x] = y
    return True
