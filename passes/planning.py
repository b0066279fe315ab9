"""What planning does with every distributed block: tasks, buffers, groups, objectives."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache

import attrs

from bpir.dialects.bp import ExprAttr
from bpir.dialects.dist.memory import local_bytes, weight_bytes
from bpir.dialects.dist.parts import mesh_attribute, mesh_entries
from bpir.dialects.dist.tasks import Collective, kind_of, name_of, rule_of, text_of, weights_owner, work_of, writes_state
from bpir.dialects.plan import resources_of_work, symbol_of
from bpir.ir.attributes import I64, ArrayAttr, Attribute, IntegerAttr, StringAttr, SymbolRefAttr
from bpir.ir.diagnostic import fail, note
from bpir.ir.expression import ZERO, Expr
from bpir.ir.operation import Operation, Value, top_level
from bpir.ir.syntax import references
from bpir.passes.distribution import build
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

    def operation(self, block: Operation) -> Operation:
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
        return build("plan.buffer", properties=properties, span=block.span)


def symbols(names: Iterable[str]) -> ArrayAttr:
    return ArrayAttr(tuple(map(_symbol, names)))


@cache
def _symbol(name: str) -> SymbolRefAttr:
    return SymbolRefAttr((name,))


class Planning:
    """Plans one `dist.block`: `operations()` are its mesh, objective, buffers, memory facts, tasks and groups, in that order.

    Subclasses say which buffer each value lives in (`place`), and in what order resources matter.
    """

    def __init__(self, block: Operation, mesh: Mapping[str, Expr]) -> None:
        self.block = block
        self.mesh = mesh
        self.tasks = [o for o in block.body if work_of(o) is not None]
        self.buffers: dict[str, Buffer] = {}
        self.homes: dict[Value, str] = {}
        self.weights: dict[str, str] = {}  # the buffer of each layer's weights
        self.workspace = ""  # where values without a buffer of their own live
        self.taken = {name_of(task) for task in self.tasks}

    def place(self) -> None:
        """Give every value its buffer in `homes`, with the buffers in order."""
        raise NotImplementedError

    def objective(self) -> tuple[str, ...]:
        """The resources in order of importance."""
        raise NotImplementedError

    def facts(self) -> list[Operation]:
        """The memory facts that the plan keeps."""
        return []

    def sized(self, groups: list[list[Operation]]) -> None:
        """Give the buffers their sizes that depend on which tasks may run at once."""

    def operations(self) -> list[Operation]:
        self.place()
        tasks = [self._task(index, task) for index, task in enumerate(self.tasks)]
        groups = self._groups(tasks)
        together = [references(group.properties["tasks"]) for group in groups]
        named = {name_of(task): task for task in self.tasks}
        self.sized([[named[name] for name in names] for names in together])
        words = ArrayAttr(tuple(map(StringAttr, self.objective())))
        mesh = {"axes": mesh_attribute(self.mesh), "strategy": self.block.properties["strategy"]}
        found = [build("plan.mesh", properties=mesh, span=self.block.span)]
        found += [build("plan.objective", properties={"minimize": words}, span=self.block.span)]
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
        entry = self.block.regions[0].blocks[0]
        for index, argument in enumerate(entry.arguments):
            name = "input" if len(entry.arguments) == 1 else f"input.{argument.name or index}"
            self.add_value(argument, name, "input")

    def add_weights(self, task: Operation) -> None:
        """A buffer for the weights of a layer, where its first task that has some stands."""
        layer = weights_owner(task)
        if weight_bytes(task) is not ZERO and layer not in self.weights:
            self.weights[layer] = self.add(f"{layer}.weights", "constant", "persistent", weight_bytes(task), name_of(task))

    def uses(self, task: Operation) -> tuple[list[str], list[str]]:
        """The buffers that a task reads and writes."""
        inputs = task.operands[: len(task.operands) - len(task.results)] if writes_state(task) else task.operands
        reads = [self._home(v) for v in inputs]
        if weight_bytes(task) is not ZERO:
            reads.append(self.weights[weights_owner(task)])
        return reads, [self._home(v) for v in task.results]

    def _home(self, value: Value) -> str:
        return self.homes.get(value, self.workspace)

    # --- tasks

    def _task(self, index: int, task: Operation) -> Operation:
        name = name_of(task)
        work = work_of(task)
        assert work is not None
        rule = rule_of(task)
        collective = isinstance(task.declaration, Collective)
        reads, writes = (list(dict.fromkeys(names)) for names in self.uses(task))
        updated = [self.buffers[buffer] for buffer in writes if self.buffers[buffer].role in ("constant", "state")]
        readers = [reader for buffer in updated for reader in buffer.consumers]  # they need weights and states as they were
        for buffer in reads:
            self.buffers[buffer].consumers[name] = index
        for buffer in writes:
            self.buffers[buffer].producers[name] = index
        properties: dict[str, Attribute] = {
            "sym_name": StringAttr(name),
            "kind": StringAttr("collective" if collective else "compute"),
            "operation": StringAttr(kind_of(task)),
            "source": StringAttr(name),
            "phase": task.properties["phase"],
            "work": work,
            "resources": resources_of_work(work),
        }
        owners = [v.owner for v in task.operands if isinstance(v.owner, Operation)]
        after = dict.fromkeys([*(name_of(owner) for owner in owners if work_of(owner) is not None), *readers])
        requires = rule.capabilities if rule is not None else (kind_of(task),)
        for key, names in (("after", after), ("reads", reads), ("writes", writes)):
            if names:
                properties[key] = symbols(names)
        if "matmul" in task.properties:
            properties["matmul"] = task.properties["matmul"]
        properties["requires"] = ArrayAttr(tuple(map(StringAttr, requires)))
        if rule is not None and rule.alternatives:
            properties["alternatives"] = ArrayAttr(tuple(map(StringAttr, rule.alternatives)))
        return build("plan.task", properties=properties, span=task.span)

    def _groups(self, tasks: Sequence[Operation]) -> list[Operation]:
        """Tasks with the same dependencies (and at least one) can run at once: none of them needs another."""
        together: dict[tuple[str, ...], list[str]] = {}
        for task in tasks:
            after = references(task.properties.get("after"))
            if after:
                together.setdefault(after, []).append(symbol_of(task))
        groups = [names for names in together.values() if len(names) > 1]
        return [
            build(
                "plan.concurrent",
                properties={"sym_name": StringAttr(f"group.{index}"), "tasks": symbols(names)},
                span=self.block.span,
            )
            for index, names in enumerate(groups)
        ]


def one_block(module: Operation) -> Operation:
    """The distributed block of a module.

    Raises:
        DiagnosticError: there is none, or several: their tasks and buffers would share one name space.
    """
    blocks = [o for o in top_level(module) if o.name == "dist.block"]
    if not blocks:
        raise fail("the module has no dist.block to plan", place_of(module))
    if len(blocks) > 1:
        raise fail(
            f"a plan holds one block, and the module has {len(blocks)}: put each model.block into a file of its own",
            blocks[1].span,
            note("the first block", blocks[0].span),
        )
    return blocks[0]


def mesh_of(module: Operation, block: Operation) -> dict[str, Expr]:
    """The sizes of the mesh axes of a distributed block."""
    name = references(ArrayAttr((block.properties["mesh"],)))[0]
    mesh = next(o for o in top_level(module) if o.name == "dist.mesh" and symbol_of(o) == name)  # there is one: dist.R1
    return dict(mesh_entries(mesh.properties.get("axes")))


def layer_of_task(task: Operation) -> str:
    """The name of a task without its phase."""
    return name_of(task).removesuffix("." + text_of(task, "phase"))
