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
    """Operations that stand where their level is not read, and names that two modules of a file give."""
    return [*_misplaced(module, operations), *_named_twice(operations)]


@PLACES.rule("P1", "an operation is in the block of its level, or in a module")
def _misplaced(module: Operation, operations: Sequence[Operation]) -> Iterable[Diagnostic]:
    judged: set[tuple[Block | None, OperationDeclaration]] = set()  # a block has thousands of operations of a few kinds
    for operation in operations:
        dialect, declaration = None, operation.declaration
        if declaration is not None and operation is not module and (operation.parent, declaration) not in judged:
            dialect = dialect_of(operation.name)
        if dialect is None or declaration is None:
            continue
        expected = declaration.holders or (MODULE if declaration.in_module else dialect.holder,)
        region = operation.parent.parent if operation.parent is not None else None
        holder = region.parent if region is not None else None
        if holder is None or holder.name in expected:
            judged.add((operation.parent, declaration))
        else:
            what = " or ".join("a module" if name == MODULE else f"a {name}" for name in expected)
            yield error(f"'{operation.name}' must be in {what}, not in '{holder.name}' [{dialect.name}.P1]", operation.span)


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
