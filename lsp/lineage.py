"""From a derived operation to what it is derived from, which is in another file: `from "attention.query"`."""

from __future__ import annotations

from collections.abc import Iterable

from bpir.dialects.levels import ModuleIR
from bpir.lsp.document import Section
from bpir.lsp.names import Name
from bpir.verifiers.derivation import LEVELS
from bpir.verifiers.structure.levels import level_of


def sources(section: Section, name: Name, others: Iterable[Section]) -> list[tuple[Section, Name]]:
    """The definitions in other sections that a name of the lineage may mean: in modules of the same name, one level above.

    Args:
        name: of the kind `part`, and no definition.
        others: what is open, or lies beside the file.
    """
    level, title = _place(section)
    wanted = LEVELS[LEVELS.index(level) - 1] if level in LEVELS[1:] else ""
    found = []
    for other in others:
        if other is section or not wanted or _place(other) != (wanted, title):
            continue
        definition = other.names.definition("part", name.text) or other.names.definition("symbol", name.text)
        if definition is not None:
            found.append((other, definition))
    return found


def _place(section: Section) -> tuple[str, str]:
    """The level and the title of a section; empty where it cannot be read."""
    if section.module is None or any(d.severity == "error" for d in section.found):
        return "", ""
    return level_of(section.module), ModuleIR(section.module).title
