"""The interface of every part of a custom form: a lark rule, a reader, a printer, and its counts and properties.

`ir/syntax.py` has the parts themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from bpir.ir.attributes import Attribute
from bpir.ir.declaration import Action, Draft, Fragment, ParseContext, Piece
from bpir.ir.diagnostic import Span
from bpir.ir.operation import Operation
from bpir.ir.records import Interned, Record

ABSENT = None


def _absent(context: ParseContext, values: list[Any], span: Span) -> Any:
    return ABSENT


class Check(metaclass=Record):
    """The judge of a property.

    Attributes:
        expected: what an attribute should be; empty if it is.
        exact: a class of which every attribute is right, if there is one.
        names_only: what is right names symbols, and says nothing else.
    """

    expected: Callable[[Attribute], str]
    exact: type[Attribute] | None = None
    names_only: bool = False


Range = tuple[int, int | None]
"""The least and the most; None: any number."""


class Counts(metaclass=Interned):
    """The numbers of operands, results and regions that a part, or an operation, has."""

    operands: Range = (0, 0)
    results: Range = (0, 0)
    regions: Range = (0, 0)

    def __add__(self, other: Counts) -> Counts:
        def both(a: Range, b: Range) -> Range:
            return a[0] + b[0], None if a[1] is None or b[1] is None else a[1] + b[1]

        return Counts(both(self.operands, other.operands), both(self.results, other.results), both(self.regions, other.regions))


ANY_COUNTS = Counts((0, None), (0, None), (0, None))


class Part(metaclass=Record):
    """One part of a custom form."""

    def counts(self) -> Counts:
        """The numbers of operands, results and regions that this part adds; those of an operation are the sums over its parts."""
        return Counts()

    def fragment(self, rule: str) -> Fragment:
        """The lark rule named `rule`, whose value is what `read` receives."""
        raise NotImplementedError

    def read(self, value: Any, draft: Draft) -> None:
        """Put what was read into the draft of the operation."""
        raise NotImplementedError

    def pieces(self, operation: Operation) -> Iterable[Piece]:
        """The custom spelling of this part, with the blank or clause line before it; nothing if it is absent."""
        raise NotImplementedError

    def names(self) -> tuple[str, ...]:
        """The properties that this part sets."""
        return ()

    def demanded(self) -> tuple[str, ...]:
        """Those of its properties without which the operation makes no sense."""
        return self.names()

    def checks(self) -> Mapping[str, Check]:
        """The judges of the properties that this part sets: generic form can hold anything."""
        return {}


def alternative(rule: str, text: str, action: Action, optional: bool = False) -> Fragment:
    """A rule with one alternative, or that and an empty one whose value is ABSENT."""
    actions = {rule + "_is": action}
    rules = f"{rule}: {text} -> {rule}_is\n"
    if optional:
        actions[rule + "_absent"] = _absent
        rules += f"    | -> {rule}_absent\n"
    return Fragment(rules, actions)
