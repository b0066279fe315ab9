"""What an editor can do about a text: put in what was meant, derive the next level."""

from __future__ import annotations

import re
from typing import NamedTuple

from bpir.dialects.levels import ModelIR
from bpir.ir.diagnostic import Diagnostic, DiagnosticError, Source
from bpir.ir.effort import BASE, PER_BYTE, allow, limited
from bpir.lsp.document import Section
from bpir.verifiers.structure.levels import level_of

_MEANT = re.compile(r"'([^']+)'[^']*; did you mean '([^']+)'\?")


class Fix(NamedTuple):
    """A text in place of a part of the source."""

    title: str
    start: int
    end: int
    text: str


class Derivation(NamedTuple):
    """Passes that lead on from a module: a title, the passes as `bp-opt` spells them, and the level that they lead to."""

    title: str
    passes: str
    level: str


def fix(diagnostic: Diagnostic) -> Fix | None:
    """What was meant, in the place of what was written, where the diagnostic says both and points at it."""
    span = diagnostic.span
    match = _MEANT.search(diagnostic.message)
    if span is None or match is None:
        return None
    written, meant = match.groups()
    place = span.source.text.find(written, span.start, max(span.end, span.start + len(written)))
    if place < 0:
        return None
    return Fix(f"Write '{meant}'", place, place + len(written), meant)


def derivations(section: Section) -> list[Derivation]:
    """What can be derived from a sound module: of a model its tasks and its plan."""
    module = section.module
    if module is None or not section.is_sound:
        return []
    level = level_of(module)
    kinds = [workload.kind for workload in ModelIR(module).workloads]
    if level == "model":
        found = []
        for kind in dict.fromkeys(kinds):
            step = f"distribute-{kind}"
            found.append(Derivation(f"Derive the plan ({kind})", f"{step},plan-{kind}", "plan"))
            found.append(Derivation(f"Derive the tasks of a rank ({kind})", step, "dist"))
        return found
    if level == "dist":
        return [Derivation(f"Derive the plan ({kind})", f"plan-{kind}", "plan") for kind in dict.fromkeys(kinds)]
    return []


def derive(section: Section, passes: str) -> str:
    """The text of what the passes make of a section.

    Raises:
        DiagnosticError: the section cannot be read, or a pass or its gate failed.
    """
    from bpir.ir.printer import print_module
    from bpir.passes.manager import PassManager
    from bpir.passes.pipeline import parse_pipeline

    if section.module is None:
        raise DiagnosticError(*section.found)
    steps = BASE + PER_BYTE * len(section.source.text)
    allow(steps)
    with limited(steps):
        chosen = parse_pipeline(Source("<passes>", passes))
        return print_module(PassManager(chosen, print_module).run(section.module)).rstrip("\n") + "\n"
