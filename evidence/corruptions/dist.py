"""Corruptions that only a distributed module can have."""

from __future__ import annotations

from corruptions.corruption import Change, Corruption, Found, at, copy_of, declared_as, drop, name_of, place_of
from raw import text_of

from bpir.dialects.bp import TensorType
from bpir.ir.attributes import I64, ArrayAttr, IntegerAttr, StringAttr
from bpir.ir.declaration import DECLARATIONS
from bpir.ir.expressions.expression import ZERO
from bpir.ir.operation import Operation, Value

COLLECTIVES = ("dist.all_reduce", "dist.all_gather", "dist.reduce_scatter", "dist.all_to_all")
BACKWARD = ("activation_gradient", "weight_gradient", "gradient_reduction", "optimizer")
PHASES = ("forward", "recompute", "recommunication", *BACKWARD, "prefill", "decode")


def distributed(operations: list[Operation]) -> Found:
    """Every corruption that a distributed module alone can have."""
    for maker in (phases, collectives, arguments, memory):
        yield from maker(operations)


def _seen_before(operation: Operation) -> list[Value]:
    block = operation.parent
    assert block is not None
    return [*block.arguments, *(v for o in block.operations[: place_of(operation)] for v in o.results)]


def _reading(index: int, place: int, owner: int, which: int) -> Change:
    """Read a result of the operation at the place `owner` of the block, or one of its arguments (-1)."""

    def change(ops: list[Operation]) -> None:
        block = ops[index].parent
        assert block is not None
        ops[index].operands[place] = (block.arguments if owner < 0 else block.operations[owner].results)[which]

    return change


def operands(operations: list[Operation]) -> Found:
    """Read another value of the same type, or of any; read too few or too many; exchange what is read."""
    for index, operation in enumerate(operations):
        if operation.parent is None or not operation.operands:
            continue
        where = name_of(operation)
        visible = _seen_before(operation)
        for place, value in enumerate(operation.operands):
            for what, other in _others(value, visible):
                owner = place_of(other.owner) if isinstance(other.owner, Operation) else -1
                yield Corruption(what, f"{where} {place}", _reading(index, place, owner, other.index))
            yield Corruption("operand dropped", f"{where} {place}", at(index, lambda o, p=place: o.operands.pop(p) and None))
        yield Corruption("operand added", where, at(index, lambda o: o.operands.append(o.operands[0])))
        if len({*operation.operands}) > 1:
            yield Corruption("operands exchanged", where, at(index, lambda o: o.operands.reverse()))
    yield from _results(operations)


def _others(value: Value, visible: list[Value]) -> list[tuple[str, Value]]:
    """Visible values that might be read in place of a value."""
    same = [v for v in visible if v.type is value.type and v is not value]
    named = [v for v in same if v.name and value.name and v.name.split("_")[0] == value.name.split("_")[0]]
    different = [v for v in visible if v.type is not value.type]
    return [
        *(("operand of the same type", v) for v in same[:1] + same[-1:]),
        *(("operand of the same type and name", v) for v in named),
        *(("operand of any type", v) for v in different[-1:]),
    ]


def _results(operations: list[Operation]) -> Found:
    """Give a result fewer or more; keep a value more."""
    for index, operation in enumerate(operations):
        if operation.parent is None or not operation.name.startswith("dist."):
            continue
        if operation.results:
            yield Corruption("result dropped", name_of(operation), at(index, lambda o: o.results.pop() and None))
        kind = next((v.type for v in (*operation.results, *operation.operands)), None)
        if kind is not None and operation.name == "dist.compute":
            yield Corruption("result added", name_of(operation), at(index, lambda o, t=kind: o.results.append(Value(t))))
        if operation.name == "dist.memory":
            last = len(operation.parent.arguments) - 1
            yield Corruption("keeps a value more", name_of(operation), at(index, lambda o, a=last: _keep(o, a)))


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
            yield Corruption(f"phase and name: {phase}", where, at(index, lambda o, p=phase: say(o, p)))
            yield Corruption(f"task added: {phase}", where, at(index, lambda o, p=phase: beside(o, p)))


def collectives(operations: list[Operation]) -> Found:
    """Make a collective another one; remove it; put one more where there is none."""
    for index, operation in enumerate(operations):
        if operation.name not in COLLECTIVES:
            continue
        where = name_of(operation)
        for other in COLLECTIVES:
            if other != operation.name:
                yield Corruption("another collective", where, at(index, lambda o, n=other: _become(o, n)))
        yield Corruption("collective folded into its operand", where, at(index, _fold))
        yield Corruption("collective repeated on its result", where, at(index, _again))


def _become(operation: Operation, name: str) -> None:
    declared_as(operation, name)
    operand, result = operation.operands[0].type, operation.results[0].type
    assert isinstance(operand, TensorType) and isinstance(result, TensorType)
    none = ArrayAttr(())
    token = ArrayAttr((StringAttr("tensor"),))
    for own in ("reduction", "from", "to", "message"):
        operation.properties.pop(own, None)
    if name == "dist.all_to_all":
        operation.properties.update(axes=ArrayAttr((token,)), message=StringAttr("payload"))
        operation.properties.update({"from": IntegerAttr(0, I64), "to": IntegerAttr(1, I64)})
    elif name == "dist.all_reduce":
        operation.properties.update(reduction=StringAttr("sum"), axes=ArrayAttr((token,)))
    else:
        if name == "dist.reduce_scatter":
            operation.properties["reduction"] = StringAttr("sum")
        operation.properties["axes"] = ArrayAttr((none, token, *[none] * (len(operand.dims) - 2)))
    declaration = operation.declaration
    found = declaration.result(operand, operation)  # type: ignore[union-attr]
    operation.results[0].type = found or result


def _fold(operation: Operation) -> None:
    """Remove a collective; its operand gets the type of its result."""
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
            yield Corruption("block distributed twice", name_of(operation), at(index, another))
            where = name_of(operation)
            yield Corruption("argument added", where, at(index, lambda o: _arguments(o).append(Value(_arguments(o)[0].type))))
            yield Corruption("argument dropped", where, at(index, lambda o: _arguments(o).pop() and None))
            if len(_arguments(operation)) > 1:
                yield Corruption("arguments exchanged", where, at(index, lambda o: _arguments(o).reverse()))
            for place in range(0, len(operation.body), 5):
                yield Corruption("state added", f"{where} {place}", at(index, lambda o, p=place: _state(o, p)))
        if operation.name == "dist.mesh":
            yield Corruption("mesh added", name_of(operation), at(index, _mesh))


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
            yield Corruption("facts added", name_of(operation), at(index, lambda o: _fact(o, False)))
            yield Corruption("facts of nothing added", name_of(operation), at(index, lambda o: _fact(o, True)))


def _fact(operation: Operation, empty: bool) -> None:
    new = copy_of(operation, "")
    new.properties["layer"] = StringAttr("attention.more")
    facts = new.properties["facts"]
    if empty:
        new.operands = []
        new.properties["facts"] = facts.rewritten(lambda e: ZERO)  # type: ignore[attr-defined]
    assert operation.parent is not None
    operation.parent.operations.insert(place_of(operation), new)
