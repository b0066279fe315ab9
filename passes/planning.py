"""What planning does with every distributed block: tasks, buffers, groups, objectives."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache

import attrs

from bpir.dialects import plan
from bpir.dialects.bp import ExprAttr
from bpir.dialects.dist import tasks as dist
from bpir.dialects.dist.memory import local_bytes, weight_bytes
from bpir.dialects.dist.parts import mesh_attribute
from bpir.dialects.levels import DistributedTaskIR
from bpir.dialects.plan import resources_of_work
from bpir.ir.attributes import I64, ArrayAttr, Attribute, IntegerAttr, StringAttr, SymbolRefAttr
from bpir.ir.diagnostic import fail, note
from bpir.ir.expression import ZERO, Expr
from bpir.ir.operation import Operation, Value
from bpir.verifiers.levels import place_of

ALIGNMENT = 256
"""Bytes: what an allocator of accelerator memory gives at least (CUDA C++ Programming Guide, device memory accesses)."""


@attrs.define
class Buffer:
    """A buffer while it is planned: the tasks that write and read it come as they are found."""

    name: str
    role: str
    storage: str
    size: Expr
    source: str = ""
    producers: dict[str, int] = attrs.field(factory=dict)
    consumers: dict[str, int] = attrs.field(factory=dict)

    def operation(self, block: dist.Block) -> Operation:
        used = [*self.producers.values(), *self.consumers.values()] or [0]
        properties: dict[str, Attribute] = {
            "sym_name": StringAttr(self.name),
            "role": StringAttr(self.role),
            "storage": StringAttr(self.storage),
            "size": ExprAttr(self.size),
            "alignment": IntegerAttr(ALIGNMENT, I64),
            "live": ArrayAttr((IntegerAttr(min(used), I64), IntegerAttr(max(used), I64))),
        }
        if self.source:
            properties["source"] = StringAttr(self.source)
        shared = self.role == "workspace"
        if self.producers and not shared:
            properties["producers"] = symbols(self.producers)
        if self.consumers and not shared:
            properties["consumers"] = symbols(self.consumers)
        return plan.Buffer.build(properties=properties, span=block.span)


def symbols(names: Iterable[str]) -> ArrayAttr:
    return ArrayAttr(tuple(map(_symbol, names)))


@cache
def _symbol(name: str) -> SymbolRefAttr:
    return SymbolRefAttr((name,))


class Planning:
    """Plans one `dist.block`: `operations()` are its mesh, objective, buffers, memory facts, tasks and groups, in that order.

    Subclasses say which buffer each value lives in (`place`), and in what order resources matter.
    """

    def __init__(self, ir: DistributedTaskIR, block: dist.Block) -> None:
        self.block = block
        self.mesh = mesh_of(ir, block)
        self.tasks = block.tasks
        self.buffers: dict[str, Buffer] = {}
        self.homes: dict[Value, str] = {}
        self.weights: dict[str, str] = {}  # the buffer of each layer's weights
        self.workspace = ""  # where values without a buffer of their own live
        self.taken = {task.label for task in self.tasks}

    def place(self) -> None:
        """Give every value its buffer in `homes`, with the buffers in order."""
        raise NotImplementedError

    def objective(self) -> tuple[str, ...]:
        """The resources in order of importance."""
        raise NotImplementedError

    def facts(self) -> list[Operation]:
        """The memory facts that the plan keeps."""
        return []

    def sized(self, groups: list[list[dist.Task]]) -> None:
        """Give the buffers their sizes that depend on which tasks may run at once."""

    def operations(self) -> list[Operation]:
        self.place()
        tasks = [self._task(index, task) for index, task in enumerate(self.tasks)]
        groups = self._groups(tasks)
        named = {task.label: task for task in self.tasks}
        self.sized([[named[name] for name in group.tasks] for group in plan.Concurrent.each(groups)])
        words = ArrayAttr(tuple(map(StringAttr, self.objective())))
        mesh = {"axes": mesh_attribute(self.mesh), **self.block.attributes(dist.Block.strategy)}
        found = [plan.Mesh.build(properties=mesh, span=self.block.span)]
        found += [plan.Objective.build(properties={"minimize": words}, span=self.block.span)]
        found += [b.operation(self.block) for b in self.buffers.values()]
        return found + self.facts() + tasks + groups

    # --- buffers

    def add(self, name: str, role: str, storage: str, size: Expr, source: str = "") -> str:
        """A new buffer; its name, which is another one where the file has taken it for a layer."""
        while name in self.taken:
            name += ".buffer"
        self.taken.add(name)
        self.buffers[name] = Buffer(name, role, storage, size, source)
        return name

    def add_value(self, value: Value, name: str, role: str, source: str = "") -> None:
        """A buffer of its own for a value."""
        self.homes[value] = self.add(name, role, "device_local", local_bytes([value.type], self.mesh), source)

    def add_arguments(self) -> None:
        """A buffer for each argument of the block."""
        arguments = self.block.arguments
        for index, argument in enumerate(arguments):
            name = "input" if len(arguments) == 1 else f"input.{argument.name or index}"
            self.add_value(argument, name, "input")

    def add_weights(self, task: dist.Task) -> None:
        """A buffer for the weights of a layer, where its first task that has some stands."""
        layer = task.owner
        if weight_bytes(task) is not ZERO and layer not in self.weights:
            self.weights[layer] = self.add(f"{layer}.weights", "constant", "persistent", weight_bytes(task), task.label)

    def uses(self, task: dist.Task) -> tuple[list[str], list[str]]:
        """The buffers that a task reads and writes."""
        reads = [self._home(v) for v in task.read]
        if weight_bytes(task) is not ZERO:
            reads.append(self.weights[task.owner])
        return reads, [self._home(v) for v in task.operation.results]

    def _home(self, value: Value) -> str:
        return self.homes.get(value, self.workspace)

    # --- tasks

    def _task(self, index: int, task: dist.Task) -> Operation:
        name, rule = task.label, task.rule
        reads, writes = (list(dict.fromkeys(names)) for names in self.uses(task))
        updated = [self.buffers[buffer] for buffer in writes if self.buffers[buffer].role in ("constant", "state")]
        readers = [reader for buffer in updated for reader in buffer.consumers]  # they need weights and states as they were
        for buffer in reads:
            self.buffers[buffer].consumers[name] = index
        for buffer in writes:
            self.buffers[buffer].producers[name] = index
        properties: dict[str, Attribute] = {
            "sym_name": StringAttr(name),
            "kind": StringAttr("collective" if isinstance(task, dist.Collective) else "compute"),
            "operation": StringAttr(task.kind_of_work),
            "source": StringAttr(name),
            **task.attributes(dist.Task.phase, dist.Task.work),
            "resources": resources_of_work(task.work),
        }
        after = dict.fromkeys([*(other.label for other in task.needed), *readers])
        requires = rule.capabilities if rule is not None else (task.kind_of_work,)
        for key, names in (("after", after), ("reads", reads), ("writes", writes)):
            if names:
                properties[key] = symbols(names)
        properties |= task.attributes(dist.Task.matmul)
        properties["requires"] = ArrayAttr(tuple(map(StringAttr, requires)))
        if rule is not None and rule.alternatives:
            properties["alternatives"] = ArrayAttr(tuple(map(StringAttr, rule.alternatives)))
        return plan.Task.build(properties=properties, span=task.span)

    def _groups(self, tasks: Sequence[Operation]) -> list[Operation]:
        """Tasks with the same dependencies (and at least one) can run at once: none of them needs another."""
        together: dict[tuple[str, ...], list[str]] = {}
        for task in plan.Task.each(tasks):
            if task.after:
                together.setdefault(task.after, []).append(task.symbol)
        groups = [names for names in together.values() if len(names) > 1]
        return [
            plan.Concurrent.build(
                properties={"sym_name": StringAttr(f"group.{index}"), "tasks": symbols(names)},
                span=self.block.span,
            )
            for index, names in enumerate(groups)
        ]


def one_block(ir: DistributedTaskIR) -> dist.Block:
    """The distributed block of a module.

    Raises:
        DiagnosticError: there is none, or several: their tasks and buffers would share one name space.
    """
    blocks = ir.blocks
    if not blocks:
        raise fail("the module has no dist.block to plan", place_of(ir.module))
    if len(blocks) > 1:
        raise fail(
            f"a plan holds one block, and the module has {len(blocks)}: put each model.block into a file of its own",
            blocks[1].span,
            note("the first block", blocks[0].span),
        )
    return blocks[0]


def mesh_of(ir: DistributedTaskIR, block: dist.Block) -> dict[str, Expr]:
    """The sizes of the mesh axes of a distributed block."""
    mesh = ir.mesh_of(block)
    assert mesh is not None  # there is one: dist.R1
    return mesh.axes
