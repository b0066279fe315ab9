"""Corruptions that only a portable plan can have."""

from __future__ import annotations

import itertools

from corruptions.corruption import Change, Corruption, Found, at, copy_of, move, name_of, place_of, put
from raw import expr_of, live_of, names_of, symbol_of, text_of

from bpir.dialects.bp import NO_WORK, ExprAttr
from bpir.dialects.dist.facts import Activations, LayerMemory
from bpir.dialects.plan import TASK_KINDS
from bpir.ir.attributes import I64, ArrayAttr, Attribute, IntegerAttr, StringAttr, SymbolRefAttr
from bpir.ir.declaration import DECLARATIONS
from bpir.ir.expressions.expression import ZERO, constant
from bpir.ir.operation import Operation


def planned(operations: list[Operation]) -> Found:
    """Every corruption that a portable plan alone can have."""
    for maker in (uses, tasks, buffers, groups, facts):
        yield from maker(operations)


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
    places = {symbol_of(o): place_of(o) for o in operations if o.name == "plan.task"}
    for index, operation in enumerate(operations):
        if operation.name != "plan.task":
            continue
        where, here = name_of(operation), place_of(operation)
        for kind in TASK_KINDS:
            if kind != text_of(operation, "kind"):
                yield Corruption(f"another kind of task: {kind}", where, put(index, "kind", StringAttr(kind)))
        for ranks in ((0, 1), (1, 1), (2,)):
            numbers = ArrayAttr(tuple(IntegerAttr(rank, I64) for rank in ranks))
            yield Corruption("ranks of no transfer", where, put(index, "ranks", numbers))
        yield Corruption("task dropped, consistently", where, consistent(without(index)))
        yield Corruption("task added, consistently", where, consistent(more(index, False)))
        yield Corruption("task without work added, consistently", where, consistent(more(index, True)))
        first = max((places[n] for n in names_of(operation, "after")), default=min(places.values()) - 1) + 1
        if first < here:
            yield Corruption("task moved up, consistently", where, consistent(at(index, lambda o, to=first: move(o, to))))
        users = [i for i, o in enumerate(module.body) if o.name == "plan.task" and symbol_of(operation) in names_of(o, "after")]
        last = min(users, default=max(places.values()) + 1) - 1
        if last > here:
            yield Corruption("task moved down, consistently", where, consistent(at(index, lambda o, to=last: move(o, to))))


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
        for what, number in (("twice", 512), ("half", 128), ("less", 1), ("no power of two", 24)):
            yield Corruption(f"alignment: {what}", where, put(index, "alignment", IntegerAttr(number, I64)))
        yield Corruption("buffer added", where, at(index, _more_buffer))


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
