"""The `func` dialect, as far as generic form needs it: functions, whose regions check dominance, and their return."""

from __future__ import annotations

from bpir.dialects.builtin import VISIBILITIES
from bpir.ir.attributes import ArrayAttr, DictAttr, FunctionType, StringAttr
from bpir.ir.declaration import OperationDeclaration, Report
from bpir.ir.operation import Operation, types_of


class Function(OperationDeclaration):
    """A function: `"func.func"() <{function_type = () -> (), sym_name = "f"}> ({...}) : () -> ()`."""

    name = "func.func"
    required = ("sym_name", "function_type")
    optional = ("sym_visibility", "arg_attrs", "res_attrs")
    isolated = True

    def verify(self, operation: Operation, report: Report) -> None:
        type_ = operation.properties.get("function_type")
        if not isinstance(type_, FunctionType):
            report.error(operation, "'function_type' of a function is a function type")
            return
        if not isinstance(operation.properties.get("sym_name"), StringAttr):
            report.error(operation, "'sym_name' of a function is a string")
        visibility = operation.properties.get("sym_visibility")
        shown = visibility.value if isinstance(visibility, StringAttr) else "public"
        if shown not in VISIBILITIES or (visibility is not None and not isinstance(visibility, StringAttr)):
            report.error(operation, f"the visibility of a symbol is one of {', '.join(VISIBILITIES)}")
        for key, count in (("arg_attrs", len(type_.inputs)), ("res_attrs", len(type_.results))):
            _check_argument_attributes(operation, key, count, report)
        if operation.operands or operation.results or operation.successors:
            report.error(operation, "a function has no operands, results or successors")
        if len(operation.regions) != 1:
            report.error(operation, "a function has one region")
        elif not operation.regions[0].blocks:
            if shown == "public":
                report.error(operation, "a function without a body is private or nested")
        else:
            arguments = types_of(operation.regions[0].blocks[0].arguments)
            if arguments != type_.inputs:
                report.error(
                    operation,
                    f"the entry block of a function takes the arguments of its type: {', '.join(t.text for t in type_.inputs) or 'none'}",
                )


def _check_argument_attributes(operation: Operation, key: str, count: int, report: Report) -> None:
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
    """Ends a function."""

    name = "func.return"
    terminator = True

    def verify(self, operation: Operation, report: Report) -> None:
        block = operation.parent
        function = block.parent.parent if block is not None and block.parent is not None else None
        if function is None or function.name != "func.func":
            report.error(operation, "'func.return' stands directly in a function")
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
