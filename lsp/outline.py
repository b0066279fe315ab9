"""What is in a document: modules, blocks, layers, tasks, buffers, as a tree; and types and sizes that the text leaves out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from bpir.lsp.document import Section
from bpir.lsp.names import Name
from bpir.lsp.places import local_bytes, operation_of, value_of


class Item(NamedTuple):
    """An entry of the outline: its name, its operation, its place with all that is in it, the place of its name, and its entries."""

    name: str
    detail: str
    start: int
    end: int
    name_start: int
    name_end: int
    children: list[Item]


class Hint(NamedTuple):
    """A text that an editor shows behind a place of the source."""

    offset: int
    text: str


def outline(section: Section) -> list[Item]:
    """The named operations of a section, nested as their regions are; what is in no region that could be read is at the top."""
    found: list[Item] = []
    open_items: list[Item] = []
    last = -1
    for name in section.names.found:
        if not name.defines or name.kind not in ("symbol", "part") or name.operation in (-1, last):
            continue
        last = name.operation
        place = section.names.operations[name.operation]
        operation = operation_of(section, name)
        end = operation.span.end if operation is not None and operation.span is not None else name.end
        item = Item(name.text, place.name, place.start, max(end, name.end), name.start, name.end, [])
        while open_items and open_items[-1].end <= item.start:
            open_items.pop()
        (open_items[-1].children if open_items else found).append(item)
        open_items.append(item)
    return found


def hints(section: Section, start: int, end: int) -> Iterator[Hint]:
    """The type of each result that the text does not say, and the bytes of one rank's part of it, in a range of the source."""
    for name in section.names.found:
        if name.kind != "value" or not name.defines or not start <= name.start <= end:
            continue
        value = value_of(section, name)
        if value is None or value.producer is None:
            continue
        size = local_bytes(section, value)
        if size is None:
            continue
        shown = f"{size.text} bytes"
        yield Hint(name.end, f": {value.type} ({shown})" if not _says_type(section, name) else f" ({shown})")


def _says_type(section: Section, name: Name) -> bool:
    """Whether the text of the operation holds the types of its results."""
    operation = operation_of(section, name)
    if operation is None or operation.span is None or operation.declaration is None:
        return True
    text = section.source.text[operation.span.start : operation.span.end]
    return "!bp.tensor" in text or text.startswith('"')
