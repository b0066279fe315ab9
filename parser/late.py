"""Operations whose result types follow from others, which may be behind them: calls of blocks.

Their results have no type until the whole text has been read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from bpir.ir.attributes import Type
from bpir.ir.diagnostic import Diagnostic, DiagnosticError, error, fail
from bpir.ir.operation import Operation, Value, outermost
from bpir.parser.state import ParserState, UnknownType


def unknown_results(operation: Operation, names: Iterable[tuple[str, int, int]]) -> list[Value]:
    """As many results as are named, without a type as yet."""
    count = sum(number or 1 for _, number, _ in names)
    return [Value(UnknownType(), operation, index) for index in range(count)]


def unknown_type(value: Value) -> DiagnosticError:
    """That an operation reads a value whose type is not known before the end of the text."""
    assert isinstance(value.owner, Operation)
    owner = value.owner
    what = f"the type of '%{value.name}' follows from what '{owner.name}' calls"
    return fail(f"{what}, so only calls and 'model.return' can read it", owner.span)


def complete(p: ParserState, operations: Sequence[Operation]) -> None:
    """Give every late result its type, now that the text has been read.

    Raises:
        DiagnosticError: with every operation that gives other results than are named.
    """
    wrong: list[Diagnostic] = []
    file = outermost(operations)
    for declaration in dict.fromkeys(operation.declaration for operation in p.late):
        assert declaration is not None
        ours = [operation for operation in p.late if operation.declaration is declaration]
        try:
            found = declaration.infer_late(ours, file)
        except DiagnosticError as problem:
            wrong.extend(problem.diagnostics)
            continue
        for operation, types in zip(ours, found, strict=True):
            wrong.extend(_give_types(operation, types))
    if wrong:
        raise DiagnosticError(*sorted(wrong, key=lambda d: d.span.start if d.span is not None else 0))


def _give_types(operation: Operation, types: Sequence[Type]) -> Iterator[Diagnostic]:
    """Give the results of an operation their types; errors where they are not as many, or used as others."""
    results = operation.results or [Value(UnknownType(), operation, index) for index in range(len(types))]
    if types and len(results) != len(types):
        yield error(f"'{operation.name}' has {len(types)} result(s), but {len(results)} name(s) are given", operation.span)
        return
    operation.results = results
    for value, type_ in zip(results, types, strict=False):
        if value.type is not type_ and not isinstance(value.type, UnknownType):
            yield error(f"'%{value.name}' has type {type_}, but is used as {value.type}", operation.span)
        value.type = type_
