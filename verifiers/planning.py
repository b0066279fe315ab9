"""Boundary of `plan-inference`: does a plan hold the tasks of a distributed module, and enough memory? Rules plan-inference.R1 to R15."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from bpir.dialects.bp import Vector, Work, symbol_table
from bpir.dialects.dist import tasks as dist
from bpir.dialects.dist.parts import mesh_entries
from bpir.dialects.plan import Resources, expr_of, names_of, number_of, resources_of_work, symbol_of, text_of
from bpir.ir.attributes import SymbolRefAttr
from bpir.ir.diagnostic import Diagnostic, note
from bpir.ir.expression import ZERO, Expr, total
from bpir.ir.operation import Operation, Value, top_level
from bpir.ir.syntax import strings
from bpir.verifiers.claims import Claim
from bpir.verifiers.dependencies import disagreeing
from bpir.verifiers.inputs import verify_kept
from bpir.verifiers.rules import Findings
from bpir.verifiers.sizes import local_bytes, weight_bytes
from bpir.verifiers.workspace import alive

ALIGNMENT = 256
"""Bytes: the alignment that every allocator of accelerator memory gives (CUDA C++ Programming Guide, device memory accesses)."""

OBJECTIVES = {
    "decode": ("memory", "network", "compute"),
    "prefill": ("compute", "memory", "network"),
    "training": ("compute", "network", "memory"),
}
"""The resources in order of importance."""


class Planning:
    """Verifies a plan against the distributed module that it plans.

    R1 the source has one block, and every plan task comes from a task of it; R2 every task is planned once; R3 work is equal task by
    task, and in total; R4 buffers say whose values they hold; R5 resources are the projections of work; R6 kind, operation and phase; R7
    capabilities, alternatives in their order of preference, and matrix products; R8 dependencies are the data flow, said or implied by
    others, and an update of weights or of a state comes after all readers; R9 every obligation has its buffer, and it is large enough;
    R10 a task reads and writes the buffers of its values; R11 symbols, numbers and bindings are kept; R12 storage class of buffers; R13
    memory facts are kept; R14 the one objective is that of the phase; R15 a buffer is aligned to 256 bytes, or a multiple; R16 the plan
    names the mesh and the strategy of its block.
    """

    def __init__(self, source: Operation, target: Operation, claims: list[Claim] | None = None) -> None:
        self.source = source
        self.target = target
        self.training = any(o.name == "dist.activations" for o in source.walk())
        self.findings = Findings("plan-training" if self.training else "plan-inference", symbol_table(source).facts, claims)
        self.tasks = [o for o in top_level(target) if o.name == "plan.task"]
        self.buffers = [o for o in top_level(target) if o.name == "plan.buffer"]

    def verify(self) -> list[Diagnostic]:
        blocks = [o for o in top_level(self.source) if o.name == "dist.block"]
        if len(blocks) != 1:  # they would share buffers and names of tasks
            first = [note("the first block", block.span) for block in blocks[:1]]
            where = [*blocks[1:], *top_level(self.source)][0]
            self.findings.refuse("R1", where, f"a plan holds one block, its source {len(blocks)}", *first)
            return self.findings.diagnostics
        block = blocks[0]
        sources = {dist.name_of(task): task for task in block.body if dist.work_of(task) is not None}
        planned = self._lineage(sources)
        meshes = {symbol_of(o): dict(mesh_entries(o.properties.get("axes"))) for o in top_level(self.source) if o.name == "dist.mesh"}
        reference = block.properties.get("mesh")
        mesh = meshes.get(reference.root, {}) if isinstance(reference, SymbolRefAttr) else {}
        groups = [o for o in top_level(self.target) if o.name == "plan.concurrent"]
        check = BlockCheck
        if self.training:
            from bpir.verifiers.plan_training import TrainingCheck

            check = TrainingCheck
        expected_buffers = check(self.findings, block, mesh, planned, self.buffers, groups).run()
        self._total(sources.values())
        self._facts(block)
        self._objective({dist.text_of(task, "phase") for task in sources.values()})
        for buffer in self.buffers:
            if buffer not in expected_buffers:
                self.findings.refuse("R9", buffer, f"nothing of the source needs the buffer @{symbol_of(buffer)}")
        self._mesh(block, mesh)
        verify_kept(self.findings, "R11", self.source, self.target)
        return self.findings.diagnostics

    def _lineage(self, sources: Mapping[str, Operation]) -> dict[str, Operation]:
        """The plan task of each source task."""
        planned: dict[str, Operation] = {}
        for task in self.tasks:
            name = text_of(task, "source")
            if name not in sources:
                what = f"comes from '{name}', which is no task of the source" if name else "does not say where it comes from"
                self.findings.refuse("R1", task, f"the task @{symbol_of(task)} {what}")
            elif name in planned:
                self.findings.refuse("R2", task, f"the task '{name}' is planned twice", note("first here", planned[name].span))
            else:
                planned[name] = task
        for name, source in sources.items():
            if name not in planned:
                self.findings.refuse("R2", source, f"the task '{name}' is missing in the plan")
        return planned

    def _mesh(self, block: Operation, mesh: Mapping[str, Expr]) -> None:
        """The plan says of which mesh it is one rank's, and under which strategy."""
        named = next((o for o in top_level(self.target) if o.name == "plan.mesh"), None)
        if named is None:
            self.findings.refuse("R16", block, "the plan does not name its mesh and its strategy (plan.mesh)")
            return
        if named.properties.get("strategy") is not block.properties.get("strategy"):
            self.findings.refuse("R16", named, "the plan is under another strategy than its block", note("the block", block.span))
        sizes = dict(mesh_entries(named.properties.get("axes")))
        if list(sizes) != list(mesh):
            ours, theirs = (", ".join(axes) or "no axes" for axes in (sizes, mesh))
            self.findings.refuse("R16", named, f"the mesh of the plan has {ours}, that of its block {theirs}")
            return
        for axis, size in sizes.items():
            self.findings.equal("R16", named, f"the size of the mesh axis '{axis}'", size, mesh[axis])

    def _facts(self, block: Operation) -> None:
        """The memory facts of layers are kept as they are."""
        ours: dict[tuple[str, str], Operation] = {}
        for fact in top_level(self.target):
            if "facts" in fact.properties:
                key = (fact.name, text_of(fact, "layer"))
                if key in ours:
                    self.findings.refuse("R13", fact, f"the memory facts of '{key[1]}' are given twice", note("first here", ours[key].span))
                ours.setdefault(key, fact)
        theirs = {(o.name.replace("dist.", "plan."), text_of(o, "layer")): o for o in block.body if "facts" in o.properties}
        for key, source in theirs.items():
            if key not in ours:
                self.findings.refuse("R13", source, f"the memory facts of '{key[1]}' are missing in the plan")
        for key, fact in ours.items():
            expected = theirs.get(key)
            if expected is None:
                self.findings.refuse("R13", fact, f"the source has no memory facts of '{key[1]}'")
                continue
            if fact.properties.get("dropped") is not expected.properties.get("dropped"):
                self.findings.refuse("R13", fact, f"what '{key[1]}' drops differs from the source")
            found, wanted = fact.properties["facts"], expected.properties["facts"]
            if not isinstance(found, Vector) or type(found) is not type(wanted):
                raise TypeError("facts of one key are of two kinds")
            self.findings.components("R13", fact, "memory", f"of '{key[1]}'", found, wanted)

    def _objective(self, phases: set[str]) -> None:
        """Decode reads every weight for one token, so memory comes first; all else computes first, and a training step sends more."""
        said = [o for o in top_level(self.target) if o.name == "plan.objective"]
        wanted = OBJECTIVES["training" if self.training else "decode" if "decode" in phases else "prefill"]
        text = f"expected minimize [{', '.join(wanted)}]"
        if len(said) != 1:
            place = [self.target, *self.tasks[:1], *said][-1]
            self.findings.refuse("R14", place, f"the plan has {len(said)} objectives, not one", note(text))
        for objective in said[:1]:
            found = strings(objective.properties.get("minimize"))
            if found != wanted:
                self.findings.refuse("R14", objective, f"the objective is not that of the phase: {', '.join(found)}", note(text))

    def _total(self, sources: Iterable[Operation]) -> None:
        """The sum over all tasks, whatever their lineage."""
        where = self.tasks[0] if self.tasks else self.target
        self.findings.components("R3", where, "total work", "of all tasks", _sum(self.tasks), _sum(sources))


def _sum(tasks: Iterable[Operation]) -> Work:
    """The work of all tasks together; layers repeat, so each work is multiplied before it is added."""
    works = Counter(work for task in tasks if (work := dist.work_of(task)) is not None)
    parts = [[count * value for value in work.components] for work, count in works.items()]
    return Work(*(total(part[index] for part in parts) for index in range(len(Work.names()))))


class BlockCheck:
    """Finds the buffer of each value of a distributed block, then compares every task of the block with its plan."""

    def __init__(
        self,
        findings: Findings,
        block: Operation,
        mesh: Mapping[str, Expr],
        planned: Mapping[str, Operation],
        buffers: Sequence[Operation],
        groups: Sequence[Operation],
    ) -> None:
        self.findings = findings
        self.block = block
        self.mesh = mesh
        self.planned = planned
        self.buffers = buffers
        self.groups = groups
        self.held: dict[tuple[str, str], list[Operation]] = {}  # the buffers by role and source
        for buffer in buffers:
            self.held.setdefault((text_of(buffer, "role"), text_of(buffer, "source")), []).append(buffer)
        self.homes: dict[Value, str] = {}
        self.weights: dict[Operation, str] = {}
        self._readers: dict[str, list[Operation]] = {}
        self._reading: dict[Value, set[str]] = {}  # the plan tasks that read each value
        self.found: set[Operation] = set()
        self.workspace = ""
        self.after: dict[str, set[str]] = {}  # what each planned task must be after

    def run(self) -> set[Operation]:
        """Verify; the buffers that the block accounts for."""
        self.obligations()
        for task in self.block.body:
            plan = self.planned.get(dist.name_of(task)) if dist.work_of(task) is not None else None
            if plan is not None:
                self._task(task, plan)
        self._dependencies()
        return self.found

    # --- buffers

    def obligations(self) -> None:
        """Find the buffer of everything that the block must store."""
        self.arguments()
        returned = list(dict.fromkeys(v for v in self.block.body[-1].operands if v not in self.homes))
        for operation in self.block.body:
            if operation.name == "dist.state":
                bound = local_bytes((v.type for v in operation.results), self.mesh)
                home = self.of(operation, "state", "persistent", bound)
                self.homes.update(dict.fromkeys(operation.results, home))
        outputs = [b for b in self.buffers if text_of(b, "role") == "output"]
        for task in self.block.body:
            if dist.work_of(task) is None:
                continue
            if weight_bytes(task) is not ZERO:
                self.weights[task] = self.of(task, "constant", "persistent", weight_bytes(task))
            rule = dist.rule_of(task)
            given = [v for v in task.results if v in returned]
            own = self.matched(given, self.held.get(("output", dist.name_of(task)), []))
            for value in task.results:
                bound = local_bytes([value.type], self.mesh)
                if value in returned and dist.writes_state(task):
                    self.findings.refuse("R9", task, "what is written to a state can't be returned: it has its place in the state")
                if value in returned and not dist.writes_state(task):
                    index = returned.index(value)
                    chosen = own[value] or outputs[index : index + 1]
                    self.homes[value] = self.buffer(chosen, f"result {index}", bound, "device_local", dist.name_of(task))
                elif dist.writes_state(task):
                    state = task.operands[len(task.operands) - len(task.results) + value.index]
                    if state in self.homes:
                        self.homes[value] = self.homes[state]
                elif rule is not None and rule.residual:
                    self.homes[value] = self.of(task, "activation", "device_local", bound)
        spaces = [b for b in self.buffers if text_of(b, "role") == "workspace" and b not in self.found]
        first, *more = self.alive() or [ZERO]
        if spaces or more or first is not ZERO:
            self.workspace = self.buffer(spaces[:1], "the workspace", first, "transient", "")
        for size in more if self.workspace else ():
            said = len(self.findings.diagnostics)
            self.findings.at_least("R9", spaces[0], f"the size of @{self.workspace} (the workspace)", expr_of(spaces[0], "size"), size)
            if len(self.findings.diagnostics) > said:
                break  # one task that it is too small for says enough

    def alive(self) -> list[Expr]:
        """The bytes that the workspace must hold, at one task or another, where the plan lets its groups run at once."""
        tasks = [task for task in self.block.body if dist.work_of(task) is not None]
        sources = {symbol_of(plan): name for name, plan in self.planned.items()}
        named = {dist.name_of(task): task for task in tasks}
        groups = [[named[sources[name]] for name in names_of(group, "tasks") if name in sources] for group in self.groups]
        return list(dict.fromkeys(alive(tasks, self.mesh, self.homes, [group for group in groups if group])))

    def arguments(self) -> None:
        """The buffers of the block's arguments."""
        arguments = self.block.regions[0].blocks[0].arguments
        inputs = self.matched(arguments, self.held.get(("input", ""), []))
        others = [b for b in self.buffers if text_of(b, "role") == "input"]
        for index, argument in enumerate(arguments):
            bound = local_bytes([argument.type], self.mesh)
            chosen = inputs[argument] or others[index : index + 1]
            self.homes[argument] = self.buffer(chosen, f"argument {index}", bound, "device_local", "")

    def matched(self, values: Sequence[Value], buffers: Sequence[Operation]) -> dict[Value, list[Operation]]:
        """Which of the buffers holds each value: one with its readers and size, in whatever order they stand; what is alike, in order."""
        if len(values) < 2 and len(buffers) < 2:  # as good as always
            return {value: list(buffers) for value in values}
        found: dict[Value, list[Operation]] = {}
        left = list(buffers)
        for alike in (self._same_readers_and_size, self._same_readers, lambda value, buffer: True):
            for value in values:
                fitting = [buffer for buffer in left if alike(value, buffer)] if value not in found else []
                if fitting:
                    found[value] = fitting[:1]
                    left.remove(fitting[0])
        return {value: found.get(value, []) for value in values}

    def _same_readers(self, value: Value, buffer: Operation) -> bool:
        if not self._reading:
            for task in self.block.body:
                plan = self.planned.get(dist.name_of(task)) if dist.work_of(task) is not None else None
                if plan is not None:
                    for operand in task.operands:
                        self._reading.setdefault(operand, set()).add(symbol_of(plan))
        return set(names_of(buffer, "consumers")) == self._reading.get(value, set())

    def _same_readers_and_size(self, value: Value, buffer: Operation) -> bool:
        return expr_of(buffer, "size") is local_bytes([value.type], self.mesh) and self._same_readers(value, buffer)

    def of(self, operation: Operation, role: str, storage: str, bound: Expr) -> str:
        name = dist.name_of(operation)
        return self.buffer(self.held.get((role, name), [])[:1], f"the {role} of '{name}'", bound, storage, name)

    def buffer(self, found: Sequence[Operation], what: str, bound: Expr, storage: str, source: str) -> str:
        """The name of the buffer that meets an obligation, and no other; empty, and a finding, if there is none."""
        found = [buffer for buffer in found if buffer not in self.found]
        if not found:
            self.findings.refuse("R9", self.block, f"{what} has no buffer: {bound.text} bytes are needed")
            return ""
        buffer = found[0]
        self.found.add(buffer)
        name = symbol_of(buffer)
        self.findings.large_enough("R9", buffer, f"the size of @{name} ({what})", expr_of(buffer, "size"), bound)
        if text_of(buffer, "source") != source:
            self.findings.refuse("R4", buffer, f"@{name} ({what}) comes from '{source}', not from '{text_of(buffer, 'source')}'")
        if number_of(buffer, "alignment") % ALIGNMENT:
            message = f"@{name} ({what}) must be aligned to {ALIGNMENT} bytes or a multiple, not to {number_of(buffer, 'alignment')}"
            self.findings.refuse("R15", buffer, message)
        if text_of(buffer, "storage") != storage:
            self.findings.refuse("R12", buffer, f"@{name} ({what}) must be {storage}, not {text_of(buffer, 'storage')}")
        return name

    # --- tasks

    def _task(self, task: Operation, plan: Operation) -> None:
        name = symbol_of(plan)
        expected, found = dist.work_of(task), dist.work_of(plan)
        if expected is None or found is None:
            return
        self.findings.components("R3", plan, "work", f"of @{name}", found, expected)
        resources = plan.properties.get("resources")
        projected = resources_of_work(expected)
        given = resources if isinstance(resources, Resources) else Resources(ZERO, ZERO, ZERO)
        self.findings.components("R5", plan, "resource", f"of @{name}", given, projected)
        self._kind(task, plan)
        after = {dist.name_of(v.owner) for v in task.operands if isinstance(v.owner, Operation) and dist.work_of(v.owner)}
        reads, writes = self.uses(task)
        readers = [reader for buffer in writes for reader in self.readers().get(buffer, ())]
        after |= {dist.name_of(reader) for reader in readers if reader is not task}
        after |= {dist.name_of(reader) for reader in self._readers_of_state(task)}
        self.after[name] = {symbol_of(self.planned[a]) for a in after if a in self.planned}
        if "" not in reads | writes:
            self._same("R10", plan, "reads", names_of(plan, "reads"), reads)
            self._same("R10", plan, "writes", names_of(plan, "writes"), writes)

    def _dependencies(self) -> None:
        plans = {symbol_of(plan): plan for plan in self.planned.values()}
        said = {name: names_of(plan, "after") for name, plan in plans.items()}
        for name in disagreeing(said, self.after):
            self._same("R8", plans[name], "is after", said[name], self.after[name])

    def _readers_of_state(self, task: Operation) -> list[Operation]:
        """The tasks that read a state before this one writes to it; what reads it as it was, but later, is refused."""
        if not dist.writes_state(task):
            return []
        states = dist.states_of(task)
        found = []
        later = False
        for other in self.block.body:
            later = later or other is task
            if other is task or dist.work_of(other) is None or not any(value in states for value in other.operands):
                continue
            if later:
                message = f"'{dist.name_of(other)}' reads a state as it was before '{dist.name_of(task)}', which has written to it by then"
                self.findings.refuse("R8", other, message, note("written here", task.span))
            else:
                found.append(other)
        return found

    def readers(self) -> dict[str, list[Operation]]:
        """The tasks that use each buffer of weights."""
        if not self._readers:
            for task, buffer in self.weights.items():
                self._readers.setdefault(buffer, []).append(task)
        return self._readers

    def uses(self, task: Operation) -> tuple[set[str], set[str]]:
        """The buffers that a task must read and write."""
        states = len(task.results) if dist.writes_state(task) else 0
        operands = task.operands[: len(task.operands) - states]
        reads = {self.homes.get(v, self.workspace) for v in operands}
        if task in self.weights:
            reads.add(self.weights[task])
        return reads, {self.homes.get(v, self.workspace) for v in task.results}

    def _kind(self, task: Operation, plan: Operation) -> None:
        collective = isinstance(task.declaration, dist.Collective)
        for field, expected in (
            ("kind", "collective" if collective else "compute"),
            ("operation", dist.kind_of(task)),
            ("phase", dist.text_of(task, "phase")),
        ):
            if text_of(plan, field) != expected:
                self.findings.refuse(
                    "R6",
                    plan,
                    f"the {field} of @{symbol_of(plan)} is '{text_of(plan, field)}', its source's '{expected}'",
                )
        rule = dist.rule_of(task)
        requires = rule.capabilities if rule is not None else (dist.kind_of(task),)
        self._same("R7", plan, "requires", strings(plan.properties.get("requires")), set(requires))
        alternatives = rule.alternatives if rule is not None else ()
        given = strings(plan.properties.get("alternatives"))
        if given != tuple(alternatives):
            ours, theirs = (", ".join(names) or "nothing" for names in (given, alternatives))
            order = " in this order, in which binding chooses" if sorted(given) == sorted(alternatives) else ""
            self.findings.refuse("R7", plan, f"@{symbol_of(plan)} has the alternatives {ours}; expected {theirs}{order}")
        matmul = expr_of(task, "matmul")
        self.findings.equal("R7", plan, f"'matmul' of @{symbol_of(plan)}", expr_of(plan, "matmul"), matmul)

    def _same(self, rule: str, plan: Operation, verb: str, found: Iterable[str], expected: set[str]) -> None:
        found = list(found)
        if len(found) != len(expected) or set(found) != expected:
            ours, theirs = (", ".join(sorted(names)) or "nothing" for names in (found, expected))
            self.findings.refuse(rule, plan, f"@{symbol_of(plan)} {verb} {ours}; expected {theirs}")
