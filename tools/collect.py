"""From a module to its report."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress

from bpir.dialects.bp import Work as WorkAttr
from bpir.dialects.bp import symbol_table
from bpir.ir.attributes import StringAttr
from bpir.ir.diagnostic import fail
from bpir.ir.expression import Expr, constant, total
from bpir.ir.operation import Operation, top_level
from bpir.ir.syntax import strings
from bpir.tools.report import BufferRow, Fact, Report, TaskRow, Work
from bpir.verifiers.levels import level_of, place_of

MEMORY_OF_ROLE = {"constant": "weights", "state": "kv_cache", "workspace": "workspace"}


def collect(module: Operation) -> Report:
    """What the module says of work, memory and parameters; numbers that it binds (`bp.bind`) are put in.

    `dist`: one `TaskRow` for each compute and collective task, memory from weights and states. `plan`: the same from `plan.task`, memory
    from buffers by role. `concrete`: the same from commands and bound buffers. `model`: the elements of each layer's weights.

    Raises:
        DiagnosticError: the module is of no level, or mixes them.
    """
    level = level_of(module)
    name = module.properties.get("sym_name")
    title = name.value if isinstance(name, StringAttr) else ""
    if level == "model":
        report = _model(title, module)
    elif level == "dist":
        facts = [o for block in top_level(module) if block.name == "dist.block" for o in block.body]
        training = _training_memory(facts)
        held = _held(_planned(module)) if training else ()
        report = Report(title, level, tuple(_dist_tasks(module)), training or _dist_memory(module), held, _layers(facts))
    elif level == "plan":
        facts = list(top_level(module))
        training = _training_memory(facts)
        held = _held(facts) if training else ()
        rows, buffers = tuple(_plan_tasks(module)), tuple(_buffers(module))
        report = Report(title, level, rows, training or _plan_memory(module), held, _layers(facts), buffers=buffers)
    elif level == "concrete":
        report = Report(title, level, tuple(_commands(module)), _concrete_memory(module), buffers=tuple(_buffers(module)))
    else:
        found = f"of level '{level}'" if level else "without operations of a level"
        raise fail(f"a module {found} can't be reported: expected model, dist, plan or concrete operations", place_of(module))
    return report.bound({n: constant(v) for n, v in symbol_table(module).bindings.items()})


def _model(title: str, module: Operation) -> Report:
    from bpir.tools.parameters import parameters_by_layer, parameters_of_network

    whole = parameters_of_network(module)
    return Report(title, "model", parameters={} if whole else parameters_by_layer(module), network=whole)


def _work(work: WorkAttr | None, matmul: Expr) -> Work:
    return Work(work.ops, work.read, work.write, work.msg, matmul) if work is not None else Work()


def _layer(name: str, phase: str) -> str:
    return name.removesuffix("." + phase) if phase else name


def _dist_tasks(module: Operation) -> Iterable[TaskRow]:
    from bpir.dialects.dist import tasks as dist
    from bpir.dialects.plan import expr_of

    for block in top_level(module):
        if block.name != "dist.block":
            continue
        for task in block.body:
            work = dist.work_of(task)
            if work is None:
                continue
            matmul = expr_of(task, "matmul")
            phase, name = dist.text_of(task, "phase"), dist.name_of(task)
            collective = dist.kind_of(task) if isinstance(task.declaration, dist.Collective) else None
            yield TaskRow(name, _layer(name, phase), phase, _work(work, matmul), collective)


def _layers(operations: Iterable[Operation]) -> dict[str, dict[str, Fact]]:
    """The memory facts of each layer, under the names of the report."""
    from bpir.dialects.dist.facts import LayerMemory
    from bpir.dialects.plan import text_of

    found: dict[str, dict[str, Fact]] = {}
    for operation in operations:
        facts = operation.properties.get("facts")
        if isinstance(facts, LayerMemory):
            named = zip(facts.names(), facts.components, strict=True)
            row: dict[str, Fact] = {f"{name}_bytes": value for name, value in named}
            dropped = strings(operation.properties.get("dropped"))
            row |= {f"{what}_stored": what not in dropped for what in ("activation", "output")}
            found[text_of(operation, "layer")] = {**row, "activation_reused": "reused" in dropped}
    return found


def _training_memory(operations: Iterable[Operation]) -> dict[str, Expr]:
    """The memory of a training step by what it holds; empty if the module is not of training."""
    from bpir.dialects.dist.facts import Activations, LayerMemory

    layers = [f for o in operations if isinstance(f := o.properties.get("facts"), LayerMemory)]
    blocks = [f for o in operations if isinstance(f := o.properties.get("facts"), Activations)]
    if not layers:
        return {}
    return {
        "weights": total(f.weight for f in layers),
        "activation_working": total(f.working for f in blocks),
        "activation_stored": total(f.stored for f in blocks),
        "activation_checkpoint": total(f.checkpoint for f in blocks),
        "weight_gradients": total(f.weight_gradient for f in layers),
        "weight_gradients_unsharded": total(f.weight_gradient_unsharded for f in layers),
        "activation_gradients": total(f.activation_gradient for f in layers),
        "optimizer": total(f.optimizer for f in layers),
    }


def _planned(module: Operation) -> list[Operation]:
    """The plan of a distributed training step; empty if it can't be planned."""
    from bpir.ir.diagnostic import DiagnosticError
    from bpir.passes.plan_training import PlanTransformerTrainingPass

    with suppress(DiagnosticError):
        return list(top_level(PlanTransformerTrainingPass().run(module)))
    return []


def _held(plan: Iterable[Operation]) -> tuple[Expr, ...]:
    from bpir.tools.peak import held_at_once

    return held_at_once(plan)


def _dist_memory(module: Operation) -> dict[str, Expr]:
    from bpir.dialects.dist.memory import local_bytes, weight_bytes
    from bpir.dialects.dist.tasks import weights_owner
    from bpir.ir.diagnostic import DiagnosticError
    from bpir.passes.plan_inference import planned_workspace

    meshes = _meshes(module)
    blocks = [o for o in top_level(module) if o.name == "dist.block"]
    states = [
        local_bytes((v.type for v in o.results), meshes[_mesh_name(block)])
        for block in blocks
        for o in block.body
        if o.name == "dist.state"
    ]
    found = {
        "weights": total({weights_owner(o): weight_bytes(o) for block in blocks for o in block.body}.values()),
        "kv_cache": total(states),
    }
    if len(blocks) == 1:
        with suppress(DiagnosticError):  # a block that can't be planned has no workspace
            found["workspace"] = planned_workspace(module)
    return found


def _meshes(module: Operation) -> dict[str, dict[str, Expr]]:
    from bpir.dialects.dist.parts import mesh_entries
    from bpir.dialects.plan import symbol_of

    return {symbol_of(o): dict(mesh_entries(o.properties.get("axes"))) for o in top_level(module) if o.name == "dist.mesh"}


def _mesh_name(block: Operation) -> str:
    return block.properties["mesh"].root  # type: ignore[attr-defined,no-any-return]


def _plan_tasks(module: Operation) -> Iterable[TaskRow]:
    from bpir.dialects.plan import symbol_of, text_of

    for task in top_level(module):
        if task.name == "plan.task":
            yield _row(task, symbol_of(task), text_of(task, "kind"))


def _row(task: Operation, name: str, kind: str) -> TaskRow:
    """A task of a plan, or the command that it is bound to."""
    from bpir.dialects.dist.tasks import work_of
    from bpir.dialects.plan import expr_of, names_of, text_of

    phase = text_of(task, "phase")
    return TaskRow(
        name,
        _layer(name, phase),
        phase,
        _work(work_of(task), expr_of(task, "matmul")),
        collective=text_of(task, "operation") if kind == "collective" else None,
        moves=kind if kind not in ("compute", "collective") else None,
        source=text_of(task, "source"),
        after=names_of(task, "after"),
        reads=names_of(task, "reads"),
        writes=names_of(task, "writes"),
    )


def _buffers(module: Operation) -> Iterable[BufferRow]:
    from bpir.dialects.plan import expr_of, live_of, symbol_of, text_of

    for buffer in top_level(module):
        if buffer.name in ("plan.buffer", "concrete.buffer"):
            role, storage = text_of(buffer, "role"), text_of(buffer, "storage")
            yield BufferRow(symbol_of(buffer), role, storage, expr_of(buffer, "size"), live_of(buffer))


def _commands(module: Operation) -> Iterable[TaskRow]:
    from bpir.dialects.concrete.contract import COMMAND_OF_KIND
    from bpir.dialects.concrete.envelope import is_command, kind_of
    from bpir.dialects.plan import symbol_of

    kind_of_command = {command: kind for kind, command in COMMAND_OF_KIND.items()}
    for command in top_level(module):
        if is_command(command):
            yield _row(command, symbol_of(command), kind_of_command[kind_of(command)])


def _concrete_memory(module: Operation) -> dict[str, Expr]:
    """The bytes of the bound buffers by what they hold; a training step has no caches and no workspace, but optimizer state."""
    training = any(o.name == "concrete.buffer" and o.properties.get("role") == StringAttr("optimizer") for o in top_level(module))
    return _memory_by_role(module, "concrete.buffer", {"constant": "weights", "optimizer": "optimizer"} if training else MEMORY_OF_ROLE)


def _plan_memory(module: Operation) -> dict[str, Expr]:
    return _memory_by_role(module, "plan.buffer", MEMORY_OF_ROLE)


def _memory_by_role(module: Operation, operation: str, memory_of_role: Mapping[str, str]) -> dict[str, Expr]:
    from bpir.dialects.plan import expr_of, text_of

    sizes: dict[str, list[Expr]] = {name: [] for name in memory_of_role.values()}
    for buffer in top_level(module):
        if buffer.name == operation and text_of(buffer, "role") in memory_of_role:
            sizes[memory_of_role[text_of(buffer, "role")]].append(expr_of(buffer, "size"))
    return {name: total(values) for name, values in sizes.items()}
