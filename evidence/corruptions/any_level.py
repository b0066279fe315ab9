"""Corruptions that a module of any level can have: of its expressions, types, properties, words, lists, references and operations."""

from __future__ import annotations

from collections.abc import Iterator

from corruptions.corruption import Change, Corruption, Found, Maker, at, copy_of, drop, movable, move, name_of, place_of, put

from bpir.dialects.bp import NO_WORK, TensorType, expressions_in, rewrite_attribute
from bpir.ir.attributes import I64, ArrayAttr, Attribute, IntegerAttr, StringAttr, SymbolRefAttr, UnitAttr
from bpir.ir.expressions.expression import Expr, symbol
from bpir.ir.expressions.normal_form import intern
from bpir.ir.operation import Block, Operation, Region
from bpir.ir.property_parts import strings


def change_expression(expr: Expr, names: tuple[str, ...]) -> Iterator[tuple[str, Expr]]:
    """The expression with one thing changed: a coefficient, an exponent, a symbol, a term."""
    yield "constant added", expr + 1
    if expr.denominator is not None or not expr.terms:
        return
    lead = next(iter(sorted(expr.terms, key=lambda m: intern({m: 1}).text)))
    term = intern({lead: expr.terms[lead]})
    single = intern({lead: 1})
    if single.symbols:
        yield "coefficient changed", expr + single
        yield "exponent raised", expr - term + term * symbol(single.symbols[0])
        yield "exponent lowered", expr - term + term / symbol(single.symbols[-1])
    if len(expr.terms) > 1:
        yield "term dropped", expr - term
    yield "sign changed", expr - term * 2
    for old in expr.symbols[:1]:
        others = [n for n in names if n not in expr.symbols]
        if others:
            yield "symbol changed", expr.substitute({old: symbol(others[0])})


def with_expression(attribute: Attribute, index: int, new: Expr) -> Attribute:
    """The attribute with one of its expressions replaced."""
    count = -1

    def rewrite(expr: Expr) -> Expr:
        nonlocal count
        count += 1
        return new if count == index else expr

    return rewrite_attribute(attribute, rewrite)


def symbols_of(operations: list[Operation]) -> tuple[str, ...]:
    """The declared symbols of the module."""
    return tuple(n for o in operations if o.name == "bp.symbols" for n in strings(o.properties.get("symbols")))


def expressions(operations: list[Operation]) -> Found:
    """Change every expression in every property."""
    names = symbols_of(operations)
    for index, operation in enumerate(operations):
        for name, attribute in operation.properties.items():
            for place, expr in enumerate(expressions_in(attribute)):
                for what, new in change_expression(expr, names):
                    where = f"{name_of(operation)} {name} {place}"
                    yield Corruption(f"{name}: {what}", where, put(index, name, with_expression(attribute, place, new)))


def retype(index: int, place: int, argument: bool, new: TensorType) -> Change:
    """Set the type of a result, or of an argument of the first block."""

    def change(operations: list[Operation]) -> None:
        operation = operations[index]
        values = operation.regions[0].blocks[0].arguments if argument else operation.results
        values[place].type = new

    return change


def changed_types(old: TensorType, names: tuple[str, ...]) -> Iterator[tuple[str, TensorType]]:
    """A tensor type with a size, the element, a shard or a partial sum changed."""
    for place, expr in enumerate(expressions_in(old)):
        for what, new in change_expression(expr, names):
            changed = with_expression(old, place, new)
            assert isinstance(changed, TensorType)
            yield f"type: {what}", changed
    yield "type: dimension dropped", TensorType(old.dims[:-1], old.axes[:-1], old.element, old.unreduced)
    yield "type: dimensions reversed", TensorType(old.dims[::-1], old.axes, old.element, old.unreduced)
    used = [axis for axes in old.axes for axis in axes]
    for place, axes in enumerate(old.axes):
        marks = list(old.axes)
        marks[place] = () if axes else ("tensor",)
        if axes or not used:
            yield "type: shard changed", TensorType(old.dims, tuple(marks), old.element, () if not axes else old.unreduced)
    if used:
        yield "type: shard moved", TensorType(old.dims, (*old.axes[1:], old.axes[0]), old.element, old.unreduced)
        yield "type: other axis", TensorType(old.dims, tuple(("data",) if a else () for a in old.axes), old.element, old.unreduced)
    yield "type: partial sum changed", TensorType(old.dims, old.axes, old.element, () if old.unreduced else ("tensor",))


def types(operations: list[Operation]) -> Found:
    """Change the type of every result and argument."""
    names = symbols_of(operations)
    for index, operation in enumerate(operations):
        blocks = [b for r in operation.regions for b in r.blocks[:1]]
        for argument, values in ((False, operation.results), (True, [a for b in blocks for a in b.arguments])):
            for place, value in enumerate(values):
                if isinstance(value.type, TensorType):
                    for what, new in changed_types(value.type, names):
                        what = what.replace("type", "state") if operation.name == "dist.state" else what
                        yield Corruption(what, f"{name_of(operation)} {place}", retype(index, place, argument, new))


def dropped_properties(operations: list[Operation]) -> Found:
    """Leave out a property."""
    for index, operation in enumerate(operations):
        for name in operation.properties:
            yield Corruption("property dropped", f"{name_of(operation)} {name}", put(index, name, None))


def other_kinds(operations: list[Operation]) -> Found:
    """An attribute of another kind in place of a property."""
    for index, operation in enumerate(operations):
        for name in operation.properties:
            if operation.declaration is not None and operation.declaration.syntax is not None:
                for other in (UnitAttr(), NO_WORK):
                    if type(operation.properties[name]) is not type(other):
                        yield Corruption("property of another kind", f"{name_of(operation)} {name}", put(index, name, other))


def words(operations: list[Operation]) -> Found:
    """Change each text to one that another operation has there, and to one that nothing has."""
    seen: dict[tuple[str, str], list[Attribute]] = {}
    for operation in operations:
        for name, attribute in operation.properties.items():
            if isinstance(attribute, StringAttr):
                known = seen.setdefault((operation.name, name), [])
                if attribute not in known:
                    known.append(attribute)
    for index, operation in enumerate(operations):
        for name, attribute in operation.properties.items():
            if isinstance(attribute, StringAttr):
                known = seen[operation.name, name]
                other = known[(known.index(attribute) + 1) % len(known)]
                where = f"{name_of(operation)} {name}"
                if other is not attribute:
                    yield Corruption(f"{name}: another's", where, put(index, name, other))
                yield Corruption(f"{name}: unknown", where, put(index, name, StringAttr(f"{attribute.value}x")))


def _lists_of(operation: Operation) -> Iterator[tuple[str, tuple[Attribute, ...]]]:
    """The properties that are lists of words or references."""
    for name, attribute in operation.properties.items():
        if isinstance(attribute, ArrayAttr) and not any(expressions_in(attribute)):
            yield name, attribute.values


def lists(operations: list[Operation]) -> Found:
    """Drop, add, duplicate, replace and reorder the members of each list of words or references."""
    pools = _members(operations)
    for index, operation in enumerate(operations):
        for name in operation.declaration.optional if operation.declaration else ():
            pool = pools.get((operation.name, name), [])
            if name not in operation.properties and pool:
                yield Corruption(f"{name}: added", name_of(operation), put(index, name, ArrayAttr((pool[0],))))
        for name, values in _lists_of(operation):
            others = [v for v in pools[operation.name, name] if v not in values]
            for what, new in _changed_members(values, others[:1], others[-1:]):
                yield Corruption(f"{name}: {what}", f"{name_of(operation)} {name}", put(index, name, ArrayAttr(new)))


def _members(operations: list[Operation]) -> dict[tuple[str, str], list[Attribute]]:
    """All members of the lists of a property, by the operation's name and the property's."""
    pools: dict[tuple[str, str], list[Attribute]] = {}
    for operation in operations:
        for name, values in _lists_of(operation):
            pool = pools.setdefault((operation.name, name), [])
            pool += [v for v in values if v not in pool]
    return pools


def _changed_members(
    values: tuple[Attribute, ...], first: list[Attribute], last: list[Attribute]
) -> Iterator[tuple[str, tuple[Attribute, ...]]]:
    """Each change of a list, of whose possible further members the first is added and the last put in place of another."""
    for place in range(len(values)):
        yield "member dropped", (*values[:place], *values[place + 1 :])
    for other in last:
        for place in range(len(values)):
            yield "member replaced", (*values[:place], other, *values[place + 1 :])
    for other in first:
        yield "member added", (*values, other)
    if values:
        yield "member duplicated", (*values, values[0])
    if len(set(values)) > 1:
        yield "members reordered", values[::-1]


def references_to(operations: list[Operation]) -> Found:
    """Change each single reference to another symbol of the module."""
    names = [o.properties["sym_name"].text.strip('"') for o in operations if "sym_name" in o.properties]
    for index, operation in enumerate(operations):
        for name, attribute in operation.properties.items():
            if isinstance(attribute, SymbolRefAttr):
                for other in names:
                    if other != attribute.root:
                        yield Corruption(f"{name}: another's", name_of(operation), put(index, name, SymbolRefAttr((other,))))


# --- operations


def _twice(index: int, suffix: str) -> Change:
    """A copy of the operation behind it."""

    def change(ops: list[Operation]) -> None:
        block = ops[index].parent
        assert block is not None
        block.operations.insert(place_of(ops[index]) + 1, copy_of(ops[index], suffix))

    return change


def _split(index: int) -> Change:
    """A copy of the operation behind it, which all readers but the first read."""

    def change(ops: list[Operation]) -> None:
        block = ops[index].parent
        assert block is not None
        new = copy_of(ops[index], "_more")
        block.operations.insert(place_of(ops[index]) + 1, new)
        users = [(u, p) for u in block.operations for p, v in enumerate(u.operands) if v in ops[index].results]
        for user, place in users[1:]:
            user.operands[place] = new.results[user.operands[place].index]

    return change


def moves(operations: list[Operation]) -> Found:
    """Drop, duplicate and move every operation but terminators."""
    for index, operation in enumerate(operations):
        if not movable(operation):
            continue
        block = operation.parent
        assert block is not None
        where = name_of(operation)
        kind = operation.properties.get("kind") if operation.name == "dist.compute" else None
        yield Corruption(f"dropped: {kind or operation.name}", where, lambda ops, i=index: drop(ops[i]))
        yield Corruption("operation duplicated", where, _twice(index, "_more"))
        yield Corruption("operation duplicated by name", where, _twice(index, ""))
        if sum(v in operation.results for o in block.operations for v in o.operands) > 1:
            yield Corruption("operation split between readers", where, _split(index))
        for what, to in _other_places(operation, block):
            yield Corruption(f"operation moved {what}", where, lambda ops, i=index, to=to: move(ops[i], to))


def _other_places(operation: Operation, block: Block) -> Iterator[tuple[str, int]]:
    here, last = place_of(operation), len(block.operations) - 1
    if here < last:
        yield "down", here + 1
    yield "to the front", 0
    made = [place_of(v.owner) for v in operation.operands if isinstance(v.owner, Operation) and v.owner.parent is block]
    first = max(made, default=-1) + 1
    if operation.operands and first < here:
        yield "to its operands", first
    used = [i for i, o in enumerate(block.operations) if any(v in operation.results for v in o.operands)]
    reader = min(used, default=last) - 1
    if operation.results and reader > here:
        yield "to its first reader", reader


def exchanges(operations: list[Operation]) -> Found:
    """Exchange a property, or the place, of two operations of one kind: each with the next, and with one further away."""

    def exchange(first: int, second: int, name: str) -> Change:
        def change(ops: list[Operation]) -> None:
            one, other = ops[first].properties, ops[second].properties
            old, new = one.pop(name, None), other.pop(name, None)
            if new is not None:
                one[name] = new
            if old is not None:
                other[name] = old

        return change

    def exchange_places(first: int, second: int) -> Change:
        def change(ops: list[Operation]) -> None:
            block = ops[first].parent
            assert block is not None and ops[second].parent is block
            one, other = place_of(ops[first]), place_of(ops[second])
            block.operations[one], block.operations[other] = ops[second], ops[first]

        return change

    by_kind: dict[tuple[str, Block | None], list[int]] = {}
    for index, operation in enumerate(operations):
        by_kind.setdefault((operation.name, operation.parent), []).append(index)
    for members in by_kind.values():
        for distance in (1, 7):
            for first, second in zip(members, members[distance:], strict=False):
                one, other = operations[first], operations[second]
                where = f"{name_of(one)}, {name_of(other)}"
                for name in sorted({*one.properties, *other.properties}):
                    if one.properties.get(name) is not other.properties.get(name):
                        yield Corruption(f"{name}: exchanged", where, exchange(first, second, name))
                if movable(one) and movable(other):
                    yield Corruption("operations exchanged", where, exchange_places(first, second))


def misplaced(operations: list[Operation]) -> Found:
    """Put a copy of an operation, or the operation, into the region of one that no level knows."""

    def held(operation: Operation, moved: bool) -> None:
        block = operation.parent
        assert block is not None
        inner = Block()
        inner.operations.append(operation if moved else copy_of(operation, "_more"))
        holder = Operation("test.holder", regions=[Region([inner])], span=operation.span)
        place = place_of(operation)
        block.operations[place : place + moved] = [holder]

    for index, operation in enumerate(operations):
        if movable(operation):
            dialect, where = operation.name.partition(".")[0], name_of(operation)
            yield Corruption(f"copied into another region: {dialect}", where, at(index, lambda o: held(o, False)))
            yield Corruption(f"moved into another region: {dialect}", where, at(index, lambda o: held(o, True)))


def numbers(operations: list[Operation]) -> Found:
    """Change each integer."""
    for index, operation in enumerate(operations):
        for name, attribute in operation.properties.items():
            if isinstance(attribute, IntegerAttr):
                for what, new in (("one more", attribute.value + 1), ("negative", -1), ("zero", 0)):
                    if new != attribute.value:
                        yield Corruption(f"{name}: {what}", f"{name_of(operation)}", put(index, name, IntegerAttr(new, I64)))


def extras(operations: list[Operation]) -> Found:
    """Add properties that an operation of another kind has, and attributes that anything may have."""
    levels = ("dist", "plan")
    donors: dict[str, Attribute] = {}
    for operation in operations:
        if operation.name.partition(".")[0] in levels:
            for name, attribute in operation.properties.items():
                donors.setdefault(name, attribute)
    donors.update(effects=ArrayAttr((StringAttr("write"),)), transposed=UnitAttr(), extra=StringAttr("x"))
    for index, operation in enumerate(operations):
        where = name_of(operation)
        for name, attribute in donors.items() if operation.name.partition(".")[0] in levels else ():
            if name not in operation.properties and name != "sym_name":
                known = operation.declaration is not None and name in (*operation.declaration.required, *operation.declaration.optional)
                kind = f"{name}: added" if known else "property that it does not have"
                yield Corruption(kind, f"{where} {name}", put(index, name, attribute))
        dialect = operation.name.partition(".")[0]
        for word in ("note", "device", "latency") if dialect not in ("bp", "bind", "builtin") else ():
            change = at(index, lambda o, w=word: o.attributes.update({w: StringAttr("1")}))
            yield Corruption(f"attribute '{word}' added: {dialect}", where, change)


GENERAL: tuple[Maker, ...] = (
    expressions, types, dropped_properties, other_kinds, words, lists, references_to, numbers, moves, exchanges, misplaced, extras,
)  # fmt: skip
"""Corruptions that any module can have."""
