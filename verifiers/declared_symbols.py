"""Symbols, numbers and relations of two modules: are they the same, in whatever order and spelling?"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from bpir.dialects.bp import Assume, Bind, Symbols, symbol_table
from bpir.ir.diagnostic import Diagnostic, note
from bpir.ir.operation import Operation, top_level
from bpir.ir.relations.facts import Facts, Relation
from bpir.ir.relations.verdict import Verdict
from bpir.verifiers.findings import Findings
from bpir.verifiers.statements import Statement

Declared = dict[Relation, Symbols | Assume]
"""Relations, each with the first operation that says it."""


def verify_declared(findings: Findings, rule: str, source: Operation, target: Operation, assumable: Iterable[Relation]) -> None:
    """Refuse a target with other symbols, numbers or relations than the source.

    Relations may be spelled otherwise, if those of each module prove those of the other: a target that declares more assumes what the
    source does not say. An assumption may be more than the source says if the derivation has a reason for it.

    Args:
        assumable: the relations that the derivation may record as assumptions.
    """
    names = [set(symbol_table(module).names) for module in (source, target)]
    for name in sorted(names[0] - names[1]):
        findings.refuse(rule, _declares(source, name), f"the symbol '{name}' of the source is not declared in the target")
    for name in sorted(names[1] - names[0]):
        findings.refuse(rule, _declares(target, name), f"the symbol '{name}' is not in the source")
    _numbers(findings, rule, source, target)
    if names[0] == names[1]:
        _relations(findings, rule, source, target, set(assumable))


def _declares(module: Operation, name: str) -> Symbols | None:
    return next((declared for declared in Symbols.each(top_level(module)) if name in declared.symbols), None)


def _numbers(findings: Findings, rule: str, source: Operation, target: Operation) -> None:
    """The numbers that symbols are bound to are those of the source."""
    ours, theirs = _bound(target), _bound(source)
    for name, (number, place) in theirs.items():
        message = f"that {name} = {number}, as the source says, is missing in the target"
        findings.require(rule, name in ours, place, message)
    for name, (number, place) in ours.items():
        before, there = theirs.get(name, (None, place))
        if before is None:
            findings.refuse(rule, place, f"that {name} = {number} is not in the source")
        elif before != number:
            where = note("it is here in the source", there.span)
            findings.refuse(rule, place, f"that {name} = {number} differs from the source, where it is {before}", where)


def _bound(module: Operation) -> dict[str, tuple[int, Bind]]:
    """The numbers that symbols are bound to, each with the operation that says so."""
    return {name: (number, bound) for bound in Bind.each(top_level(module)) for name, number in bound.bindings.items()}


def _relations(findings: Findings, rule: str, source: Operation, target: Operation, assumable: Collection[Relation]) -> None:
    """Declarations prove each other; what is assumed besides them, the other module or the derivation says."""
    numbers = dict(symbol_table(source).bindings)
    declared, assumed = ({what: _stated(module, what) for what in (Symbols, Assume)} for module in (source, target))
    for relation, place, verdict in _unproved(assumed[Symbols], declared[Symbols], numbers):
        message = f"the relation '{relation.text}' does not follow from those of the source"
        findings.refuse(rule, place, message, *_why(verdict), undecided=not verdict.refuted)
    for relation, place, verdict in _unproved(declared[Symbols], assumed[Symbols], numbers):
        message = f"the relation '{relation.text}' of the source does not follow from those of the target"
        findings.refuse(rule, place, message, *_why(verdict), undecided=not verdict.refuted)
    known = {**declared[Symbols], **declared[Assume]}
    for relation, place, verdict in _unproved(assumed[Assume], (*known, *assumable), numbers):
        message = f"the derivation has no reason to assume '{relation.text}'"
        findings.refuse(rule, place, message, *_why(verdict), undecided=not verdict.refuted)
    kept = {**assumed[Symbols], **assumed[Assume]}
    for relation, place, verdict in _unproved(declared[Assume], kept, numbers):
        message = f"the assumption '{relation.text}' of the source is missing in the target"
        findings.refuse(rule, place, message, *_why(verdict), undecided=not verdict.refuted)


def _stated(module: Operation, kind: type[Symbols | Assume]) -> Declared:
    """The relations that a module declares, or assumes."""
    found: Declared = {}
    for operation in kind.each(top_level(module)):
        for relation in operation.relations:
            found.setdefault(relation, operation)
    return found


def _unproved(
    claimed: Declared, given: Collection[Relation], numbers: dict[str, int]
) -> Iterator[tuple[Relation, Symbols | Assume, Verdict]]:
    """The relations that are neither among the given ones nor follow from them."""
    stated = set(given)
    left = {relation: place for relation, place in claimed.items() if relation not in stated}
    if left:
        facts = Facts(given, numbers)
        verdicts = {relation: Statement.of(relation).decide(facts) for relation in left}
        yield from ((relation, left[relation], verdict) for relation, verdict in verdicts.items() if not verdict.proved)


def _why(verdict: Verdict) -> list[Diagnostic]:
    """With which numbers it is false."""
    values = ", ".join(f"{name} = {value}" for name, value in (verdict.witness or {}).items())
    return [note(f"it is false with {values}, which the others allow")] if values else []
