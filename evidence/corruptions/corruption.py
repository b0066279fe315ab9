"""Structural corruptions of a module: every way to change one thing (or one thing and all that must change with it), in place of a fuzzer.

A corruption is a function on a copy of the tree, named by what it does (`kind`) and where. They are made in the order of the text, without
any randomness; `sampled` takes evenly spaced ones of each kind. What they are judged by is in `judge.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import attrs

from bpir.ir.attributes import Attribute, StringAttr
from bpir.ir.declaration import DECLARATIONS
from bpir.ir.operation import Operation, Value, clone

Change = Callable[[list[Operation]], None]
"""Changes a copy in place: it gets the operations of the copy, in the order of `walk`."""


@attrs.frozen(eq=False)
class Corruption:
    """One corruption: `kind` and `where` for the table, `change` for the copy."""

    kind: str
    where: str
    change: Change

    def apply(self, module: Operation) -> Operation:
        """A corrupted copy of the module."""
        copy = clone(module)
        self.change(list(copy.walk()))
        for operation in copy.walk():  # blocks and indices as the constructors set them
            for region in operation.regions:
                for block in region.blocks:
                    for child in block.operations:
                        child.parent = block
                    for index, argument in enumerate(block.arguments):
                        argument.owner, argument.index = block, index
            for index, value in enumerate(operation.results):
                value.owner, value.index = operation, index
        return copy


Found = Iterator[Corruption]
Maker = Callable[[list[Operation]], Found]


def sampled(found: Iterator[Corruption], limit: int) -> list[Corruption]:
    """At most `limit` corruptions of each kind, evenly spaced over the module."""
    by_kind: dict[str, list[Corruption]] = {}
    for corruption in found:
        by_kind.setdefault(corruption.kind, []).append(corruption)
    chosen = []
    for members in by_kind.values():
        count = min(limit, len(members))
        chosen += [members[index * len(members) // count] for index in range(count)]
    return chosen


def name_of(operation: Operation) -> str:
    """The name of the operation in tables: its symbol, task or layer."""
    for field in ("sym_name", "task", "layer"):
        value = operation.properties.get(field)
        if value is not None:
            return f"{operation.name} {value.text}"
    return operation.name


def fingerprint(module: Operation) -> tuple[object, ...]:
    """The whole module as a hashable value: equal for equal trees, names of values left out."""
    numbers: dict[Value, int] = {}
    out: list[object] = []
    for operation in module.walk():
        for region in operation.regions:
            for block in region.blocks:
                for argument in block.arguments:
                    numbers[argument] = len(numbers)
                    out.append(argument.type)
        for value in operation.results:
            numbers.setdefault(value, len(numbers))
        out.append(operation.name)
        out.append(tuple(sorted((k, id(v)) for k, v in operation.properties.items())))
        out.append(tuple(sorted((k, id(v)) for k, v in operation.attributes.items())))
        out.append(tuple(v.type for v in operation.results))
        out.append(tuple(numbers.setdefault(v, len(numbers)) for v in operation.operands))
        out.append(sum(len(b.operations) for r in operation.regions for b in r.blocks))
    return tuple(out)


def put(index: int, name: str, value: Attribute | None) -> Change:
    """Set a property of an operation, or remove it."""

    def change(operations: list[Operation]) -> None:
        if value is None:
            operations[index].properties.pop(name, None)
        else:
            operations[index].properties[name] = value

    return change


def at(index: int, act: Callable[[Operation], object]) -> Change:
    """Do something to an operation."""

    def change(operations: list[Operation]) -> None:
        act(operations[index])

    return change


def copy_of(operation: Operation, suffix: str) -> Operation:
    """A copy with results of its own, its name with a suffix before the phase."""
    new = clone(operation)
    for field in ("task", "sym_name"):
        old = new.properties.get(field)
        if isinstance(old, StringAttr):
            head, dot, tail = old.value.rpartition(".")
            new.properties[field] = StringAttr(f"{head}{suffix}{dot}{tail}")
    return new


def drop(operation: Operation) -> None:
    """Remove an operation; what read a result reads an operand of its type, else its first operand, else nothing."""
    block = operation.parent
    assert block is not None
    block.operations.remove(operation)
    for user in block.operations:
        for place, value in enumerate(user.operands):
            if value in operation.results and operation.operands:
                same = [v for v in operation.operands if v.type is value.type]
                user.operands[place] = (same or operation.operands)[0]
            elif value in operation.results:
                user.operands[place] = block.arguments[0]


def move(operation: Operation, to: int) -> None:
    block = operation.parent
    assert block is not None
    block.operations.remove(operation)
    block.operations.insert(to, operation)


def place_of(operation: Operation) -> int:
    assert operation.parent is not None
    return next(i for i, o in enumerate(operation.parent.operations) if o is operation)


def movable(operation: Operation) -> bool:
    return operation.parent is not None and not (operation.declaration is not None and operation.declaration.terminator)


def declared_as(operation: Operation, name: str) -> None:
    """Make it another operation."""
    operation.name, operation.declaration = name, DECLARATIONS[name]
