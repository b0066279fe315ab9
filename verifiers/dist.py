"""The structure of a distributed module: references of its blocks, and the axes of its values (rules dist.R1 and dist.R2)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from bpir.dialects.bp import TensorType
from bpir.dialects.dist.parts import mesh_entries
from bpir.dialects.dist.tasks import text_of
from bpir.ir.attributes import SymbolRefAttr
from bpir.ir.diagnostic import Diagnostic, error, suggestion
from bpir.ir.operation import Operation, Value
from bpir.verifiers.levels import top_level


def verify(module: Operation) -> list[Diagnostic]:
    """Everything that is wrong with the blocks of a distributed module by themselves.

    R1 a block names a mesh, a workload and a strategy of the module; R2 each axis of a value is on the block's mesh.
    """
    named = {kind: _named(module, kind) for kind in ("dist.mesh", "bind.workload", "bind.strategy")}
    found: list[Diagnostic] = []
    for block in top_level(module):
        if block.name == "dist.block":
            found.extend(_references(block, named))
            mesh = named["dist.mesh"].get(_reference(block, "mesh"))
            if mesh is not None:
                found.extend(_axes(block, dict(mesh_entries(mesh.properties.get("axes")))))
    return found


def _named(module: Operation, kind: str) -> dict[str, Operation]:
    return {text_of(o, "sym_name"): o for o in top_level(module) if o.name == kind}


def _reference(block: Operation, name: str) -> str:
    reference = block.properties.get(name)
    return reference.root if isinstance(reference, SymbolRefAttr) else ""


def _references(block: Operation, named: Mapping[str, Mapping[str, Operation]]) -> Iterable[Diagnostic]:
    for kind, known in named.items():
        name = _reference(block, kind.partition(".")[2])
        if name not in known and kind.partition(".")[2] in block.properties:
            yield error(f"the module has no {kind} @{name}{suggestion(name, known)} [dist.R1]", block.span)


def _axes(block: Operation, mesh: Mapping[str, object]) -> Iterable[Diagnostic]:
    values: list[tuple[Operation, Value]] = [(block, argument) for argument in block.regions[0].blocks[0].arguments]
    values += [(task, result) for task in block.body for result in task.results]
    for operation, value in values:
        type = value.type
        if isinstance(type, TensorType):
            axes = [axis for names in type.axes for axis in names]
            for axis in dict.fromkeys((*axes, *type.unreduced)):
                if axis not in mesh:
                    yield error(f"the mesh has no axis '{axis}'{suggestion(axis, mesh)} [dist.R2]", operation.span)
