"""The builtin dialect: modules."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import attrs

from bpir.ir.attributes import StringAttr, dictionary
from bpir.ir.declaration import Draft, Fragment, OperationDeclaration, Piece, Report
from bpir.ir.operation import Operation
from bpir.ir.syntax import ABSENT, EntryRegion, Part, SymbolName, alternative


@attrs.frozen(eq=False)
class ModuleAttributes(Part):
    """`attributes {a.b = 1}`: the discardable attributes of a module."""

    prints_attributes = True

    def fragment(self, rule: str) -> Fragment:
        return alternative(rule, '"attributes" dictionary', lambda c, v, s: v[0], optional=True)

    def read(self, value: Any, draft: Draft) -> None:
        if value is not ABSENT:
            draft.attributes.update(value.entries)

    def pieces(self, operation: Operation) -> Iterable[Piece]:
        if operation.attributes:
            yield " attributes "
            yield dictionary(operation.attributes.items())


VISIBILITIES = ("public", "private", "nested")


class Module(OperationDeclaration):
    """A container of operations: `module @name attributes {...} {...}`. Its region is a graph region."""

    name = "builtin.module"
    spelling = "module"
    syntax = (SymbolName(optional=True), ModuleAttributes(), EntryRegion())
    optional = ("sym_name", "sym_visibility")
    graph_region = True
    isolated = True
    symbol_table = True

    def verify(self, operation: Operation, report: Report) -> None:
        if operation.operands or operation.results or operation.successors:
            report.error(operation, "a module has no operands, results or successors")
        if len(operation.regions) != 1 or len(operation.regions[0].blocks) != 1:
            report.error(operation, "a module has one region with one block")
            return
        if operation.regions[0].blocks[0].arguments:
            report.error(operation, "the block of a module has no arguments")
        for key in ("sym_name", "sym_visibility"):
            if key in operation.properties and not isinstance(operation.properties[key], StringAttr):
                report.error(operation, f"'{key}' of a module is a string")
        visibility = operation.properties.get("sym_visibility")
        if isinstance(visibility, StringAttr) and visibility.value not in VISIBILITIES:
            report.error(operation, f"the visibility of a symbol is {', '.join(VISIBILITIES)}, not '{visibility.value}'")
        for key in operation.attributes:
            if "." not in key:
                report.error(operation, f"attributes of a module have a dialect's prefix, as in 'bp.{key}', not '{key}'")
