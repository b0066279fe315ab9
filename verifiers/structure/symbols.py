"""Symbols: every one that our operations use is declared, and the bound numbers satisfy the relations."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from operator import attrgetter

from bpir.dialects.bp import Assume, Bind, Symbols, SymbolTable, expressions_in, symbol_table, undeclared_symbol
from bpir.ir.attributes import Attribute
from bpir.ir.diagnostic import Diagnostic, Span, error, note
from bpir.ir.dialect import dialect_of
from bpir.ir.expressions.expression import ExpressionError
from bpir.ir.operation import Operation, top_level
from bpir.ir.relations.facts import Relation
from bpir.verifiers.rulebooks import BP
from bpir.verifiers.ssa.distinct_properties import DistinctProperty


def verify(module: Operation, operations: Sequence[Operation], properties: Iterable[DistinctProperty]) -> list[Diagnostic]:
    """Undeclared symbols, symbols declared or bound twice, and relations that are false."""
    if not _declared_names(operations):
        return []
    found = [*undeclared(module, operations, properties), *_declared_once(module)]
    return found or list(_relations(module))


def _declared_names(operations: Iterable[Operation]) -> set[str]:
    """The names of those of the operations that are of our dialects."""
    return {name for name in {o.name for o in operations} if dialect_of(name) is not None}


@BP.rule("R1", "every symbol that an operation uses is declared")
def undeclared(module: Operation, operations: Sequence[Operation], properties: Iterable[DistinctProperty]) -> list[Diagnostic]:
    """Each symbol that no declaration names (R1), once, where it is first."""
    ours = _declared_names(operations)
    own = [o for o in operations if o.name in ours]
    declared = set(symbol_table(module).names)
    faulty = _faulty(own, (attribute for operation, _, attribute in properties if operation.name in ours), declared)
    first = _first_uses(own if faulty else [bound.operation for bound in Bind.each(own)], faulty, declared)
    return [error(f"{undeclared_symbol(name, declared)} [bp.R1]", _place(operation, name)) for name, operation in first.items()]


def _first_uses(operations: Iterable[Operation], faulty: set[Attribute], declared: set[str]) -> dict[str, Operation]:
    """The first operation that uses or binds each undeclared symbol: what follows says it again."""
    first: dict[str, Operation] = {}
    for operation in operations:
        for name in _unknown(operation, faulty, declared):
            first.setdefault(name, operation)
    return first


def _faulty(operations: Sequence[Operation], properties: Iterable[Attribute], declared: set[str]) -> set[Attribute]:
    """The attributes and types of the operations that hold an undeclared symbol."""
    used = set(properties)
    for operation in operations:
        used.update(map(_TYPE, operation.results))
        if operation.attributes or operation.regions:
            used.update(_outside(operation))
    return {attribute for attribute in used if not declared.issuperset(_symbols_in(attribute))}


def _symbols_in(attribute: Attribute) -> set[str]:
    """The symbols in the expressions of an attribute."""
    return {name for expr in expressions_in(attribute) for name in expr.symbols}


def _unknown(operation: Operation, faulty: set[Attribute], declared: set[str]) -> list[str]:
    """The undeclared symbols that an operation uses or binds, each once."""
    unknown: dict[str, None] = {}
    for attribute in (*operation.properties.values(), *_outside(operation)):
        if attribute in faulty:
            unknown.update(dict.fromkeys(sorted(_symbols_in(attribute) - declared)))
    bound = Bind.of(operation)
    if bound is not None:
        unknown.update(dict.fromkeys(name for name in bound.bindings if name not in declared))
    return list(unknown)


_TYPE = attrgetter("type")


def _outside(operation: Operation) -> list[Attribute]:
    """The parts of an operation outside its properties: free attributes, and the types of what it defines."""
    defined = chain(operation.results, *(block.arguments for block in operation.blocks))
    return [*operation.attributes.values(), *map(_TYPE, defined)]


def _place(operation: Operation, name: str) -> Span | None:
    """The place where the operation's text names the symbol; the whole operation if the symbol only follows from its text."""
    span = operation.span
    if span is None:
        return None
    pattern = rf'"(?:\\.|[^"\\])*"|[%@#!^]\w+|\b({re.escape(name)})\b'
    words = re.finditer(pattern, span.source.text[span.start : span.end], re.ASCII)
    found = next((word for word in words if word[1]), None)
    return Span(span.source, span.start + found.start(), span.start + found.end()) if found else span


@BP.rule("R2", "it is declared once")
@BP.rule("R3", "it is bound to a number once")
def _declared_once(module: Operation) -> Iterable[Diagnostic]:
    """Each symbol is declared in one place, and bound in one place."""
    first: dict[tuple[str, str], Operation] = {}
    for operation in _saying(module):
        verb, rule, names = _introduced(operation)
        for name in names:
            other = first.setdefault((verb, name), operation)
            if other is not operation:
                yield error(f"symbol '{name}' is {verb} twice [{rule}]", operation.span, note(f"first {verb} here", other.span))


def _introduced(operation: Operation) -> tuple[str, str, tuple[str, ...]]:
    """The symbols that an operation declares, or binds to numbers: which of the two, the rule about it, and their names."""
    declared, bound = Symbols.of(operation), Bind.of(operation)
    if declared is not None:
        return "declared", "bp.R2", declared.symbols
    return "bound", "bp.R3", tuple(bound.bindings) if bound is not None else ()


@BP.rule("R4", "the relations hold for the bound numbers, and numbers are found that satisfy them all")
def _relations(module: Operation) -> Iterable[Diagnostic]:
    table = symbol_table(module)
    broken = table.facts.violations()
    stating = [found for o in _saying(module) if (found := Symbols.of(o) or Assume.of(o)) is not None]
    if not broken:
        yield from _unsatisfied(table, stating)
        return
    for operation in stating:
        for relation in filter(broken.__contains__, operation.relations):
            fault = f"{_fault(relation, table)}{_numbers_of(relation, table)}"
            yield error(f"the relation '{relation.text}' {fault} [bp.R4]", operation.span)


def _unsatisfied(table: SymbolTable, stating: Sequence[Symbols | Assume]) -> Iterator[Diagnostic]:
    """Refuse relations that no numbers satisfy, at the last one that is needed for that."""
    answer = table.facts.satisfied
    if answer.witness is None:
        needed = set(answer.relations)
        spans = [operation.span for operation in reversed(stating) if not needed.isdisjoint(operation.relations)]
        yield error(f"{answer.text(table.bindings)} [bp.R4]", next(filter(None, spans), None))


def _saying(module: Operation) -> list[Operation]:
    """The operations that say something of symbols: a few of many thousands."""
    return [o for o in top_level(module) if isinstance(o.declaration, Symbols | Bind | Assume)]


def _numbers_of(relation: Relation, table: SymbolTable) -> str:
    """` for t = 3`: the numbers that its symbols are bound to."""
    names = sorted({*relation.left.symbols, *relation.right.symbols})
    numbers = ", ".join(f"{n} = {table.bindings[n]}" for n in names if n in table.bindings)
    return f" for {numbers}" if numbers else ""


def _fault(relation: Relation, table: SymbolTable) -> str:
    """Why a relation does not hold: it is false, or it has no value."""
    if all(name in table.bindings for name in relation.symbols):
        try:
            relation.holds(table.bindings)
        except ExpressionError as problem:
            return f"has no value ({problem})"
    return "is false"
