"""The builtin dialect: modules."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from bpir.ir.attributes import StringAttr, dictionary
from bpir.ir.declaration import Action, Draft, Fragment, OperationDeclaration, Piece, Problems
from bpir.ir.operation import Operation
from bpir.ir.property_parts import SymbolName
from bpir.ir.syntax import EntryRegion
from bpir.ir.syntax_part import ABSENT, ANY_COUNTS, Counts, Part, alternative


class ModuleAttributes(Part):
    """`attributes {a.b = 1}`: the discardable attributes of a module."""

    prints_attributes = True

    def fragment(self, rule: str) -> Fragment:
        return alternative(rule, '"attributes" dictionary', lambda c, v, s: v[0], optional=True)

    def read(self, value: Any, draft: Draft) -> None:
        for key, attribute in value.entries if value is not ABSENT else ():
            inherent = key in ("sym_name", "sym_visibility")  # LLVM takes them from here too
            (draft.properties if inherent else draft.attributes)[key] = attribute

    def pieces(self, operation: Operation) -> Iterable[Piece]:
        if operation.attributes:
            yield " attributes "
            yield dictionary(operation.attributes.items())


class CastForm(Part):
    """`%a, %b : T, T to T {...}`"""

    prints_attributes = True

    def counts(self) -> Counts:
        return ANY_COUNTS

    def fragment(self, rule: str) -> Fragment:
        rules = (
            f'{rule}: {rule}_operands "to" type_list {rule}_attributes -> {rule}_is\n'
            f"{rule}_operands: -> {rule}_none | typed_operands -> {rule}_some\n"
            f"{rule}_attributes: -> {rule}_none | dictionary -> {rule}_given\n"
        )
        actions: dict[str, Action] = {
            rule + "_is": lambda c, v, s: list(v),
            rule + "_none": lambda c, v, s: [],
            rule + "_some": lambda c, v, s: v[0],
            rule + "_given": lambda c, v, s: v[0].entries,
        }
        return Fragment(rules, actions)

    def read(self, value: Any, draft: Draft) -> None:
        operands, types, attributes = value
        draft.operands.extend(operands)
        draft.result_types = list(types)
        draft.attributes.update(attributes)

    def pieces(self, operation: Operation) -> Iterable[Piece]:
        for index, operand in enumerate(operation.operands):
            yield ", " if index else " "
            yield operand
        if operation.operands:
            yield " : " + ", ".join(o.type.text for o in operation.operands)
        yield " to " + ", ".join(r.type.text for r in operation.results)
        if operation.attributes:
            yield " "
            yield dictionary(operation.attributes.items())


class Cast(OperationDeclaration):
    """Any values as values of other types: `builtin.unrealized_conversion_cast %x : T to U`."""

    name = "builtin.unrealized_conversion_cast"
    spelling = "unrealized_conversion_cast"
    syntax = (CastForm(),)

    def verify(self, operation: Operation, report: Problems) -> None:
        if not operation.results or operation.regions or operation.successors:
            report.error(operation, "a cast has one result or more, and no regions or successors")


VISIBILITIES = ("public", "private", "nested")


class Module(OperationDeclaration):
    """A container of operations: `module @name attributes {...} {...}`. Its region is a graph region."""

    name = "builtin.module"
    spelling = "module"
    symbol = SymbolName(optional=True)
    syntax = (symbol, ModuleAttributes(), EntryRegion())
    optional = ("sym_name", "sym_visibility")
    graph_region = True
    isolated = True
    symbol_table = True

    def verify(self, operation: Operation, report: Problems) -> None:
        if operation.regions[0].blocks[0].arguments:
            report.error(operation, "the block of a module has no arguments")
        visibility = operation.properties.get("sym_visibility")
        if visibility is not None and not (isinstance(visibility, StringAttr) and visibility.value in VISIBILITIES):
            report.error(operation, f"the visibility of a symbol is {', '.join(VISIBILITIES)}, not {visibility.text}")
        for key in operation.attributes:
            if "." not in key:
                report.error(operation, f"attributes of a module have a dialect's prefix, as in 'bp.{key}', not '{key}'")
