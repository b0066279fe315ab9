"""The symbols of a module, as its `bp` operations declare them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cached_property

from bpir.dialects.bp.attributes import (
    RelationAttr,
)
from bpir.dialects.bp.operations import Assume, Bind, Symbols
from bpir.ir.attributes import ArrayAttr
from bpir.ir.diagnostic import suggestion
from bpir.ir.operation import Operation, top_level
from bpir.ir.records import Record
from bpir.ir.relations.facts import Facts, Relation


class SymbolTable(metaclass=Record):
    """The symbols of a module: the declared names, the relations, the bound numbers."""

    names: tuple[str, ...]
    relations: tuple[Relation, ...]
    bindings: Mapping[str, int]
    assumptions: tuple[Relation, ...]

    @cached_property
    def facts(self) -> Facts:
        """Everything: relations, assumptions and numbers."""
        return Facts((*self.relations, *self.assumptions), dict(self.bindings))

    @cached_property
    def declared_facts(self) -> Facts:
        """The declared relations alone."""
        return Facts(self.relations, {})


_SAYING = frozenset((Symbols.name, Assume.name, Bind.name))


def symbol_table(module: Operation) -> SymbolTable:
    names: dict[str, None] = {}
    relations: list[Relation] = []
    assumptions: list[Relation] = []
    bindings: dict[str, int] = {}
    for operation in top_level(module):
        if operation.name not in _SAYING:  # as good as all of a large module
            continue
        if (declared := Symbols.of(operation)) is not None:
            names.update(dict.fromkeys(declared.symbols))
            relations.extend(declared.relations)
        elif (assumed := Assume.of(operation)) is not None:
            assumptions.extend(assumed.relations)
        elif (bound := Bind.of(operation)) is not None:
            bindings.update(bound.bindings)
    return SymbolTable(tuple(names), tuple(relations), bindings, tuple(assumptions))


def relations_attribute(relations: Iterable[Relation]) -> ArrayAttr:
    return ArrayAttr(tuple(RelationAttr(r.kind, r.left, r.right) for r in relations))


_ELEMENT = re.compile(r"(b?f|[tf]f|fp|float|half|u?int|[su]?i)[0-9]+\w*", re.ASCII)


def undeclared_symbol(name: str, declared: set[str]) -> str:
    """The message about a symbol that nothing declares, and what was meant, as far as that can be told."""
    said = f"undeclared symbol '{name}'"
    parts = name.split("x")
    if len(parts) > 1 and all(part in declared or part.isdigit() for part in parts):
        return f"{said}: write '{' x '.join(parts)}' with blanks for {len(parts)} dimensions"
    if _ELEMENT.fullmatch(name):
        return f"{said}: an element is a width in bytes (e, 2) or a type such as bf16, f32, f8E4M3FN, i8"
    return said + (suggestion(name, declared) or ("; declare it with bp.symbols" if declared else ": the module has no bp.symbols"))
