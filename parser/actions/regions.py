"""Actions that build regions and blocks."""

from __future__ import annotations

from typing import Any

from bpir.ir.attributes import Attribute, Type
from bpir.ir.operation import Block, Region, Value
from bpir.parser.state import ParserState


def region_open(p: ParserState, v: list[Any], start: int, end: int) -> None:
    p.open_region(start)


def entry_open(p: ParserState, v: list[Any], start: int, end: int) -> None:
    """A region whose entry block exists even if nothing is in it."""
    p.open_region(start)
    p.block()
    p.regions[-1].implicit = True
    if p.current is not None:
        p.regions[-1].default = p.current.default_dialect


def region(p: ParserState, v: list[Any], start: int, end: int) -> Region:
    return p.close_region().region


def entry_arguments(p: ParserState, v: list[Any], start: int, end: int) -> None:
    set_arguments(p, p.block(), v[0])


def block_label(p: ParserState, v: list[Any], start: int, end: int) -> None:
    block = p.begin_block(v[0], start)
    if len(v) > 3 and isinstance(v[2], list):
        set_arguments(p, block, v[2])


def set_arguments(p: ParserState, block: Block, arguments: list[tuple[str, Type, Any, int]]) -> None:
    """Give a block its arguments: name, type, location (or the use of an alias), offset."""
    for text, type_, location, offset in arguments:
        values = [Value(type_, block, len(block.arguments))]
        p.define(text, values, offset, True)
        value = values[0]
        block.arguments.append(value)
        if isinstance(location, Attribute):
            value.location = location
        elif location is not None:
            p.location_uses.append((value, *location))


def block_argument(p: ParserState, v: list[Any], start: int, end: int) -> tuple[str, Type, Any, int]:
    return v[0], v[2], v[3] if len(v) > 3 else None, start


def block_use(p: ParserState, v: list[Any], start: int, end: int) -> Block:
    return p.block_use(v[0], start)


def nothing(p: ParserState, v: list[Any], start: int, end: int) -> None:
    return None
