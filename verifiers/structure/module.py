"""The whole structural verification of a module, whatever its level."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from bpir.ir.diagnostic import Diagnostic, DiagnosticError
from bpir.ir.dialect import DIALECTS
from bpir.ir.operation import Operation
from bpir.verifiers.ssa import operations as structure
from bpir.verifiers.ssa.distinct_properties import DistinctProperty, distinct_properties, with_words_or_expressions


def verify(module: Operation) -> list[Diagnostic]:
    """Every structural error: SSA and declarations first; places, symbols, forbidden information and levels if those are sound."""
    operations = list(module.walk())
    properties = distinct_properties(operations)
    found = structure.verify(module, operations, properties)
    dialects = {name.partition(".")[0] for name in {operation.name for operation in operations}}
    if dialects.isdisjoint(DIALECTS):
        return found
    from bpir.verifiers.structure import symbols
    from bpir.verifiers.structure.levels import level_of

    properties = with_words_or_expressions(properties)
    if found:
        return _with_causes(found, symbols.undeclared(module, operations, properties))
    try:
        level = level_of(module)
    except DiagnosticError as mixed:
        return list(mixed.diagnostics)
    unsound = symbols.verify(module, operations, properties)
    found = _of_every_level(module, operations, properties, unsound)
    if "model" in dialects and not unsound:
        from bpir.verifiers.structure import requirements

        found.extend(requirements.verify(module, operations))
    for levels, rules in _OF_LEVELS:
        if not levels.isdisjoint(dialects - {"concrete"} | {level}):
            found.extend(rules(module))
    return found


def _of_every_level(
    module: Operation, operations: Sequence[Operation], properties: Sequence[DistinctProperty], unsound: list[Diagnostic]
) -> list[Diagnostic]:
    """The faults in places, symbols, counts and words, whatever the level; `unsound` are those in symbols."""
    from bpir.verifiers.structure import counts, forbidden_words, holders

    found = [*holders.verify(module, operations), *(unsound or counts.verify(module, operations, properties))]
    return found + forbidden_words.verify(module, operations, properties)


def _networks(module: Operation) -> list[Diagnostic]:
    from bpir.verifiers.structure import network

    return network.verify(module)


def _distributed(module: Operation) -> list[Diagnostic]:
    from bpir.verifiers.structure import dist

    return dist.verify(module)


def _planned(module: Operation) -> list[Diagnostic]:
    from bpir.verifiers.structure import plan

    return plan.verify(module)


def _concrete(module: Operation) -> list[Diagnostic]:
    from bpir.verifiers.structure import concrete

    return concrete.verify(module)


_OF_LEVELS: tuple[tuple[frozenset[str], Callable[[Operation], list[Diagnostic]]], ...] = (
    (frozenset(("model", "dist")), _networks),
    (frozenset(("dist",)), _distributed),
    (frozenset(("plan",)), _planned),
    (frozenset(("concrete",)), _concrete),
)
"""The rules of levels, each with the levels that it is about; a short run loads those of its own level alone."""


def _with_causes(found: list[Diagnostic], undeclared: list[Diagnostic]) -> list[Diagnostic]:
    """The structural errors, with undeclared symbols in the place of those that speak of one: they only follow from it."""
    names = {name for d in undeclared for name in re.findall(r"'(\w+)'", d.message, re.ASCII)[:1]}
    others = [d for d in found if names.isdisjoint(re.findall(r"\w+", d.message, re.ASCII))]
    return sorted([*others, *undeclared], key=lambda d: d.span.start if d.span is not None else -1)
