"""Boundary of `bind-queue`, `bind-slot` and any other target: does a concrete plan do what its portable plan says? R1 to R17."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from operator import is_
from typing import TypeVar

from bpir.dialects.bind import TARGET, Deployment, as_expr
from bpir.dialects.bp import product
from bpir.dialects.concrete.envelope import Buffer, Command, Devices, Region, Transfer
from bpir.dialects.concrete.extension import extension_of
from bpir.dialects.dist.parts import Amount
from bpir.dialects.levels import ConcretePlanIR, PortablePlanIR
from bpir.dialects.plan import Buffer as PlanBuffer
from bpir.dialects.plan import Task
from bpir.ir.attributes import Attribute
from bpir.ir.diagnostic import Diagnostic, note
from bpir.ir.expressions.expression import ZERO, Expr, constant
from bpir.ir.operation import Operation
from bpir.ir.relations.facts import Relation
from bpir.verifiers.binding.layout_and_fingerprints import (
    COMMANDS,
    OF_THE_TARGET,
    alignment_of,
    fingerprint_of,
    implementation_of,
    next_offset,
    plan_fingerprint_of,
)
from bpir.verifiers.binding.sections import verify_bound_sections
from bpir.verifiers.dependencies import disagreeing
from bpir.verifiers.findings import Findings
from bpir.verifiers.inputs import binding_key, verify_kept
from bpir.verifiers.rulebooks import BINDING
from bpir.verifiers.stages.rows import verify_unstaged
from bpir.verifiers.statements import Claim, Statement

_Bound = TypeVar("_Bound", Buffer, Command)
_Holder = TypeVar("_Holder", Devices, Region)

_OF_A_TASK = tuple(part.name for part in (Task.kind_of_work, Task.phase, Task.reads, Task.writes, Task.work, Task.matmul))
_OF_A_BUFFER = tuple(part.name for part in (PlanBuffer.role, PlanBuffer.storage, PlanBuffer.times, PlanBuffer.size))
"""The properties that a command shares with its task, and a bound buffer with its buffer."""

_CHOOSING = tuple(part.name for part in (Task.kind_of_work, Task.alternatives, Task.requires))
"""The facts that the implementation of a task depends on."""

OPTIONS = ("devices", "memory")
"""The fields of a deployment that are options of the passes, and may be overridden."""


class BindingVerifier:
    """Verifies a concrete plan against the portable plan that it binds. The structure of both is sound."""

    def __init__(self, source: Operation, target: Operation, claims: list[Claim] | None = None) -> None:
        self.source, self.target = source, target
        self.portable, self.bound = PortablePlanIR(source), ConcretePlanIR(target)
        self.plan = self.bound.plans[0]
        self.machine = next(machine for machine in self.bound.targets if machine.symbol == self.plan.target)
        self.deployment = next(one for one in self.bound.deployments if one.symbol == self.plan.deployment)
        self.kind = self.machine.kind
        self.findings = Findings(f"bind-{self.kind}", self.bound.symbols.facts, claims)
        self.numbers = {name: constant(value) for name, value in self.bound.symbols.bindings.items()}
        self.tasks = {task.symbol: task for task in self.portable.tasks}
        self.buffers = {buffer.symbol: buffer for buffer in self.portable.buffers}
        self.renamed = False  # whether a command or a buffer is called otherwise than what it is bound to
        self.distances: dict[tuple[Expr, Expr, int, int], Expr] = {}  # from where a buffer begins to where the next one does
        self.chosen: dict[tuple[Attribute | None, ...], str | None] = {}  # the implementation of tasks that say the same

    @BINDING.rule("R17", "inputs are kept")
    def verify(self) -> list[Diagnostic]:
        staged = verify_unstaged(self.portable)
        if staged:
            return staged
        of_task = self._lineage("R1", "R2", "task", self.tasks, self.bound.commands)
        of_buffer = self._lineage("R9", "R9", "buffer", self.buffers, self.bound.buffers)
        command_names = {task: command.symbol for task, command in of_task.items()}
        buffer_names = {name: buffer.symbol for name, buffer in of_buffer.items()}
        self.renamed = any(name != symbol for name, symbol in (*command_names.items(), *buffer_names.items()))
        for name, command in of_task.items():
            self._command(self.tasks[name], command, buffer_names)
        self._dependencies(of_task, command_names)
        self._buffers(of_buffer)
        verify_bound_sections(self.findings, self.portable, self.bound, command_names, buffer_names)
        self._identity()
        self._machine()
        self._extension()
        verify_kept(self.findings, "R17", self.source, self.target, self._overridable(), self._assumable())
        return self.findings.diagnostics

    def _overridable(self) -> dict[str, tuple[str, ...]]:
        """The fields of bindings that options may have given: those of a target that the plan does not describe are all of them."""
        chosen: dict[str, tuple[str, ...]] = {binding_key(self.deployment): OPTIONS}
        if self.machine.symbol not in {machine.symbol for machine in self.portable.targets}:
            chosen[binding_key(self.machine)] = tuple(field.name for field in TARGET)
        return chosen

    @BINDING.rule("R1", "every command comes from a task")
    @BINDING.rule("R2", "every task is bound once")
    def _lineage(
        self, known_rule: str, once_rule: str, what: str, sources: Mapping[str, Task | PlanBuffer], derived: Iterable[_Bound]
    ) -> dict[str, _Bound]:
        """The implementation or buffer that each task or buffer is bound to, in the order of the source."""
        found: dict[str, _Bound] = {}
        for one in derived:
            name = one.source
            if name not in sources:
                self.findings.refuse(known_rule, one, f"@{one.symbol} comes from '{name}', which is no {what} of the plan")
            elif name in found:
                where = note("first here", found[name].span)
                self.findings.refuse(once_rule, one, f"the {what} @{name} is bound twice", where)
            else:
                found[name] = one
        for name, source in sources.items():
            if name not in found:
                self.findings.refuse(once_rule, source, f"the {what} @{name} of the plan is not bound")
        return {name: found[name] for name in sources if name in found}

    def _copies(self, one: Command | Buffer, source: Task | PlanBuffer, names: Iterable[str]) -> bool:
        """Whether both say the same in the properties of these names, attribute by attribute: then no claim about them can fail."""
        ours, theirs = one.operation.properties, source.operation.properties
        return not self.findings.records_claims and all(map(is_, map(ours.get, names), map(theirs.get, names)))

    # --- commands

    @BINDING.rule("R3", "kind of command, operation and phase")
    @BINDING.rule("R5", "a command reads and writes the buffers of its task")
    @BINDING.rule("R6", "work is equal")
    def _command(self, task: Task, command: Command, buffers: Mapping[str, str]) -> None:
        wanted = COMMANDS.get(task.kind, "")
        if command.kind != wanted:
            there = note("the task is here", task.span)
            self.findings.refuse("R3", command, f"@{command.symbol} is a {command.kind}; its task needs a {wanted}", there)
        if self.renamed or not self._copies(command, task, _OF_A_TASK):
            self._compared(task, command, buffers)
        self._implementation(task, command, wanted)
        if wanted == "transfer" and isinstance(command, Transfer):
            self._transfer(task, command)

    def _compared(self, task: Task, command: Command, buffers: Mapping[str, str]) -> None:
        """The properties of a command must be those of its task in the plan."""
        name, there = command.symbol, note("the task is here", task.span)
        for field, one, other in (
            (Command.kind_of_work, command.kind_of_work, task.kind_of_work),
            (Command.phase, command.phase, task.phase),
        ):
            self.findings.require("R3", one == other, command, f"the {field.name} of @{name} is '{one}', its task's '{other}'", there)
        for verb, names, of_task in (("reads", command.reads, task.reads), ("writes", command.writes, task.writes)):
            self._same("R5", command, verb, set(names), _renamed(of_task, buffers), there)
        self.findings.components("R6", command, "work", f"of @{name}", command.work, task.work, there)
        self.findings.equal("R6", command, f"'matmul' of @{name}", command.matmul, task.matmul, there)

    @BINDING.rule("R4", "dependencies are the task's, said or implied by others")
    def _dependencies(self, bound: Mapping[str, Command], commands: Mapping[str, str]) -> None:
        pairs = {command.symbol: (command, self.tasks[name]) for name, command in bound.items()}
        if not self.renamed and all(self._copies(command, task, (Task.after.name,)) for command, task in pairs.values()):
            return
        found = {name: set(command.after) for name, (command, _) in pairs.items()}
        expected = {name: _renamed(task.after, commands) for name, (_, task) in pairs.items()}
        for name in disagreeing(found, expected):
            command, task = pairs[name]
            self._same("R4", command, "is after", found[name], expected[name], note("the task is here", task.span))

    def _same(self, rule: str, command: Command, verb: str, found: set[str], expected: set[str], there: Diagnostic) -> None:
        if found != expected:
            ours, theirs = (", ".join(f"@{n}" for n in sorted(s)) or "nothing" for s in (found, expected))
            self.findings.refuse(rule, command, f"@{command.symbol} {verb} {ours}; its task {verb} {theirs}", there)

    @BINDING.rule("R7", "the implementation is the target's, and there is none for transfers and barriers")
    def _implementation(self, task: Task, command: Command, wanted: str) -> None:
        of_target = wanted in OF_THE_TARGET
        expected = self._wanted(task) if of_target else None
        found = command.by or None
        if found != expected or (of_target and expected is None):
            where = note("the target is here", self.machine.span)
            message = f"@{command.symbol} has {_quoted(found)}; the target gives its task {_quoted(expected)}"
            self.findings.refuse("R7", command, message, where)

    def _wanted(self, task: Task) -> str | None:
        """The implementation of a task; thousands of tasks say the same of what they need."""
        needs = tuple(map(task.operation.properties.get, _CHOOSING))
        if needs not in self.chosen:
            self.chosen[needs] = implementation_of(task, self._implements)
        return self.chosen[needs]

    @cached_property
    def _implements(self) -> Mapping[str, str]:
        return self.machine.implements

    @BINDING.rule("R15", "a transfer is between the devices of its ranks, and they are linked")
    def _transfer(self, task: Task, command: Transfer) -> None:
        ends = command.ends
        ours, theirs = (" and ".join(map(str, numbers)) for numbers in (ends, task.ranks))
        message = f"@{command.symbol} is between the devices {ours}, its task between {theirs}"
        self.findings.require("R15", ends == task.ranks, command, message, note("the task is here", task.span))
        if self.deployment.says(Deployment.links) and len(ends) == 2:
            message = f"the transfer @{command.symbol} has no route: no link leads from device {ends[0]} to device {ends[1]}"
            linked = (ends[0], ends[1]) in self.deployment.links
            self.findings.require("R15", linked, command, message, note("the links are here", self.deployment.span))

    # --- buffers

    @BINDING.rule("R9", "every buffer of the plan is bound once, with its role and storage class, as many times, and no other")
    @BINDING.rule("R10", "its size is the plan's, or a larger whole number")
    @BINDING.rule("R11", "its alignment is `max(16, r)`")
    @BINDING.rule("R12", "its offset is the canonical one")
    def _buffers(self, bound: Mapping[str, Buffer]) -> None:
        regions = {buffer.region for buffer in bound.values()}
        message = f"the buffers lie in {len(regions)} regions; the contract has one"
        self.findings.require("R9", len(regions) <= 1, self.plan, message)
        least = self._least_alignment()
        wanted = [alignment_of(self.buffers[name].alignment, least) for name in bound]
        offset = ZERO
        before: tuple[Buffer, int] | None = None
        for (name, buffer), alignment in zip(bound.items(), wanted, strict=True):
            if before is not None:
                offset = self._next(offset, before[0].size, before[0].times, before[1], alignment)
            before = buffer, alignment
            source, begin = self.buffers[name], buffer.offset
            if buffer.alignment != alignment or begin is not offset or not self._copies(buffer, source, _OF_A_BUFFER):
                self._buffer(source, buffer, alignment, offset)

    def _least_alignment(self) -> int:
        """The bytes that the target aligns every buffer to, at least."""
        value = as_expr(self.machine.fields.get("alignment"))
        return (value.integer if value is not None else None) or 1

    def _next(self, offset: Expr, size: Expr, times: Expr, before: int, alignment: int) -> Expr:
        """The start of the next buffer; the distance is computed once for each size."""
        if before % alignment:
            return next_offset(offset, size, times, before, alignment)
        key = (size, times, before, alignment)
        if key not in self.distances:
            self.distances[key] = next_offset(ZERO, size, times, before, alignment)
        return offset + self.distances[key]

    def _buffer(self, source: PlanBuffer, buffer: Buffer, alignment: int, offset: Expr) -> None:
        """The properties of a bound buffer must be those of its buffer and of the contract."""
        label, there = buffer.symbol, note("the buffer of the plan is here", source.span)
        for ours, theirs in ((buffer.role, source.role), (buffer.storage, source.storage)):
            self.findings.require("R9", ours == theirs, buffer, f"@{label} is {ours}, in the plan {theirs}", there)
        self.findings.equal("R9", buffer, f"how often @{label} is there", buffer.times, source.times, there)
        self.findings.enough_bytes("R10", buffer, f"the size of @{label}", buffer.size, source.size, there)
        message = f"the alignment of @{label} is {buffer.alignment}; the contract gives max(16, r) = {alignment}"
        self.findings.require("R11", buffer.alignment == alignment, buffer, message, there)
        self.findings.equal("R12", buffer, f"the offset of @{label}", buffer.offset, offset, there)

    # --- machine

    @BINDING.rule("R8", "target and ABI revision")
    def _identity(self) -> None:
        machine, plan = self.machine, self.plan
        abi = as_expr(machine.fields.get("abi"))
        stated = abi.text if abi is not None else "none"
        message = f"the plan is bound to ABI revision {plan.abi} of @{machine.symbol}, which has {stated}"
        same = abi is not None and abi.integer == plan.abi
        self.findings.require("R8", same, plan, message, note("the target is here", machine.span))
        self._fingerprints()

    @BINDING.rule("R13", "fingerprints of plan, target and deployment")
    def _fingerprints(self) -> None:
        machine, plan = self.machine, self.plan
        first = next((task.span for task in self.portable.tasks), None)
        for what, found, expected, place in (
            ("source", plan.source_fingerprint, plan_fingerprint_of(self.portable.operations), first),
            ("target", plan.target_fingerprint, fingerprint_of(machine.operation), machine.span),
            ("deployment", plan.deployment_fingerprint, fingerprint_of(self.deployment.operation), self.deployment.span),
        ):
            message = f"the fingerprint of the {what} is stale: it is {found}, that of the {what} now is {expected}"
            self.findings.require("R13", found == expected, plan, message, note("what it is of is here", place))

    @BINDING.rule("R14", "devices and memory are the deployment's, and there are devices for all ranks of the mesh")
    def _machine(self) -> None:
        there = note("the deployment is here", self.deployment.span)
        for devices in self._only(Devices, self.bound.devices, there):
            self._states(devices, Devices.count, devices.count, "devices", there)
        for region in self._only(Region, self.bound.regions, there):
            self._states(region, Region.size, region.size, "memory", there)
        self._ranks(as_expr(self.deployment.fields.get("devices")), there)

    def _only(self, cls: type[_Holder], found: Sequence[_Holder], there: Diagnostic) -> Sequence[_Holder]:
        """The one operation of a class; none, and a finding, if there are several or none."""
        message = f"a plan has one {cls.name}, found {len(found)}"
        return found if self.findings.require("R14", len(found) == 1, self.plan, message, there) else ()

    def _states(self, holder: Devices | Region, part: Amount, size: Expr, field: str, there: Diagnostic) -> None:
        """The plan's statements about its machine are those of the deployment's fields, with numbers for symbols."""
        value = as_expr(self.deployment.fields.get(field))
        ours = size if holder.says(part) else None
        what = f"the {part.name} of @{holder.symbol}"
        if ours is not None and value is not None:
            self.findings.equal("R14", holder, what, ours, value.substitute(self.numbers), there)
        elif ours is not value:
            texts = [expr.text if expr is not None else "left open" for expr in (ours, value)]
            self.findings.refuse("R14", holder, f"{what} is {texts[0]}, '{field}' of the deployment {texts[1]}", there)

    def _ranks(self, devices: Expr | None, there: Diagnostic) -> None:
        """Refuse a deployment unless it is proved to have a device for each rank of the mesh that the plan is under."""
        ranks = self._mesh_ranks()
        if ranks is None:
            among_ranks = self.portable.strategies or any(task.kind == "collective" for task in self.portable.tasks)
            message = "the plan does not name its mesh (plan.mesh), so how many devices it needs can't be told"
            self.findings.require("R14", not among_ranks, self.plan, message, there)
        elif devices is not None:
            self._enough(devices, ranks, there)

    def _enough(self, devices: Expr, ranks: Expr, there: Diagnostic) -> None:
        """Refuse unless so many devices are proved to be enough for the ranks."""
        enough = Statement(devices + 1, ">", ranks)
        verdict = enough.decide(self.findings.facts)
        needed, there_are = (expr.substitute(self.numbers).text for expr in (ranks, devices))
        how = "" if verdict.refuted else "; that these are enough can't be decided (unknown is not success): record it with bp.assume"
        message = f"the strategy needs {needed} devices, the deployment has {there_are}{how}"
        self.findings.claim("R14", self.plan, message, "the number of devices", enough, verdict, there)

    def _mesh_ranks(self) -> Expr | None:
        """The ranks of the mesh that the plan names; None if it names none."""
        mesh = next(iter(self.portable.meshes), None)
        return None if mesh is None else product(mesh.axes.values())

    def _assumable(self) -> set[Relation]:
        """The assumption that the derivation may make: as many devices as ranks."""
        devices, ranks = as_expr(self.deployment.fields.get("devices")), self._mesh_ranks()
        if devices is None or ranks is None:
            return set()
        return {Relation("greater", (devices + 1).substitute(self.numbers), ranks.substitute(self.numbers))}

    @BINDING.rule("R16", "what the target's dialect says is the canonical construction")
    def _extension(self) -> None:
        """Whether what the target's dialect says is the canonical construction."""
        extension = extension_of(self.kind)
        if extension is not None:
            own = [o for o in self.bound.operations if o.dialect == self.kind]
            commands = [command.operation for command in self.bound.commands]
            for deviation in extension.deviations(commands, own):
                self.findings.refuse("R16", deviation.operation or self.plan, deviation.message)


def _renamed(names: Iterable[str], bound: Mapping[str, str]) -> set[str]:
    """The names that things of a plan have once they are bound."""
    return {bound.get(name, name) for name in names}


def _quoted(implementation: str | None) -> str:
    return f"'{implementation}'" if implementation is not None else "no implementation"
