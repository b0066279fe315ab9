"""The structure of a distributed module: references of its blocks, axes of its values, forms of its tasks (rules dist.R1 to dist.R3)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from bpir.dialects.bp import TensorType
from bpir.dialects.dist.parts import mesh_entries
from bpir.dialects.dist.tasks import kind_of, name_of, rule_of, states_of, text_of, whole_operation, writes_state
from bpir.dialects.model.base import ModelOperation
from bpir.ir.attributes import SymbolRefAttr
from bpir.ir.diagnostic import Diagnostic, error, suggestion
from bpir.ir.operation import Operation, Value, top_level
from bpir.verifiers.properties import counts_of, expected_count


def verify(module: Operation) -> list[Diagnostic]:
    """Everything that is wrong with the blocks of a distributed module by themselves.

    R1 a block names a mesh, a workload and a strategy of the module; R2 each axis of a value is on the block's mesh; R3 a compute task
    works on tensors, as many and of such ranks as the operation of its kind; a write is to states, its last operands, one a result.
    """
    named = {kind: _named(module, kind) for kind in ("dist.mesh", "bind.workload", "bind.strategy")}
    found: list[Diagnostic] = []
    for block in top_level(module):
        if block.name == "dist.block":
            found.extend(_references(block, named))
            mesh = named["dist.mesh"].get(_reference(block, "mesh"))
            if mesh is not None:
                found.extend(_axes(block, dict(mesh_entries(mesh.properties.get("axes")))))
            found.extend(_forms(block))
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


def _forms(block: Operation) -> Iterable[Diagnostic]:
    for task in block.body:
        if task.name == "dist.compute":
            wrong = _no_tensor(task) or _wrong_form(task) or _no_state(task)
            if wrong:
                yield error(f"'{name_of(task)}', a task of kind '{kind_of(task)}', {wrong} [dist.R3]", task.span)


def _no_tensor(task: Operation) -> str:
    other = next((v.type for v in (*task.operands, *task.results) if not isinstance(v.type, TensorType)), None)
    return f"works on !bp.tensor values, found {other.text}" if other is not None else ""


def _wrong_form(task: Operation) -> str:
    """A task that is a whole operation has its form; a gradient, a sum or an update has operands and results that its gate knows."""
    rule = rule_of(task)
    counts = counts_of(rule) if rule is not None and whole_operation(task) else None
    if rule is None or counts is None:
        return ""
    states = len(task.results) if writes_state(task) else 0
    least, most = counts.operands
    return (
        expected_count("operand", (least + states, None if most is None else most + states), len(task.operands))
        or expected_count("result", counts.results, len(task.results))
        or _wrong_rank(task, rule)
    )


def _wrong_rank(task: Operation, rule: ModelOperation) -> str:
    for value in (*task.operands, *task.results):
        if rule.rank and isinstance(value.type, TensorType) and len(value.type.dims) != rule.rank:
            return f"works on tensors of {rule.rank} dimensions, found {value.type.text}"
    return ""


def _no_state(task: Operation) -> str:
    if not writes_state(task) or len(states_of(task)) == len(task.results):
        return ""
    return "writes states, and its last operands are not one dist.state, or what was written to one, for each result"
