"""What could be where somebody writes: operations, fields of bindings, values, symbols, dimension symbols, axes of a mesh."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from bpir.dialects.bind import Field
from bpir.ir.declaration import DECLARATIONS
from bpir.lsp.document import Section
from bpir.lsp.names import Name, OperationPlace

_WRITTEN = re.compile(r"[\w$.]*\Z", re.ASCII)
_BEFORE = re.compile(r"[^\s]\s*\Z")


class Proposal(NamedTuple):
    """A text that could be written, its kind (`operation`, `field`, `word`, `value`, `symbol`, `dimension`, `axis`), a remark, and where
    the text that it replaces begins, in offsets of the source.
    """

    text: str
    kind: str
    detail: str
    start: int


def complete(section: Section, offset: int) -> list[Proposal]:
    """The proposals at a place, in the order of their texts."""
    text = section.source.text
    written = _WRITTEN.search(text, max(0, text.rfind("\n", 0, offset) + 1), offset)
    start = written.start() if written is not None else offset
    sign = text[start - 1 : start]
    if sign == "%":
        found = _values(section, start)
    elif sign == "@":
        in_type = re.search(r"[\w)\]]@\Z", text[max(0, start - 40) : start]) is not None
        found = _axes(section, start) if in_type else _symbols(section, start)
    elif _opens_statement(text, start):
        found = _operations(start)
    else:
        found = [*_fields(section, start), *_dimensions(section, start)]
    return sorted(dict.fromkeys(found), key=lambda proposal: (proposal.kind, proposal.text))


def _opens_statement(text: str, start: int) -> bool:
    """Whether an operation may begin here: at the beginning of a line, behind `{` or `=` of results."""
    line = text[text.rfind("\n", 0, start) + 1 : start]
    return not line.strip() or re.fullmatch(r"\s*%[\w$.\-]+(?::\d+)?(?:\s*,\s*%[\w$.\-]+(?::\d+)?)*\s*=\s*", line) is not None


def _operations(start: int) -> Iterable[Proposal]:
    from bpir.tools.pages.documentation import of_class

    for name, declaration in DECLARATIONS.items():
        if declaration.syntax is not None:
            summary = of_class(name, type(declaration)).summary.partition("\n")[0]
            yield Proposal(declaration.spelling or name, "operation", summary, start)


def _values(section: Section, start: int) -> Iterable[Proposal]:
    return (Proposal(name.text, "value", "", start) for name in section.names.found if name.defines and name.kind == "value")


def _symbols(section: Section, start: int) -> Iterable[Proposal]:
    operations = section.names.operations
    for name in section.names.found:
        if name.defines and name.kind == "symbol":
            yield Proposal(name.text, "symbol", operations[name.operation].name if name.operation >= 0 else "", start)


def _dimensions(section: Section, start: int) -> Iterable[Proposal]:
    return (Proposal(name.text, "dimension", "bp.symbols", start) for name in section.names.found if name.defines and _is_dimension(name))


def _is_dimension(name: Name) -> bool:
    return name.kind == "dimension"


def _axes(section: Section, start: int) -> Iterable[Proposal]:
    """The axes of the meshes of the text; the usual ones where there is no mesh."""
    found = re.findall(r'(?:mesh\b[^\n]*?<\[|, *)"(\w+)" *=', section.source.text)
    return (Proposal(axis, "axis", "mesh axis", start) for axis in found or ("tensor", "data", "pipeline"))


def _fields(section: Section, start: int) -> Iterable[Proposal]:
    """The fields of the binding that the place is in the braces of; behind `=` the words that the field may be."""
    place = _operation_before(section, start)
    if place is None or place.declaration is None:
        return
    from bpir.tools.pages.reference import fields

    inside = section.source.text[place.end : start]
    if inside.count("{") <= inside.count("}"):
        return
    key = re.search(r"(\w+)\s*=\s*\Z", inside)
    for field in fields(place.declaration):
        if key is None:
            yield Proposal(field.name, "field", field.help, start)
        elif field.name == key[1]:
            yield from (Proposal(word, "word", field.help, start) for word in _words(field))


def _words(field: Field) -> tuple[str, ...]:
    return tuple(field.choices)


def _operation_before(section: Section, offset: int) -> OperationPlace | None:
    return next((place for place in reversed(section.names.operations) if place.end <= offset), None)
