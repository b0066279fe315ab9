"""Actions that build operations, regions and blocks. Each receives all symbols of its rule."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bpir.ir.attributes import Attribute, DictAttr, FunctionType, Type
from bpir.ir.declaration import Draft, OperationDeclaration
from bpir.ir.diagnostic import DiagnosticError, Span, fail, suggestion
from bpir.ir.operation import Operation, Value
from bpir.parser.actions.modules import attribute_alias, module, type_alias
from bpir.parser.actions.regions import block_argument, block_label, block_use, entry_arguments, entry_open, nothing, region, region_open
from bpir.parser.actions.types import bang_type
from bpir.parser.engine import RawAction
from bpir.parser.late import unknown_results, unknown_type
from bpir.parser.lexer import unquoted
from bpir.parser.namespaces import OURS
from bpir.parser.state import ParserState, UnknownType

# --- generic form ------------------------------------------------------------------------------------------------------------


def operation_name(p: ParserState, v: list[Any], start: int, end: int) -> Any:
    found = p.operation_names.get(v[0])
    if found is None:
        found = p.operation_name(v[0], unquoted(v[0]), start)
    p.current = found[1]
    return found


def operand_use(p: ParserState, v: list[Any], start: int, end: int) -> tuple[str, int]:
    return v[0], int(v[1][1:])


def generic(symbols: tuple[str, ...]) -> RawAction:
    """The action of one alternative of `generic`: which optional parts it has is known beforehand."""
    at = {name: index for index, name in enumerate(symbols)}
    operands_at = at.get("operand_uses", -1)
    successors_at = at.get("successors", -1)
    properties_at = at.get("op_properties", -1)
    regions_at = at.get("regions", -1)
    attributes_at = at.get("op_attributes", -1)
    type_at = at["op_type"]

    def action(p: ParserState, v: list[Any], start: int, end: int) -> Operation:
        name, declaration = v[0]
        type_: FunctionType = v[type_at]
        inputs = type_.inputs
        operands: list[Value] = []
        if operands_at >= 0:
            texts = v[operands_at]
            if len(texts) != len(inputs):
                raise _operand_count(p, start, end, len(texts), len(inputs))
            known = p.names.values
            for index, text in enumerate(texts):
                value = known.get(text)
                wanted = inputs[index]
                if value is None or value.__class__ is list or value.type is not wanted:  # type: ignore[union-attr]
                    value = _slow_use(p, start, index, text, wanted)
                operands.append(value)  # type: ignore[arg-type]
        elif inputs:
            raise _operand_count(p, start, end, 0, len(inputs))
        operation = Operation(
            name,
            operands,
            [Value(t) for t in type_.results],
            v[successors_at] if successors_at >= 0 else [],
            _properties(v[properties_at], declaration) if properties_at >= 0 else {},
            v[regions_at] if regions_at >= 0 else [],
            dict(v[attributes_at].entries) if attributes_at >= 0 else {},
            None,
            p.span(start, end),
            declaration,
        )
        if declaration is not None:
            _check_properties(operation, declaration, properties_at >= 0)
        return operation

    return action


def plain_operation(
    name: str,
    declaration: OperationDeclaration | None,
    properties: dict[str, Attribute] | None,
    attributes: dict[str, Attribute] | None,
    span: Span,
) -> Operation:
    """An operation without operands, results and regions.

    Raises:
        DiagnosticError: it may not have the properties or attributes.
    """
    operation = Operation(name, properties=properties, attributes=attributes, span=span, declaration=declaration)
    if declaration is not None:
        _check_properties(operation, declaration, properties is not None)
    return operation


def _check_properties(operation: Operation, declaration: OperationDeclaration, given: bool) -> None:
    if given and declaration.dialect not in OURS and not property_names(declaration):
        raise fail(f"'{operation.name}' has no properties", operation.span)
    _sort_properties(operation, declaration)


def _properties(attribute: Attribute, declaration: OperationDeclaration | None) -> dict[str, Attribute]:
    if isinstance(attribute, DictAttr) and (attribute.entries or declaration is not None):
        return dict(attribute.entries)
    return {"": attribute}  # an operation without a declaration may have any attribute here; the printer knows this key


def _slow_use(p: ParserState, start: int, index: int, text: str | tuple[str, int], type_: Type) -> Value:
    number = 0
    if not isinstance(text, str):
        text, number = text
    offset = p.locate_operand(p.text.index("(", start), index)
    return p.use(text, number, offset, type_, None)


def _operand_count(p: ParserState, start: int, end: int, found: int, types: int) -> Exception:
    return fail(f"the operation has {found} operand(s), but its type lists {types} operand type(s)", p.span(start, end))


def _sort_properties(operation: Operation, declaration: OperationDeclaration) -> None:
    """Put the inherent attributes of a declared operation into its properties, from wherever they were written."""
    names = property_names(declaration)
    ours = declaration.dialect in OURS
    for key in list(operation.attributes):
        if key in names:
            if key in operation.properties and not ours:
                del operation.attributes[key]  # as LLVM does
                continue
            if key in operation.properties:
                raise fail(f"'{key}' is given twice, as a property and as an attribute", operation.span)
            operation.properties[key] = operation.attributes.pop(key)
        elif ours and "." not in key:
            raise fail(f"'{operation.name}' has no property '{key}'{suggestion(key, names)}", operation.span)
    for key in list(operation.properties):
        if key not in names:
            if ours:
                raise fail(f"'{operation.name}' has no property '{key}'{suggestion(key, names)}", operation.span)
            del operation.properties[key]  # as LLVM does
    for key in declaration.required:
        if key not in operation.properties:
            raise fail(f"'{operation.name}' lacks its property '{key}'", operation.span)


_names: dict[str, frozenset[str]] = {}


def property_names(declaration: OperationDeclaration) -> frozenset[str]:
    """The names of the properties that a declared operation may have."""
    found = _names.get(declaration.name)
    if found is None:
        parts = [name for part in declaration.syntax or () for name in part.names()]
        found = _names[declaration.name] = frozenset((*declaration.required, *declaration.optional, *parts))
    return found


def append(p: ParserState, v: list[Any], start: int, end: int) -> list[Any]:
    """`list: list item` or `list: list "," item`"""
    v[0].append(v[-1])
    found: list[Any] = v[0]
    return found


def first_item(p: ParserState, v: list[Any], start: int, end: int) -> list[Any]:
    return [v[0]]


def first(p: ParserState, v: list[Any], start: int, end: int) -> Any:
    return v[0]


def second(p: ParserState, v: list[Any], start: int, end: int) -> Any:
    return v[1]


def empty_list(p: ParserState, v: list[Any], start: int, end: int) -> list[Any]:
    return []


# --- a whole operation -------------------------------------------------------------------------------------------------------


def result_name(p: ParserState, v: list[Any], start: int, end: int) -> tuple[str, int, int]:
    """A name, the number of its values (0: one, without a number), and its place."""
    if len(v) == 1:
        return v[0], 0, start
    count = _small(v[2])
    if not count >= 1:
        raise fail("a name stands for at least one result", p.span(start, end))
    return v[0], count, start


def _small(digits: str) -> int:
    return int(digits[:9], 16 if digits[:2] == "0x" else 10)


def operation(symbols: tuple[str, ...]) -> RawAction:
    """The action of `[results =] operation [loc(...)]`."""
    named = symbols[0] == "result_names"
    body_at = 2 if named else 0
    located = len(symbols) > body_at + 1

    def action(p: ParserState, v: list[Any], start: int, end: int) -> None:
        op: Operation = v[body_at]
        if p.late and p.late[-1] is op:
            op.results = unknown_results(op, v[0] if named else [])
        if named:
            _name_results(p, op, v[0])
        if located:
            if isinstance(v[-1], Attribute):
                op.location = v[-1]
            else:
                p.location_uses.append((op, *v[-1]))
        block = p.regions[-1].block or p.block()
        op.parent = block
        block.operations.append(op)

    return action


def _name_results(p: ParserState, op: Operation, names: list[tuple[str, int, int]]) -> None:
    results = op.results
    if len(names) == 1 and not names[0][1] and len(results) == 1 and not p.names.forward:
        text = names[0][0]
        known = p.names.values
        if text not in known:
            results[0].name = text[1:]
            known[text] = results[0]
            p.regions[-1].defined.append(text)
            return
    total = sum(count or 1 for _, count, _ in names)
    if total != len(results):
        text, _, offset = names[0]
        if not results:
            raise fail(
                f"'{op.name}' has no results to be named",
                p.span(offset, offset + len(text)),
            )
        raise fail(f"'{op.name}' has {len(results)} result(s), but {total} name(s) are given", p.span(offset, offset + len(text)))
    index = 0
    for text, count, offset in names:
        group = results[index : index + (count or 1)]
        p.define(text, group, offset, not count)
        for position, value in enumerate(group):
            results[index + position] = value
        index += count or 1


# --- custom form -------------------------------------------------------------------------------------------------------------


def custom_open(declaration: OperationDeclaration) -> RawAction:
    """The word that opens a custom form has been read."""
    if declaration.spelling:
        return _short_open(declaration)

    def action(p: ParserState, v: list[Any], start: int, end: int) -> tuple[OperationDeclaration, int]:
        p.current = declaration
        return declaration, end

    return action


def _short_open(declaration: OperationDeclaration) -> RawAction:
    """The same of an operation whose name may be short where its dialect is the default."""

    def action(p: ParserState, v: list[Any], start: int, end: int) -> tuple[OperationDeclaration, int]:
        p.current = declaration
        if v[0] == declaration.spelling:
            check_short(p, declaration, start)
        return declaration, end

    return action


def check_short(p: ParserState, declaration: OperationDeclaration, start: int) -> None:
    """Refuse the short name of an operation where another dialect is the default, as LLVM does.

    Raises:
        DiagnosticError: naming the whole name.
    """
    if p.regions[-1].default != declaration.dialect:
        where = "in a function in custom form" if declaration.dialect == "func" else "outside of functions"
        raise fail(
            f"'{declaration.spelling}' is short for '{declaration.name}' only {where}: here write '{declaration.name}'",
            p.span(start, start + len(declaration.spelling)),
        )


def custom(declaration: OperationDeclaration) -> RawAction:
    """All parts of a custom form have been read: the operation."""
    parts = declaration.syntax or ()

    def action(p: ParserState, v: list[Any], start: int, end: int) -> Operation:
        span = p.span(start, end)
        draft = Draft(span)
        for part, value in zip(parts, v[1:], strict=True):
            part.read(value, draft)
        op = Operation(
            declaration.name,
            draft.operands,
            [],
            [],
            draft.properties,
            draft.regions,
            draft.attributes,
            None,
            span,
            declaration,
        )
        types = draft.result_types
        if types is None and declaration.late:
            p.late.append(op)
            return op
        if types is None:
            types = _inferred(p, op, declaration)
        op.results = [Value(type_, op, index) for index, type_ in enumerate(types)]
        return op

    return action


def _inferred(p: ParserState, op: Operation, declaration: OperationDeclaration) -> list[Type]:
    for operand in op.operands:
        if isinstance(operand.type, UnknownType):
            forward = next((f for f in p.names.forward.values() if f.value is operand), None)
            if forward is None:
                if type(declaration).infer is OperationDeclaration.infer:
                    continue  # it reads no types
                raise unknown_type(operand)
            raise fail(
                f"use of undeclared value '{forward.name}'"
                + (suggestion(forward.name, p.names.values) or ": a value is defined before it is used"),
                p.span(forward.offset, forward.offset + len(forward.name)),
            )
    try:
        return declaration.infer(op) or []
    except DiagnosticError:
        from bpir.parser.undeclared import undeclared_symbols  # imported when a user errs

        causes = undeclared_symbols(p, op)
        if causes:
            raise DiagnosticError(*causes) from None
        raise


def operand(p: ParserState, v: list[Any], start: int, end: int) -> Value:
    """An operand of a custom form: its type is known only if it is defined."""
    return p.use(v[0], int(v[1][1:]) if len(v) > 1 else 0, start, None, None)


# --- regions and blocks ------------------------------------------------------------------------------------------------------


def type_of_alias(p: ParserState, v: list[Any], start: int, end: int) -> FunctionType:
    """`!alias` as the type of an operation."""
    found = bang_type(p, v, start, end)
    if not isinstance(found, FunctionType):
        raise fail(f"the type of an operation is a function type, not {found.text[:80]}", p.span(start, end))
    return found


# --- top level ---------------------------------------------------------------------------------------------------------------


OPERATION_FACTORIES: dict[str, Callable[[tuple[str, ...]], RawAction]] = {"generic": generic, "operation": operation}
"""Actions that depend on which alternative of their rule was taken."""

OPERATION_ACTIONS: dict[str, RawAction] = {
    "operation_name": operation_name,
    "operand_use_numbered": operand_use,
    "append": append,
    "first_item": first_item,
    "first": first,
    "second": second,
    "empty_list": empty_list,
    "result_name": result_name,
    "operand": operand,
    "region_open": region_open,
    "entry_open": entry_open,
    "region": region,
    "entry_arguments": entry_arguments,
    "block_label": block_label,
    "block_argument": block_argument,
    "block_use": block_use,
    "type_of_alias": type_of_alias,
    "nothing": nothing,
    "module": module,
    "attribute_alias": attribute_alias,
    "type_alias": type_alias,
}
