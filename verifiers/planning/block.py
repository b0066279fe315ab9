"""Judges one block of a distributed module against its plan: buffers, and for each task its work, its reads and its dependencies."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, partial

from bpir.dialects.dist import tasks as dist
from bpir.dialects.dist.stages import Transfer
from bpir.dialects.plan import Buffer, Concurrent, Task, resources_of_work
from bpir.ir.attributes import Attribute
from bpir.ir.diagnostic import note
from bpir.ir.expressions.expression import ONE, ZERO, Expr
from bpir.ir.operation import Block, Operation, Value
from bpir.verifiers.dependencies import disagreeing
from bpir.verifiers.findings import Findings
from bpir.verifiers.planning.forms import verify_kept_routing_and_form
from bpir.verifiers.planning.sections import Lineage
from bpir.verifiers.planning.workspace import alive
from bpir.verifiers.rulebooks import PLANNING
from bpir.verifiers.sizes import local_bytes, weight_bytes

ALIGNMENT = 256
"""Bytes: the alignment that every allocator of accelerator memory gives (CUDA C++ Programming Guide, device memory accesses)."""

_FORM = ("experts", "form", "other_form", "other_work")
_KIND = tuple(part.name for part in (Task.kind, Task.kind_of_work, Task.phase, Task.requires, Task.alternatives, Task.matmul)) + _FORM
_KIND_OF_SOURCE = (*(part.name for part in (dist.Compute.kind, dist.Task.phase, dist.Task.matmul)), *_FORM)
"""The properties in which a task of a plan says what it does and needs, and those of its source."""

REPEATED = ("constant", "state", "optimizer")
"""The roles of buffers that each run of a block has for itself."""


def written_states(task: dist.Task) -> list[Value]:
    """The states that a task writes to: its last operands, one a result, where it says that it has the effect."""
    writes = isinstance(task, dist.Compute) and "write" in task.effects
    return task.operands[len(task.operands) - len(task.results) :] if writes else []


class PlannedBlockCheck:
    """Finds the buffer of each value of a distributed block, then compares every task of the block with its plan."""

    def __init__(
        self,
        findings: Findings,
        block: dist.Block,
        mesh: Mapping[str, Expr],
        planned: Mapping[str, Task],
        buffers: Sequence[Buffer],
        groups: Sequence[Concurrent],
        lineage: Lineage,
        owned: dict[tuple[str, str], str],
    ) -> None:
        self.findings = findings
        self.block = block
        self.mesh = mesh
        self.planned = planned
        self.buffers = buffers
        self.groups = groups
        self.lineage = lineage
        self.owned = owned  # the buffer of weights, by the block and the layer that they belong to
        self.held: dict[tuple[str, str], list[Buffer]] = {}  # the buffers by role and source
        for buffer in buffers:
            self.held.setdefault((buffer.role, buffer.source), []).append(buffer)
        self.runs = lineage.runs(block)
        self.judged: set[tuple[object, ...]] = set()  # what tasks say of what they do, and may: thousands say the same
        self.sizes: dict[Attribute, Expr] = {}
        self.homes: dict[Value, str] = {}
        self.weights: dict[dist.Task, str] = {}
        self._place: dict[dist.Task, int] = {}
        self._users: dict[Value, list[dist.Task]] = {}
        self.found: set[Buffer] = set()
        self.workspace = ""
        self.after: dict[str, set[str]] = {}  # what each planned task must be after

    def run(self) -> set[Buffer]:
        """Verify; the buffers that the block accounts for."""
        self.obligations()
        for task, plan in self._planned_tasks():
            self._task(task, plan)
        self._dependencies()
        return self.found

    def _planned_tasks(self) -> list[tuple[dist.Task, Task]]:
        """The tasks of the block, each with its task of the plan; that one is missing is refused elsewhere."""
        found = ((task, self.planned.get(self.origin(task.label))) for task in self.block.tasks)
        return [(task, plan) for task, plan in found if plan is not None]

    def origin(self, name: str = "") -> str:
        """The origin of something in this block, in the words of the plan."""
        return self.lineage.origin(self.block, name)

    def bytes(self, type: Attribute) -> Expr:
        """The bytes of one rank's part of a value of a type."""
        found = self.sizes.get(type)
        if found is None:
            found = self.sizes[type] = local_bytes([type], self.mesh)
        return found

    # --- buffers

    @PLANNING.rule("R9", "every obligation has its buffer, and it is large enough")
    def obligations(self) -> None:
        """Find the buffer of everything that the block must store."""
        self.arguments()
        returned = list(dict.fromkeys(v for v in self.block.returned if v not in self.homes))
        for state in self.block.states:
            bound = local_bytes((v.type for v in state.operation.results), self.mesh)
            home = self.of(state, "state", "persistent", bound)
            self.homes.update(dict.fromkeys(state.operation.results, home))
        outputs = [] if self.lineage.several else [b for b in self.buffers if b.role == "output"]
        for task in self.block.tasks:
            self._keep_weights(task)
            self._keep_results(task, returned, outputs)
        self._keep_workspace()

    def _keep_weights(self, task: dist.Task) -> None:
        """Find the buffer of the weights of a task, if it has any."""
        bound = weight_bytes(task)
        if bound is not ZERO and not task.gathered:
            owner = self.lineage.owner(self.block, task)
            if owner not in self.owned:
                self.owned[owner] = self.of(task, "constant", "persistent", bound)
            self.weights[task] = self.owned[owner]

    def _keep_results(self, task: dist.Task, returned: Sequence[Value], outputs: Sequence[Buffer]) -> None:
        """Find the buffers of results that are returned, are in a state, or are kept for the gradients."""
        results, states = task.operation.results, written_states(task)
        if states:
            for value in results:
                self._keep_in_state(task, value, states[value.index], value in returned)
            return
        given = [value for value in results if value in returned]
        own = self.matched(given, self.held.get(("output", self.origin(task.label)), [])) if given else {}
        residual = task.rule is not None and task.rule.residual
        for value in results:
            if value in own:
                index = returned.index(value)
                chosen = own[value] or outputs[index : index + 1]
                bound = self.bytes(value.type)
                self.homes[value] = self.buffer(chosen, f"result {index}", bound, "device_local", self.origin(task.label))
            elif residual:
                self.homes[value] = self.of(task, "activation", "device_local", self.bytes(value.type))

    def _keep_in_state(self, task: dist.Task, value: Value, content: Value, returned: bool) -> None:
        """Give a result that is written to a state the place of the state."""
        if returned:
            self.findings.refuse("R9", task, "what is written to a state can't be returned: it has its place in the state")
        if content in self.homes and content.type is value.type:  # a cache may hold fewer tokens than are visible
            self.homes[value] = self.homes[content]

    def _keep_workspace(self) -> None:
        """Find the workspace, if anything must be in one; it is large enough for each task."""
        spaces = [b for b in self.buffers if b.role == "workspace" and b not in self.found]
        first, *more = self.alive() or [ZERO]
        if spaces or more or first is not ZERO:
            self.workspace = self.buffer(spaces[:1], "the workspace", first, "transient", "")
        if self.workspace:
            self._hold_all(spaces[0], more)

    def _hold_all(self, space: Buffer, sizes: Iterable[Expr]) -> None:
        """The workspace has at least each of the sizes, up to the first that it has not: one task that it is too small for says enough."""
        known = len(self.findings.diagnostics)
        for size in sizes:
            self.findings.at_least("R9", space, f"the size of @{self.workspace} (the workspace)", space.size, size)
            if len(self.findings.diagnostics) > known:
                break

    def alive(self) -> list[Expr]:
        """The bytes that the workspace must hold, at one task or another, where the plan lets its groups run at once."""
        tasks = self.block.tasks
        sources = {plan.symbol: name for name, plan in self.planned.items()}
        named = {self.origin(task.label): task for task in tasks}
        members = [[sources.get(name, "") for name in group.tasks] for group in self.groups]
        groups = [[named[origin] for origin in origins if origin in named] for origins in members]
        return list(dict.fromkeys(alive(tasks, self.mesh, self.homes, list(filter(None, groups)))))

    def arguments(self) -> None:
        """The buffers of the block's arguments."""
        arguments = self.block.arguments
        inputs = self.matched(arguments, self.held.get(("input", self.origin()), []))
        others = [] if self.lineage.several else [b for b in self.buffers if b.role == "input"]
        for index, argument in enumerate(arguments):
            bound = self.bytes(argument.type)
            chosen = inputs[argument] or others[index : index + 1]
            self.homes[argument] = self.buffer(chosen, f"argument {index}", bound, "device_local", self.origin())

    def matched(self, values: Sequence[Value], buffers: Sequence[Buffer]) -> dict[Value, list[Buffer]]:
        """Which of the buffers holds each value: one with its readers and size, in whatever order they are; what is alike, in order."""
        if len(values) < 2 and len(buffers) < 2:  # most calls
            return {value: list(buffers) for value in values}
        found: dict[Value, list[Buffer]] = {value: [] for value in values}
        left = list(buffers)
        for alike in (self._same_readers_and_size, self._same_readers, _any_buffer):
            for value in values:
                if not found[value]:
                    found[value] = _taken_from(left, partial(alike, value))
        return found

    def _same_readers(self, value: Value, buffer: Buffer) -> bool:
        return set(buffer.consumers) == self._reading.get(value, set())

    @cached_property
    def _reading(self) -> dict[Value, set[str]]:
        """The tasks of the plan that read each value."""
        found: dict[Value, set[str]] = {}
        for task, plan in self._planned_tasks():
            for operand in task.operation.operands:
                found.setdefault(operand, set()).add(plan.symbol)
        return found

    def _same_readers_and_size(self, value: Value, buffer: Buffer) -> bool:
        return buffer.size is self.bytes(value.type) and self._same_readers(value, buffer)

    def of(self, task: dist.Task | dist.State, role: str, storage: str, bound: Expr) -> str:
        """The name of the buffer of a role that a task or a state must have."""
        name = self.origin(task.label)
        return self.buffer(self.held.get((role, name), [])[:1], f"the {role} of '{name}'", bound, storage, name)

    @PLANNING.rule("R4", "buffers say whose values they hold")
    @PLANNING.rule("R12", "storage class of buffers")
    @PLANNING.rule("R15", "a buffer is aligned to 256 bytes, or a multiple")
    @PLANNING.rule("R18", "a buffer of weights, a state or what a later part reads is there once for each run of its block, any other once")
    def buffer(self, found: Sequence[Buffer], what: str, bound: Expr, storage: str, source: str) -> str:
        """The name of the buffer that meets an obligation, and no other; empty, and a finding, if there is none."""
        buffer = next((buffer for buffer in found if buffer not in self.found), None)
        if buffer is None:
            self.findings.refuse("R9", self.block, f"{what} has no buffer: {bound.text} bytes are needed")
            return ""
        self.found.add(buffer)
        named = f"@{buffer.symbol} ({what})"
        self.findings.enough_bytes("R9", buffer, f"the size of {named}", buffer.size, bound)
        self._stored(buffer, named, storage, source)
        runs = self.runs if self._is_there_each_run(buffer) else ONE
        self.findings.equal("R18", buffer, f"how often {named} is there", buffer.times, runs)
        return buffer.symbol

    def _stored(self, buffer: Buffer, named: str, storage: str, source: str) -> None:
        """A buffer says whose values it holds, and is aligned and stored as what it holds must be."""
        if buffer.source != source:
            self.findings.refuse("R4", buffer, f"{named} comes from '{source}', not from '{buffer.source}'")
        if buffer.alignment % ALIGNMENT:
            message = f"{named} must be aligned to {ALIGNMENT} bytes or a multiple, not to {buffer.alignment}"
            self.findings.refuse("R15", buffer, message)
        if buffer.storage != storage:
            self.findings.refuse("R12", buffer, f"{named} must be {storage}, not {buffer.storage}")

    def _is_there_each_run(self, buffer: Buffer) -> bool:
        """Whether each run of the block has a buffer of its own."""
        return self.runs is ONE or buffer.role in REPEATED or self._kept(buffer)

    def _kept(self, buffer: Buffer) -> bool:
        """Whether more than one part of a training step uses it: each repetition keeps its own until then."""
        return len({self._parts[name] for name in (*buffer.producers, *buffer.consumers) if name in self._parts}) > 1

    @cached_property
    def _parts(self) -> dict[str, str]:
        """The part of a training step that each task of the plan is of."""
        return {plan.symbol: self.lineage.part(self.block.symbol, plan) for plan in self.planned.values()}

    # --- tasks

    @PLANNING.rule("R3", "work is equal task by task, and in total")
    @PLANNING.rule("R5", "resources are the projections of work")
    @PLANNING.rule("R10", "a task reads and writes the buffers of its values")
    def _task(self, task: dist.Task, plan: Task) -> None:
        name = plan.symbol
        self.findings.components("R3", plan, "work", f"of @{name}", plan.work, task.work)
        self.findings.components("R5", plan, "resource", f"of @{name}", plan.resources, resources_of_work(task.work))
        self._kind(task, plan)
        reads, writes = self.uses(task)
        self.after[name] = self._needed(task, writes)
        if "" not in reads | writes:
            self._same("R10", plan, "reads", plan.reads, reads)
            self._same("R10", plan, "writes", plan.writes, writes)

    def _needed(self, task: dist.Task, writes: Iterable[str]) -> set[str]:
        """The tasks of the plan that one must be after: what gives its operands, and what reads before it writes."""
        symbols = self._symbols
        readers = [reader for buffer in writes for reader in self._readers.get(buffer, ()) if reader is not task]
        owners = {value.owner for value in task.operation.operands}
        owners.update(reader.operation for reader in (*readers, *self._readers_of_state(task)))
        return {symbols[owner] for owner in owners if owner in symbols}

    @PLANNING.rule(
        "R8",
        "dependencies are the data flow, said or implied by others, and an update of weights or of a state comes after all readers",
    )
    def _dependencies(self) -> None:
        ours = {self.origin(task.label) for task in self.block.tasks}
        plans = {plan.symbol: plan for name, plan in self.planned.items() if name in ours}
        said = {name: plan.after for name, plan in plans.items()}
        for name in disagreeing(said, self.after):
            self._same("R8", plans[name], "is after", said[name], self.after[name])

    @cached_property
    def _symbols(self) -> dict[Operation | Block | None, str]:
        """The name that the plan gives each task of the block."""
        return {task.operation: plan.symbol for task, plan in self._planned_tasks()}

    def _readers_of_state(self, task: dist.Task) -> list[dist.Task]:
        """The tasks that read a state before this one writes to it; what reads it as it was, but later, is refused."""
        found = []
        users = {other for value in written_states(task) for other in self._uses_of(value) if other is not task}
        for other in sorted(users, key=self._place.__getitem__):
            if self._place[other] > self._place[task]:
                message = f"'{other.label}' reads a state as it was before '{task.label}', which has written to it by then"
                self.findings.refuse("R8", other, message, note("written here", task.span))
            else:
                found.append(other)
        return found

    def _uses_of(self, value: Value) -> list[dist.Task]:
        """The tasks that read a value, in order, once a use."""
        if not self._place:
            self._place = {task: index for index, task in enumerate(self.block.tasks)}
            for task in self.block.tasks:
                for operand in task.operation.operands:
                    self._users.setdefault(operand, []).append(task)
        return self._users.get(value, [])

    @cached_property
    def _readers(self) -> dict[str, list[dist.Task]]:
        """The tasks that use each buffer of weights."""
        found: dict[str, list[dist.Task]] = {}
        for task, buffer in self.weights.items():
            found.setdefault(buffer, []).append(task)
        shares = {value: self.homes.get(value, "") for each in self.block.shares for value in each.results}
        for task in self.block.tasks if shares else ():
            for buffer in dict.fromkeys(shares[value] for value in task.operands if value in shares):
                found.setdefault(buffer, []).append(task)
        return found

    def uses(self, task: dist.Task) -> tuple[set[str], set[str]]:
        """The buffers that a task must read and write."""
        states = written_states(task)
        reads = {self.homes.get(v, self.workspace) for v in (*task.operands[: len(task.operands) - len(states)], *task.gathered_weights)}
        if task in self.weights:
            reads.add(self.weights[task])
        written = [*task.operation.results, *states]
        return reads, {self.homes.get(v, self.workspace) for v in written}

    @PLANNING.rule("R6", "kind, operation and phase")
    @PLANNING.rule("R7", "capabilities, alternatives in their order of preference, and matrix products")
    def _kind(self, task: dist.Task, plan: Task) -> None:
        ours, theirs = plan.operation.properties, task.operation.properties
        stated = (task.name, *map(theirs.get, _KIND_OF_SOURCE), *map(ours.get, _KIND))
        if stated in self.judged and not self.findings.records_claims:
            return
        known = len(self.findings.diagnostics)
        self._judge_kind(task, plan)
        if len(self.findings.diagnostics) == known:
            self.judged.add(stated)

    def _judge_kind(self, task: dist.Task, plan: Task) -> None:
        for field, found, expected in (
            (Task.kind, plan.kind, task.kind_of_plan),
            (Task.kind_of_work, plan.kind_of_work, task.kind_of_work),
            (Task.phase, plan.phase, task.phase),
        ):
            message = f"the {field.name} of @{plan.symbol} is '{found}', its source's '{expected}'"
            self.findings.require("R6", found == expected, plan, message)
        axis = task.axis if isinstance(task, Transfer) else ""
        message = f"@{plan.symbol} goes along '{plan.along}', its source along '{axis}'"
        self.findings.require("R6", plan.along == axis, plan, message)
        self._implementable(task, plan)
        self.findings.equal("R7", plan, f"'matmul' of @{plan.symbol}", plan.matmul, task.matmul)
        verify_kept_routing_and_form(self.findings, "R7", plan, task)

    def _implementable(self, task: dist.Task, plan: Task) -> None:
        """A task of a plan needs the capabilities of its operation, and has its alternatives in their order."""
        rule = task.rule
        requires, expected = (rule.capabilities, tuple(rule.alternatives)) if rule is not None else ((task.kind_of_work,), ())
        self._same("R7", plan, "requires", plan.requires, set(requires))
        ours, theirs = (", ".join(names) or "nothing" for names in (plan.alternatives, expected))
        order = " in this order, in which binding chooses" if sorted(plan.alternatives) == sorted(expected) else ""
        message = f"@{plan.symbol} has the alternatives {ours}; expected {theirs}{order}"
        self.findings.require("R7", plan.alternatives == expected, plan, message)

    def _same(self, rule: str, plan: Task, verb: str, found: Iterable[str], expected: set[str]) -> None:
        found = list(found)
        if len(found) != len(expected) or set(found) != expected:
            ours, theirs = (", ".join(sorted(names)) or "nothing" for names in (found, expected))
            self.findings.refuse(rule, plan, f"@{plan.symbol} {verb} {ours}; expected {theirs}")


def _taken_from(buffers: list[Buffer], fits: Callable[[Buffer], bool]) -> list[Buffer]:
    """The first of the buffers that fits, which is taken out of them; none if none does."""
    fitting = next((buffer for buffer in buffers if fits(buffer)), None)
    if fitting is None:
        return []
    buffers.remove(fitting)
    return [fitting]


def _any_buffer(value: Value, buffer: Buffer) -> bool:
    return True
