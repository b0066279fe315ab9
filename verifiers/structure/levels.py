"""The level of a module: which of the level dialects its operations are of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

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
    if len(levels) > 1:
        _refuse_mixed(operations)
    return next(iter(levels), "")


def _refuse_mixed(operations: Sequence[Operation]) -> NoReturn:
    """Refuse the first operation that is of another level than one before it."""
    of_levels = [operation for operation in operations if level_of_operation(operation.name)]
    first = of_levels[0]
    level = level_of_operation(first.name)
    other = next(operation for operation in of_levels if level_of_operation(operation.name) != level)
    raise fail(
        f"a file holds operations of one level, found '{other.name}' of level {level_of_operation(other.name)} in a {level} module",
        other.span,
        note(f"the first operation of level {level} is here", first.span),
    )
