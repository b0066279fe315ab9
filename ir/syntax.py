"""The parts of which a custom form is made. Each gives a lark rule, a printer and the generic encoding of what it says.

Parts refer to these rules of the base grammar (`parser/`), by the value they yield:

    symbol_name  `@name` -> str            symbol_ref   `@a::@b` -> SymbolRefAttr   string  -> str (latin-1)
    word         any bare word -> str      integer      -> int                      expr    -> Expr
    operand      `%x` -> Value             operand_list `%a, %b` -> list            type, type_list
    attribute    any attribute             raw_angle    `<...>` -> Raw              raw_square `[...]` -> Raw
    entry_region `(%x: T, ...) { ... }` or `{ ... }` -> Region

A rule of a part is a nonterminal of its own (with an empty alternative where the part is optional), so that no rule is ever
expanded into 2^k alternatives.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from bpir.ir.declaration import (
    Draft,
    Fragment,
    ParseContext,
    Piece,
)
from bpir.ir.diagnostic import Span, fail
from bpir.ir.operation import Operation
from bpir.ir.property_parts import _collect, _first
from bpir.ir.syntax_part import ABSENT, Check, Counts, Part, alternative


class Clause(Part):
    """`keyword part...`, on a line of its own if `line`; absent as a whole if the properties of its parts are absent."""

    keyword: str
    parts: tuple[Part, ...]
    optional: bool = True
    line: bool = True

    def names(self) -> tuple[str, ...]:
        return tuple(name for part in self.parts for name in part.names())

    def demanded(self) -> tuple[str, ...]:
        return () if self.optional else tuple(name for part in self.parts for name in part.demanded())

    def fragment(self, rule: str) -> Fragment:
        inner = [part.fragment(f"{rule}_{index}") for index, part in enumerate(self.parts)]
        own = alternative(rule, " ".join([f'"{self.keyword}"', *(f"{rule}_{i}" for i in range(len(inner)))]), _collect, self.optional)
        actions = dict(own.actions)
        for fragment in inner:
            actions.update(fragment.actions)
        return Fragment(own.rules + "".join(f.rules for f in inner), actions)

    def counts(self) -> Counts:
        inner = sum((part.counts() for part in self.parts), Counts())
        return Counts((0, inner.operands[1]), (0, inner.results[1]), (0, inner.regions[1])) if self.optional else inner

    def read(self, value: Any, draft: Draft) -> None:
        if value is not ABSENT:
            for part, item in zip(self.parts, value, strict=True):
                part.read(item, draft)

    def checks(self) -> Mapping[str, Check]:
        return {name: check for part in self.parts for name, check in part.checks().items()}

    def pieces(self, operation: Operation) -> Iterable[Piece]:
        names = _names(self)
        if self.optional and names and operation.properties.keys().isdisjoint(names):
            return ()
        inner = [piece for part in self.parts for piece in part.pieces(operation)]
        return [self.before(operation), self.keyword, *inner] if inner or not self.optional else ()

    def before(self, operation: Operation) -> str:
        """The white space before the keyword."""
        return "\n" if self.line else " "


@cache
def _names(part: Part) -> tuple[str, ...]:
    return part.names()


class Operands(Part):
    """`%a, %b`: the operands that no other part took; `minimum` 0 makes them optional."""

    minimum: int = 1
    maximum: int | None = None

    def counts(self) -> Counts:
        return Counts(operands=(self.minimum, self.maximum))

    def fragment(self, rule: str) -> Fragment:
        def action(context: ParseContext, values: list[Any], span: Span) -> Any:
            count = len(values[0])
            if count < self.minimum or (self.maximum is not None and count > self.maximum):
                expected = str(self.minimum) if self.minimum == self.maximum else f"at least {self.minimum}"
                raise fail(f"expected {expected} operand(s), found {count}", span)
            return values[0]

        return alternative(rule, "operand_list", action, optional=self.minimum == 0)

    def read(self, value: Any, draft: Draft) -> None:
        if value is not ABSENT:
            draft.operands.extend(value)

    def pieces(self, operation: Operation) -> Iterable[Piece]:
        for index, operand in enumerate(operation.operands):
            yield ", " if index else " "
            yield operand


class ResultTypes(Part):
    """`: T, T` (or another opening word): the result types; optional and not printed where they can be inferred."""

    opening: str = ":"
    inferred: bool = False
    optional: bool = False  # the operation may have no result
    maximum: int | None = None

    def counts(self) -> Counts:
        return Counts(results=(0 if self.optional else 1, self.maximum))

    def fragment(self, rule: str) -> Fragment:
        return alternative(rule, f'"{self.opening}" type_list', _first, optional=self.inferred or self.optional)

    def read(self, value: Any, draft: Draft) -> None:
        if value is not ABSENT:
            draft.result_types = list(value)
        elif self.optional:
            draft.result_types = []

    def pieces(self, operation: Operation) -> Iterable[Piece]:
        declaration = operation.declaration
        if not operation.results or (self.inferred and not (declaration is not None and declaration.states_types(operation))):
            return
        yield f" {self.opening} "
        for index, result in enumerate(operation.results):
            if index:
                yield ", "
            yield result.type


class EntryRegion(Part):
    """`(%x: T) { ... }`: a region whose entry block has the arguments."""

    def counts(self) -> Counts:
        return Counts(regions=(1, 1))

    def fragment(self, rule: str) -> Fragment:
        return alternative(rule, "entry_region", _first)

    def read(self, value: Any, draft: Draft) -> None:
        draft.regions.append(value)

    def pieces(self, operation: Operation) -> Iterable[Piece]:
        yield ""
        yield operation.regions[0]
