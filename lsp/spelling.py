"""How operations are spelled in a text, and what they are called in an editor."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from bpir.ir.declaration import DECLARATIONS, OperationDeclaration
from bpir.ir.property_parts import Text


@cache
def _spelled() -> dict[str, str]:
    """The words that open an operation, short ones too, and its name."""
    found = {name: name for name, declaration in DECLARATIONS.items() if declaration.syntax is not None}
    return found | {d.spelling: name for name, d in DECLARATIONS.items() if d.spelling}


def _operation_of(word: str) -> str | None:
    """The operation that a word opens; a word with a dot that is of one of our dialects opens one that does not exist."""
    return _spelled().get(word)


@cache
def _label(declaration: OperationDeclaration) -> str:
    """The property of the text that names an operation: the first part of its custom form."""
    first = next(iter(declaration.syntax or ()), None)
    return first.name if isinstance(first, Text) else ""


@cache
def _is_symbol(declaration: OperationDeclaration | None) -> bool:
    if declaration is None:
        return False
    parts: Iterable[str] = (name for part in declaration.syntax or () for name in part.names())
    return "sym_name" in (*declaration.required, *declaration.optional, *parts)
