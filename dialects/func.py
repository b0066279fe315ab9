"""The `func` dialect: functions, whose regions check dominance, their return and calls; both forms as upstream spells them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from bpir.dialects.builtin import VISIBILITIES
from bpir.ir.attributes import (
    ArrayAttr,
    Attribute,
    DictAttr,
    FunctionType,
    StringAttr,
    SymbolRefAttr,
    Type,
    dictionary,
    symbol_text,
)
from bpir.ir.declaration import Draft, Fragment, Inexpressible, OperationDeclaration, Piece, Problems, Signature
from bpir.ir.diagnostic import fail
from bpir.ir.operation import Operation, types_of
from bpir.ir.syntax_part import ANY_COUNTS, Counts, Part, alternative


class FunctionForm(Part):
    """`private @f(%a: T {d.x = 1}) -> (T) attributes {d.y = 2} {...}`; a declaration has types only and no body."""

    prints_attributes = True
    hides_empty_region = True

    def counts(self) -> Counts:
        return ANY_COUNTS

    def names(self) -> tuple[str, ...]:
        return ("sym_name", "function_type", "sym_visibility", "arg_attrs", "res_attrs")

    def fragment(self, rule: str) -> Fragment:
        words = "".join(f' | "{word}" -> {rule}_{word}' for word in VISIBILITIES)
        rules = (
            f"{rule}: {rule}_visibility symbol_name function_signature function_results {rule}_attributes function_body -> {rule}_is\n"
            f"{rule}_visibility: -> {rule}_default{words}\n"
            f'{rule}_attributes: -> {rule}_default | "attributes" dictionary -> {rule}_given\n'
        )
        actions: dict[str, Any] = {rule + "_is": lambda c, v, s: list(v), rule + "_default": lambda c, v, s: None}
        actions[rule + "_given"] = lambda c, v, s: v[0]
        for word in VISIBILITIES:
            actions[f"{rule}_{word}"] = lambda c, v, s, word=word: word
        return Fragment(rules, actions)

    def read(self, value: Any, draft: Draft) -> None:
        visibility, name, arguments, results, attributes, region = value
        draft.properties["sym_name"] = StringAttr(name)
        draft.properties["function_type"] = FunctionType(tuple(a.type for a in arguments), tuple(r.type for r in results))
        if visibility is not None:
            draft.properties["sym_visibility"] = StringAttr(visibility)
        for key, items in (("arg_attrs", arguments), ("res_attrs", results)):
            if any(item.attributes is not None and item.attributes.entries for item in items):
                draft.properties[key] = ArrayAttr(tuple(item.attributes or DictAttr(()) for item in items))
        for key, attribute in attributes.entries if attributes is not None else ():
            if key in self.names():
                raise fail(f"'{key}' follows from what was written before, and is no attribute", draft.span)
            draft.attributes[key] = attribute
        draft.regions.append(region)
        draft.result_types = []

    def pieces(self, operation: Operation) -> Iterable[Piece]:
        properties = operation.properties
        name, type_, visibility = properties["sym_name"], properties["function_type"], properties.get("sym_visibility")
        if not (isinstance(name, StringAttr) and name.value and isinstance(type_, FunctionType)):
            raise Inexpressible
        if isinstance(visibility, StringAttr):
            yield f" {visibility.value}"
        yield f" {symbol_text(name.value)}"
        region = operation.regions[0]
        if region.blocks and types_of(region.blocks[0].arguments) != type_.inputs:
            raise Inexpressible
        inputs = _attributes(properties.get("arg_attrs"), len(type_.inputs))
        yield Signature(region.blocks[0], inputs) if region.blocks else _listed(type_.inputs, inputs)
        results = _attributes(properties.get("res_attrs"), len(type_.results))
        if len(type_.results) == 1 and not isinstance(type_.results[0], FunctionType) and not any(results):
            yield f" -> {type_.results[0].text}"
        elif type_.results:
            yield f" -> {_listed(type_.results, results)}"
        if operation.attributes:
            yield " attributes "
            yield dictionary(operation.attributes.items())
        if region.blocks:
            yield region


def _attributes(attribute: Attribute | None, count: int) -> tuple[str, ...]:
    """The dictionary of each argument or result as it is printed after its type; empty where there is nothing in it.

    Raises:
        Inexpressible: it is no array of dictionaries, or nothing is in any of them, which only the generic form can say.
    """
    if attribute is None:
        return ("",) * count
    if not isinstance(attribute, ArrayAttr) or len(attribute.values) != count:
        raise Inexpressible
    if not all(isinstance(value, DictAttr) for value in attribute.values):
        raise Inexpressible
    found = tuple(f" {v.text}" if isinstance(v, DictAttr) and v.entries else "" for v in attribute.values)
    if not any(found):
        raise Inexpressible
    return found


def _listed(types: Iterable[Type], attributes: Iterable[str]) -> str:
    return "(" + ", ".join(f"{t.text}{said}" for t, said in zip(types, attributes, strict=True)) + ")"


class TypedOperands(Part):
    """`%a, %b : T, T`; nothing is read by the base grammar, which knows that a return ends a block."""

    def counts(self) -> Counts:
        return ANY_COUNTS

    def fragment(self, rule: str) -> Fragment:
        return alternative(rule, "typed_operands", lambda c, v, s: v[0])

    def read(self, value: Any, draft: Draft) -> None:
        draft.operands.extend(value)
        draft.result_types = []

    def pieces(self, operation: Operation) -> Iterable[Piece]:
        for index, operand in enumerate(operation.operands):
            yield ", " if index else " "
            yield operand
        if operation.operands:
            yield " : " + ", ".join(o.type.text for o in operation.operands)


class CallForm(Part):
    """`@f(%a, %b) {...} : (T, T) -> T`"""

    prints_attributes = True

    def counts(self) -> Counts:
        return ANY_COUNTS

    def names(self) -> tuple[str, ...]:
        return ("callee",)

    def fragment(self, rule: str) -> Fragment:
        return alternative(rule, "symbol_ref call_operands", lambda c, v, s: list(v))

    def read(self, value: Any, draft: Draft) -> None:
        callee, call = value
        draft.properties["callee"] = callee
        draft.operands.extend(call.operands)
        draft.attributes.update(call.attributes.entries if call.attributes is not None else ())
        draft.result_types = list(call.results)

    def pieces(self, operation: Operation) -> Iterable[Piece]:
        yield " "
        yield operation.properties["callee"]
        yield "("
        for index, operand in enumerate(operation.operands):
            if index:
                yield ", "
            yield operand
        yield ")"
        if operation.attributes:
            yield " "
            yield dictionary(operation.attributes.items())
        yield " : "
        yield FunctionType(types_of(operation.operands), types_of(operation.results))


class Function(OperationDeclaration):
    """A function: `func.func @f(%x: T) -> T {...}`, or a declaration: `func.func private @f(T) -> T`."""

    name = "func.func"
    syntax = (FunctionForm(),)
    required = ("sym_name", "function_type")
    optional = ("sym_visibility", "arg_attrs", "res_attrs")
    isolated = True
    default_dialect = "func"

    def verify(self, operation: Operation, report: Problems) -> None:
        type_ = operation.properties.get("function_type")
        if not isinstance(type_, FunctionType):
            report.error(operation, "'function_type' of a function is a function type")
            return
        if not isinstance(operation.properties.get("sym_name"), StringAttr):
            report.error(operation, "'sym_name' of a function is a string")
        visibility = operation.properties.get("sym_visibility", StringAttr("public"))
        shown = visibility.value if isinstance(visibility, StringAttr) else ""
        if shown not in VISIBILITIES:
            report.error(operation, f"the visibility of a symbol is one of {', '.join(VISIBILITIES)}")
        for key, count in (("arg_attrs", len(type_.inputs)), ("res_attrs", len(type_.results))):
            _check_argument_attributes(operation, key, count, report)
        if operation.operands or operation.results or operation.successors:
            report.error(operation, "a function has no operands, results or successors")
        _check_body(operation, type_, isinstance(visibility, StringAttr) and shown != "public", report)


def _check_body(operation: Operation, type_: FunctionType, hidden: bool, report: Problems) -> None:
    """One region; without a block only where the function is hidden, else with the arguments of the type."""
    if len(operation.regions) != 1:
        report.error(operation, "a function has one region")
    elif not operation.regions[0].blocks:
        if not hidden:
            report.error(operation, "a function without a body is private or nested")
    elif types_of(operation.regions[0].blocks[0].arguments) != type_.inputs:
        report.error(
            operation,
            f"the entry block of a function takes the arguments of its type: {', '.join(t.text for t in type_.inputs) or 'none'}",
        )


def _check_argument_attributes(operation: Operation, key: str, count: int, report: Problems) -> None:
    attribute = operation.properties.get(key)
    if attribute is None:
        return
    if not isinstance(attribute, ArrayAttr) or not all(isinstance(v, DictAttr) for v in attribute.values):
        report.error(operation, f"'{key}' of a function is an array of dictionaries")
    elif len(attribute.values) != count:
        report.error(operation, f"'{key}' of a function has {count} dictionaries here, not {len(attribute.values)}")
    elif any("." not in name for v in attribute.values if isinstance(v, DictAttr) for name, _ in v.entries):
        report.error(operation, f"attributes in '{key}' have a dialect's prefix")


class Return(OperationDeclaration):
    """Ends a function: `return %x : T`."""

    name = "func.return"
    spelling = "return"
    syntax = (TypedOperands(),)
    terminator = True

    def verify(self, operation: Operation, report: Problems) -> None:
        block = operation.parent
        function = block.parent.parent if block is not None and block.parent is not None else None
        if function is None or function.name != "func.func":
            report.error(operation, "'func.return' is directly in a function")
            return
        if operation.results or operation.regions or operation.successors:
            report.error(operation, "'func.return' has operands only")
        type_ = function.properties.get("function_type")
        if isinstance(type_, FunctionType) and types_of(operation.operands) != type_.results:
            report.error(
                operation,
                f"the function returns {', '.join(t.text for t in type_.results) or 'nothing'}, but here"
                f" {', '.join(t.text for t in types_of(operation.operands)) or 'nothing'} is returned",
                report.note(function, "the function is here"),
            )


class Call(OperationDeclaration):
    """Calls a function: `call @f(%x) : (T) -> T`."""

    name = "func.call"
    spelling = "call"
    syntax = (CallForm(),)
    required = ("callee",)

    def verify(self, operation: Operation, report: Problems) -> None:
        callee = operation.properties["callee"]
        if not isinstance(callee, SymbolRefAttr):
            report.error(operation, f"'callee' of a call must be a symbol (@name), not {callee}")
            return
        function = _function(operation, callee)
        if function is None:
            report.error(operation, f"there is no function '{callee.text}'")
            return
        expected = function.properties.get("function_type")
        found = FunctionType(types_of(operation.operands), types_of(operation.results))
        if expected is not found:
            report.error(
                operation,
                f"the call has the type {found.text}, but the function {expected}",
                report.note(function, "the function is here"),
            )


def _function(operation: Operation, callee: SymbolRefAttr) -> Operation | None:
    """The function of a name in the module around the operation."""
    around: Operation | None = operation
    while around is not None and not (around.declaration is not None and around.declaration.symbol_table):
        around = around.parent.parent.parent if around.parent is not None and around.parent.parent is not None else None
    wanted: Attribute = StringAttr(callee.root)
    for child in around.body if around is not None and len(callee.path) == 1 else ():
        if child.name == "func.func" and child.properties.get("sym_name") is wanted:
            return child
    return None


class CallIndirect(OperationDeclaration):
    """Calls a function value, its first operand."""

    name = "func.call_indirect"
    optional = ("arg_attrs", "res_attrs")

    def verify(self, operation: Operation, report: Problems) -> None:
        type_ = operation.operands[0].type if operation.operands else None
        if not isinstance(type_, FunctionType):
            report.error(operation, "the first operand of an indirect call is a function")
        elif type_ is not FunctionType(types_of(operation.operands[1:]), types_of(operation.results)):
            report.error(operation, f"the operands and results of an indirect call are those of its function {type_.text}")


class Constant(OperationDeclaration):
    """A function as a value."""

    name = "func.constant"
    required = ("value",)

    def verify(self, operation: Operation, report: Problems) -> None:
        value = operation.properties["value"]
        if not isinstance(value, SymbolRefAttr) or len(value.path) > 1 or len(operation.results) != 1:
            report.error(operation, "a function constant has one result, and a symbol (@name) as its 'value'")
            return
        function = _function(operation, value)
        if function is None:
            report.error(operation, f"there is no function '{value.text}'")
        elif function.properties.get("function_type") is not operation.results[0].type:
            type_ = operation.results[0].type
            report.error(operation, f"the function has the type {function.properties.get('function_type')}, not {type_}")
