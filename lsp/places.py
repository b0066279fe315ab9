"""From a name of the text to what the module has for it."""

from __future__ import annotations

from collections.abc import Mapping

from bpir.dialects.bp import TensorType
from bpir.dialects.dist.tasks import Block as DistBlock
from bpir.dialects.levels import DistributedTaskIR
from bpir.ir.expressions.error import ExpressionError
from bpir.ir.expressions.expression import Expr
from bpir.ir.operation import Block, Operation, Value
from bpir.lsp.document import Section
from bpir.lsp.names import Name


def operation_of(section: Section, name: Name) -> Operation | None:
    """The operation that a name is in; None if the text cannot be read."""
    if name.operation < 0:
        return None
    return section.operations.get(section.names.operations[name.operation].start)


def value_of(section: Section, name: Name) -> Value | None:
    """The value that the definition of a name gives; None if the text cannot be read."""
    target = name.target
    operation = operation_of(section, target) if target is not None else None
    if operation is None:
        return None
    base, _, number = name.text.partition("#")
    found = [value for value in operation.results if value.name == base]
    if not found:
        found = [value for region in operation.regions for block in region.blocks for value in block.arguments if value.name == base]
    index = int(number) if number else 0
    return found[index] if index < len(found) else None


def local_bytes(section: Section, value: Value) -> Expr | None:
    """The bytes of a tensor on one rank: of a value of a distributed block its part, of any other all of it."""
    type_ = value.type
    if not isinstance(type_, TensorType):
        return None
    try:
        return type_.local(_mesh(section, value)).bytes
    except (ExpressionError, KeyError):
        return None


def _mesh(section: Section, value: Value) -> Mapping[str, Expr]:
    """The sizes of the axes of the mesh that a value lies on, by name; none if it lies on no mesh."""
    owner = value.owner
    block = owner.parent if isinstance(owner, Operation) else owner
    while isinstance(block, Block):
        operation = block.parent.parent if block.parent is not None else None
        found = DistBlock.of(operation) if operation is not None else None
        if found is not None and section.module is not None:
            mesh = DistributedTaskIR(section.module).mesh_of(found)
            return mesh.axes if mesh is not None else {}
        block = operation.parent if operation is not None else None
    return {}
