"""Corruptions of placement: axes on the mesh, sums that are reduced too early or too late, a plan's mesh and strategy."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from corruptions.any_level import symbols_of
from corruptions.corruption import Corruption, Found, at, copy_of, name_of, place_of, put
from raw import symbol_of

from bpir.dialects.bp import ExprAttr, TensorType
from bpir.dialects.dist.placement import Group, Placement, groups_attribute
from bpir.ir.attributes import ArrayAttr, DictAttr, StringAttr, SymbolRefAttr, dictionary
from bpir.ir.declaration import DECLARATIONS
from bpir.ir.expressions.expression import constant
from bpir.ir.operation import Operation, Value
from bpir.ir.records import evolved

COLLECTIVES = ("dist.all_reduce", "dist.reduce_scatter")


def placements(operations: list[Operation]) -> Found:
    """An axis fewer, one more, one between regions or not, on another mesh axis; one group for each axis, which says the same."""
    names = symbols_of(operations)
    known = any(operation.name == "dist.placement" for operation in operations)
    for index, operation in enumerate(operations):
        if operation.name == "dist.mesh" and not known:
            for axis in names:
                yield Corruption("placement where nothing is sharded", axis, at(index, lambda o, a=axis: _place(o, a)))
        if operation.name == "dist.placement":
            for what, where, groups in _other_groups(list(Placement(operation).groups), names):
                yield Corruption(f"placement: {what}", where, put(index, "groups", groups_attribute(groups)))


def _other_groups(groups: list[Group], names: Sequence[str]) -> Iterator[tuple[str, str, list[Group]]]:
    """Every change of the groups of a placement; `names` are all axes."""
    placed = {axis for group in groups for axis in group.axes}
    free = [axis for axis in names if axis not in placed]
    for place, group in enumerate(groups):
        before, after = groups[:place], groups[place + 1 :]
        for axis in group.axes:
            for what, changed in _other_group(group, axis):
                yield what, f"{axis} on {group.mesh_axis}", [*before, *changed, *after]
        for axis in free:
            more = evolved(group, axes=(*group.axes, axis))
            yield "axis added", f"{axis} on {group.mesh_axis}", [*before, more, *after]
        yield "group dropped", group.mesh_axis, [*before, *after]
        yield "group twice", group.mesh_axis, [*groups, group]
    for axis in free:
        for between in (False, True):
            yield "group added", axis, [*groups, Group((axis,), "tensor", between)]


def _other_group(group: Group, axis: str) -> Iterator[tuple[str, list[Group]]]:
    """The group without one of its axes, which is nowhere, or in another group."""
    left = evolved(group, axes=tuple(a for a in group.axes if a != axis))
    kept = [left] if left.axes else []
    yield "axis dropped", kept
    yield "axis between or not", [*kept, Group((axis,), group.mesh_axis, not group.between)]
    yield "axis on another mesh axis", [*kept, Group((axis,), "data", group.between)]
    yield "axis in a group of its own", [*kept, Group((axis,), group.mesh_axis, group.between)]


def _place(mesh: Operation, axis: str) -> None:
    new = Operation("dist.placement", declaration=DECLARATIONS["dist.placement"], span=mesh.span)
    new.properties["groups"] = groups_attribute([Group((axis,), "tensor")])
    assert mesh.parent is not None
    mesh.parent.operations.insert(place_of(mesh) + 1, new)


# --- sums


def sums(operations: list[Operation]) -> Found:
    """Reduce the operands of an addition in place of its result, or the result in place of an operand; read what is not reduced."""
    for index, operation in enumerate(operations):
        if operation.name in COLLECTIVES:
            for what, change in _other_sums(operation):
                yield Corruption(what, name_of(operation), at(index, change))


def _other_sums(collective: Operation) -> Iterator[tuple[str, Callable[[Operation], object]]]:
    added = collective.operands[0].owner
    if isinstance(added, Operation) and _adds(added):
        for count in range(1, len(added.operands) + 1):
            yield f"{count} operands reduced before the addition", lambda o, n=count: _early(o, n)
    if _read_by_an_addition(collective):
        yield "reduced behind the addition", _late
    type = collective.results[0].type
    if collective.name == "dist.all_reduce" and isinstance(type, TensorType) and len(collective.results) == len(type.dims) == 1:
        yield "scattered, and not given to every rank", _scatter
    for place in range(len(collective.results)):
        yield "read before it is reduced", lambda o, p=place: _bypass(o, p)
        if len(collective.results) > 1:
            yield "not reduced with the others", lambda o, p=place: _leave_out(o, p)


def _read_by_an_addition(collective: Operation) -> bool:
    """Whether its one result is read by an addition, and by nothing else."""
    assert collective.parent is not None
    readers = [o for o in collective.parent.operations if collective.results[0] in o.operands]
    return len(collective.results) == 1 and len(readers) == 1 and _adds(readers[0])


def _adds(operation: Operation) -> bool:
    kind = operation.properties.get("kind")
    return isinstance(kind, StringAttr) and kind.value in ("add", "fork")


def _replace(block_of: Operation, old: Value, new: Value) -> None:
    assert block_of.parent is not None
    for user in block_of.parent.operations:
        user.operands[:] = [new if value is old else value for value in user.operands]


def _early(collective: Operation, count: int) -> None:
    """The first operands of the addition are reduced, its result is not."""
    added = collective.operands[0].owner
    assert isinstance(added, Operation) and added.parent is not None
    for place in range(count):
        new = copy_of(collective, f"_{place}")
        new.operands[:] = [added.operands[place]]
        added.operands[place] = new.results[0]
        added.parent.operations.insert(place_of(added), new)
    _replace(collective, collective.results[0], added.results[0])
    added.results[0].type = collective.results[0].type
    added.parent.operations.remove(collective)


def _late(collective: Operation) -> None:
    """The addition reads the partial sum, and its result is reduced."""
    block = collective.parent
    assert block is not None
    added = next(o for o in block.operations if collective.results[0] in o.operands)
    partial = collective.operands[0]
    _replace(collective, collective.results[0], partial)
    _replace(collective, added.results[0], collective.results[0])
    collective.operands[:] = [added.results[0]]
    added.results[0].type = partial.type
    block.operations.remove(collective)
    block.operations.insert(place_of(added) + 1, collective)


def _scatter(collective: Operation) -> None:
    """Each rank has its part of the sum of a vector."""
    collective.name, collective.declaration = "dist.reduce_scatter", DECLARATIONS["dist.reduce_scatter"]
    type = collective.results[0].type
    assert isinstance(type, TensorType)
    collective.results[0].type = TensorType(type.dims, (("tensor",),), type.element, ())


def _bypass(collective: Operation, place: int) -> None:
    _replace(collective, collective.results[place], collective.operands[place])


def _leave_out(collective: Operation, place: int) -> None:
    _bypass(collective, place)
    del collective.operands[place], collective.results[place]


# --- caches


def caches(operations: list[Operation]) -> Found:
    """Attention that reads the cache as it was, before the append or after it."""
    for index, operation in enumerate(operations):
        states = [v.owner for v in operation.operands if isinstance(v.owner, Operation) and v.owner.name == "dist.state"]
        if operation.name == "dist.compute" and states and operation.results:
            where = name_of(operation)
            yield Corruption("the cache read as it was", where, at(index, lambda o: _stale(o, False)))
            yield Corruption("the cache read before it is written", where, at(index, lambda o: _stale(o, True)))


def _stale(append: Operation, behind: bool) -> None:
    states = [v for v in append.operands if isinstance(v.owner, Operation) and v.owner.name == "dist.state"]
    for new, old in zip(append.results, states, strict=True):
        _replace(append, new, old)
    block = append.parent
    assert block is not None
    if behind:
        readers = [o for o in block.operations if o is not append and any(v in o.operands for v in states)]
        block.operations.remove(append)
        block.operations.insert(place_of(readers[-1]) + 1, append)


# --- plans


def meshes(operations: list[Operation]) -> Found:
    """A plan of another mesh, or under another strategy, which the module has."""
    for index, operation in enumerate(operations):
        if operation.name != "plan.mesh":
            continue
        axes = operation.properties["axes"]
        assert isinstance(axes, ArrayAttr)
        one = ExprAttr(constant(1))
        entries = [entry for entry in axes.values if isinstance(entry, ArrayAttr)]
        for what, said in (
            ("axis renamed", [ArrayAttr((StringAttr("model"), entry.values[1])) for entry in entries]),
            ("axis added", [*entries, ArrayAttr((StringAttr("more"), one))]),
            ("axis dropped", entries[1:]),
            ("axes reordered", entries[::-1]),
            ("one rank", [ArrayAttr((entry.values[0], one)) for entry in entries]),
            ("two ranks", [ArrayAttr((entry.values[0], ExprAttr(constant(2)))) for entry in entries]),
        ):
            if said != entries:
                yield Corruption(f"mesh: {what}", name_of(operation), put(index, "axes", ArrayAttr(tuple(said))))
        for name in [symbol_of(o) for o in operations if o.name == "bind.strategy"]:
            for size in (1, 2):
                change = at(index, lambda o, s=name, n=size: _strategy(o, s, n))
                yield Corruption("plan under a strategy added", f"{name} {size}", change)


def _strategy(mesh: Operation, like: str, tensor: int) -> None:
    """Add a strategy that differs in its degree, and name it."""
    assert mesh.parent is not None
    old = next(o for o in mesh.parent.operations if o.name == "bind.strategy" and symbol_of(o) == like)
    new = copy_of(old, "more")
    fields = old.properties.get("fields")
    said = dict(fields.entries) if isinstance(fields, DictAttr) else {}
    new.properties["fields"] = dictionary({**said, "tensor": ExprAttr(constant(tensor))}.items())
    mesh.parent.operations.insert(place_of(old) + 1, new)
    mesh.properties["strategy"] = SymbolRefAttr((symbol_of(new),))
