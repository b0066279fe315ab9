"""Text to IR. The grammar's tables are read from a cache, so that lark is imported only when a grammar is new."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bpir.ir.attributes import Attribute, Type
    from bpir.ir.diagnostic import Source
    from bpir.ir.expressions.expression import Expr
    from bpir.ir.operation import Operation
    from bpir.parser.shortcuts.reuse import Earlier

__all__ = ["parse_attribute", "parse_expression", "parse_module", "parse_type"]


def parse_module(source: Source, *, allow_unregistered: bool = False, earlier: Earlier | None = None) -> Operation:
    """The module that a text holds; a text with other operations at top level is put into a module without a name.

    Args:
        earlier: another text, whose operations may be taken over where it is the same.

    Raises:
        DiagnosticError: the text is not in the language; each diagnostic has a place.
    """
    from bpir.ir.declaration import DECLARATIONS
    from bpir.ir.effort import PER_BYTE, allow
    from bpir.ir.operation import Block, Operation, Region
    from bpir.parser.entry import parse

    allow(PER_BYTE * len(source.text))
    operations, metadata = parse(source, "module", allow_unregistered, earlier)
    if len(operations) == 1 and operations[0].name == "builtin.module":
        root: Operation = operations[0]
        root.parent = None
        root.metadata = metadata
        return root
    return Operation(
        "builtin.module",
        regions=[Region([Block([], operations)])],
        declaration=DECLARATIONS["builtin.module"],
        metadata=metadata,
    )


def parse_expression(text: str) -> Expr:
    """An expression of the language, such as `2*S*H**2/t`.

    Raises:
        DiagnosticError: it is not an expression, or too large.
    """
    from bpir.parser.entry import parse_text

    found: Expr = parse_text(text, "only_expr")
    return found


def parse_attribute(text: str) -> Attribute:
    """An attribute, builtin or of a dialect.

    Raises:
        DiagnosticError: it is not an attribute.
    """
    from bpir.parser.entry import parse_text

    found: Attribute = parse_text(text, "only_attribute")
    return found


def parse_type(text: str) -> Type:
    """A type, builtin or of a dialect.

    Raises:
        DiagnosticError: it is not a type.
    """
    from bpir.parser.entry import parse_text

    found: Type = parse_text(text, "only_type")
    return found
