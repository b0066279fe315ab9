"""Where operations may stand: tasks in the block of their level, all else in a module. What stood elsewhere, nothing would count.

The modules of a file are read as one, so a name means one thing in all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from bpir.ir.attributes import StringAttr
from bpir.ir.declaration import EXTENSION_LEVELS
from bpir.ir.diagnostic import Diagnostic, error, note
from bpir.ir.operation import Operation

_MODULE = "builtin.module"
_HOLDERS = {
    "model": "model.block",
    "dist": "dist.block",
    **dict.fromkeys(("bp", "bind", "plan", "concrete"), _MODULE),
}
_IN_MODULES = frozenset(("model.block", "dist.block", "dist.mesh"))


def verify(module: Operation, operations: Sequence[Operation]) -> list[Diagnostic]:
    """Operations that stand where their level is not read, and names that two modules of a file give.

    P1 an operation stands in the block of its level, or in a module.
    """
    return [*_misplaced(module, operations), *_named_twice(operations)]


def _misplaced(module: Operation, operations: Sequence[Operation]) -> Iterable[Diagnostic]:
    for operation in operations:
        level = operation.name.partition(".")[0]
        expected = _MODULE if operation.name in _IN_MODULES or level in EXTENSION_LEVELS else _HOLDERS.get(level)
        if expected is None or operation.declaration is None or operation is module:
            continue
        region = operation.parent.parent if operation.parent is not None else None
        holder = region.parent if region is not None else None
        if holder is not None and holder.name != expected:
            what = "a module" if expected == _MODULE else f"a {expected}"
            yield error(f"'{operation.name}' must stand in {what}, not in '{holder.name}' [{level}.P1]", operation.span)


def _named_twice(operations: Sequence[Operation]) -> Iterable[Diagnostic]:
    """What is named like another in the same module, the structure of that module refuses."""
    first: dict[str, Operation] = {}
    for operation in operations:
        level = operation.name.partition(".")[0]
        name = operation.properties.get("sym_name")
        if isinstance(name, StringAttr) and (level in _HOLDERS or level in EXTENSION_LEVELS):
            other = first.setdefault(name.value, operation)
            if other is not operation:
                message = f"redefinition of symbol '@{name.value}': the modules of a file share their names"
                yield error(message, operation.span, note("it is first defined here", other.span))
