"""SSA dominance: every use of a value is dominated by its definition.

In a graph region (a module's, and one of a single block of an operation without a declaration) the order inside the region does
not matter. Blocks that cannot be reached from the entry are not checked, as in LLVM.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce

from bpir.ir.declaration import Problems
from bpir.ir.operation import Block, Operation, Region, Value


def check_dominance(operations: Iterable[Operation], report: Problems) -> None:
    """Report each operand that does not dominate its use; the operations are a whole module's."""
    checker = _Dominance()
    for operation in operations:
        for index, operand in enumerate(operation.operands):
            wrong = checker.wrong(operand, operation)
            if wrong:
                owner = operand.owner
                notes = (report.note(owner, "it is defined here"),) if isinstance(owner, Operation) else ()
                report.error(operation, f"operand {index} {wrong}", *notes)


class _Dominance:
    def __init__(self) -> None:
        self._positions: dict[Block, dict[Operation, int]] = {}
        self._trees: dict[Region, dict[Block, tuple[Block | None, int]]] = {}

    def wrong(self, value: Value, user: Operation) -> str:
        """The fault in a use of the value; none if the value is visible at the user: defined before it, in its region or around it."""
        block = value.owner.parent if isinstance(value.owner, Operation) else value.owner
        place, barrier = _holder_in(block.parent if block is not None else None, user)
        if barrier is not None and place is not None and place.parent is not None:
            return f"is defined outside of '{barrier.name}', which sees no value around it"
        return "" if self._dominates(value, user, place) else "does not dominate this use"

    def _dominates(self, value: Value, user: Operation, place: Operation | None) -> bool:
        """Whether the value is defined before `place`: the operation of its region that is the user, or that the user is in."""
        owner, definition = value.owner, _block_of(value)
        if definition is None:
            return owner is not None and owner is not user
        region, block = definition.parent, place.parent if place is not None else None
        if place is None or block is None or region is None:
            return False
        if isinstance(owner, Operation):
            return self._precedes(owner, definition, region, block, place, user)
        return block is owner or self._block_dominates(region, definition, block)

    def _precedes(self, owner: Operation, definition: Block, region: Region, block: Block, place: Operation, user: Operation) -> bool:
        """Whether an operation of the block `definition` is before `place` in `block`, both of one region."""
        if _is_graph(region):
            return True
        if place is owner and place is not user:
            return False  # the user is inside the operation that defines the value
        if block is not definition:
            return self._block_dominates(region, definition, block)
        if block not in self._tree(region):
            return True  # not reachable
        order = self._order(block)
        return order[owner] < order[place]

    def _order(self, block: Block) -> dict[Operation, int]:
        found = self._positions.get(block)
        if found is None:
            found = self._positions[block] = {operation: index for index, operation in enumerate(block.operations)}
        return found

    def _block_dominates(self, region: Region, above: Block, below: Block) -> bool:
        tree = self._tree(region)
        if below not in tree:
            return True  # not reachable
        if above not in tree:
            return False
        current: Block | None = below
        while current is not None and tree[current][1] > tree[above][1]:
            current = tree[current][0]
        return current is above

    def _tree(self, region: Region) -> dict[Block, tuple[Block | None, int]]:
        """The immediate dominator and depth of each reachable block (Cooper, Harvey and Kennedy)."""
        found = self._trees.get(region)
        if found is None:
            found = self._trees[region] = _dominator_tree(region)
        return found


def _block_of(value: Value) -> Block | None:
    """The block in which a value is defined."""
    owner = value.owner
    return owner.parent if isinstance(owner, Operation) else owner


def _is_graph(region: Region) -> bool:
    declaration = region.parent.declaration if region.parent is not None else None
    return len(region.blocks) == 1 if declaration is None else declaration.graph_region


def _holder_in(region: Region | None, user: Operation) -> tuple[Operation | None, Operation | None]:
    """The operation of a region that is the user, or that the user is in; and the first around the user that is isolated from above."""
    place: Operation | None = user
    barrier: Operation | None = None
    while region is not None and place is not None and place.parent is not None and place.parent.parent is not region:
        place = _around(place)
        if barrier is None and _is_isolated(place):
            barrier = place
    return place, barrier


def _around(operation: Operation) -> Operation | None:
    """The operation in whose region one is."""
    region = operation.parent.parent if operation.parent is not None else None
    return region.parent if region is not None else None


def _is_isolated(operation: Operation | None) -> bool:
    """Whether an operation sees no value around it."""
    return operation is not None and operation.declaration is not None and operation.declaration.isolated


def _dominator_tree(region: Region) -> dict[Block, tuple[Block | None, int]]:
    """The immediate dominator and the depth of each reachable block."""
    order = _postorder(region)
    entry, others = region.blocks[0], order[-2::-1]  # the entry is the last of the order
    dominator = _dominators(entry, others, order)
    tree: dict[Block, tuple[Block | None, int]] = {entry: (None, 0)}
    for block in others:
        if block in dominator:
            parent = dominator[block]
            tree[block] = (parent, tree[parent][1] + 1)
    return tree


def _dominators(entry: Block, others: Sequence[Block], order: Sequence[Block]) -> dict[Block, Block]:
    """The immediate dominator of each block, found by going through them until nothing changes."""
    number = {block: index for index, block in enumerate(order)}
    predecessors = _predecessors(order)
    dominator: dict[Block, Block] = {entry: entry}
    changed = True
    while changed:
        changed = False
        for block in others:
            known = [predecessor for predecessor in predecessors[block] if predecessor in dominator]
            new = reduce(lambda a, b: _common(a, b, dominator, number), known) if known else None
            if new is not None and dominator.get(block) is not new:
                dominator[block] = new
                changed = True
    return dominator


def _predecessors(blocks: Sequence[Block]) -> dict[Block, list[Block]]:
    """The blocks that branch to each, of these."""
    found: dict[Block, list[Block]] = {block: [] for block in blocks}
    for block in blocks:
        for successor in _successors(block):
            if successor in found:
                found[successor].append(block)
    return found


def _common(a: Block, b: Block, dominator: dict[Block, Block], number: dict[Block, int]) -> Block:
    """The nearest block that dominates both, as far as dominators are known; `number` is the place in postorder."""
    while a is not b:
        while number[a] < number[b]:
            a = dominator[a]
        while number[b] < number[a]:
            b = dominator[b]
    return a


def _successors(block: Block) -> list[Block]:
    return block.operations[-1].successors if block.operations else []


def _postorder(region: Region) -> list[Block]:
    entry = region.blocks[0]
    seen = {entry}
    order: list[Block] = []
    stack = [(entry, iter(_successors(entry)))]
    while stack:
        block, successors = stack[-1]
        for successor in successors:
            if successor not in seen and successor.parent is region:
                seen.add(successor)
                stack.append((successor, iter(_successors(successor))))
                break
        else:
            order.append(block)
            stack.pop()
    return order
