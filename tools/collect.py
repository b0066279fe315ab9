"""From a module to its report."""

from __future__ import annotations

from collections.abc import Iterable

from bpir.dialects.bp import TensorType, symbol_table
from bpir.dialects.bp import Work as WorkAttr
from bpir.ir.attributes import StringAttr
from bpir.ir.diagnostic import fail
from bpir.ir.expression import ZERO, Expr, constant, total
from bpir.ir.operation import Operation
from bpir.passes.levels import level_of, top_level
from bpir.tools.report import Report, TaskRow, Work

MEMORY_OF_ROLE = {"constant": "weights", "state": "kv_cache", "workspace": "workspace"}


def collect(module: Operation) -> Report:
    """What the module says of work, memory and parameters; numbers that it binds (`bp.bind`) are put in.

    `dist`: one `TaskRow` for each compute and collective task, memory from weights and states. `plan`: the same from `plan.task`, memory
    from buffers by role. `model`: the elements of each layer's weights.

    Raises:
        DiagnosticError: the module is of no level, or mixes them.
    """
    level = level_of(module)
    name = module.properties.get("sym_name")
    title = name.value if isinstance(name, StringAttr) else ""
    if level == "model":
        report = Report(title, level, parameters=_parameters(module))
    elif level == "dist":
        report = Report(title, level, tuple(_dist_tasks(module)), _dist_memory(module))
    elif level == "plan":
        report = Report(title, level, tuple(_plan_tasks(module)), _plan_memory(module))
    else:
        found = f"of level '{level}'" if level else "without operations of a level"
        raise fail(f"a module {found} can't be reported: expected model, dist or plan operations", module.span)
    return report.bound({n: constant(v) for n, v in symbol_table(module).bindings.items()})


def _parameters(module: Operation) -> dict[str, Expr]:
    from bpir.dialects.model.base import Local, ModelOperation, layer_of
    from bpir.dialects.model.macro import expand

    found: dict[str, Expr] = {}
    for block in top_level(expand(module)):
        if block.name != "model.block":
            continue
        for operation in block.body:
            rule = operation.declaration
            types = [v.type for v in (*operation.operands, *operation.results)]
            if not isinstance(rule, ModelOperation) or not all(isinstance(t, TensorType) for t in types):
                continue
            tensors = tuple(t for t in types if isinstance(t, TensorType))
            count = len(operation.operands)
            weights = rule.weights(Local(operation, tensors[:count], tensors[count:], (True,) * count))
            if weights is not ZERO:
                found[layer_of(operation)] = found.get(layer_of(operation), ZERO) + weights
    return found


def _work(work: WorkAttr | None, matmul: Expr) -> Work:
    return Work(work.ops, work.read, work.write, work.msg, matmul) if work is not None else Work()


def _layer(name: str, phase: str) -> str:
    return name.removesuffix("." + phase) if phase else name


def _dist_tasks(module: Operation) -> Iterable[TaskRow]:
    from bpir.dialects.dist import tasks as dist

    meshes = _meshes(module)
    for block in top_level(module):
        if block.name != "dist.block":
            continue
        for task in block.body:
            work = dist.work_of(task)
            if work is None:
                continue
            rule = dist.rule_of(task)
            matmul = rule.matmul_operations(dist.local(task, task, meshes[_mesh_name(block)])) if rule else ZERO
            phase, name = dist.text_of(task, "phase"), dist.name_of(task)
            collective = dist.kind_of(task) if isinstance(task.declaration, dist.Collective) else None
            yield TaskRow(name, _layer(name, phase), phase, _work(work, matmul), collective)


def _dist_memory(module: Operation) -> dict[str, Expr]:
    from bpir.dialects.dist.memory import local_bytes, weight_bytes, workspace_bound

    meshes = _meshes(module)
    blocks = [o for o in top_level(module) if o.name == "dist.block"]
    states = [
        local_bytes((v.type for v in o.results), meshes[_mesh_name(block)])
        for block in blocks
        for o in block.body
        if o.name == "dist.state"
    ]
    found = {
        "weights": total(weight_bytes(o) for block in blocks for o in block.body),
        "kv_cache": total(states),
    }
    if len(blocks) == 1:
        found["workspace"] = workspace_bound(blocks[0], meshes[_mesh_name(blocks[0])])
    return found


def _meshes(module: Operation) -> dict[str, dict[str, Expr]]:
    from bpir.dialects.dist.parts import mesh_entries
    from bpir.dialects.plan import symbol_of

    return {symbol_of(o): dict(mesh_entries(o.properties.get("axes"))) for o in top_level(module) if o.name == "dist.mesh"}


def _mesh_name(block: Operation) -> str:
    return block.properties["mesh"].root  # type: ignore[attr-defined,no-any-return]


def _plan_tasks(module: Operation) -> Iterable[TaskRow]:
    from bpir.dialects.dist.tasks import work_of
    from bpir.dialects.plan import expr_of, symbol_of, text_of

    for task in top_level(module):
        if task.name == "plan.task":
            phase, name = text_of(task, "phase"), symbol_of(task)
            collective = text_of(task, "operation") if text_of(task, "kind") == "collective" else None
            yield TaskRow(name, _layer(name, phase), phase, _work(work_of(task), expr_of(task, "matmul")), collective)


def _plan_memory(module: Operation) -> dict[str, Expr]:
    from bpir.dialects.plan import expr_of, text_of

    sizes: dict[str, list[Expr]] = {name: [] for name in MEMORY_OF_ROLE.values()}
    for buffer in top_level(module):
        if buffer.name == "plan.buffer" and text_of(buffer, "role") in MEMORY_OF_ROLE:
            sizes[MEMORY_OF_ROLE[text_of(buffer, "role")]].append(expr_of(buffer, "size"))
    return {name: total(values) for name, values in sizes.items()}
