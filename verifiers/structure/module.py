"""The whole structural verification of a module, whatever its level."""

from __future__ import annotations

import re

from bpir.ir.diagnostic import Diagnostic, DiagnosticError
from bpir.ir.dialect import DIALECTS
from bpir.ir.operation import Operation
from bpir.verifiers.ssa import operations as structure
from bpir.verifiers.ssa.distinct_properties import distinct_properties, with_words_or_expressions


def verify(module: Operation) -> list[Diagnostic]:
    """Every structural error: SSA and declarations first; places, symbols, forbidden information and levels if those are sound."""
    operations = list(module.walk())
    properties = distinct_properties(operations)
    found = structure.verify(module, operations, properties)
    dialects = {name.partition(".")[0] for name in {operation.name for operation in operations}}
    if dialects.isdisjoint(DIALECTS):
        return found
    from bpir.verifiers.structure import counts, forbidden_words, holders, symbols
    from bpir.verifiers.structure.levels import level_of

    if found:
        return _with_causes(found, symbols.undeclared(module, operations, with_words_or_expressions(properties)))
    properties = with_words_or_expressions(properties)
    try:
        level_of(module)
    except DiagnosticError as mixed:
        return list(mixed.diagnostics)
    unsound = symbols.verify(module, operations, properties)
    found = [*holders.verify(module, operations), *(unsound or counts.verify(module, operations, properties))]
    found.extend(forbidden_words.verify(module, operations, properties))
    if "model" in dialects and not unsound:
        from bpir.verifiers.structure import requirements

        found.extend(requirements.verify(module, operations))
    if "model" in dialects or "dist" in dialects:
        from bpir.verifiers.structure import network

        found.extend(network.verify(module))
    if "dist" in dialects:
        from bpir.verifiers.structure import dist

        found.extend(dist.verify(module))
    if "plan" in dialects:
        from bpir.verifiers.structure import plan

        found.extend(plan.verify(module))
    if level_of(module) == "concrete":
        from bpir.verifiers.structure import concrete

        found.extend(concrete.verify(module))
    return found


def _with_causes(found: list[Diagnostic], undeclared: list[Diagnostic]) -> list[Diagnostic]:
    """The structural errors, with undeclared symbols in the place of those that speak of one: they only follow from it."""
    names = {name for d in undeclared for name in re.findall(r"'(\w+)'", d.message, re.ASCII)[:1]}
    others = [d for d in found if names.isdisjoint(re.findall(r"\w+", d.message, re.ASCII))]
    return sorted([*others, *undeclared], key=lambda d: d.span.start if d.span is not None else -1)
