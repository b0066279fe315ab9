"""The level of a module: which of the level dialects its operations are of."""

from __future__ import annotations

from bpir.ir.declaration import EXTENSION_LEVELS
from bpir.ir.diagnostic import Span, fail, note
from bpir.ir.operation import Operation, top_level

_LEVEL_OF_DIALECT = {
    "model": "model",
    "dist": "dist",
    "plan": "plan",
    "concrete": "concrete",
}


def level_of_dialect(name: str) -> str:
    """The level of a dialect's operations, those of target extensions included; "" for inputs (`bp`, `bind`) and all others."""
    return _LEVEL_OF_DIALECT.get(name) or EXTENSION_LEVELS.get(name, "")


def place_of(module: Operation) -> Span | None:
    """Where a diagnostic about the whole module points: at its own text, or at its first operation of a level."""
    if module.span is not None:
        return module.span
    spans = (operation.span for operation in top_level(module) if level_of_dialect(operation.name.partition(".")[0]))
    return next(spans, None)


def level_of(module: Operation) -> str:
    """`model`, `dist`, `plan` or `concrete`; "" if the module holds no operation of a level.

    Raises:
        DiagnosticError: the module mixes levels.
    """
    operations = top_level(module)
    dialects = {name.partition(".")[0] for name in {operation.name for operation in operations}}
    levels = {level_of_dialect(dialect) for dialect in dialects} - {""}
    if len(levels) <= 1:
        return next(iter(levels), "")
    first: Operation | None = None
    found = ""
    for operation in operations:
        level = level_of_dialect(operation.name.partition(".")[0])
        if not level or level == found:
            continue
        if first is not None:
            raise fail(
                f"a file holds operations of one level, found '{operation.name}' of level {level} in a {found} module",
                operation.span,
                note(f"the first operation of level {found} is here", first.span),
            )
        first, found = operation, level
    return found
