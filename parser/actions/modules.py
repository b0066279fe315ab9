"""Actions of a whole file: its operations and its aliases."""

from __future__ import annotations

from typing import Any

from bpir.ir.diagnostic import fail
from bpir.ir.operation import Operation
from bpir.parser.late import complete
from bpir.parser.state import ParserState


def module(p: ParserState, v: list[Any], start: int, end: int) -> tuple[list[Operation], str]:
    """The operations of the file, and its metadata sections."""
    p.finish()
    operations = p.block().operations
    if p.late:
        complete(p, operations)
    return operations, "\n".join(p.metadata)


def attribute_alias(p: ParserState, v: list[Any], start: int, end: int) -> None:
    _check_alias(p, v[0], p.attribute_aliases, start)
    p.attribute_aliases[v[0]] = v[2]


def type_alias(p: ParserState, v: list[Any], start: int, end: int) -> None:
    _check_alias(p, v[0], p.type_aliases, start)
    p.type_aliases[v[0]] = v[2]


def _check_alias(p: ParserState, name: str, known: Any, start: int) -> None:
    place = p.span(start, start + len(name))
    if "<" in name or "." in name:
        raise fail("the name of an alias holds no dot: names with one belong to dialects", place)
    if name in known:
        raise fail(f"redefinition of alias '{name}'", place)
