"""Target extensions: the dialect of one kind of machine, in one file of its own.

The file `dialects/KIND.py` declares the operations of the dialect and one subclass of `TargetExtension`. Defining it registers it: the
envelope, the pass `bind-target` and the verifiers find it by the kind that a `bind.target` says, and nothing else has to know of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from bpir import dialects
from bpir.ir.attributes import Attribute
from bpir.ir.declaration import Place
from bpir.ir.diagnostic import Diagnostic
from bpir.ir.operation import Operation
from bpir.ir.records import Record
from bpir.ir.rulebook import RuleBook


class Violation(metaclass=Record):
    """A broken rule of a target: the number of the rule (`R1`), the place, the message, and notes."""

    rule: str
    operation: Place
    message: str
    notes: tuple[Diagnostic, ...] = ()


class Deviation(metaclass=Record):
    """A difference of a plan from the canonical construction: its place (None: something is missing), and its description."""

    operation: Operation | None
    message: str


class TargetExtension:
    """The part that one kind of target adds to the envelope. Commands are given in the order of the module, which respects their
    dependencies.
    """

    kind: ClassVar[str] = ""  # of the target, and the name of its dialect
    rules: ClassVar[RuleBook] = RuleBook()  # of `violations`

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        EXTENSIONS[cls.kind] = cls()

    def operations(self, commands: Sequence[Operation]) -> list[Operation]:
        """The canonical construction for the commands, which binding makes."""
        raise NotImplementedError

    def deviations(self, commands: Sequence[Operation], operations: Sequence[Operation]) -> Iterable[Deviation]:
        """The operations that break no rule of the dialect and differ from the canonical construction (R16 of the gate).

        Unless a target states its construction here a second time, in other words, it is made again and compared: then a mistake in
        `operations` is proved to be right.
        """
        found = {(o.name, self.identity(o)): o for o in operations}
        expected = {(o.name, self.identity(o)): o for o in self.operations(commands)}
        for key, operation in expected.items():
            ours = found.get(key)
            if ours is None:
                yield missing(*key)
                continue
            for name in sorted({*operation.properties, *ours.properties} - {"sym_name"}):
                yield from differing(ours, key[1], name, operation.properties.get(name))
        for key, operation in found.items():
            if key not in expected:
                yield superfluous(operation, key[1])

    def identity(self, operation: Operation) -> str:
        """The subject of an operation of the dialect: no two operations of one name have the same subject."""
        raise NotImplementedError

    def violations(self, commands: Sequence[Operation], operations: Sequence[Operation]) -> Iterable[Violation]:
        """The faults of the dialect's operations by themselves, whoever made them. All their references resolve."""
        raise NotImplementedError


def missing(name: str, identity: str) -> Deviation:
    """The canonical construction has an operation that the plan lacks."""
    return Deviation(None, f"'{name}' of {identity} is missing")


def superfluous(operation: Operation, identity: str) -> Deviation:
    """The canonical construction lacks the operation."""
    return Deviation(operation, f"the contract has no '{operation.name}' of {identity}")


def differing(operation: Operation, identity: str, name: str, wanted: Attribute | None) -> Iterable[Deviation]:
    """The property of the operation, where it is not the one that is wanted (None: to be absent)."""
    ours = operation.properties.get(name)
    if ours is not wanted:
        texts = [value.text.removesuffix(" : i64") if value is not None else "absent" for value in (ours, wanted)]
        yield Deviation(operation, f"'{name}' of {operation.name} {identity} is {texts[0]}; the contract gives {texts[1]}")


EXTENSIONS: dict[str, TargetExtension] = {}
"""Every target extension that is loaded, by its kind."""


def extension_of(kind: str) -> TargetExtension | None:
    """The extension of a kind of target; None if there is none."""
    if kind:
        dialects.load(kind)
    return EXTENSIONS.get(kind)
