"""Symbols, numbers and relations of two modules: are they the same, in whatever order and spelling?"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from bpir.dialects.bp import bindings_of, relations_of, symbol_table
from bpir.ir.diagnostic import Diagnostic, note
from bpir.ir.operation import Operation, top_level
from bpir.ir.relations import Facts, Relation
from bpir.ir.syntax import strings
from bpir.ir.verdict import Verdict
from bpir.verifiers.claims import Statement
from bpir.verifiers.rules import Findings

_SIGNS = {"equal": "=", "divides": "|", "greater": ">"}
Said = dict[Relation, Operation]
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


def _declares(module: Operation, name: str) -> Operation | None:
    named = (o for o in top_level(module) if o.name == "bp.symbols" and name in strings(o.properties.get("symbols")))
    return next(named, None)


def _numbers(findings: Findings, rule: str, source: Operation, target: Operation) -> None:
    """The numbers that symbols are bound to are those of the source."""
    ours, theirs = (
        {name: (number, o) for o in top_level(module) if o.name == "bp.bind" for name, number in bindings_of(o).items()}
        for module in (target, source)
    )
    for name, (number, place) in theirs.items():
        if name not in ours:
            findings.refuse(rule, place, f"that {name} = {number}, as the source says, is missing in the target")
    for name, (number, place) in ours.items():
        if name not in theirs:
            findings.refuse(rule, place, f"that {name} = {number} is not in the source")
        elif theirs[name][0] != number:
            where = note("it stands here in the source", theirs[name][1].span)
            findings.refuse(rule, place, f"that {name} = {number} differs from the source, where it is {theirs[name][0]}", where)


def _relations(findings: Findings, rule: str, source: Operation, target: Operation, assumable: Collection[Relation]) -> None:
    """Declarations prove each other; what is assumed besides them, the other module or the derivation says."""
    numbers = dict(symbol_table(source).bindings)
    declared, assumed = ({what: _said(module, f"bp.{what}") for what in ("symbols", "assume")} for module in (source, target))
    for relation, place, verdict in _unproved(assumed["symbols"], declared["symbols"], numbers):
        message = f"the relation '{relation.text}' does not follow from those of the source"
        findings.refuse(rule, place, message, *_why(verdict), undecided=not verdict.refuted)
    for relation, place, verdict in _unproved(declared["symbols"], assumed["symbols"], numbers):
        message = f"the relation '{relation.text}' of the source does not follow from those of the target"
        findings.refuse(rule, place, message, *_why(verdict), undecided=not verdict.refuted)
    known = {**declared["symbols"], **declared["assume"]}
    for relation, place, verdict in _unproved(assumed["assume"], (*known, *assumable), numbers):
        message = f"the derivation has no reason to assume '{relation.text}'"
        findings.refuse(rule, place, message, *_why(verdict), undecided=not verdict.refuted)
    kept = {**assumed["symbols"], **assumed["assume"]}
    for relation, place, verdict in _unproved(declared["assume"], kept, numbers):
        message = f"the assumption '{relation.text}' of the source is missing in the target"
        findings.refuse(rule, place, message, *_why(verdict), undecided=not verdict.refuted)


def _said(module: Operation, kind: str) -> Said:
    found: Said = {}
    for operation in top_level(module):
        if operation.name == kind:
            for relation in relations_of(operation):
                found.setdefault(relation, operation)
    return found


def _unproved(claimed: Said, given: Collection[Relation], numbers: dict[str, int]) -> Iterator[tuple[Relation, Operation, Verdict]]:
    """The relations that are neither among the given ones nor follow from them."""
    stated = set(given)
    facts: Facts | None = None
    for relation, place in claimed.items():
        if relation not in stated:
            facts = facts or Facts(given, numbers)
            verdict = Statement(relation.left, _SIGNS[relation.kind], relation.right).decide(facts)
            if not verdict.proved:
                yield relation, place, verdict


def _why(verdict: Verdict) -> list[Diagnostic]:
    """With which numbers it is false."""
    values = ", ".join(f"{name} = {value}" for name, value in (verdict.witness or {}).items())
    return [note(f"it is false with {values}, which the others allow")] if values else []
