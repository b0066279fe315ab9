"""An operation's custom form and properties in words: for `--explain` and the language reference."""

from __future__ import annotations

import re
from collections.abc import Iterable

import attrs

from bpir.dialects.bind import Field, Fields
from bpir.dialects.dist.parts import Components
from bpir.dialects.model.rules.operation import Expression
from bpir.ir.declaration import OperationDeclaration
from bpir.ir.property_parts import Body, Flag, Property, Reference, References, SymbolName, Text, Word, Words
from bpir.ir.syntax import Clause, EntryRegion, Operands, ResultTypes
from bpir.ir.syntax_part import Part


@attrs.frozen
class PropertyRow:
    """One property: its name, how it is spelled, and whether the operation needs it."""

    name: str
    spelling: str
    required: bool


def syntax(declaration: OperationDeclaration) -> str:
    """The custom form: `[...]` may be left out, a capital word stands for what it names; empty if there is the generic form only."""
    if declaration.syntax is None:
        return ""
    spelled = [declaration.spelling or declaration.name, *(_spell(part, declaration) for part in declaration.syntax)]
    return " ".join(spelled).replace(" \n", "\n").rstrip()


def properties(declaration: OperationDeclaration) -> list[PropertyRow]:
    """The properties that the operation may have, the required ones first."""
    found = dict.fromkeys((*declaration.required, *declaration.optional), "")
    for part in _leaves(declaration.syntax or ()):
        for name in part.names():
            found[name] = _property(part) if isinstance(part, Property) else ""
    needed = {name: name in declaration.required for name in found}
    return [PropertyRow(name, spelling, needed[name]) for name, spelling in sorted(found.items(), key=lambda row: not needed[row[0]])]


def fields(declaration: OperationDeclaration) -> tuple[Field, ...]:
    """The fields of a binding, which are in one property."""
    return tuple(field for part in _leaves(declaration.syntax or ()) if isinstance(part, Fields) for field in part.table)


def traits(declaration: OperationDeclaration) -> list[str]:
    """The constraints that the structure of a module has to respect."""
    words = {
        "terminator": "ends its block",
        "isolated": "sees no value of the regions around it",
        "graph_region": "values may be used before they stand",
        "symbol_table": "the symbols inside have names of their own",
    }
    return [text for name, text in words.items() if getattr(declaration, name)]


def _leaves(parts: Iterable[Part]) -> Iterable[Part]:
    for part in parts:
        if isinstance(part, Clause):
            yield from _leaves(part.parts)
        else:
            yield part


def _spell(part: Part, declaration: OperationDeclaration) -> str:
    if isinstance(part, Clause):
        return _spell_clause(part, declaration)
    if isinstance(part, Components):
        return f"\n    [{_property(part)}]" if part.optional else f"\n    {_property(part)}"
    if isinstance(part, Operands):
        return _spell_operands(part)
    if isinstance(part, ResultTypes):
        opening = f"{part.opening} TYPE, ..."
        return f"[{opening}]" if part.inferred or part.optional else opening
    if isinstance(part, EntryRegion):
        return "(%ARGUMENT: TYPE, ...) { ... }"
    if isinstance(part, Flag):
        return f"[{part.keyword or part.name}]"
    return _property(part)


def _spell_clause(clause: Clause, declaration: OperationDeclaration) -> str:
    inner = " ".join((clause.keyword, *(_spell(part, declaration) for part in clause.parts)))
    return ("\n    " if clause.line else "") + (f"[{inner}]" if clause.optional else inner)


def _spell_operands(part: Operands) -> str:
    many = "%OPERAND, ..." if part.maximum is None else ", ".join(["%OPERAND"] * part.maximum)
    return f"[{many}]" if part.minimum == 0 else many


def _property(part: Part) -> str:
    match part:
        case SymbolName():
            return "@NAME"
        case Reference():
            return f"@{part.name.upper()}"
        case References():
            return f"[@{part.name.upper()}, ...]"
        case Text():
            return f'"{part.name.upper()}"'
        case Word():
            return "|".join(part.allowed) or part.name.upper()
        case Words():
            return "[WORD, ...]"
        case Flag():
            return part.keyword or part.name
        case Body():
            return "<...>"
        case Components():
            return f"{part.keyword} <NAME = EXPRESSION, ...>"
        case Expression():
            return "EXPRESSION"
        case Fields():
            return "{FIELD = VALUE, ...}"
    return _in_docstring(part)


def _in_docstring(part: Part) -> str:
    """The first code in the docstring of a dialect's own part."""
    shown = re.search(r"`([^`]+)`", type(part).__doc__ or "")
    return shown.group(1) if shown else "..."
