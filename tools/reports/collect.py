"""From a module to its report."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

import attrs

from bpir.dialects.bp import symbol_table
from bpir.dialects.levels import ConcretePlanIR, DistributedTaskIR, ModuleIR, PortablePlanIR
from bpir.dialects.network import flat_name, own_names
from bpir.dialects.replicas import DATA, zero_stage
from bpir.ir.diagnostic import fail
from bpir.ir.expressions.expression import ONE, ZERO, Expr, constant, maximum, total
from bpir.ir.operation import Operation
from bpir.tools.reports.job import job_of
from bpir.tools.reports.job_work import work_of_step
from bpir.tools.reports.networks import Multiplicity, blocks_that_run, cache_of_blocks, cache_of_plan, often, section_rows, times_by_block
from bpir.tools.reports.report import BufferRow, Fact, Job, Report, TaskRow, Work
from bpir.tools.reports.report_ranks import TENSOR, Replicas, all_ranks
from bpir.verifiers.structure.levels import level_of, place_of

if TYPE_CHECKING:
    from bpir.dialects.concrete.envelope import Buffer as BoundBuffer
    from bpir.dialects.concrete.envelope import Command
    from bpir.dialects.dist.facts import ActivationFacts, MemoryFacts
    from bpir.dialects.dist.tasks import Task as DistTask
    from bpir.dialects.plan import Buffer as PlanBuffer
    from bpir.dialects.plan import Task as PlanTask

MEMORY_OF_ROLE = {"constant": "weights", "state": "kv_cache", "workspace": "workspace"}


def collect(module: Operation, alone: Operation | None = None) -> Report:
    """The report of a module: work, memory and parameters; numbers that it binds (`bp.bind`) are put in.

    `dist`: one `TaskRow` for each compute and collective task, memory from weights and states. `plan`: the same from `plan.task`, memory
    from buffers by role. `concrete`: the same from commands and bound buffers. `model`: the elements of each layer's weights.

    Args:
        alone: the same step on one rank, which says what the model takes where the number of ranks is no symbol.

    Raises:
        DiagnosticError: the module is of no level, or mixes them.
    """
    level = level_of(module)
    title = ModuleIR(module).title
    if level == "model":
        report = _model(title, module)
    elif level == "dist":
        report = _distributed(title, DistributedTaskIR(module))
    elif level == "plan":
        report = _planned(title, PortablePlanIR(module))
    elif level == "concrete":
        bound = ConcretePlanIR(module)
        commands, buffers = tuple(_commands(bound)), tuple(_bound_buffers(bound))
        report = Report(title, level, commands, _concrete_memory(bound), buffers=buffers, sections=section_rows(bound.sections))
    else:
        found = f"of level '{level}'" if level else "without operations of a level"
        raise fail(f"a module {found} can't be reported: expected model, dist, plan or concrete operations", place_of(module))
    table = symbol_table(module)
    single = (collect(alone).tasks, _replicas(alone)) if alone is not None else None
    ranks = all_ranks(report.tasks, _degree(module), table, _replicas(module), single)
    return attrs.evolve(report, ranks=ranks, job=_with_work(report, module)).bound({n: constant(v) for n, v in table.bindings.items()})


def _with_work(report: Report, module: Operation) -> Job | None:
    """The job of a report with the work of its step."""
    job = report.job
    if job is None:
        return None
    distributed, planned = DistributedTaskIR(module), PortablePlanIR(module)
    axes = next(iter([*(mesh.axes for mesh in distributed.meshes), *(mesh.axes for mesh in planned.meshes)]))
    named = next(iter([block.strategy for block in distributed.blocks] + [mesh.strategy for mesh in planned.meshes]))
    fields = next((strategy.fields for strategy in planned.strategies if strategy.symbol == named), {})
    return attrs.evolve(job, work=work_of_step(report.tasks, axes, job.microbatches, fields, planned.symbols))


def _degree(module: Operation, axis: str = TENSOR) -> Expr:
    """How many ranks of tensor parallelism there are, or along another axis; one if the module has no such mesh, or several."""
    meshes = [mesh.axes for mesh in DistributedTaskIR(module).meshes] + [mesh.axes for mesh in PortablePlanIR(module).meshes]
    sizes = {mesh.get(axis, ONE) for mesh in meshes}
    return sizes.pop() if len(sizes) == 1 else ONE


def _replicas(module: Operation) -> Replicas:
    """The replicas of the batch, and whether they share the optimizer."""
    stages = {zero_stage(strategy.fields) for strategy in ModuleIR(module).strategies}
    return Replicas(_degree(module, DATA), min(stages, default=0) >= 1)


def _model(title: str, module: Operation) -> Report:
    from bpir.tools.reports.parameters import parameters_by_layer, parameters_of_network

    whole = parameters_of_network(module)
    return Report(title, "model", parameters={} if whole else parameters_by_layer(module), network=whole)


def _distributed(title: str, ir: DistributedTaskIR) -> Report:
    blocks, times = blocks_that_run(ir), often(ir.module)
    memory = [row for block in blocks for row in block.memory]
    training = _training_memory(
        [(row, times.get(block.symbol, ONE)) for block in blocks for row in block.memory],
        [(row, times.get(block.symbol, ONE)) for block in blocks for row in block.activations],
    )
    plan = _training_plan(ir) if training else None
    return Report(
        title,
        ir.level,
        tuple(_dist_tasks(ir)),
        training or _dist_memory(ir),
        _held(plan),
        _layers(memory),
        per_token=None if training else cache_of_blocks(ir),
        job=job_of(plan) if plan is not None else None,
    )


def _planned(title: str, plan: PortablePlanIR) -> Report:
    times = times_by_block(plan)
    training = _training_memory([(row, times(row.layer)) for row in plan.memory], [(row, times(row.layer)) for row in plan.activations])
    held = _held(plan) if training else ()
    buffers = tuple(BufferRow(b.symbol, b.role, b.storage, b.size, b.live, b.times) for b in plan.buffers)
    memory = training or _memory_by_role(plan.buffers, MEMORY_OF_ROLE)
    return Report(
        title,
        plan.level,
        tuple(_plan_tasks(plan)),
        memory,
        held,
        _layers(plan.memory),
        buffers=buffers,
        sections=section_rows(plan.sections),
        per_token=cache_of_plan(plan),
        job=job_of(plan),
    )


def _bound_buffers(bound: ConcretePlanIR) -> Iterable[BufferRow]:
    return (BufferRow(buffer.symbol, buffer.role, buffer.storage, buffer.size, (), buffer.times) for buffer in bound.buffers)


def _dist_tasks(ir: DistributedTaskIR) -> Iterable[TaskRow]:
    from bpir.dialects.dist.collective_tasks import Collective

    blocks, times_of = blocks_that_run(ir), often(ir.module)
    several = len(blocks) > 1
    for block in blocks:
        own = own_names(block.operation)
        times = times_of.get(block.symbol, ONE)
        for task in block.tasks:
            name, layer = (flat_name(block.symbol, n, own) if several else n for n in (task.label, task.layer))
            collective = task.kind_of_work if isinstance(task, Collective) else None
            needed = (flat_name(block.symbol, other.label, own) if several else other.label for other in task.needed)
            yield TaskRow(
                name,
                layer,
                task.phase,
                _work(task),
                collective,
                source=task.source,
                after=tuple(dict.fromkeys(needed)),
                times=times,
                block=block.symbol,
                operation=task.kind_of_work,
                moves=task.kind_of_plan if task.kind_of_plan == "transfer" else None,
                routing=_routing(task.operation),
            )


def _work(task: DistTask | PlanTask | Command) -> Work:
    work = task.work
    return Work(work.ops, work.read, work.write, work.msg, task.matmul)


def _plan_tasks(plan: PortablePlanIR) -> Iterable[TaskRow]:
    often_run = Multiplicity(plan.sections, len(plan.tasks))
    return (_row(task, task.kind, often_run, place) for place, task in enumerate(plan.tasks))


def _commands(bound: ConcretePlanIR) -> Iterable[TaskRow]:
    from bpir.dialects.concrete.contract import COMMAND_OF_KIND

    kind_of_command = {command: kind for kind, command in COMMAND_OF_KIND.items()}
    often_run = Multiplicity(bound.sections, len(bound.commands))
    return (_row(command, kind_of_command[command.kind], often_run, place) for place, command in enumerate(bound.commands))


def _row(task: PlanTask | Command, kind: str, often: Multiplicity, place: int) -> TaskRow:
    """A task of a plan, or the command that it is bound to."""
    name, phase = task.symbol, task.phase
    return TaskRow(
        name,
        name.removesuffix("." + phase) if phase else name,
        phase,
        _work(task),
        collective=task.kind_of_work if kind == "collective" else None,
        moves=kind if kind not in ("compute", "collective") else None,
        source=task.source,
        after=task.after,
        reads=task.reads,
        writes=task.writes,
        times=often.times(place),
        block=often.block(place),
        operation=task.kind_of_work,
        routing=_routing(task.operation),
    )


def _routing(task: Operation) -> tuple[Expr, Expr, Expr, Expr] | None:
    """Where a task says that tokens go, if it has experts."""
    from bpir.dialects.dist.forms import Routing

    found = task.properties.get("experts")
    return (found.tokens, found.top, found.of, found.here) if isinstance(found, Routing) else None


def _layers(memory: Iterable[MemoryFacts]) -> dict[str, dict[str, Fact]]:
    """The memory facts of each layer, under the names of the report."""
    found: dict[str, dict[str, Fact]] = {}
    for layer in memory:
        named = zip(layer.facts.names(), layer.facts.components, strict=True)
        row: dict[str, Fact] = {f"{name}_bytes": value for name, value in named}
        row |= {f"{what}_stored": what not in layer.dropped for what in ("activation", "output")}
        found[layer.layer] = {**row, "activation_reused": "reused" in layer.dropped}
    return found


def _training_memory(memory: Iterable[tuple[MemoryFacts, Expr]], activations: Iterable[tuple[ActivationFacts, Expr]]) -> dict[str, Expr]:
    """The memory of a training step by what it holds; empty if the module is not of training.

    Each row comes with how often its block runs: each repetition keeps its own. The working set is that of one block at a time.
    """
    layers = [(row.facts, times) for row, times in memory]
    blocks = [(row.facts, times) for row, times in activations]
    if not layers:
        return {}
    return {
        "weights": total(times * f.weight for f, times in layers),
        "activation_working": maximum(*dict.fromkeys(f.working for f, _ in blocks)) if blocks else ZERO,
        "activation_stored": total(times * f.stored for f, times in blocks),
        "activation_checkpoint": total(times * f.checkpoint for f, times in blocks),
        "weight_gradients": total(times * f.weight_gradient for f, times in layers),
        "weight_gradients_unsharded": total(times * f.weight_gradient_unsharded for f, times in layers),
        "activation_gradients": total(times * f.activation_gradient for f, times in layers),
        "optimizer": total(times * f.optimizer for f, times in layers),
    }


def _training_plan(ir: DistributedTaskIR) -> PortablePlanIR | None:
    """The plan of a distributed training step; None if it can't be planned."""
    from bpir.ir.diagnostic import DiagnosticError
    from bpir.passes.training.plan_training import planned_training

    with suppress(DiagnosticError):
        return planned_training(ir)
    return None


def _held(plan: PortablePlanIR | None) -> tuple[Expr, ...]:
    from bpir.tools.reports.peak import held_at_once

    return held_at_once(plan.buffers) if plan is not None and not plan.sections else ()


def _dist_memory(ir: DistributedTaskIR) -> dict[str, Expr]:
    from bpir.dialects.dist.memory import local_bytes, weight_bytes
    from bpir.ir.diagnostic import DiagnosticError
    from bpir.passes.inference.plan_inference import planned_workspace

    meshes = {mesh.symbol: mesh.axes for mesh in ir.meshes}
    times = often(ir.module)
    states: list[Expr] = []
    weights: dict[tuple[str, str], Expr] = {}
    tables: dict[str, Expr] = {}  # of layers that others are tied to
    for block in blocks_that_run(ir):
        count = times.get(block.symbol, ONE)
        states += [count * local_bytes((v.type for v in state.operation.results), meshes[block.mesh]) for state in block.states]
        for task in block.tasks:
            if task.owner != task.layer:
                tables.setdefault(task.owner, weight_bytes(task))
            else:
                weights[block.symbol, task.layer] = count * weight_bytes(task)
    named = {layer for _, layer in weights}
    tied = (size for layer, size in tables.items() if layer not in named)
    found = {"weights": total((*weights.values(), *tied)), "kv_cache": total(states)}
    with suppress(DiagnosticError):  # a block that can't be planned has no workspace
        found["workspace"] = planned_workspace(ir)
    return found


def _concrete_memory(bound: ConcretePlanIR) -> dict[str, Expr]:
    """The bytes of the bound buffers by what they hold; a training step has no caches and no workspace, but optimizer state."""
    training = any(buffer.role == "optimizer" for buffer in bound.buffers)
    return _memory_by_role(bound.buffers, {"constant": "weights", "optimizer": "optimizer"} if training else MEMORY_OF_ROLE)


def _memory_by_role(buffers: Iterable[PlanBuffer | BoundBuffer], memory_of_role: Mapping[str, str]) -> dict[str, Expr]:
    sizes: dict[str, list[Expr]] = {name: [] for name in memory_of_role.values()}
    for buffer in buffers:
        if buffer.role in memory_of_role:
            sizes[memory_of_role[buffer.role]].append(buffer.times * buffer.size)
    return {name: total(values) for name, values in sizes.items()}
