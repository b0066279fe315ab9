"""Actions of the metadata section `{-# dialect_resources: {builtin: {key: "0x..."}}, external_resources: {...} #-}`."""

from __future__ import annotations

import re
from typing import Any

from bpir.ir.declaration import Raw
from bpir.ir.diagnostic import Span, fail, suggestion
from bpir.ir.records import Record
from bpir.parser.engine import RawAction
from bpir.parser.lexer import unquoted
from bpir.parser.state import ParserState

_SECTIONS = ("dialect_resources", "external_resources")
_BLOB = re.compile(r"0x(?:[0-9a-fA-F]{2}){4,}")  # the first four bytes are the alignment


class Entry(metaclass=Record):
    """A key with nested entries or a value (a string literal or a word)."""

    key: str
    value: list[Entry] | str
    span: Span


def entry(p: ParserState, v: list[Any], start: int, end: int) -> Entry:
    value: list[Entry] | str = v[2] if v[2] != "{" else v[3] if isinstance(v[3], list) else []
    return Entry(v[0], value, p.span(start, end))


def entries(p: ParserState, v: list[Any], start: int, end: int) -> None:
    for section in v[0]:
        if section.key not in _SECTIONS:
            raise fail(f"unknown metadata section '{section.key}'{suggestion(section.key, _SECTIONS)}", section.span)
        for owner in _nested(section):
            if section.key == _SECTIONS[0] and owner.key != "builtin":
                raise fail(f"the dialect '{owner.key}' has no resources", owner.span)
            for resource in _nested(owner):
                _check(section.key, resource)


def _nested(entry_: Entry) -> list[Entry]:
    if isinstance(entry_.value, str):
        raise fail(f"expected '{{' after '{entry_.key}:'", entry_.span)
    return entry_.value


def _check(section: str, resource: Entry) -> None:
    value = resource.value
    if isinstance(value, list):
        raise fail(f"expected a string as the value of '{resource.key}'", resource.span)
    if value[0] != '"':
        if section == _SECTIONS[0] or value not in ("true", "false"):
            raise fail(f"expected a string as the value of '{resource.key}'", resource.span)
    elif (section == _SECTIONS[0] or value.startswith('"0x')) and not _BLOB.fullmatch(unquoted(value)):
        raise fail(f"expected bytes as \"0x...\", the first four an alignment, as the value of '{resource.key}'", resource.span)
    if value.startswith('"0x'):
        alignment = int.from_bytes(bytes.fromhex(unquoted(value)[2:10]), "little")
        if alignment & (alignment - 1):
            raise fail(f"the alignment of '{resource.key}', its first four bytes, is {alignment}, no power of two", resource.span)


def metadata(p: ParserState, v: list[Any], start: int, end: int) -> None:
    token: str = v[1]
    first = end - len(token)
    p.body("metadata_body", Raw(token[3:-3], p.span(first + 3, end - 3)))
    p.metadata.append(token)


METADATA_ACTIONS: dict[str, RawAction] = {"metadata": metadata, "metadata_entries": entries, "metadata_entry": entry}
