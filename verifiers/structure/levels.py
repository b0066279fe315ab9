"""The level of a module: which of the level dialects its operations are of."""

from __future__ import annotations

from bpir.ir.diagnostic import Span, fail, note
from bpir.ir.dialect import level_of_operation
from bpir.ir.operation import Operation, top_level


def place_of(module: Operation) -> Span | None:
    """The place of a diagnostic about the whole module: its own text, or its first operation of a level."""
    if module.span is not None:
        return module.span
    spans = (operation.span for operation in top_level(module) if level_of_operation(operation.name))
    return next(spans, None)


def level_of(module: Operation) -> str:
    """`model`, `dist`, `plan` or `concrete`; "" if the module holds no operation of a level.

    Raises:
        DiagnosticError: the module mixes levels.
    """
    operations = top_level(module)
    levels = {level_of_operation(name) for name in {operation.name for operation in operations}} - {""}
    if len(levels) <= 1:
        return next(iter(levels), "")
    first: Operation | None = None
    found = ""
    for operation in operations:
        level = level_of_operation(operation.name)
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
