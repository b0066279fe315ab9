"""What a plan owes to one block of a distributed module: its buffers, and for each task its work, its reads and its dependencies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

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

_SAID = ("experts", "form", "other_form", "other_work")
_KIND = tuple(part.name for part in (Task.kind, Task.kind_of_work, Task.phase, Task.requires, Task.alternatives, Task.matmul)) + _SAID
_KIND_OF_SOURCE = (*(part.name for part in (dist.Compute.kind, dist.Task.phase, dist.Task.matmul)), *_SAID)
"""What a task of a plan says of what it does and needs, and what its source says."""

REPEATED = ("constant", "state", "optimizer")
"""The roles of buffers that each run of a block has for itself."""


def written_states(task: dist.Task) -> list[Value]:
    """The states that a task writes to: its last operands, one a result, where it says that it has the effect."""
    writes = isinstance(task, dist.Compute) and "write" in task.effects
    return task.operands[len(task.operands) - len(task.results) :] if writes else []


class BlockCheck:
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
        self.said: set[tuple[object, ...]] = set()  # what tasks say of what they do, and may: thousands say the same
        self.sizes: dict[Attribute, Expr] = {}
        self.homes: dict[Value, str] = {}
        self.weights: dict[dist.Task, str] = {}
        self._readers: dict[str, list[dist.Task]] = {}
        self._parts: dict[str, str] = {}  # the part of a training step of each planned task
        self._place: dict[dist.Task, int] = {}
        self._users: dict[Value, list[dist.Task]] = {}
        self._reading: dict[Value, set[str]] = {}  # the plan tasks that read each value
        self.found: set[Buffer] = set()
        self.workspace = ""
        self.after: dict[str, set[str]] = {}  # what each planned task must be after

    def run(self) -> set[Buffer]:
        """Verify; the buffers that the block accounts for."""
        self.obligations()
        for task in self.block.tasks:
            plan = self.planned.get(self.origin(task.label))
            if plan is not None:
                self._task(task, plan)
        self._dependencies()
        return self.found

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
        if bound is not ZERO:
            owner = self.lineage.owner(self.block, task)
            if owner not in self.owned:
                self.owned[owner] = self.of(task, "constant", "persistent", bound)
            self.weights[task] = self.owned[owner]

    def _keep_results(self, task: dist.Task, returned: Sequence[Value], outputs: Sequence[Buffer]) -> None:
        """Find the buffers of results that are returned, are in a state, or are kept for the gradients."""
        results = task.operation.results
        own = self.matched([v for v in results if v in returned], self.held.get(("output", self.origin(task.label)), []))
        states = written_states(task)
        residual = task.rule is not None and task.rule.residual
        for value in results:
            if states:
                if value in returned:
                    self.findings.refuse("R9", task, "what is written to a state can't be returned: it has its place in the state")
                content = states[value.index]
                if content in self.homes and content.type is value.type:  # a cache may hold fewer tokens than are visible
                    self.homes[value] = self.homes[content]
            elif value in returned:
                index = returned.index(value)
                chosen = own[value] or outputs[index : index + 1]
                bound = self.bytes(value.type)
                self.homes[value] = self.buffer(chosen, f"result {index}", bound, "device_local", self.origin(task.label))
            elif residual:
                self.homes[value] = self.of(task, "activation", "device_local", self.bytes(value.type))

    def _keep_workspace(self) -> None:
        """Find the workspace, if anything must be in one; it is large enough for each task."""
        spaces = [b for b in self.buffers if b.role == "workspace" and b not in self.found]
        first, *more = self.alive() or [ZERO]
        if spaces or more or first is not ZERO:
            self.workspace = self.buffer(spaces[:1], "the workspace", first, "transient", "")
        for size in more if self.workspace else ():
            said = len(self.findings.diagnostics)
            self.findings.at_least("R9", spaces[0], f"the size of @{self.workspace} (the workspace)", spaces[0].size, size)
            if len(self.findings.diagnostics) > said:
                break  # one task that it is too small for says enough

    def alive(self) -> list[Expr]:
        """The bytes that the workspace must hold, at one task or another, where the plan lets its groups run at once."""
        tasks = self.block.tasks
        sources = {plan.symbol: name for name, plan in self.planned.items()}
        named = {self.origin(task.label): task for task in tasks}
        groups = [[named[origin] for name in group.tasks if (origin := sources.get(name, "")) in named] for group in self.groups]
        return list(dict.fromkeys(alive(tasks, self.mesh, self.homes, [group for group in groups if group])))

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
        """Which of the buffers holds each value: one with its readers and size, in whatever order they stand; what is alike, in order."""
        if len(values) < 2 and len(buffers) < 2:  # as good as always
            return {value: list(buffers) for value in values}
        found: dict[Value, list[Buffer]] = {}
        left = list(buffers)
        for alike in (self._same_readers_and_size, self._same_readers, lambda value, buffer: True):
            for value in values:
                fitting = [buffer for buffer in left if alike(value, buffer)] if value not in found else []
                if fitting:
                    found[value] = fitting[:1]
                    left.remove(fitting[0])
        return {value: found.get(value, []) for value in values}

    def _same_readers(self, value: Value, buffer: Buffer) -> bool:
        if not self._reading:
            for task in self.block.tasks:
                plan = self.planned.get(self.origin(task.label))
                if plan is not None:
                    for operand in task.operation.operands:
                        self._reading.setdefault(operand, set()).add(plan.symbol)
        return set(buffer.consumers) == self._reading.get(value, set())

    def _same_readers_and_size(self, value: Value, buffer: Buffer) -> bool:
        return buffer.size is self.bytes(value.type) and self._same_readers(value, buffer)

    def of(self, task: dist.Task | dist.State, role: str, storage: str, bound: Expr) -> str:
        name = self.origin(task.label)
        return self.buffer(self.held.get((role, name), [])[:1], f"the {role} of '{name}'", bound, storage, name)

    @PLANNING.rule("R4", "buffers say whose values they hold")
    @PLANNING.rule("R12", "storage class of buffers")
    @PLANNING.rule("R15", "a buffer is aligned to 256 bytes, or a multiple")
    @PLANNING.rule("R18", "a buffer of weights, a state or what a later part reads is there once for each run of its block, any other once")
    def buffer(self, found: Sequence[Buffer], what: str, bound: Expr, storage: str, source: str) -> str:
        """The name of the buffer that meets an obligation, and no other; empty, and a finding, if there is none."""
        found = [buffer for buffer in found if buffer not in self.found]
        if not found:
            self.findings.refuse("R9", self.block, f"{what} has no buffer: {bound.text} bytes are needed")
            return ""
        buffer = found[0]
        self.found.add(buffer)
        name = buffer.symbol
        self.findings.enough_bytes("R9", buffer, f"the size of @{name} ({what})", buffer.size, bound)
        if buffer.source != source:
            self.findings.refuse("R4", buffer, f"@{name} ({what}) comes from '{source}', not from '{buffer.source}'")
        if buffer.alignment % ALIGNMENT:
            message = f"@{name} ({what}) must be aligned to {ALIGNMENT} bytes or a multiple, not to {buffer.alignment}"
            self.findings.refuse("R15", buffer, message)
        if buffer.storage != storage:
            self.findings.refuse("R12", buffer, f"@{name} ({what}) must be {storage}, not {buffer.storage}")
        runs = self.runs if self.runs is ONE or buffer.role in REPEATED or self._kept(buffer) else ONE
        self.findings.equal("R18", buffer, f"how often @{name} ({what}) is there", buffer.times, runs)
        return name

    def _kept(self, buffer: Buffer) -> bool:
        """Whether more than one part of a training step uses it: each repetition keeps its own until then."""
        if not self._parts:
            self._parts = {plan.symbol: self.lineage.part(self.block.symbol, plan) for plan in self.planned.values()}
        return len({self._parts[name] for name in (*buffer.producers, *buffer.consumers) if name in self._parts}) > 1

    # --- tasks

    @PLANNING.rule("R3", "work is equal task by task, and in total")
    @PLANNING.rule("R5", "resources are the projections of work")
    @PLANNING.rule("R10", "a task reads and writes the buffers of its values")
    def _task(self, task: dist.Task, plan: Task) -> None:
        name = plan.symbol
        self.findings.components("R3", plan, "work", f"of @{name}", plan.work, task.work)
        self.findings.components("R5", plan, "resource", f"of @{name}", plan.resources, resources_of_work(task.work))
        self._kind(task, plan)
        symbols = self._symbols
        after = {symbols[value.owner] for value in task.operands if value.owner in symbols}
        reads, writes = self.uses(task)
        readers = [reader for buffer in writes for reader in self.readers().get(buffer, ()) if reader is not task]
        readers += self._readers_of_state(task)
        self.after[name] = after.union(symbols[reader.operation] for reader in readers if reader.operation in symbols)
        if "" not in reads | writes:
            self._same("R10", plan, "reads", plan.reads, reads)
            self._same("R10", plan, "writes", plan.writes, writes)

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
        """What the plan calls each task of the block."""
        found = ((task, self.planned.get(self.origin(task.label))) for task in self.block.tasks)
        return {task.operation: plan.symbol for task, plan in found if plan is not None}

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
                for operand in task.operands:
                    self._users.setdefault(operand, []).append(task)
        return self._users.get(value, [])

    def readers(self) -> dict[str, list[dist.Task]]:
        """The tasks that use each buffer of weights."""
        if not self._readers:
            for task, buffer in self.weights.items():
                self._readers.setdefault(buffer, []).append(task)
        return self._readers

    def uses(self, task: dist.Task) -> tuple[set[str], set[str]]:
        """The buffers that a task must read and write."""
        states = written_states(task)
        reads = {self.homes.get(v, self.workspace) for v in task.operands[: len(task.operands) - len(states)]}
        if task in self.weights:
            reads.add(self.weights[task])
        written = [*task.operation.results, *states]
        return reads, {self.homes.get(v, self.workspace) for v in written}

    @PLANNING.rule("R6", "kind, operation and phase")
    @PLANNING.rule("R7", "capabilities, alternatives in their order of preference, and matrix products")
    def _kind(self, task: dist.Task, plan: Task) -> None:
        ours, theirs = plan.operation.properties, task.operation.properties
        said = (task.name, *map(theirs.get, _KIND_OF_SOURCE), *map(ours.get, _KIND))
        if said in self.said and not self.findings.records_claims:
            return
        known = len(self.findings.diagnostics)
        self._judge_kind(task, plan)
        if len(self.findings.diagnostics) == known:
            self.said.add(said)

    def _judge_kind(self, task: dist.Task, plan: Task) -> None:
        for field, found, expected in (
            (Task.kind, plan.kind, task.kind_of_plan),
            (Task.kind_of_work, plan.kind_of_work, task.kind_of_work),
            (Task.phase, plan.phase, task.phase),
        ):
            if found != expected:
                self.findings.refuse("R6", plan, f"the {field.name} of @{plan.symbol} is '{found}', its source's '{expected}'")
        axis = task.axis if isinstance(task, Transfer) else ""
        if plan.along != axis:
            self.findings.refuse("R6", plan, f"@{plan.symbol} goes along '{plan.along}', its source along '{axis}'")
        rule = task.rule
        requires = rule.capabilities if rule is not None else (task.kind_of_work,)
        self._same("R7", plan, "requires", plan.requires, set(requires))
        alternatives = rule.alternatives if rule is not None else ()
        given = plan.alternatives
        if given != tuple(alternatives):
            ours, theirs = (", ".join(names) or "nothing" for names in (given, alternatives))
            order = " in this order, in which binding chooses" if sorted(given) == sorted(alternatives) else ""
            self.findings.refuse("R7", plan, f"@{plan.symbol} has the alternatives {ours}; expected {theirs}{order}")
        self.findings.equal("R7", plan, f"'matmul' of @{plan.symbol}", plan.matmul, task.matmul)
        verify_kept_routing_and_form(self.findings, "R7", plan, task)

    def _same(self, rule: str, plan: Task, verb: str, found: Iterable[str], expected: set[str]) -> None:
        found = list(found)
        if len(found) != len(expected) or set(found) != expected:
            ours, theirs = (", ".join(sorted(names)) or "nothing" for names in (found, expected))
            self.findings.refuse(rule, plan, f"@{plan.symbol} {verb} {ours}; expected {theirs}")
