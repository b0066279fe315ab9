"""Boundary of `bind-queue`, `bind-slot` and any other target: does a concrete plan do what its portable plan says? R1 to R17."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from bpir.dialects.bind import TARGET, as_expr, fields_of, implementations_of, links_of
from bpir.dialects.bp import product, symbol_table
from bpir.dialects.concrete.envelope import devices_of, is_command, kind_of, reference_of
from bpir.dialects.concrete.extension import extension_of
from bpir.dialects.dist.parts import mesh_entries
from bpir.dialects.dist.tasks import work_of
from bpir.dialects.plan import expr_of, names_of, number_of, numbers_of, symbol_of, text_of
from bpir.ir.diagnostic import Diagnostic, note
from bpir.ir.expression import ZERO, Expr, constant
from bpir.ir.operation import Operation, top_level
from bpir.ir.relations import Relation
from bpir.verifiers.claims import Claim, Statement
from bpir.verifiers.contract import (
    COMMANDS,
    OF_THE_TARGET,
    alignment_of,
    fingerprint_of,
    implementation_of,
    next_offset,
    plan_fingerprint_of,
)
from bpir.verifiers.dependencies import disagreeing
from bpir.verifiers.inputs import verify_kept
from bpir.verifiers.rules import Findings

OPTIONS = ("devices", "memory")
"""The fields of a deployment that are options of the passes, and may be overridden."""


class Binding:
    """Verifies a concrete plan against the portable plan that it binds. The structure of both is sound.

    R1 every command comes from a task; R2 every task is bound once; R3 kind of command, operation and phase; R4 dependencies are the
    task's, said or implied by others; R5 a command reads and writes the buffers of its task; R6 work is equal; R7 the implementation is
    the target's, and there is none for transfers and barriers; R8 target and ABI revision; R9 every buffer of the plan is bound once,
    with its role and storage class, and no other; R10 its size is the plan's, or a larger whole number; R11 its alignment is `max(16,
    r)`; R12 its offset is the canonical one; R13 fingerprints of plan, target and deployment; R14 devices and memory are the
    deployment's, and there are devices for all ranks of the mesh; R15 a transfer is between the devices of its ranks, and they are
    linked; R16 what the target's dialect says is the canonical construction; R17 inputs are kept.
    """

    def __init__(self, source: Operation, target: Operation, claims: list[Claim] | None = None) -> None:
        self.source, self.target = source, target
        bound = list(top_level(target))
        named = {(o.name, symbol_of(o)): o for o in bound}
        self.plan = next(o for o in bound if o.name == "concrete.plan")
        self.machine = named["bind.target", reference_of(self.plan, "target")]
        self.deployment = named["bind.deployment", reference_of(self.plan, "deployment")]
        self.kind = text_of(self.machine, "kind")
        self.table = symbol_table(target)
        self.findings = Findings(f"bind-{self.kind}", self.table.facts, claims)
        self.implements = implementations_of(self.machine)
        self.commands = [o for o in bound if is_command(o)]
        self.bindings = [o for o in bound if o.name == "concrete.buffer"]
        self.operations = bound
        self.tasks = {symbol_of(o): o for o in top_level(source) if o.name == "plan.task"}
        self.buffers = {symbol_of(o): o for o in top_level(source) if o.name == "plan.buffer"}

    def verify(self) -> list[Diagnostic]:
        of_task = self._lineage("R1", "R2", "task", self.tasks, self.commands)
        of_buffer = self._lineage("R9", "R9", "buffer", self.buffers, self.bindings)
        command_names = {task: symbol_of(c) for task, c in of_task.items()}
        buffer_names = {buffer: symbol_of(b) for buffer, b in of_buffer.items()}
        for name, command in of_task.items():
            self._command(self.tasks[name], command, buffer_names)
        self._dependencies(of_task, command_names)
        self._buffers(of_buffer)
        self._identity(self.machine, self.deployment)
        self._machine(self.deployment)
        self._extension()
        written = {(o.name, symbol_of(o)) for o in top_level(self.source)}
        chosen: dict[str, tuple[str, ...]] = {f"bind.deployment @{symbol_of(self.deployment)}": OPTIONS}
        if ("bind.target", symbol_of(self.machine)) not in written:
            chosen[f"bind.target @{symbol_of(self.machine)}"] = tuple(field.name for field in TARGET)
        verify_kept(self.findings, "R17", self.source, self.target, chosen, self._assumable())
        return self.findings.diagnostics

    def _lineage(
        self, known_rule: str, once_rule: str, what: str, sources: Mapping[str, Operation], derived: Iterable[Operation]
    ) -> dict[str, Operation]:
        """What each task or buffer is bound to, in the order of the source."""
        found: dict[str, Operation] = {}
        for operation in derived:
            name = text_of(operation, "source")
            if name not in sources:
                self.findings.refuse(known_rule, operation, f"@{symbol_of(operation)} comes from '{name}', which is no {what} of the plan")
            elif name in found:
                where = note("first here", found[name].span)
                self.findings.refuse(once_rule, operation, f"the {what} @{name} is bound twice", where)
            else:
                found[name] = operation
        for name, source in sources.items():
            if name not in found:
                self.findings.refuse(once_rule, source, f"the {what} @{name} of the plan is not bound")
        return {name: found[name] for name in sources if name in found}

    # --- commands

    def _command(self, task: Operation, command: Operation, buffers: Mapping[str, str]) -> None:
        name, there = symbol_of(command), note("the task is here", task.span)
        wanted = COMMANDS.get(text_of(task, "kind"), "")
        if kind_of(command) != wanted:
            self.findings.refuse("R3", command, f"@{name} is a {kind_of(command)}; its task needs a {wanted}", there)
        for field in ("operation", "phase"):
            if text_of(command, field) != text_of(task, field):
                message = f"the {field} of @{name} is '{text_of(command, field)}', its task's '{text_of(task, field)}'"
                self.findings.refuse("R3", command, message, there)
        for field in ("reads", "writes"):
            self._same("R5", command, field, set(names_of(command, field)), {buffers.get(n, n) for n in names_of(task, field)}, there)
        ours_work, theirs_work = work_of(command), work_of(task)
        if ours_work is not None and theirs_work is not None:
            self.findings.components("R6", command, "work", f"of @{name}", ours_work, theirs_work, there)
        self.findings.equal("R6", command, f"'matmul' of @{name}", expr_of(command, "matmul"), expr_of(task, "matmul"), there)
        self._implementation(task, command, wanted)
        if wanted == "transfer" and kind_of(command) == "transfer":
            self._transfer(task, command)

    def _dependencies(self, bound: Mapping[str, Operation], commands: Mapping[str, str]) -> None:
        found = {symbol_of(command): set(names_of(command, "after")) for command in bound.values()}
        expected = {symbol_of(c): {commands.get(n, n) for n in names_of(self.tasks[name], "after")} for name, c in bound.items()}
        of_command = {symbol_of(command): name for name, command in bound.items()}
        for name in disagreeing(found, expected):
            there = note("the task is here", self.tasks[of_command[name]].span)
            self._same("R4", bound[of_command[name]], "is after", found[name], expected[name], there)

    def _same(self, rule: str, command: Operation, verb: str, found: set[str], expected: set[str], there: Diagnostic) -> None:
        if found != expected:
            ours, theirs = (", ".join(f"@{n}" for n in sorted(s)) or "nothing" for s in (found, expected))
            self.findings.refuse(rule, command, f"@{symbol_of(command)} {verb} {ours}; its task {verb} {theirs}", there)

    def _implementation(self, task: Operation, command: Operation, wanted: str) -> None:
        expected = implementation_of(task, self.implements) if wanted in OF_THE_TARGET else None
        found = text_of(command, "implementation") or None
        if found != expected or (wanted in OF_THE_TARGET and expected is None):
            ours, theirs = (f"'{text}'" if text is not None else "no implementation" for text in (found, expected))
            where = note("the target is here", self.machine.span)
            self.findings.refuse("R7", command, f"@{symbol_of(command)} has {ours}; the target gives its task {theirs}", where)

    def _transfer(self, task: Operation, command: Operation) -> None:
        ends, ranks = devices_of(command), numbers_of(task, "ranks")
        if ends != ranks:
            ours, theirs = (" and ".join(map(str, numbers)) for numbers in (ends, ranks))
            where = note("the task is here", task.span)
            self.findings.refuse("R15", command, f"@{symbol_of(command)} is between the devices {ours}, its task between {theirs}", where)
        links = links_of(self.deployment)
        if links is not None and len(ends) == 2 and (ends[0], ends[1]) not in links:
            message = f"the transfer @{symbol_of(command)} has no route: no link leads from device {ends[0]} to device {ends[1]}"
            self.findings.refuse("R15", command, message, note("the links are here", self.deployment.span))

    # --- buffers

    def _buffers(self, bound: Mapping[str, Operation]) -> None:
        value = as_expr(fields_of(self.machine).get("alignment"))
        least = (value.integer if value is not None else None) or 1
        regions = {reference_of(b, "region") for b in bound.values()}
        if len(regions) > 1:
            self.findings.refuse("R9", self.plan, f"the buffers lie in {len(regions)} regions; the contract has one")
        wanted = [alignment_of(number_of(self.buffers[name], "alignment"), least) for name in bound]
        offset = ZERO
        for index, ((name, buffer), alignment) in enumerate(zip(bound.items(), wanted, strict=True)):
            source, label = self.buffers[name], symbol_of(buffer)
            there = note("the buffer of the plan is here", source.span)
            for field in ("role", "storage"):
                if text_of(buffer, field) != text_of(source, field):
                    message = f"@{label} is {text_of(buffer, field)}, in the plan {text_of(source, field)}"
                    self.findings.refuse("R9", buffer, message, there)
            sizes = (expr_of(buffer, "size"), expr_of(source, "size"))
            self.findings.large_enough("R10", buffer, f"the size of @{label}", *sizes, there)
            if number_of(buffer, "alignment") != alignment:
                message = f"the alignment of @{label} is {number_of(buffer, 'alignment')}; the contract gives max(16, r) = {alignment}"
                self.findings.refuse("R11", buffer, message, there)
            self.findings.equal("R12", buffer, f"the offset of @{label}", expr_of(buffer, "offset"), offset, there)
            if index + 1 < len(wanted):
                offset = next_offset(offset, expr_of(buffer, "size"), alignment, wanted[index + 1])

    # --- machine

    def _identity(self, machine: Operation, deployment: Operation) -> None:
        abi = as_expr(fields_of(machine).get("abi"))
        if abi is None or abi.integer != number_of(self.plan, "abi"):
            stated = abi.text if abi is not None else "none"
            where = note("the target is here", machine.span)
            message = f"the plan is bound to ABI revision {number_of(self.plan, 'abi')} of @{symbol_of(machine)}, which has {stated}"
            self.findings.refuse("R8", self.plan, message, where)
        for what, expected, place in (
            ("source", plan_fingerprint_of(top_level(self.source)), next(iter(self.tasks.values()), None)),
            ("target", fingerprint_of(machine), machine),
            ("deployment", fingerprint_of(deployment), deployment),
        ):
            found = text_of(self.plan, f"{what}_fingerprint")
            if found != expected:
                message = f"the fingerprint of the {what} is stale: it is {found}, that of the {what} now is {expected}"
                self.findings.refuse("R13", self.plan, message, note("what it is of stands here", place.span if place else None))

    def _machine(self, deployment: Operation) -> None:
        numbers = {name: constant(value) for name, value in self.table.bindings.items()}
        fields = fields_of(deployment)
        there = note("the deployment is here", deployment.span)
        for kind, field, name in (("concrete.devices", "count", "devices"), ("concrete.region", "size", "memory")):
            found = [o for o in self.operations if o.name == kind]
            if len(found) != 1:
                self.findings.refuse("R14", self.plan, f"a plan has one {kind}, found {len(found)}", there)
                continue
            value = as_expr(fields.get(name))
            ours = expr_of(found[0], field) if field in found[0].properties else None
            if ours is None or value is None:
                if ours is not value:
                    texts = [e.text if e is not None else "left open" for e in (ours, value)]
                    message = f"the {field} of @{symbol_of(found[0])} is {texts[0]}, '{name}' of the deployment {texts[1]}"
                    self.findings.refuse("R14", found[0], message, there)
            else:
                self.findings.equal("R14", found[0], f"the {field} of @{symbol_of(found[0])}", ours, value.substitute(numbers), there)
        self._ranks(as_expr(fields.get("devices")), numbers, there)

    def _ranks(self, devices: Expr | None, numbers: Mapping[str, Expr], there: Diagnostic) -> None:
        """Refuse a deployment unless it is proved to have a device for each rank of the mesh that the plan is under."""
        ranks = self._mesh_ranks()
        if ranks is None:
            if any(o.name == "bind.strategy" or text_of(o, "kind") == "collective" for o in top_level(self.source)):
                message = "the plan does not name its mesh (plan.mesh), so how many devices it needs can't be told"
                self.findings.refuse("R14", self.plan, message, there)
            return
        if devices is None:
            return
        enough = Statement(devices + 1, ">", ranks)
        verdict = enough.decide(self.findings.facts)
        needed, there_are = (expr.substitute(numbers).text for expr in (ranks, devices))
        how = "" if verdict.refuted else "; that these are enough can't be decided (unknown is not success): record it with bp.assume"
        message = f"the strategy needs {needed} devices, the deployment has {there_are}{how}"
        self.findings.claim("R14", self.plan, message, "the number of devices", enough, verdict, there)

    def _mesh_ranks(self) -> Expr | None:
        """The ranks of the mesh that the plan names; None if it names none."""
        mesh = next((o for o in top_level(self.source) if o.name == "plan.mesh"), None)
        return None if mesh is None else product(size for _, size in mesh_entries(mesh.properties.get("axes")))

    def _assumable(self) -> set[Relation]:
        """What the derivation may assume: that there are as many devices as ranks."""
        devices, ranks = as_expr(fields_of(self.deployment).get("devices")), self._mesh_ranks()
        if devices is None or ranks is None:
            return set()
        numbers = {name: constant(value) for name, value in self.table.bindings.items()}
        return {Relation("greater", (devices + 1).substitute(numbers), ranks.substitute(numbers))}

    def _extension(self) -> None:
        """Whether what the target's dialect says is the canonical construction."""
        extension = extension_of(self.kind)
        if extension is not None:
            own = [o for o in self.operations if o.name.partition(".")[0] == self.kind]
            for deviation in extension.deviations(self.commands, own):
                self.findings.refuse("R16", deviation.operation or self.plan, deviation.message)
