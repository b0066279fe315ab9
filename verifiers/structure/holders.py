"""The places of operations: tasks are in the block of their level, all else in a module; nothing would read them elsewhere.

The modules of a file are read as one, so a name means one thing in all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from bpir.ir.attributes import StringAttr
from bpir.ir.declaration import OperationDeclaration
from bpir.ir.diagnostic import Diagnostic, error, note
from bpir.ir.dialect import MODULE, dialect_of
from bpir.ir.operation import Block, Operation
from bpir.verifiers.rulebooks import PLACES


def verify(module: Operation, operations: Sequence[Operation]) -> list[Diagnostic]:
    """Operations in places where their level is not read, and names that two modules of a file give."""
    return [*_misplaced(module, operations), *_named_twice(operations)]


@PLACES.rule("P1", "an operation is in the block of its level, or in a module")
def _misplaced(module: Operation, operations: Sequence[Operation]) -> Iterable[Diagnostic]:
    judged: set[tuple[Block | None, OperationDeclaration]] = set()  # a block has thousands of operations of a few kinds
    for operation in operations:
        declaration = operation.declaration
        if declaration is not None and operation is not module and (operation.parent, declaration) not in judged:
            wrong = _misplacement(operation, declaration)
            if wrong:
                yield error(wrong, operation.span)
            else:
                judged.add((operation.parent, declaration))


def _misplacement(operation: Operation, declaration: OperationDeclaration) -> str:
    """The fault in where an operation is; empty if there is none, or the operation is of no dialect of ours."""
    dialect, holder = dialect_of(operation.name), _holder(operation)
    if dialect is None or holder is None:
        return ""
    expected = declaration.holders or (MODULE if declaration.in_module else dialect.holder,)
    if holder.name in expected:
        return ""
    what = " or ".join("a module" if name == MODULE else f"a {name}" for name in expected)
    return f"'{operation.name}' must be in {what}, not in '{holder.name}' [{dialect.name}.P1]"


def _holder(operation: Operation) -> Operation | None:
    """The operation in whose region one is."""
    region = operation.parent.parent if operation.parent is not None else None
    return region.parent if region is not None else None


def _named_twice(operations: Sequence[Operation]) -> Iterable[Diagnostic]:
    """Repeated names of one module are left out here, because the structure of that module refuses them."""
    first: dict[str, Operation] = {}
    for operation in operations:
        name = operation.properties.get("sym_name")
        if isinstance(name, StringAttr) and dialect_of(operation.name) is not None:
            other = first.setdefault(name.value, operation)
            if other is not operation:
                message = f"redefinition of symbol '@{name.value}': the modules of a file share their names"
                yield error(message, operation.span, note("it is first defined here", other.span))
