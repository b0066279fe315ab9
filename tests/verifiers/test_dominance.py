"""Dominance against its definition: a value may be used where no path from the entry avoids it."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from tiers import examples

from bpir.dialects import func  # noqa: F401  (declares func.func)
from bpir.ir.attributes import StringAttr
from bpir.ir.declaration import DECLARATIONS, Problems
from bpir.ir.diagnostic import Diagnostic
from bpir.ir.operation import Block, Operation, Region, Value
from bpir.verifiers.ssa.dominance import check_dominance

Shape = list[tuple[int, list[int]]]  # of each block: how many operations, and the blocks it goes on to
Place = tuple[int, int]  # block and index of an operation; -1 is the argument of the block


class Errors(Problems):
    """The operations that were reported, and which operand."""

    def __init__(self) -> None:
        super().__init__()
        self.found: set[tuple[Operation, str]] = set()

    def error(self, operation: Operation | None, message: str, *notes: Diagnostic) -> None:
        assert operation is not None
        self.found.add((operation, message.removeprefix("operand ").removesuffix(" does not dominate this use")))
        assert len(notes) <= 1


def value() -> Value:
    return Value(StringAttr("type"))  # any attribute will do


def op(*operands: Value, regions: list[Region] | None = None) -> Operation:
    return Operation("ext.op", list(operands), [value()], regions=regions or [])


def function(*blocks: Block) -> Operation:
    return Operation("func.func", regions=[Region(list(blocks))], declaration=DECLARATIONS["func.func"])


def errors(root: Operation) -> set[tuple[Operation, str]]:
    report = Errors()
    check_dominance(root.walk(), report)
    return report.found


def reached(shape: Shape, without: int | None = None) -> set[int]:
    """The blocks on a path from the entry, one block taken away."""
    seen: set[int] = set()
    pending = [0]
    while pending:
        block = pending.pop()
        if block not in seen and block != without:
            seen.add(block)
            pending.extend(shape[block][1])
    return seen


def may_use(shape: Shape, defined: Place, used: Place) -> bool:
    if used[0] not in reached(shape):
        return True
    if defined[0] == used[0]:
        return defined[1] < used[1]
    return used[0] not in reached(shape, without=defined[0])


@st.composite
def shapes(draw: st.DrawFn) -> Shape:
    count = draw(st.integers(1, 7))
    to = st.lists(st.integers(1, count - 1), max_size=3) if count > 1 else st.just([])
    return [(draw(st.integers(1, 3)), draw(to)) for _ in range(count)]


@settings(max_examples=examples(400), deadline=None)
@given(shapes())
def test_every_use_of_every_value(shape: Shape) -> None:
    blocks = [Block([value()], [op() for _ in range(count)]) for count, _ in shape]
    for block, (_, to) in zip(blocks, shape, strict=True):
        block.operations[-1].successors = [blocks[index] for index in to]
    places: dict[Place, Value] = {(b, -1): block.arguments[0] for b, block in enumerate(blocks)}
    places |= {(b, i): o.results[0] for b, block in enumerate(blocks) for i, o in enumerate(block.operations)}
    expected = set()
    for b, block in enumerate(blocks):
        for i, user in enumerate(block.operations):
            user.operands = list(places.values())
            expected |= {(user, str(n)) for n, place in enumerate(places) if not may_use(shape, place, (b, i))}
    assert errors(function(*blocks)) == expected


def test_inside_nested_regions() -> None:
    """A value defined before the operation that holds a region is visible in it; a value of the region is not visible outside."""
    before, inner = op(), op()
    user = op(before.results[0], inner.results[0])
    holder = op(regions=[Region([Block([], [user, inner])])])  # without a declaration: a graph, where order is free
    after = op(inner.results[0], holder.results[0])
    user.operands += [holder.results[0], after.results[0]]
    assert errors(function(Block([], [before, holder, after]))) == {(user, "2"), (user, "3"), (after, "0")}


def test_a_region_that_is_no_graph_inside_one_that_is() -> None:
    late, first = op(), op()
    user = op(late.results[0], first.results[0])
    inner = function(Block([], [user, late]))
    graph = Operation("ext.graph", regions=[Region([Block([], [inner, first])])])
    around = "1 is defined outside of 'func.func', which sees no value around it"
    assert errors(graph) == {(user, "0"), (user, around)}  # the other one is in the graph, where order is free


def test_several_blocks_are_no_graph() -> None:
    """An operation without a declaration has a graph region only where it has one block, as in LLVM."""
    argument, late = value(), op()
    user = op(late.results[0], argument)
    second = Block([argument], [op()])
    first = Block([], [user, late])
    late.successors = [second]
    assert errors(Operation("ext.graph", regions=[Region([first, second])])) == {(user, "0"), (user, "1")}


def test_values_that_nothing_holds() -> None:
    alone = op()
    user = op(alone.results[0], value())
    user.operands.append(user.results[0])
    assert errors(function(Block([], [user]))) == {(user, "1"), (user, "2")}
    assert errors(op(op().results[0])) == set()
    itself = op()
    itself.operands = [itself.results[0]]
    assert errors(itself) == {(itself, "0")}


def test_another_region_is_not_visible() -> None:
    inside = op()
    sibling = op(regions=[Region([Block([], [inside])])])
    user = op(inside.results[0])
    assert errors(function(Block([], [sibling, op(regions=[Region([Block([], [user])])])]))) == {(user, "0")}
