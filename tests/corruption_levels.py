"""Corruptions that only a distributed module, or only a plan, can have; and those of what a module is derived under."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

from corruption import GENERAL, Change, Corruption, Found, copy_of, declared_as, drop, move, name_of, place_of, put

from bpir.dialects.bp import NO_WORK, ExprAttr, RelationAttr, TensorType, relations_attribute
from bpir.dialects.dist.facts import Activations, LayerMemory
from bpir.dialects.plan import expr_of, live_of, names_of, symbol_of, text_of
from bpir.ir.attributes import I64, ArrayAttr, Attribute, DictAttr, IntegerAttr, StringAttr, SymbolRefAttr
from bpir.ir.declaration import DECLARATIONS
from bpir.ir.expression import ONE, ZERO, constant, symbol
from bpir.ir.operation import Operation, Value
from bpir.ir.relations import Relation
from bpir.verifiers.levels import level_of

COLLECTIVES = ("dist.all_reduce", "dist.all_gather", "dist.reduce_scatter")
PHASES = ("forward", "recompute", "recommunication", "activation_gradient", "weight_gradient", "optimizer", "prefill", "decode")


def corruptions(module: Operation) -> Iterator[Corruption]:
    """Every corruption of a module, in a fixed order."""
    operations = list(module.walk())
    own = {
        "dist": (operands, phases, collectives, arguments, memory),
        "plan": (uses, tasks, buffers, groups, facts),
        "concrete": (),
    }
    for maker in (*GENERAL, inputs, *own[level_of(module)]):
        yield from maker(operations)


def _at(index: int, act: Callable[[Operation], None]) -> Change:
    return lambda operations: act(operations[index])


# --- what the derivation is given


def inputs(operations: list[Operation]) -> Found:
    """Change a field of a binding, a relation or a number; add an assumption."""
    for index, operation in enumerate(operations):
        if operation.name.startswith("bind."):
            fields = operation.properties.get("fields")
            if isinstance(fields, DictAttr):
                for place, (name, _) in enumerate(fields.entries):
                    kept = (*fields.entries[:place], *fields.entries[place + 1 :])
                    yield Corruption("field dropped", f"{name_of(operation)} {name}", put(index, "fields", DictAttr(kept)))
        if operation.name in ("bp.symbols", "bp.assume"):
            relations = operation.properties.get("relations")
            if isinstance(relations, ArrayAttr):
                yield from _relations(index, operation, relations)
    module = operations[0]

    def assume(relation: Relation) -> Change:
        def change(ops: list[Operation]) -> None:
            new = Operation("bp.assume", declaration=DECLARATIONS["bp.assume"], span=module.span)
            new.properties["relations"] = relations_attribute([relation])
            ops[0].body.insert(1, new)

        return change

    for relation in (
        Relation("greater", symbol("H"), ONE),
        Relation("divides", symbol("S"), symbol("H")),
        Relation("equal", symbol("F"), symbol("H")),
    ):
        yield Corruption("assumption added", relation.text, assume(relation))


def _relations(index: int, operation: Operation, relations: ArrayAttr) -> Found:
    for place, relation in enumerate(relations.values):
        assert isinstance(relation, RelationAttr)
        where = f"{operation.name} {relation.text}"
        kept = (*relations.values[:place], *relations.values[place + 1 :])
        yield Corruption("relation dropped", where, put(index, "relations", ArrayAttr(kept) if kept else None))
        swapped = (*kept, RelationAttr(relation.kind, relation.right, relation.left))
        yield Corruption("relation turned round", where, put(index, "relations", ArrayAttr(swapped)))


# --- distributed modules


def _seen_before(operation: Operation) -> list[Value]:
    block = operation.parent
    assert block is not None
    return [*block.arguments, *(v for o in block.operations[: place_of(operation)] for v in o.results)]


def operands(operations: list[Operation]) -> Found:
    """Read another value of the same type, or of any; read too few or too many; exchange what is read."""

    def read(index: int, place: int, owner: int, which: int) -> Change:
        def change(ops: list[Operation]) -> None:
            block = ops[index].parent
            assert block is not None
            ops[index].operands[place] = (block.arguments if owner < 0 else block.operations[owner].results)[which]

        return change

    for index, operation in enumerate(operations):
        if operation.parent is None or not operation.operands:
            continue
        where = name_of(operation)
        visible = _seen_before(operation)
        for place, value in enumerate(operation.operands):
            same = [v for v in visible if v.type is value.type and v is not value]
            names = [v for v in same if v.name and value.name and v.name.split("_")[0] == value.name.split("_")[0]]
            picks = [("operand of the same type", v) for v in (same[:1] + same[-1:])]
            picks += [("operand of the same type and name", v) for v in names]
            picks += [("operand of any type", v) for v in [v for v in visible if v.type is not value.type][-1:]]
            for what, other in picks:
                owner = place_of(other.owner) if isinstance(other.owner, Operation) else -1
                yield Corruption(what, f"{where} {place}", read(index, place, owner, other.index))
            yield Corruption("operand dropped", f"{where} {place}", _at(index, lambda o, p=place: o.operands.pop(p) and None))
        yield Corruption("operand added", where, _at(index, lambda o: o.operands.append(o.operands[0])))
        if len({*operation.operands}) > 1:
            yield Corruption("operands exchanged", where, _at(index, lambda o: o.operands.reverse()))
    for index, operation in enumerate(operations):
        if operation.parent is None or not operation.name.startswith("dist."):
            continue
        if operation.results:
            yield Corruption("result dropped", name_of(operation), _at(index, lambda o: o.results.pop() and None))
        kind = operation.results[0].type if operation.results else next((v.type for v in operation.operands), None)
        if kind is not None and operation.name == "dist.compute":
            yield Corruption("result added", name_of(operation), _at(index, lambda o, t=kind: o.results.append(Value(t))))
        if operation.name == "dist.memory":
            last = len(operation.parent.arguments) - 1
            yield Corruption("keeps a value more", name_of(operation), _at(index, lambda o, a=last: _keep(o, a)))


def _keep(operation: Operation, argument: int) -> None:
    assert operation.parent is not None
    operation.operands.append(operation.parent.arguments[argument])


def phases(operations: list[Operation]) -> Found:
    """Say that a task is of another phase, name included; and add such a task beside it."""

    def say(operation: Operation, phase: str) -> None:
        old = operation.properties["phase"]
        task = operation.properties["task"]
        assert isinstance(old, StringAttr) and isinstance(task, StringAttr)
        operation.properties["phase"] = StringAttr(phase)
        operation.properties["task"] = StringAttr(f"{task.value.removesuffix('.' + old.value)}.{phase}")

    def beside(operation: Operation, phase: str) -> None:
        new = copy_of(operation, "")
        say(new, phase)
        block = operation.parent
        assert block is not None
        later = PHASES[PHASES.index(phase) + 1 :] if phase in PHASES[:-2] else ()
        stops = [i for i, o in enumerate(block.operations) if text_of(o, "phase") in later or o.name in ("dist.memory", "dist.return")]
        made = [place_of(v.owner) for v in operation.operands if isinstance(v.owner, Operation)]
        block.operations.insert(max([min(stops), *(m + 1 for m in made)]), new)

    for index, operation in enumerate(operations):
        if not isinstance(operation.properties.get("phase"), StringAttr) or "task" not in operation.properties:
            continue
        for phase in PHASES:
            where = f"{name_of(operation)} {phase}"
            yield Corruption(f"phase and name: {phase}", where, _at(index, lambda o, p=phase: say(o, p)))
            yield Corruption(f"task added: {phase}", where, _at(index, lambda o, p=phase: beside(o, p)))


def collectives(operations: list[Operation]) -> Found:
    """Make a collective another one; remove it; put one more where there is none."""
    for index, operation in enumerate(operations):
        if operation.name not in COLLECTIVES:
            continue
        where = name_of(operation)
        for other in COLLECTIVES:
            if other != operation.name:
                yield Corruption("another collective", where, _at(index, lambda o, n=other: _become(o, n)))
        yield Corruption("collective folded into its operand", where, _at(index, _fold))
        yield Corruption("collective repeated on its result", where, _at(index, _again))


def _become(operation: Operation, name: str) -> None:
    declared_as(operation, name)
    operand, result = operation.operands[0].type, operation.results[0].type
    assert isinstance(operand, TensorType) and isinstance(result, TensorType)
    none = ArrayAttr(())
    token = ArrayAttr((StringAttr("tensor"),))
    operation.properties.pop("reduction", None)
    if name == "dist.all_reduce":
        operation.properties.update(reduction=StringAttr("sum"), axes=ArrayAttr((token,)))
    else:
        if name == "dist.reduce_scatter":
            operation.properties["reduction"] = StringAttr("sum")
        operation.properties["axes"] = ArrayAttr((none, token, *[none] * (len(operand.dims) - 2)))
    declaration = operation.declaration
    found = declaration.result(operand, operation)  # type: ignore[union-attr]
    operation.results[0].type = found or result


def _fold(operation: Operation) -> None:
    """No collective: its operand has the type of its result."""
    value = operation.operands[0]
    value.type = operation.results[0].type
    drop(operation)


def _again(operation: Operation) -> None:
    new = copy_of(operation, "_more")
    assert operation.parent is not None
    place = place_of(operation)
    for user in operation.parent.operations:
        user.operands = [new.results[0] if v is operation.results[0] else v for v in user.operands]
    new.operands = [operation.results[0]]
    operation.parent.operations.insert(place + 1, new)


def arguments(operations: list[Operation]) -> Found:
    """Add, drop and exchange arguments of a block; add a state, a mesh, a second block."""

    def another(block: Operation) -> None:
        assert block.parent is not None
        block.parent.operations.append(copy_of(block, "more"))

    for index, operation in enumerate(operations):
        if operation.name == "dist.block":
            yield Corruption("block distributed twice", name_of(operation), _at(index, another))
            where = name_of(operation)
            yield Corruption("argument added", where, _at(index, lambda o: _arguments(o).append(Value(_arguments(o)[0].type))))
            yield Corruption("argument dropped", where, _at(index, lambda o: _arguments(o).pop() and None))
            if len(_arguments(operation)) > 1:
                yield Corruption("arguments exchanged", where, _at(index, lambda o: _arguments(o).reverse()))
            for place in range(0, len(operation.body), 5):
                yield Corruption("state added", f"{where} {place}", _at(index, lambda o, p=place: _state(o, p)))
        if operation.name == "dist.mesh":
            yield Corruption("mesh added", name_of(operation), _at(index, _mesh))


def _arguments(operation: Operation) -> list[Value]:
    return operation.regions[0].blocks[0].arguments


def _state(block: Operation, place: int) -> None:
    new = Operation("dist.state", results=[Value(_arguments(block)[0].type)], declaration=DECLARATIONS["dist.state"], span=block.span)
    layers = [o.properties["source"] for o in block.body if "source" in o.properties]
    new.properties.update(task=StringAttr("more.state"), source=layers[0])
    block.body.insert(place, new)


def _mesh(mesh: Operation) -> None:
    assert mesh.parent is not None
    mesh.parent.operations.insert(place_of(mesh), copy_of(mesh, "more"))


def memory(operations: list[Operation]) -> Found:
    """Facts of no layer."""
    for index, operation in enumerate(operations):
        if operation.name == "dist.memory":
            yield Corruption("facts added", name_of(operation), _at(index, lambda o: _fact(o, False)))
            yield Corruption("facts of nothing added", name_of(operation), _at(index, lambda o: _fact(o, True)))


def _fact(operation: Operation, empty: bool) -> None:
    new = copy_of(operation, "")
    new.properties["layer"] = StringAttr("attention.more")
    facts = new.properties["facts"]
    if empty:
        new.operands = []
        new.properties["facts"] = facts.rewritten(lambda e: ZERO)  # type: ignore[attr-defined]
    assert operation.parent is not None
    operation.parent.operations.insert(place_of(operation), new)


# --- plans


def consistent(change: Change) -> Change:
    """The change, and then users and lifetimes of buffers as the tasks say them: what a careful forger would do."""

    def both(ops: list[Operation]) -> None:
        module = ops[0]
        change(ops)
        found = [o for o in module.body if o.name == "plan.task"]
        for buffer in module.body:
            if buffer.name != "plan.buffer":
                continue
            at = []
            for field, users in (("reads", "consumers"), ("writes", "producers")):
                names = [symbol_of(o) for o in found if symbol_of(buffer) in names_of(o, field)]
                at += [i for i, o in enumerate(found) if symbol_of(buffer) in names_of(o, field)]
                if symbol_of(buffer) != "workspace":
                    buffer.properties.pop(users, None)
                    if names:
                        buffer.properties[users] = references(names)
            if at:
                live = ArrayAttr((IntegerAttr(min(at), I64), IntegerAttr(max(at), I64)))
                buffer.properties["live"] = live

    return both


def references(names: list[str]) -> ArrayAttr:
    return ArrayAttr(tuple(SymbolRefAttr((n,)) for n in names))


def uses(operations: list[Operation]) -> Found:
    """A task that reads or writes another buffer, with buffers that agree; a buffer that two values share."""
    buffers = [o for o in operations if o.name == "plan.buffer"]
    for index, operation in enumerate(operations):
        if operation.name != "plan.task":
            continue
        for field in ("reads", "writes"):
            names = list(names_of(operation, field))
            other = next(symbol_of(b) for b in buffers[index % len(buffers) :] + buffers if symbol_of(b) not in names)
            where = f"{name_of(operation)} {field}"
            for place in range(len(names)):
                left = names[:place] + names[place + 1 :]
                yield Corruption(f"{field} less, consistently", where, consistent(put(index, field, references(left) if left else None)))
                new = references([*names[:place], other, *names[place + 1 :]])
                yield Corruption(f"{field} another, consistently", where, consistent(put(index, field, new)))
            yield Corruption(f"{field} more, consistently", where, consistent(put(index, field, references([*names, other]))))

    def share(first: str, second: str) -> Change:
        def change(ops: list[Operation]) -> None:
            for task in ops:
                if task.name == "plan.task":
                    for field in ("reads", "writes"):
                        names = [first if n == second else n for n in names_of(task, field)]
                        if names:
                            task.properties[field] = references(list(dict.fromkeys(names)))
            module = ops[0]
            module.body[:] = [o for o in module.body if o.name != "plan.buffer" or symbol_of(o) != second]

        return change

    for one, other in itertools.pairwise(buffers):
        where = f"{name_of(one)}, {name_of(other)}"
        yield Corruption("two values in one buffer", where, consistent(share(symbol_of(one), symbol_of(other))))


def tasks(operations: list[Operation]) -> Found:
    """Drop, add and move tasks, with dependencies and buffers that agree."""

    def without(index: int) -> Change:
        def change(ops: list[Operation]) -> None:
            gone = ops[index]
            name, after = symbol_of(gone), list(names_of(gone, "after"))
            for other in ops:
                for field in ("after", "tasks"):
                    names = list(names_of(other, field))
                    if name in names:
                        at = names.index(name)
                        new = list(dict.fromkeys(names[:at] + (after if field == "after" else []) + names[at + 1 :]))
                        other.properties.pop(field)
                        if new:
                            other.properties[field] = references(new)
            ops[0].body.remove(gone)

        return change

    def more(index: int, idle: bool) -> Change:
        def change(ops: list[Operation]) -> None:
            new = copy_of(ops[index], "_more")
            if idle:
                new.properties["work"] = NO_WORK
            ops[0].body.insert(place_of(ops[index]) + 1, new)

        return change

    def nowhere(ops: list[Operation]) -> None:
        new = Operation("plan.task", declaration=DECLARATIONS["plan.task"], span=ops[0].span)
        new.properties.update(sym_name=StringAttr("sync"), kind=StringAttr("barrier"), operation=StringAttr("wait"), work=NO_WORK)
        ops[0].body.append(new)

    yield Corruption("barrier from nowhere", "at the end", consistent(nowhere))
    module = operations[0]
    at = {symbol_of(o): place_of(o) for o in operations if o.name == "plan.task"}
    for index, operation in enumerate(operations):
        if operation.name != "plan.task":
            continue
        where, here = name_of(operation), place_of(operation)
        yield Corruption("task dropped, consistently", where, consistent(without(index)))
        yield Corruption("task added, consistently", where, consistent(more(index, False)))
        yield Corruption("task without work added, consistently", where, consistent(more(index, True)))
        first = max((at[n] for n in names_of(operation, "after")), default=min(at.values()) - 1) + 1
        if first < here:
            yield Corruption("task moved up, consistently", where, consistent(_at(index, lambda o, to=first: move(o, to))))
        users = [i for i, o in enumerate(module.body) if o.name == "plan.task" and symbol_of(operation) in names_of(o, "after")]
        last = min(users, default=max(at.values()) + 1) - 1
        if last > here:
            yield Corruption("task moved down, consistently", where, consistent(_at(index, lambda o, to=last: move(o, to))))


def buffers(operations: list[Operation]) -> Found:
    """Sizes, lifetimes and alignments that are less or more; a buffer more."""
    last = sum(o.name == "plan.task" for o in operations) - 1

    def live(first: int, end: int) -> Attribute:
        return ArrayAttr((IntegerAttr(first, I64), IntegerAttr(end, I64)))

    for index, operation in enumerate(operations):
        if operation.name != "plan.buffer":
            continue
        where = name_of(operation)
        size = operation.properties["size"]
        assert isinstance(size, ExprAttr)
        for what, new in (
            ("smaller", size.expr - 1),
            ("fractional", size.expr + constant(1) / 2),
            ("twice as large", size.expr * 2),
            ("zero", ZERO),
        ):
            yield Corruption(f"size: {what}", where, put(index, "size", ExprAttr(new)))
        first, end = live_of(operation)
        yield Corruption("live: longer", where, put(index, "live", live(0, last)))
        yield Corruption("live: beyond the end", where, put(index, "live", live(first, last + 1)))
        yield Corruption("live: starts later", where, put(index, "live", live(first + 1, end)))
        yield Corruption("live: ends earlier", where, put(index, "live", live(first, end - 1)))
        for what, number in (("twice", 512), ("less", 1), ("no power of two", 24)):
            yield Corruption(f"alignment: {what}", where, put(index, "alignment", IntegerAttr(number, I64)))
        yield Corruption("buffer added", where, _at(index, _more_buffer))


def _more_buffer(operation: Operation) -> None:
    new = copy_of(operation, "more")
    for field in ("producers", "consumers"):
        new.properties.pop(field, None)
    operation.parent.operations.insert(place_of(operation) + 1, new)  # type: ignore[union-attr]


def groups(operations: list[Operation]) -> Found:
    """Tasks that are said to run at once."""
    names = [symbol_of(o) for o in operations if o.name == "plan.task"]

    def group(*members: str) -> Change:
        def change(ops: list[Operation]) -> None:
            new = Operation("plan.concurrent", declaration=DECLARATIONS["plan.concurrent"], span=ops[0].span)
            new.properties.update(sym_name=StringAttr("group.more"), tasks=references(list(members)))
            ops[0].body.append(new)

        return change

    for first, second in itertools.pairwise(names):
        yield Corruption("group added", f"{first}, {second}", group(first, second))
    for first, second in zip(names, names[len(names) // 2 :], strict=False):
        yield Corruption("group added", f"{first}, {second}", group(first, second))
    for name in names:
        if name.endswith("optimizer"):
            gradient = name.replace("optimizer", "activation_gradient")
            if gradient in names:
                yield Corruption("group that races", name, group(gradient, name))


def facts(operations: list[Operation]) -> Found:
    """Memory facts that no distribution found: of nothing, and of what a task really has."""

    def invented(name: str, layer: str, said: LayerMemory | Activations) -> Change:
        def change(ops: list[Operation]) -> None:
            new = Operation(name, declaration=DECLARATIONS[name], span=ops[0].span)
            new.properties.update(layer=StringAttr(layer), facts=said)
            ops[0].body.append(new)

        return change

    none = [ZERO] * len(LayerMemory.names())
    yield Corruption("facts of nothing invented", "more", invented("plan.memory", "more", LayerMemory(*none)))
    yield Corruption("activations invented", "more", invented("plan.activations", "more", Activations(ZERO, ZERO, ZERO)))
    known = {text_of(o, "layer") for o in operations if "facts" in o.properties}
    for operation in operations:
        layer = text_of(operation, "source").rpartition(".")[0]
        if operation.name == "plan.buffer" and text_of(operation, "role") == "constant" and layer not in known:
            said = LayerMemory(expr_of(operation, "size"), *none[1:])
            yield Corruption("facts of weights invented", layer, invented("plan.memory", layer, said))
