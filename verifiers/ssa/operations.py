"""Structural verification: what every module must satisfy, whatever its level.

Dominance, successors and terminators, unique symbols, the rules of each declared operation, and written types that agree with the
inferred ones. All errors are gathered, in the order of the text.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain

from bpir.ir.attributes import Attribute, StringAttr, Type
from bpir.ir.declaration import DECLARATIONS, OperationDeclaration, Problems
from bpir.ir.diagnostic import Diagnostic, DiagnosticError, suggestion
from bpir.ir.operation import Block, Operation, Region, types_of
from bpir.verifiers.ssa.distinct_properties import DistinctProperty, counts_of, distinct_properties, expected, miscounted
from bpir.verifiers.ssa.dominance import check_dominance


def verify(
    module: Operation, operations: Sequence[Operation] | None = None, properties: Iterable[DistinctProperty] | None = None
) -> list[Diagnostic]:
    """Every structural error of a module, in the order of the text; none if it is well formed.

    Args:
        operations: those of the module's walk, where they are known already.
        properties: what they say (`distinct_properties`), where it is known already.
    """
    report = Problems()
    operations = list(module.walk()) if operations is None else operations
    properties = distinct_properties(operations) if properties is None else properties
    sound = not any(_wrong(operation, name, attribute) for operation, name, attribute in properties)
    for operation in operations:
        _check_operation(operation, sound, report)
    check_dominance(operations, report)
    return sorted(report.diagnostics, key=lambda d: d.span.start if d.span is not None else -1)


def _wrong(operation: Operation, name: str, attribute: Attribute) -> str:
    """The fault of a property by itself; empty if there is none."""
    checks = expected(operation.declaration) if operation.declaration is not None else None
    if checks is None:
        return ""
    check = checks.get(name)
    if check is None:
        return f"'{operation.name}' has no property '{name}'{suggestion(name, checks)}"
    wanted = check.expected(attribute)
    return f"'{name}' of '{operation.name}' must be {wanted}, not {attribute}" if wanted else ""


def _check_operation(operation: Operation, sound: bool, report: Problems) -> None:
    if operation.successors:
        _check_successors(operation, report)
    for region in operation.regions:
        _check_region(operation, region, report)
    declaration = operation.declaration
    if declaration is None:
        return
    before = len(report.diagnostics)
    _check_counts(operation, declaration, report)
    _check_properties(operation, declaration, sound, report)
    if len(report.diagnostics) == before:
        _check_declared(operation, declaration, report)


def _check_declared(operation: Operation, declaration: OperationDeclaration, report: Problems) -> None:
    """The rules of a declaration hold for an operation that has the right parts, and its types are those that follow."""
    before = len(report.diagnostics)
    declaration.verify(operation, report)
    if len(report.diagnostics) == before:
        _check_inferred(operation, report)
    if declaration.terminator and not _is_last(operation):
        report.error(operation, f"'{operation.name}' must be the last operation of its block")
    if declaration.symbol_table:
        _check_symbols(operation, report)


def _is_last(operation: Operation) -> bool:
    """Whether an operation is the last of its block, or in none."""
    return operation.parent is None or operation.parent.operations[-1] is operation


def _check_successors(operation: Operation, report: Problems) -> None:
    """Only the last operation of a block has successors: blocks of its region."""
    block = operation.parent
    if block is None or block.operations[-1] is not operation:
        report.error(operation, "an operation with successors must be the last of its block")
    elif any(successor.parent is not block.parent for successor in operation.successors):
        report.error(operation, "a successor must be a block of the same region")


def _check_properties(operation: Operation, declaration: OperationDeclaration, sound: bool, report: Problems) -> None:
    """All that are required are there; unless it is known already (`sound`), each is one of the declaration's, and of its kind."""
    properties = operation.properties
    for name in declaration.required:
        if name not in properties:
            report.error(operation, f"'{operation.name}' lacks its property '{name}'")
    for name, attribute in () if sound else properties.items():
        wrong = _wrong(operation, name, attribute)
        if wrong:
            report.error(operation, wrong)


def _check_counts(operation: Operation, declaration: OperationDeclaration, report: Problems) -> None:
    """As many operands, results and regions (each with one block) as the parts of the declaration ask for, and no successors."""
    for wrong in miscounted(declaration, len(operation.operands), len(operation.results), len(operation.regions)):
        report.error(operation, f"'{operation.name}' {wrong}")
    if operation.regions or operation.successors:
        counts = counts_of(declaration)
        if counts is not None and counts.regions[1] is not None:
            _check_blocks(operation, counts.regions[1], report)


def _check_blocks(operation: Operation, regions: int, report: Problems) -> None:
    """An operation with a custom form has no successors, and one block in each of so many regions."""
    if operation.successors:
        report.error(operation, f"'{operation.name}' has no successors")
    for region in operation.regions[:regions]:
        if len(region.blocks) != 1:
            report.error(operation, f"'{operation.name}' expects 1 block in its region, found {len(region.blocks)}")


def _check_region(operation: Operation, region: Region, report: Problems) -> None:
    """Each block of a region that has several, or of a function, ends with a terminator; none branches to the first."""
    ending = len(region.blocks) > 1 or operation.name == "func.func"
    for block in region.blocks:
        if block.operations:
            _check_last(operation, block.operations[-1], region.blocks[0], ending, report)
        elif ending:
            report.error(operation, f"the block ^{block.name or 'bb0'} is empty: it needs an operation that ends it")


def _check_last(operation: Operation, last: Operation, entry: Block, ending: bool, report: Problems) -> None:
    """The last operation of a block does not branch to the entry, and is a terminator where the block must end with one."""
    if entry in last.successors:
        report.error(operation, "the entry block of a region cannot be a successor")
    terminates = last.declaration is None or last.declaration.terminator
    if ending and not terminates:
        report.error(last, f"'{last.name}' cannot end a block")


def _check_symbols(operation: Operation, report: Problems) -> None:
    """The operations in a symbol table have names of their own."""
    first: dict[str, Operation] = {}
    for child in chain.from_iterable(block.operations for block in operation.blocks):
        name = child.properties.get("sym_name") or child.attributes.get("sym_name")
        if isinstance(name, StringAttr):
            other = first.setdefault(name.value, child)
            if other is not child:
                where = report.note(other, "it is first defined here")
                report.error(child, f"redefinition of symbol '@{name.value}'", where)


def _check_inferred(operation: Operation, report: Problems) -> None:
    """The types of the results are those that follow from the operands."""
    assert operation.declaration is not None
    try:
        inferred = operation.declaration.infer(operation)
    except DiagnosticError as problem:
        report.diagnostics.extend(problem.diagnostics)
        return
    if inferred is not None:
        _check_types(operation, inferred, report)


def _check_types(operation: Operation, inferred: Sequence[Type], report: Problems) -> None:
    written = types_of(operation.results)
    if len(written) != len(inferred):
        report.error(operation, f"'{operation.name}' has {len(inferred)} result(s), not {len(written)}")
        return
    for index, (type_, wanted) in enumerate(zip(written, inferred, strict=True)):
        if type_ is not wanted:
            report.error(operation, f"the type of result {index} is {type_}, but {wanted} follows from the operands")


__all__ = ["DECLARATIONS", "verify"]
