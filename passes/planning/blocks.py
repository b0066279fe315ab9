"""The planning that is the same for every distributed block: tasks, buffers, groups, objectives."""

from __future__ import annotations

from collections.abc import Sequence

from bpir.dialects import plan
from bpir.dialects.dist import tasks as dist
from bpir.dialects.dist.memory import local_bytes, weight_bytes
from bpir.dialects.dist.parts import mesh_attribute
from bpir.dialects.dist.stages import Transfer
from bpir.dialects.levels import DistributedTaskIR
from bpir.dialects.network import part_of_phase
from bpir.dialects.plan import resources_of_work
from bpir.ir.attributes import ArrayAttr, Attribute, StringAttr
from bpir.ir.expressions.expression import ZERO, Expr
from bpir.ir.operation import Block, Operation, Value
from bpir.passes.planning.names import Space, symbols


class Planning:
    """Plans one `dist.block` of a plan.

    Subclasses say which buffer each value lives in (`place`), and in what order resources matter.
    """

    def __init__(self, ir: DistributedTaskIR, block: dist.Block, space: Space, first: int) -> None:
        self.block = block
        self.mesh = mesh_of(ir, block)
        self.early = ir.reduces_early(block)  # the reduction of gradients of weights
        self.space = space
        self.first = first  # the place of the first task in the plan
        self.tasks = block.tasks
        self.names: dict[Operation | Block | None, str] = {task.operation: space.full(block, task.label) for task in self.tasks}
        self.weighted: set[dist.Task] = set()  # the tasks that have weights
        self.homes: dict[Value, str] = {}
        self.workspace = ""  # where values without a buffer of their own live

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

    def part(self, task: dist.Task | plan.Task) -> str:
        """The part of a training step that a task is of."""
        return part_of_phase(task.phase, task.kind_of_work, self.early)

    def places(self, part: str) -> list[int]:
        """The extent of a part of a training step among the tasks of the plan; in inference all tasks are of the part ""."""
        return [self.first + index for index, task in enumerate(self.tasks) if self.part(task) == part]

    def run(self) -> tuple[list[Operation], list[Operation]]:
        """The tasks and the groups of those that may run at once; the buffers are in the space."""
        self.place()
        tasks = [self._task(self.first + index, task) for index, task in enumerate(self.tasks)]
        groups = self._groups(tasks)
        named = {planned.symbol: task for planned, task in zip(plan.Task.each(tasks), self.tasks, strict=True)}
        self.sized([[named[name] for name in group.tasks] for group in plan.Concurrent.each(groups)])
        return tasks, groups

    def heading(self) -> list[Operation]:
        """Of which mesh the plan is one rank's, and what matters most."""
        words = ArrayAttr(tuple(map(StringAttr, self.objective())))
        mesh = {"axes": mesh_attribute(self.mesh), **self.block.attributes(dist.Block.strategy)}
        return [
            plan.Mesh.build(properties=mesh, span=self.block.span),
            plan.Objective.build(properties={"minimize": words}, span=self.block.span),
        ]

    # --- buffers

    def add(self, name: str, role: str, storage: str, size: Expr, source: str = "") -> str:
        """A new buffer; its name in the plan."""
        return self.space.add(self.block, name, role, storage, size, source)

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
        size = weight_bytes(task)
        if size is ZERO or task.gathered:
            return
        self.weighted.add(task)
        owner = self.space.owner(self.block, task)
        if owner not in self.space.weights:
            self.space.weights[owner] = self.add(f"{task.owner}.weights", "constant", "persistent", size, task.label)

    def add_shares(self, shares: dist.Shares) -> None:
        """A buffer for a rank's shares of the weights of a layer."""
        size = local_bytes([value.type for value in shares.results], self.mesh)
        home = self.add(f"{shares.layer}.weights", "constant", "persistent", size, shares.label)
        self.space.weights[self.block.symbol, shares.layer] = home
        self.homes.update(dict.fromkeys(shares.results, home))

    def weights_of(self, task: dist.Task) -> str:
        """The buffer of the weights of a task, which has some."""
        return self.space.weights[self.space.owner(self.block, task)]

    def uses(self, task: dist.Task) -> tuple[list[str], list[str]]:
        """The buffers that a task reads and writes."""
        reads = [self._home(v) for v in task.read]
        if task in self.weighted:
            reads.append(self.weights_of(task))
        states = task.states if task.writes_state else ()  # where results are the states, their homes are the same
        return reads, [self._home(v) for v in (*task.operation.results, *states)]

    def _home(self, value: Value) -> str:
        return self.homes.get(value, self.workspace)

    # --- tasks

    def _task(self, index: int, task: dist.Task) -> Operation:
        name, rule, kind = self.names[task.operation], task.rule, task.kind_of_work
        reads, writes = (list(dict.fromkeys(names)) for names in self.uses(task))
        readers = self._use(name, index, reads, writes)
        properties: dict[str, Attribute] = {
            "sym_name": StringAttr(name),
            "kind": StringAttr(task.kind_of_plan),
            "operation": StringAttr(kind),
            "source": StringAttr(self.space.origin(self.block, task.label)),
            **task.attributes(dist.Task.phase, dist.Task.work),
            "resources": resources_of_work(task.work),
        }
        names = self.names
        after = dict.fromkeys([names[value.owner] for value in task.operation.operands if value.owner in names])
        after.update(dict.fromkeys(readers))
        requires = rule.capabilities if rule is not None else (kind,)
        if isinstance(task, Transfer):
            properties[plan.Task.along.name] = StringAttr(task.axis)
        for key, listed in (("after", after), ("reads", reads), ("writes", writes)):
            if listed:
                properties[key] = symbols(listed)
        properties |= task.attributes(dist.Task.matmul, dist.Task.experts, dist.Task.form, dist.Task.other_form, dist.Task.other_work)
        properties["requires"] = ArrayAttr(tuple(map(StringAttr, requires)))
        if rule is not None and rule.alternatives:
            properties["alternatives"] = ArrayAttr(tuple(map(StringAttr, rule.alternatives)))
        return plan.Task.build(properties=properties, span=task.span)

    def _use(self, name: str, index: int, reads: Sequence[str], writes: Sequence[str]) -> list[str]:
        """Enter a task at its buffers; the tasks before it that need the weights and states as they were."""
        buffers = self.space.buffers
        updated = [buffers[buffer] for buffer in writes if buffers[buffer].role in ("constant", "state")]
        readers = [reader for buffer in updated for reader in buffer.consumers]
        for buffer in reads:
            buffers[buffer].consumers[name] = index
        for buffer in writes:
            buffers[buffer].producers[name] = index
        return readers

    def _groups(self, tasks: Sequence[Operation]) -> list[Operation]:
        """Tasks with the same dependencies (and at least one) can run at once: none of them needs another."""
        together: dict[tuple[str, ...], list[str]] = {}
        for task in plan.Task.each(tasks):
            after = task.after
            if after:  # sections run one after another
                key = (self.part(task), *after) if self.space.sectioned else after
                together.setdefault(key, []).append(task.symbol)
        groups = [names for names in together.values() if len(names) > 1]
        return [
            plan.Concurrent.build(
                properties={"sym_name": StringAttr(self.space.full(self.block, f"group.{index}")), "tasks": symbols(names)},
                span=self.block.span,
            )
            for index, names in enumerate(groups)
        ]


def mesh_of(ir: DistributedTaskIR, block: dist.Block) -> dict[str, Expr]:
    """The sizes of the mesh axes of a distributed block."""
    mesh = ir.mesh_of(block)
    assert mesh is not None  # there is one: dist.R1
    return mesh.axes
