"""Actions that build locations."""

from __future__ import annotations

from typing import Any

from bpir.ir.attributes import Attribute
from bpir.ir.builtin.attributes import (
    CallLocation,
    FileLocation,
    FusedLocation,
    Location,
    NameLocation,
    UnknownLocation,
)
from bpir.ir.diagnostic import fail, suggestion
from bpir.parser.actions.attributes import hash_attribute, integer
from bpir.parser.engine import RawAction
from bpir.parser.lexer import unquoted
from bpir.parser.state import ParserState


def trailing(p: ParserState, v: list[Any], start: int, end: int) -> Any:
    """`loc(...)` after an operation or argument: a location, or the name and place of an alias that may follow later."""
    return v[2]


def trailing_alias(p: ParserState, v: list[Any], start: int, end: int) -> Any:
    token = v[2]
    if "." in token.partition("<")[0] or "<" in token:
        return alias(p, [token], start, end)
    return token, p.skip(p.text.index("(", start) + 1)


def attribute(p: ParserState, v: list[Any], start: int, end: int) -> Attribute:
    found: Attribute = v[2]
    return found


def alias(p: ParserState, v: list[Any], start: int, end: int) -> Location:
    found = hash_attribute(p, v, start, end)
    if not isinstance(found, Location):
        raise fail(f"expected a location, but {v[0][:60]} is {found.text[:60]}", p.span(start, end))
    return found


def file(p: ParserState, v: list[Any], start: int, end: int) -> Location:
    return FileLocation(unquoted(v[0]), _number(p, v[2], start, end), _number(p, v[4], start, end))


def _number(p: ParserState, digits: str, start: int, end: int) -> int:
    value = integer(p, [digits], start, end)
    if value >= 1 << 32:
        raise fail("a line or column has at most 32 bits", p.span(start, end))
    return value


def name(p: ParserState, v: list[Any], start: int, end: int) -> Location:
    child = v[2] if len(v) > 1 else None
    return NameLocation(unquoted(v[0]), None if isinstance(child, UnknownLocation) else child)


def call(p: ParserState, v: list[Any], start: int, end: int) -> Location:
    return CallLocation(v[2], v[4])


def fused(symbols: tuple[str, ...]) -> RawAction:
    """`fused<metadata>[a, b]`"""
    metadata_at = symbols.index("attribute") if "attribute" in symbols else -1
    list_at = symbols.index("locations") if "locations" in symbols else -1

    def action(p: ParserState, v: list[Any], start: int, end: int) -> Location:
        locations = tuple(v[list_at]) if list_at >= 0 else ()
        return FusedLocation(locations, v[metadata_at] if metadata_at >= 0 else None)

    return action


def word(p: ParserState, v: list[Any], start: int, end: int) -> Location:
    if v[0] != "unknown":
        known = ("unknown", "callsite", "fused")
        raise fail(f"unknown kind of location '{v[0][:60]}'{suggestion(v[0], known)}", p.span(start, end))
    return UnknownLocation()


LOCATION_ACTIONS: dict[str, RawAction] = {
    "location_trailing": trailing,
    "location_trailing_alias": trailing_alias,
    "location_attribute": attribute,
    "location_alias": alias,
    "location_file": file,
    "location_name": name,
    "location_call": call,
    "location_word": word,
}
LOCATION_FACTORIES = {"location_fused": fused}
