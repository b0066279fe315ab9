"""The one-rank view: what the work rules read of a task, and the work of a collective."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bpir.dialects import model as model
from bpir.dialects.bp import TensorType, Work, product
from bpir.dialects.dist.collective_tasks import Collective
from bpir.dialects.model.rules.layers import part_of
from bpir.dialects.model.rules.local import Local, settings_of
from bpir.dialects.model.rules.operation import ModelOperation
from bpir.ir.attributes import Attribute
from bpir.ir.diagnostic import fail, suggestion
from bpir.ir.expressions.expression import Expr, total
from bpir.ir.operation import Operation


def collective_work(operation: Operation, mesh: Mapping[str, Expr]) -> Work:
    """The work of a collective on one rank of a mesh.

    Raises:
        DiagnosticError: a value is not a tensor, or an axis is not on the mesh.
    """
    declaration = operation.declaration
    assert isinstance(declaration, Collective)
    part = local(operation, operation, mesh)
    names = Collective(operation).mesh_axes
    for axis in names:
        if axis not in mesh:
            raise fail(f"the mesh has no axis '{axis}'{suggestion(axis, mesh)}", operation.span)
    ranks = product(mesh[axis] for axis in names)
    works = [declaration.forward(one, other, ranks) for one, other in zip(part.operands, part.results, strict=True)]
    return Work(*(total(parts) for parts in zip(*(each.components for each in works), strict=True)))


def local(
    operation: Operation,
    source: Operation,
    mesh: Mapping[str, Expr],
    settings: Sequence[tuple[str, Attribute]] = (),
    sizes: Mapping[str, Expr] | None = None,
) -> Local:
    """One rank's view of a compute task, for the work rules of its model operation `source`.

    Args:
        settings: what the workload adds to what the model operation says.
        sizes: what stands for symbols in the settings.

    Raises:
        DiagnosticError: a value of the task is not a tensor, or names an axis that the mesh does not have.
    """
    seen: set[Any] = set()
    first = []
    for value in operation.operands:
        first.append(value not in seen)
        seen.add(value)
    types = [v.type for v in (*operation.operands, *operation.results)]
    parts = []
    for type in types:
        if not isinstance(type, TensorType):
            raise fail(f"a task works on !bp.tensor values, found {type.text}", operation.span)
        for axis in (*(a for names in type.axes for a in names), *type.unreduced, *type.shared):
            if axis not in mesh:
                raise fail(f"the mesh has no axis '{axis}'{suggestion(axis, mesh)}", operation.span)
        parts.append(type)
    count = len(operation.operands)
    rule = source.declaration if isinstance(source.declaration, ModelOperation) else None
    return part_of(rule, (*settings_of(source), *settings), parts[:count], parts[count:], first, mesh, sizes)
