"""What an editor shows of the place under the pointer, as Markdown."""

from __future__ import annotations

from typing import NamedTuple

from bpir.ir.declaration import DECLARATIONS
from bpir.lsp.document import Section
from bpir.lsp.names import Name, OperationPlace
from bpir.lsp.places import local_bytes, operation_of, value_of
from bpir.lsp.text import outward


class Hover(NamedTuple):
    """A text in Markdown, and the place that it is about, in offsets of the source."""

    text: str
    start: int
    end: int


def hover(section: Section, offset: int) -> Hover | None:
    """What there is to say of a place: of a value its type and local size, of a symbol its operation, of a dimension symbol its relations
    and its number, of an operation its syntax, its documentation and its equations.
    """
    name = section.names.at(offset)
    if name is not None:
        found = _KINDS.get(name.kind, _nothing)(section, name)
        return Hover(outward(found), name.start, name.end) if found else None
    place = next((p for p in section.names.operations if p.start <= offset <= p.end), None)
    return Hover(_operation(place), place.start, place.end) if place is not None and place.declaration is not None else None


def _nothing(section: Section, name: Name) -> str:
    return ""


def _code(text: str) -> str:
    return f"```bpir\n{text}\n```"


def _value(section: Section, name: Name) -> str:
    value = value_of(section, name)
    if value is None:
        return ""
    size = local_bytes(section, value)
    shown = _code(f"%{name.text} : {value.type}")
    return shown if size is None else f"{shown}\n`{size.text}` bytes on one rank"


def _symbol(section: Section, name: Name) -> str:
    target = name.target
    if target is None or target.operation < 0:
        return ""
    place = section.names.operations[target.operation]
    line = section.source.line(section.source.position(place.start)[0]).strip().removesuffix("{").rstrip()
    return f"{_code(line)}\n{_summary(place.name)}"


def _axis(section: Section, name: Name) -> str:
    if name.target is None:
        return f"the axis `{name.text}` of a mesh"
    line = section.source.line(section.source.position(name.target.start)[0]).strip()
    return f"the axis `{name.text}` of the mesh\n{_code(line)}"


def _part(section: Section, name: Name) -> str:
    operation = operation_of(section, name)
    if operation is None:
        return ""
    return f'"{name.text}" of `{operation.name}`: {_summary(operation.name)}'


def _dimension(section: Section, name: Name) -> str:
    table = section.symbols
    if table is None or name.target is None:
        return ""
    number = table.bindings.get(name.text)
    lines = [_code(f"{name.text} = {number}" if number is not None else name.text)]
    for title, relations in (("declared", table.relations), ("assumed", table.assumptions)):
        told = [f"`{relation.text}`" for relation in relations if name.text in relation.symbols]
        if told:
            lines.append(f"{title}: {', '.join(told)}")
    return "\n\n".join(lines)


def _operation(place: OperationPlace) -> str:
    from bpir.tools.pages import documentation, reference

    declaration = DECLARATIONS[place.name]
    text = documentation.of_class(place.name, type(declaration))
    parts = [_code(reference.syntax(declaration) or f'"{place.name}"')]
    if text.summary:
        parts.append(documentation.readable(text.summary))
    if text.equations:
        about = text.remarks.get("Equations", "")
        parts.append(f"**Equations**{f' ({documentation.readable(about)})' if about else ''}:")
        numbered = ((equation.label.rpartition(".")[2], documentation.readable(equation.text)) for equation in text.equations)
        parts.append("\n".join(f"- {number}: {said}" for number, said in numbered))
    if text.sections.get("Source"):
        parts.append(f"Source: {text.sections['Source']}")
    return "\n\n".join(parts)


def _summary(name: str) -> str:
    from bpir.tools.pages import documentation

    declaration = DECLARATIONS.get(name)
    return documentation.readable(documentation.of_class(name, type(declaration)).summary) if declaration is not None else ""


_KINDS = {"value": _value, "symbol": _symbol, "dimension": _dimension, "part": _part, "axis": _axis}
