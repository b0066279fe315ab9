"""Chakra execution traces of a plan: one file a rank, for simulators such as ASTRA-sim.

A task that computes is a `COMP_NODE` with its operations (a multiply-add is two) and the bytes that it reads and writes; a collective is a
`COMM_COLL_NODE` with the bytes that a rank gives to it and the number of its group; a transfer is a `COMM_SEND_NODE` on one rank and a
`COMM_RECV_NODE` on the other. A barrier has no node: what is behind it waits for all that it waits for.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from bpir.cost.shape import axis_of
from bpir.dialects.levels import PortablePlanIR
from bpir.dialects.plan import Task
from bpir.dialects.stages import PIPELINE
from bpir.exporter.chakra_schema import COLLECTIVES, Schema
from bpir.exporter.mesh import Group, Ranks
from bpir.exporter.numbers import Numbers
from bpir.exporter.steps import Step, steps_of
from bpir.ir.diagnostic import fail, suggestion
from bpir.ir.expressions.expression import Expr
from bpir.ir.operation import Operation
from bpir.verifiers.structure.levels import level_of, place_of

EXPERT, REPLICAS = "expert", "data"
_OF_SHARDS = frozenset({"all_gather"})
"""Collectives to which a rank gives its shard of the message; to all others it gives as much as the message has."""
MOST_NODES = 10_000_000  # of all files together


def chakra_traces(module: Operation, numbers: Numbers, chosen: Sequence[int] = ()) -> Iterator[tuple[str, bytes]]:
    """The files of a trace: what follows its name, and the bytes; `.RANK.et` for each rank, and `.groups.json`.

    Args:
        module: a plan, structurally sound.
        numbers: those of its symbols.
        chosen: the ranks that are wanted; all of the mesh if there are none.

    Raises:
        DiagnosticError: the module is no plan, a number is missing, or it has something that a trace can't say.
    """
    if level_of(module) != "plan":
        found = f"is of level '{level_of(module)}'" if level_of(module) else "has no operations of a level"
        raise fail(f"a trace is made of a plan (plan-training, plan-inference), and this module {found}", place_of(module))
    plan = PortablePlanIR(module)
    ranks = _ranks(plan, numbers)
    wrong = [rank for rank in chosen if rank >= ranks.count]
    if wrong:
        raise fail(f"there is no rank {wrong[0]}: the mesh has {ranks.count}, counted from 0")
    wanted = list(chosen) or list(range(ranks.count))
    steps = steps_of(plan, numbers.of)
    if len(steps) * len(wanted) > MOST_NODES:
        size = f"{len(steps):,} nodes a rank of {len(wanted):,} ranks"
        raise fail(f"{size} are more than the {MOST_NODES:,} that are written: choose ranks with --rank")
    yield from _Traces(plan, ranks, numbers, steps).files(wanted)


def _ranks(plan: PortablePlanIR, numbers: Numbers) -> Ranks:
    meshes = plan.meshes
    axes = dict(meshes[0].axes) if meshes else {}
    sizes = {name: numbers.of(size, f"the size of the mesh axis '{name}'", meshes[0].span) for name, size in axes.items()}
    if sizes.get(PIPELINE, 1) > 1 or plan.stages:
        message = "the stages of a pipeline can't be exported yet: their schedule is not written out"
        raise fail(message, plan.stages[0].span if plan.stages else meshes[0].span)
    return Ranks(sizes)


def _axes(task: Task, ranks: Ranks) -> tuple[str, ...]:
    """The mesh axes over which a collective is.

    Raises:
        DiagnosticError: it is between replicas of two axes, of which experts' weights have one only.
    """
    axis = axis_of(task)
    if axis == REPLICAS and ranks.axes.get(EXPERT, 1) > 1:
        message = (
            f"replicas along '{REPLICAS}' and '{EXPERT}' can't be exported yet: @{task.symbol} does not say which of them it is between"
        )
        raise fail(message, task.span)
    return (axis,)


class _Traces:
    """The nodes of all ranks. What ranks do alike is encoded once."""

    def __init__(self, plan: PortablePlanIR, ranks: Ranks, numbers: Numbers, steps: Sequence[Step]) -> None:
        self.ranks, self.steps = ranks, steps
        self.schema = Schema()
        self.title = plan.title
        self.attributes = {task.symbol: _attributes(task, ranks, numbers) for task in plan.tasks}
        self.encoded: dict[tuple[int, int], bytes] = {}  # a node by its place and the number of its group

    def files(self, wanted: Iterable[int]) -> Iterator[tuple[str, bytes]]:
        heading = self.schema.heading(schema="Chakra", module=self.title)
        for rank in wanted:
            yield f".{rank}.et", heading + b"".join(self._nodes(rank))
        groups = {str(group.number): list(group.ranks) for group in self.ranks.groups}
        yield ".groups.json", (json.dumps(groups) + "\n").encode()

    def _nodes(self, rank: int) -> Iterator[bytes]:
        absent: dict[int, tuple[int, ...]] = {}  # of a barrier, or a transfer between other ranks, what it needs
        for place, step in enumerate(self.steps):
            ends = step.task.ranks
            if _is_absent(step.task, rank):
                absent[place] = _present(step.needs, absent)
                continue
            needs = _present(step.needs, absent) if absent else step.needs
            if ends:
                yield self._transfer(place, step, needs, sends=rank == ends[0])
                continue
            group = self._group(step.task, rank)
            key = (place, group.number if group else 0)
            if absent or key not in self.encoded:
                self.encoded[key] = self._node(place, step, needs, group)
            yield self.encoded[key]

    def _group(self, task: Task, rank: int) -> Group | None:
        """The ranks that run a collective with this one; None of a task that is no collective."""
        return self.ranks.group(_axes(task, self.ranks), rank) if task.kind == "collective" else None

    def _node(self, place: int, step: Step, needs: Iterable[int], group: Group | None) -> bytes:
        attributes = self.attributes[step.task.symbol]
        if group is None:
            return self.schema.node_bytes(place, step.name, "COMP_NODE", needs, attributes)
        return self.schema.node_bytes(place, step.name, "COMM_COLL_NODE", needs, {**attributes, "pg_name": str(group.number)})

    def _transfer(self, place: int, step: Step, needs: Iterable[int], *, sends: bool) -> bytes:
        source, destination = step.task.ranks
        ends = {"comm_src": source, "comm_dst": destination, "comm_tag": place}
        attributes = {**self.attributes[step.task.symbol], **ends}
        kind = "COMM_SEND_NODE" if sends else "COMM_RECV_NODE"
        return self.schema.node_bytes(place, step.name, kind, needs if sends else (), attributes)


def _is_absent(task: Task, rank: int) -> bool:
    """Whether the trace of a rank has no node for a task: a barrier, or a transfer between other ranks."""
    return task.kind == "barrier" or bool(task.ranks and rank not in task.ranks)


def _present(needs: Iterable[int], absent: dict[int, tuple[int, ...]]) -> tuple[int, ...]:
    """What is needed, with what it needs in place of each that is absent."""
    return tuple(sorted({place for need in needs for place in absent.get(need, (need,))}))


def _origin(task: Task) -> dict[str, str]:
    """The operation, phase and source of a task, as far as it has them."""
    named = {"operation": task.kind_of_work, "phase": task.phase, "source": task.source}
    return {name: value for name, value in named.items() if value}


def _message(task: Task, ranks: Ranks) -> Expr:
    """The bytes that a trace states for a collective.

    Raises:
        DiagnosticError: a trace has no such collective.
    """
    if task.kind_of_work not in COLLECTIVES:
        near = suggestion(task.kind_of_work, COLLECTIVES)
        raise fail(f"a trace has no collective '{task.kind_of_work}'{near}: @{task.symbol} can't be exported", task.span)
    (axis,) = _axes(task, ranks)
    return task.work.msg / ranks.axes.get(axis, 1) if task.kind_of_work in _OF_SHARDS else task.work.msg


def _attributes(task: Task, ranks: Ranks, numbers: Numbers) -> dict[str, Any]:
    """What the nodes of a task say on every rank."""

    def number(expr: Expr, what: str) -> int:
        return numbers.of(expr, f"the {what} of @{task.symbol}", task.span)

    work, origin = task.work, _origin(task)
    if task.kind == "collective":
        size = number(_message(task, ranks), "message")
        return {"is_cpu_op": False, "comm_type": COLLECTIVES[task.kind_of_work], "comm_size": size, **origin}
    if task.kind == "transfer":
        return {"is_cpu_op": False, "comm_size": number(work.msg, "message"), **origin}
    moved = number(work.read + work.write, "bytes")
    return {"is_cpu_op": task.kind == "host", "num_ops": number(work.ops, "operations"), "tensor_size": moved, **origin}
