"""The distinct properties of operations: thousands of layers say the same, and a rule judges it once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache

from bpir.ir.attributes import Attribute
from bpir.ir.declaration import OperationDeclaration
from bpir.ir.operation import Operation
from bpir.ir.syntax_part import Check, Counts, Part, Range

DistinctProperty = tuple[Operation, str, Attribute]
"""The first operation of its name that has the property, the property's name and value."""


def distinct_properties(operations: Iterable[Operation]) -> list[DistinctProperty]:
    """Each property that operations have, once for all of one name.

    Left out are attributes of which the declaration takes every one of their class, such as texts that name something: all are right, and
    nothing more can be asked of them. A rule that finds fault with what is here looks at every operation.
    """
    found: list[DistinctProperty] = []
    known: dict[tuple[str, OperationDeclaration | None], dict[str, set[Attribute]]] = {}
    for operation in operations:
        properties = operation.properties
        if not properties:
            continue
        exact = _exact(operation.declaration)
        ours = known.setdefault((operation.name, operation.declaration), {})
        for name, attribute in properties.items():
            if exact.get(name) is attribute.__class__:
                continue
            values = ours.get(name)
            if values is None:
                values = ours[name] = set()
            if attribute not in values:
                values.add(attribute)
                found.append((operation, name, attribute))
    return found


@cache
def expected(declaration: OperationDeclaration) -> dict[str, Check] | None:
    """For each property that an operation may have what judges it; None if it may have any."""
    if declaration.syntax is None:
        return None
    checks: dict[str, Check] = dict.fromkeys((*declaration.required, *declaration.optional, *_names(declaration.syntax)), Check(_anything))
    for part in declaration.syntax:
        checks.update(part.checks())
    return checks


@cache
def counts_of(declaration: OperationDeclaration) -> Counts | None:
    """The numbers of operands, results and regions of an operation; None if its form does not say."""
    if declaration.syntax is None:
        return None
    return sum((part.counts() for part in declaration.syntax), Counts())


@cache
def miscounted(declaration: OperationDeclaration, operands: int, results: int, regions: int) -> tuple[str, ...]:
    """The faults in the numbers of operands, results and regions of an operation, remembered: every operation is asked, and few differ."""
    counts = counts_of(declaration)
    if counts is None:
        return ()
    found = (
        expected_count("operand", counts.operands, operands),
        expected_count("result", counts.results, results),
        expected_count("region", counts.regions, regions),
    )
    return tuple(wrong for wrong in found if wrong)


def expected_count(what: str, allowed: Range, found: int) -> str:
    """The fault in a number of operands, results or regions; empty if there is none."""
    least, most = allowed
    if least <= found and (most is None or found <= most):
        return ""
    wanted = f"no {what}s" if most == 0 else f"{'' if least == most else 'at least '}{least} {what}(s)"
    return f"expects {wanted}, found {found}"


@cache
def _exact(declaration: OperationDeclaration | None) -> dict[str, type[Attribute]]:
    """The properties of which every attribute of a class is right, where the class can say no more than a name, and that class."""
    checks = (expected(declaration) if declaration is not None else None) or {}
    return {name: check.exact for name, check in checks.items() if check.exact is not None and name in own_names(declaration)}


def with_words_or_expressions(properties: Iterable[DistinctProperty]) -> list[DistinctProperty]:
    """Of the properties of a sound module, those that can hold words or expressions: not the lists of symbols, the longest by far."""
    return [each for each in properties if each[1] not in _names_only(each[0].declaration)]


@cache
def _names_only(declaration: OperationDeclaration | None) -> frozenset[str]:
    checks = (expected(declaration) if declaration is not None else None) or {}
    return frozenset(name for name, check in checks.items() if check.names_only and name in own_names(declaration))


@cache
def own_names(declaration: OperationDeclaration | None) -> frozenset[str]:
    """The properties that the declaration names: what they are called is the language's, not the file's."""
    if declaration is None:
        return frozenset()
    return frozenset((*declaration.required, *declaration.optional))


def _names(parts: Iterable[Part]) -> Iterator[str]:
    for part in parts:
        yield from part.names()


def _anything(attribute: Attribute) -> str:
    return ""
