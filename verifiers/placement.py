"""Where operations may stand: tasks in the block of their level, all else in a module. What stood elsewhere, nothing would count."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from bpir.ir.declaration import EXTENSION_LEVELS
from bpir.ir.diagnostic import Diagnostic, error
from bpir.ir.operation import Operation

_MODULE = "builtin.module"
_HOLDERS = {
    "model": "model.block",
    "dist": "dist.block",
    **dict.fromkeys(("bp", "bind", "plan", "concrete"), _MODULE),
}
_IN_MODULES = frozenset(("model.block", "dist.block", "dist.mesh"))


def verify(module: Operation, operations: Sequence[Operation]) -> list[Diagnostic]:
    """Operations that stand where their level is not read.

    P1 an operation stands in the block of its level, or in a module.
    """
    return list(_misplaced(module, operations))


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
