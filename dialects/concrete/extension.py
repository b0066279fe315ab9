"""What a target extension is: the dialect of one kind of machine, in one file of its own.

The file `dialects/KIND.py` declares the operations of the dialect and one subclass of `TargetExtension`. Defining it registers it: the
envelope, the pass `bind-target` and the verifiers find it by the kind that a `bind.target` says, and nothing else has to know of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar

import attrs

from bpir import dialects
from bpir.ir.attributes import Attribute
from bpir.ir.declaration import DECLARATIONS
from bpir.ir.diagnostic import Diagnostic, Span
from bpir.ir.operation import Operation


@attrs.frozen(eq=False)
class Violation:
    """What breaks a rule of a target: the number of the rule (`R1`), where, what, and notes."""

    rule: str
    operation: Operation
    message: str
    notes: tuple[Diagnostic, ...] = ()


class TargetExtension:
    """What one kind of target adds to the envelope. Commands are given in the order of the module, which respects their dependencies."""

    kind: ClassVar[str] = ""  # of the target, and the name of its dialect

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        EXTENSIONS[cls.kind] = cls()

    def operations(self, commands: Sequence[Operation]) -> list[Operation]:
        """The canonical construction for the commands: binding makes it, and the gate compares with it."""
        raise NotImplementedError

    def identity(self, operation: Operation) -> str:
        """What an operation of the dialect is about: no two operations of the same name are about the same."""
        raise NotImplementedError

    def violations(self, commands: Sequence[Operation], operations: Sequence[Operation]) -> Iterable[Violation]:
        """What is wrong with the operations of the dialect by themselves, whoever made them. All their references resolve."""
        raise NotImplementedError


EXTENSIONS: dict[str, TargetExtension] = {}
"""Every target extension that is loaded, by its kind."""


def extension_of(kind: str) -> TargetExtension | None:
    """The extension of a kind of target; None if there is none."""
    if kind:
        dialects.load(kind)
    return EXTENSIONS.get(kind)


def build(name: str, properties: Mapping[str, Attribute], span: Span | None = None) -> Operation:
    """An operation of a target's dialect."""
    return Operation(name, properties=dict(properties), span=span, declaration=DECLARATIONS[name])
