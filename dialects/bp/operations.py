"""The operations of the `bp` dialect: symbols with relations, assumptions, numeric bindings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from bpir.dialects.bp.attributes import ELEMENT, IDENTIFIER, RelationAttr
from bpir.ir.attributes import (
    I64,
    ArrayAttr,
    Attribute,
    DictAttr,
    IntegerAttr,
    StringAttr,
)
from bpir.ir.declaration import (
    Fragment,
    Inexpressible,
    OperationDeclaration,
    ParseContext,
    Piece,
    Problems,
    wanted,
    wanted_items,
)
from bpir.ir.diagnostic import Span, fail
from bpir.ir.operation import Operation
from bpir.ir.property_parts import Property, strings
from bpir.ir.relations.facts import Relation
from bpir.ir.syntax import Clause
from bpir.ir.syntax_part import alternative


class Relations(Property[tuple[Relation, ...]]):
    """`H = h * d, t | h, t > 1`: an array of relations."""

    name: str = "relations"

    def value(self, attribute: Attribute | None) -> tuple[Relation, ...]:
        values = attribute.values if isinstance(attribute, ArrayAttr) else ()
        return tuple(v.relation for v in values if isinstance(v, RelationAttr))

    def fragment(self, rule: str) -> Fragment:
        return alternative(rule, "bp_relations", lambda c, v, s: ArrayAttr(tuple(v[0])))

    def spelling(self, attribute: Attribute) -> Iterable[Piece]:
        yield ", ".join(v.relation.text for v in wanted_items(attribute, RelationAttr))


class Names(Property[tuple[str, ...]]):
    """`B, S, H`: an array of symbol names."""

    name: str = "symbols"

    def value(self, attribute: Attribute | None) -> tuple[str, ...]:
        return strings(attribute)

    def fragment(self, rule: str) -> Fragment:
        return Fragment(
            f'{rule}: word ("," word)* -> {rule}_is\n',
            {rule + "_is": lambda c, v, s: ArrayAttr(tuple(StringAttr(name) for name in v))},
        )

    def spelling(self, attribute: Attribute) -> Iterable[Piece]:
        yield ", ".join(v.value for v in wanted_items(attribute, StringAttr))


class Bindings(Property[dict[str, int]]):
    """`H = 12288, F = 49152`: names with positive integers."""

    name: str = "bindings"

    def value(self, attribute: Attribute | None) -> dict[str, int]:
        entries = attribute.entries if isinstance(attribute, DictAttr) else ()
        return {name: number.value for name, number in entries if isinstance(number, IntegerAttr)}

    def fragment(self, rule: str) -> Fragment:
        return Fragment(
            f'{rule}: {rule}_item ("," {rule}_item)* -> {rule}_is\n{rule}_item: word "=" integer -> {rule}_item\n',
            {rule + "_is": _bindings_action, rule + "_item": lambda c, v, s: (v[0], v[1], s)},
        )

    def spelling(self, attribute: Attribute) -> Iterable[Piece]:
        entries = wanted(attribute, DictAttr).entries
        if not entries:
            raise Inexpressible
        yield ", ".join(f"{name} = {wanted(value, IntegerAttr).value}" for name, value in entries)


def _bindings_action(context: ParseContext, values: list[Any], span: Span) -> DictAttr:
    found: dict[str, Attribute] = {}
    for name, value, place in values:
        if name in found:
            raise fail(f"symbol '{name}' is bound twice", place)
        if not 0 < value < 2**63:
            raise fail(f"symbol '{name}' must be bound to a positive 64-bit integer, not {str(value)[:40]}", place)
        found[name] = IntegerAttr(value, I64)
    return bindings_attribute({k: v.value for k, v in found.items() if isinstance(v, IntegerAttr)})


def bindings_attribute(numbers: Mapping[str, int]) -> DictAttr:
    return DictAttr(tuple((name, IntegerAttr(numbers[name], I64)) for name in sorted(numbers)))


class Symbols(OperationDeclaration):
    """Declares symbols, each a positive integer, and relations between them: `bp.symbols H, h, d where H = h * d`.

    Relations are `a = b`, `a | b` (a divides b) and `a > b`. Proofs use them; only `canonicalize` rewrites by them.
    """

    name = "bp.symbols"
    symbols = Names()
    relations = Relations()
    syntax = (symbols, Clause("where", (relations,), line=False))

    def verify(self, operation: Operation, report: Problems) -> None:
        seen = set()
        written = operation.properties.get(Symbols.symbols.name)
        names = Symbols(operation).symbols
        if not isinstance(written, ArrayAttr) or len(names) != len(written.values):
            report.error(operation, "'symbols' must be an array of strings")
        _check_relations(operation, report)
        for name in names:
            if not IDENTIFIER.fullmatch(name):
                report.error(operation, f"'{name}' can't be a symbol: a symbol is a word of letters, digits and underscores")
            if ELEMENT.fullmatch(name):
                report.error(operation, f"'{name}' can't be a symbol: it is the type of an element")
            if name in seen:
                report.error(operation, f"symbol '{name}' is declared twice")
            seen.add(name)


def _check_relations(operation: Operation, report: Problems) -> None:
    relations = operation.properties.get(Symbols.relations.name)
    if relations is None:
        return
    if not isinstance(relations, ArrayAttr) or not relations.values or not all(isinstance(v, RelationAttr) for v in relations.values):
        report.error(operation, "'relations' must be an array of #bp.relation<...>")


class Assume(OperationDeclaration):
    """Records what a derivation assumed and no declaration says: `bp.assume t > 1, 8 | h`; checked when numbers are bound."""

    name = "bp.assume"
    relations = Relations()
    syntax = (relations,)

    def verify(self, operation: Operation, report: Problems) -> None:
        _check_relations(operation, report)


class Bind(OperationDeclaration):
    """Gives symbols numbers: `bp.bind H = 12288, h = 96`. `bind-symbols` puts them in; until then texts stay symbolic."""

    name = "bp.bind"
    bindings = Bindings()
    syntax = (bindings,)

    def verify(self, operation: Operation, report: Problems) -> None:
        bindings = operation.properties.get(Bind.bindings.name)
        entries = bindings.entries if isinstance(bindings, DictAttr) else ()
        if not entries or not all(isinstance(v, IntegerAttr) and v.value > 0 and v.type is I64 for _, v in entries):
            report.error(operation, "bindings must be positive integers")
