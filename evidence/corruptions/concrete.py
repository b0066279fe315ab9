"""Corruptions that only a concrete plan can have. Most are those of a careful forger: what follows from a change is changed with it.

What the forger rebuilds (offsets, queues and slots, fingerprints) follows the contract, so that the rule that ought to notice is alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from corruptions.corruption import Change, Corruption, Found, at, copy_of, declared_as, move, name_of, place_of, put
from raw import devices_of, expr_of, fields_of, is_command, kind_of, names_of, number_of, reference_of, symbol_of, text_of

from bpir.dialects.bp import ExprAttr
from bpir.dialects.concrete.contract import fingerprint, offsets, rounded_up
from bpir.dialects.concrete.extension import extension_of
from bpir.ir.attributes import I64, ArrayAttr, DictAttr, IntegerAttr, StringAttr, SymbolRefAttr
from bpir.ir.expressions.expression import Expr, constant, symbol
from bpir.ir.operation import Operation


def concrete(operations: list[Operation]) -> Found:
    """Every corruption that a concrete plan alone can have."""
    for maker in (commands, order, layout, transfers, machine, issue):
        yield from maker(operations)


def consistent(change: Change, identity: bool = False) -> Change:
    """The change, and then queues or slots as the commands say; with `identity` also the fingerprints of target and deployment."""

    def both(ops: list[Operation]) -> None:
        change(ops)
        module = ops[0]
        named = {symbol_of(o): o for o in module.body if symbol_of(o)}
        plan = next(o for o in module.body if o.name == "concrete.plan")
        target = named[reference_of(plan, "target")]
        extension = extension_of(text_of(target, "kind"))
        if extension is not None:
            own = [o for o in module.body if o.name.partition(".")[0] == extension.kind]
            module.body[:] = [o for o in module.body if o not in own]
            module.body.extend(extension.operations([o for o in module.body if is_command(o)]))
        if identity:
            plan.properties["target_fingerprint"] = StringAttr(fingerprint(target))
            plan.properties["deployment_fingerprint"] = StringAttr(fingerprint(named[reference_of(plan, "deployment")]))

    return both


def commands(operations: list[Operation]) -> Found:
    """Commands more, fewer and others; dependencies and buffers that are not the task's."""
    known = [o for o in operations if is_command(o)]
    buffers = [symbol_of(o) for o in operations if o.name == "concrete.buffer"]
    for index, operation in enumerate(operations):
        if not is_command(operation):
            continue
        where = name_of(operation)
        yield Corruption("command from nowhere", where, consistent(at(index, lambda o: _another(o, "more"))))
        yield Corruption("command bound twice", where, consistent(at(index, lambda o: _another(o, text_of(o, "source")))))
        yield Corruption("command dropped, consistently", where, consistent(at(index, _without)))
        for kind in ("launch", "host_call", "collective"):
            if "implementation" in operation.properties and kind_of(operation) != kind:
                yield Corruption("another kind of command", where, consistent(at(index, lambda o, k=kind: declared_as(o, f"concrete.{k}"))))
        for what, names in _dependencies(operation, known):
            yield Corruption(f"after {what}, consistently", where, consistent(put(index, "after", references(names) if names else None)))
        for what, field, names in _uses(operation, buffers):
            yield Corruption(f"{field} {what}", where, put(index, field, references(names)))


def _dependencies(command: Operation, known: list[Operation]) -> Iterator[tuple[str, list[str]]]:
    """One dependency more, or one less."""
    needed = names_of(command, "after")
    for other in [o for o in known[: known.index(command)] if symbol_of(o) not in needed][-1:]:
        yield "more", [*needed, symbol_of(other)]
    for name in needed:
        yield "less", [n for n in needed if n != name]


def _uses(command: Operation, buffers: list[str]) -> Iterator[tuple[str, str, list[str]]]:
    """One buffer more, or another one in place of one."""
    for field in ("reads", "writes"):
        used = names_of(command, field)
        other = next(n for n in buffers if n not in used)
        yield "more", field, [*used, other]
        if used:
            yield "another", field, [*used[1:], other]


def _another(command: Operation, source: str) -> None:
    new = copy_of(command, "_more")
    new.properties["source"] = StringAttr(source)
    assert command.parent is not None
    command.parent.operations.insert(place_of(command) + 1, new)


def _without(command: Operation) -> None:
    """Remove a command; commands that needed it need what it needed."""
    block = command.parent
    assert block is not None
    name, needed = symbol_of(command), names_of(command, "after")
    for other in block.operations:
        names = list(names_of(other, "after"))
        if name in names:
            left = list(dict.fromkeys([*(n for n in names if n != name), *needed]))
            other.properties.pop("after")
            if left:
                other.properties["after"] = references(left)
    block.operations.remove(command)


def references(names: list[str]) -> ArrayAttr:
    return ArrayAttr(tuple(SymbolRefAttr((n,)) for n in names))


def order(operations: list[Operation]) -> Found:
    """Commands in another order that their dependencies leave open: that is no error."""
    place = {symbol_of(o): place_of(o) for o in operations if is_command(o)}
    users: dict[str, list[int]] = {name: [] for name in place}
    for operation in operations:
        for name in names_of(operation, "after") if is_command(operation) else ():
            users[name].append(place[symbol_of(operation)])
    for index, operation in enumerate(operations):
        if not is_command(operation):
            continue
        where, here = name_of(operation), place_of(operation)
        first = max((place[n] for n in names_of(operation, "after")), default=min(place.values()) - 1) + 1
        if first < here:
            yield Corruption("command moved up, consistently", where, consistent(at(index, lambda o, to=first: move(o, to))))
        last = min(users[symbol_of(operation)], default=max(place.values()) + 1) - 1
        if last > here:
            yield Corruption("command moved down, consistently", where, consistent(at(index, lambda o, to=last: move(o, to))))


# --- buffers


def again(ops: list[Operation]) -> None:
    """Offsets as the contract gives them for the sizes and alignments that are said."""
    held = [o for o in ops[0].body if o.name == "concrete.buffer"]
    places = offsets([expr_of(o, "size") for o in held], [number_of(o, "alignment") for o in held])
    for buffer, offset in zip(held, places, strict=True):
        buffer.properties["offset"] = ExprAttr(offset)


def layout(operations: list[Operation]) -> Found:
    """Sizes, alignments and offsets that are others, with offsets of all that follows that agree; buffers more and fewer."""

    def resized(change: Callable[[Expr], Expr]) -> Callable[[Operation], None]:
        def resize(buffer: Operation) -> None:
            buffer.properties["size"] = ExprAttr(change(expr_of(buffer, "size")))

        return resize

    def then(act: Callable[[Operation], None], index: int) -> Change:
        def change(ops: list[Operation]) -> None:
            act(ops[index])
            again(ops)

        return change

    buffers = [o for o in operations if o.name == "concrete.buffer"]
    for index, operation in enumerate(operations):
        if operation.name != "concrete.buffer":
            continue
        where, alignment = name_of(operation), number_of(operation, "alignment")
        for what, new in (
            ("smaller", lambda size: size - 1),
            ("half", lambda size: size / 2),
            ("zero", lambda size: constant(0)),
            ("twice", lambda size: size * 2),
        ):
            yield Corruption(f"size {what}, then laid out again", where, then(resized(new), index))
        for what, number in (("twice", alignment * 2), ("half", alignment // 2), ("one byte", 1), ("no power of two", 48)):
            said = IntegerAttr(number, I64)
            yield Corruption(f"alignment {what}", where, put(index, "alignment", said))
            yield Corruption(f"alignment {what}, then laid out again", where, then(_aligned(said), index))
        for what, bytes_more in (("an alignment", alignment), ("a byte", 1)):
            yield Corruption(f"offset: {what} more, with all that follow", where, at(index, lambda o, n=bytes_more: _shifted(o, n)))
        if operation is buffers[-1]:
            yield Corruption("offset: last, a byte more", where, at(index, lambda o: _offset(o, expr_of(o, "offset") + 1)))
        yield Corruption("buffer from nowhere", where, then(lambda o: _more(o, "more"), index))
        yield Corruption("buffer bound twice", where, then(lambda o: _more(o, text_of(o, "source")), index))
        yield Corruption("buffer in a region of its own", where, at(index, _region))
        if operation is not buffers[0]:
            before = buffers[buffers.index(operation) - 1]
            to = place_of(before)
            yield Corruption("buffers in another order, laid out", where, then(lambda o, t=to: move(o, t), index))


def _aligned(number: IntegerAttr) -> Callable[[Operation], None]:
    return lambda buffer: buffer.properties.update(alignment=number)


def _offset(buffer: Operation, offset: Expr) -> None:
    buffer.properties["offset"] = ExprAttr(offset)


def _shifted(buffer: Operation, more: int) -> None:
    assert buffer.parent is not None
    for other in buffer.parent.operations[place_of(buffer) :]:
        if other.name == "concrete.buffer":
            _offset(other, expr_of(other, "offset") + more)


def _more(buffer: Operation, source: str) -> None:
    """A buffer behind the last one, where it disturbs none."""
    new = copy_of(buffer, "_more")
    new.properties["source"] = StringAttr(source)
    assert buffer.parent is not None
    held = [o for o in buffer.parent.operations if o.name == "concrete.buffer"]
    end = expr_of(held[-1], "offset") + expr_of(held[-1], "size")
    _offset(new, rounded_up(end, number_of(new, "alignment")))
    buffer.parent.operations.insert(place_of(held[-1]) + 1, new)


def _region(buffer: Operation) -> None:
    assert buffer.parent is not None
    region = next(o for o in buffer.parent.operations if o.name == "concrete.region")
    new = copy_of(region, "_more")
    buffer.parent.operations.insert(place_of(region) + 1, new)
    buffer.properties["region"] = SymbolRefAttr((symbol_of(new),))
    _offset(buffer, constant(0))


# --- transfers, the machine


def transfers(operations: list[Operation]) -> Found:
    """Transfers between other devices, the other way round, of one device, and to one that there is not."""
    for index, operation in enumerate(operations):
        if operation.name != "concrete.transfer":
            continue
        first, second = devices_of(operation)
        for what, ends in (
            ("the other way", (second, first)),
            ("other devices", (first, second + 1)),
            ("far", (first, 10**6)),
            ("no distance", (first, first)),
            ("one end", (first,)),
        ):
            new = ArrayAttr(tuple(IntegerAttr(n, I64) for n in ends))
            yield Corruption(f"transfer: {what}", name_of(operation), put(index, "devices", new))
            yield Corruption(f"transfer: {what}, consistently", name_of(operation), consistent(put(index, "devices", new)))


def machine(operations: list[Operation]) -> Found:
    """Another revision, other counts of devices, another memory; targets and deployments changed under the plan, fingerprints with them."""
    for index, operation in enumerate(operations):
        where = name_of(operation)
        if operation.name == "concrete.plan":
            yield Corruption("another ABI revision", where, put(index, "abi", IntegerAttr(number_of(operation, "abi") + 1, I64)))
        if operation.name == "concrete.region":
            yield Corruption("a byte of memory", where, put(index, "size", ExprAttr(constant(1))))
        if operation.name in ("bind.target", "bind.deployment"):
            for name in fields_of(operation):
                for what, value in (("another", constant(1 << 20)), ("none", None)):
                    change = at(index, lambda o, n=name, v=value: _field(o, n, v))
                    yield Corruption(f"{operation.name}, field {what}", f"{where} {name}", change)
                    yield Corruption(f"{operation.name}, field {what}, consistently", f"{where} {name}", consistent(change, True))
        if operation.name == "bind.deployment":
            for count in (*map(constant, (1, 2, 4, 7, 16, 1024)), symbol("B")):
                change = at(index, lambda o, n=count: _devices(o, n))
                yield Corruption("another count of devices, consistently", f"{where} {count.text}", consistent(change, True))
        if operation.name == "bind.target":
            yield Corruption("a kind of target that nothing extends", where, at(index, _unknown_kind))
        if operation.name == "bind.deployment" and "links" in operation.properties:
            yield Corruption("links left out", where, put(index, "links", ArrayAttr(())))
            yield Corruption("links left out, consistently", where, consistent(put(index, "links", ArrayAttr(())), True))


def _field(operation: Operation, name: str, value: Expr | None) -> None:
    fields = operation.properties["fields"]
    assert isinstance(fields, DictAttr)
    entries = tuple((k, v if k != name else ExprAttr(value)) for k, v in fields.entries if k != name or value is not None)
    operation.properties["fields"] = DictAttr(entries)


def _devices(deployment: Operation, count: Expr) -> None:
    """A deployment of so many devices, and a plan that says so."""
    _field(deployment, "devices", count)
    assert deployment.parent is not None
    for other in deployment.parent.operations:
        if other.name == "concrete.devices":
            other.properties["count"] = ExprAttr(count)


def _unknown_kind(target: Operation) -> None:
    """A target of a kind that has no dialect, in a plan that holds nothing of any."""
    kind = text_of(target, "kind")
    target.properties["kind"] = StringAttr("tensor_machine")
    assert target.parent is not None
    body = target.parent.operations
    body[:] = [o for o in body if o.name.partition(".")[0] != kind]


# --- what the target's dialect says


def issue(operations: list[Operation]) -> Found:
    """Queues more and fewer, an operation of another target's dialect; slots at other cycles, routes more and fewer."""
    kinds = {o.name.partition(".")[0] for o in operations}
    for index, operation in enumerate(operations):
        dialect = operation.name.partition(".")[0]
        if dialect not in ("queue", "slot"):
            continue
        where = f"{name_of(operation)} {reference_of(operation, 'command')}"
        yield Corruption("dropped from the target's dialect", where, at(index, lambda o: o.parent.operations.remove(o)))  # type: ignore[union-attr]
        if operation.name == "queue.queue":
            yield Corruption("second queue of a kind", where, at(index, _empty_queue))
            yield Corruption("queue of another kind", where, at(index, lambda o: o.properties.update(kind=StringAttr("host"))))
            yield Corruption("issued in another order", where, at(index, _reversed))
        for field in ("cycle", "slot", "source", "destination"):
            if field in operation.properties:
                for more in (-1, 1, 100):
                    said = IntegerAttr(number_of(operation, field) + more, I64)
                    yield Corruption(f"slot.{field} {more:+}", where, put(index, field, said))
        if operation.name == "slot.issue":
            yield Corruption("all that follow a cycle later", where, at(index, _later))
            yield Corruption("a route of no transfer", where, at(index, _route))
    foreign = "slot.issue" if "queue" in kinds else "queue.queue"
    command = next(i for i, o in enumerate(operations) if is_command(o))
    yield Corruption("another target's operation", foreign, at(command, lambda o: _foreign(o, foreign)))


def _empty_queue(queue: Operation) -> None:
    new = copy_of(queue, "_more")
    new.properties.pop("issue", None)
    assert queue.parent is not None
    queue.parent.operations.insert(place_of(queue) + 1, new)


def _reversed(queue: Operation) -> None:
    names = names_of(queue, "issue")
    if len(names) > 1:
        queue.properties["issue"] = references([*names[::-1]])


def _later(issued: Operation) -> None:
    assert issued.parent is not None
    for other in issued.parent.operations[place_of(issued) :]:
        if other.name == "slot.issue":
            other.properties["cycle"] = IntegerAttr(number_of(other, "cycle") + 1, I64)


def _route(issued: Operation) -> None:
    from bpir.dialects.slot import Route

    ends = {"source": IntegerAttr(0, I64), "destination": IntegerAttr(1, I64)}
    assert issued.parent is not None
    issued.parent.operations.append(Route.build(properties={"command": issued.properties["command"], **ends}, span=issued.span))


def _foreign(command: Operation, name: str) -> None:
    from bpir.dialects import load
    from bpir.ir.declaration import DECLARATIONS

    load(name.partition(".")[0])
    numbers = {"cycle": IntegerAttr(0, I64), "slot": IntegerAttr(0, I64)}
    said = {"command": SymbolRefAttr((symbol_of(command),)), **numbers} if name == "slot.issue" else {"kind": StringAttr("host")}
    if name == "queue.queue":
        said["sym_name"] = StringAttr("more")
    assert command.parent is not None
    command.parent.operations.append(DECLARATIONS[name].build(properties=said, span=command.span))
