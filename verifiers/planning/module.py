"""Boundary of `plan-inference`: does a plan hold the tasks of a distributed module, and enough memory? Rules plan-inference.R1 to R19."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from bpir.dialects.dist import tasks as dist
from bpir.dialects.dist.facts import ActivationFacts, MemoryFacts
from bpir.dialects.levels import DistributedTaskIR, PortablePlanIR
from bpir.dialects.network import called
from bpir.dialects.plan import Buffer, Task
from bpir.ir.declaration import Place
from bpir.ir.diagnostic import Diagnostic, note
from bpir.ir.expressions.expression import ONE, Expr
from bpir.ir.operation import Operation, Value
from bpir.verifiers.findings import Findings
from bpir.verifiers.inputs import verify_kept
from bpir.verifiers.planning.block import PlannedBlockCheck
from bpir.verifiers.planning.sections import Lineage, verify_sections
from bpir.verifiers.rulebooks import PLANNING
from bpir.verifiers.section_totals import total_work
from bpir.verifiers.stages.planned import verify_planned_stages
from bpir.verifiers.statements import Claim

OBJECTIVES = {
    "decode": ("memory", "network", "compute"),
    "prefill": ("compute", "memory", "network"),
    "training": ("compute", "network", "memory"),
}
"""The resources in order of importance."""


class PlanVerifier:
    """Verifies a plan against the distributed module that it plans."""

    def __init__(self, source: Operation, target: Operation, claims: list[Claim] | None = None) -> None:
        self.source = source
        self.target = target
        self.distributed, self.plan = DistributedTaskIR(source), PortablePlanIR(target)
        self.training = self.distributed.is_training
        self.homes: dict[str, dict[Value, str]] = {}  # the buffer of each value, by block
        self.findings = Findings("plan-training" if self.training else "plan-inference", self.distributed.symbols.facts, claims)

    @PLANNING.rule("R11", "symbols, numbers and bindings are kept")
    def verify(self) -> list[Diagnostic]:
        blocks = [dist.Block(block) for block in called(self.source).values()]
        if not blocks:
            where = next(iter(self.distributed.operations), None)
            self.findings.refuse("R1", where, "the source of a plan has a dist.block, and this one has none")
            return self.findings.diagnostics
        lineage = Lineage(self.source, blocks)
        sources = self._sources(lineage)
        planned = self._lineage(sources)
        expected = self._blocks(blocks, planned, lineage)
        self._total(sources.values())
        self._facts(lineage)
        self._objective({task.phase for task in sources.values()})
        for buffer in self.plan.buffers:
            if buffer not in expected:
                self.findings.refuse("R9", buffer, f"nothing of the source needs the buffer @{buffer.symbol}")
        verify_planned_stages(self.findings, self.distributed, self.plan, lineage)
        verify_sections(self.findings, self.plan, lineage, planned, self.homes)
        verify_kept(self.findings, "R11", self.source, self.target)
        return self.findings.diagnostics

    def _blocks(self, blocks: Iterable[dist.Block], planned: Mapping[str, Task], lineage: Lineage) -> set[Buffer]:
        """Verify each block; the buffers that they need."""
        expected: set[Buffer] = set()
        owned: dict[tuple[str, str], str] = {}
        check = self._block_check()
        for block in blocks:
            named = self.distributed.mesh_of(block)
            mesh = named.axes if named is not None else {}
            judge = check(self.findings, block, mesh, planned, self.plan.buffers, self.plan.groups, lineage, owned)
            expected |= judge.run()
            self._mesh(block, mesh)
            self.homes[block.symbol] = judge.homes
        return expected

    def _block_check(self) -> type[PlannedBlockCheck]:
        """The class that judges a block: training has other buffers than inference."""
        if not self.training:
            return PlannedBlockCheck
        from bpir.verifiers.planning.training_buffers import TrainingCheck

        return TrainingCheck

    def _sources(self, lineage: Lineage) -> dict[str, dist.Task]:
        """The tasks of all blocks, by what the plan calls their origin."""
        found: dict[str, dist.Task] = {}
        for block in lineage.blocks:
            for task in block.tasks:
                name = lineage.origin(block, task.label)
                if name in found:
                    self.findings.refuse("R1", task, f"two tasks are '{name}' to a plan", note("the other one", found[name].span))
                found.setdefault(name, task)
        return found

    @PLANNING.rule("R1", "the source has blocks, and every plan task comes from a task of one")
    @PLANNING.rule("R2", "every task is planned once")
    def _lineage(self, sources: Mapping[str, dist.Task]) -> dict[str, Task]:
        """The plan task of each source task."""
        planned: dict[str, Task] = {}
        for task in self.plan.tasks:
            name = task.source
            if name not in sources:
                what = f"comes from '{name}', which is no task of the source" if name else "does not say where it comes from"
                self.findings.refuse("R1", task, f"the task @{task.symbol} {what}")
            elif name in planned:
                self.findings.refuse("R2", task, f"the task '{name}' is planned twice", note("first here", planned[name].span))
            else:
                planned[name] = task
        for name, source in sources.items():
            if name not in planned:
                self.findings.refuse("R2", source, f"the task '{name}' is missing in the plan")
        return planned

    @PLANNING.rule("R16", "the plan names the mesh and the strategy of its blocks")
    def _mesh(self, block: dist.Block, mesh: Mapping[str, Expr]) -> None:
        """The plan says of which mesh it is one rank's, and under which strategy."""
        named = next(iter(self.plan.meshes), None)
        if named is None:
            self.findings.refuse("R16", block, "the plan does not name its mesh and its strategy (plan.mesh)")
            return
        same, there = named.strategy == block.strategy, note("the block", block.span)
        self.findings.require("R16", same, named, "the plan is under another strategy than its block", there)
        sizes = named.axes
        ours, theirs = (", ".join(axes) or "no axes" for axes in (sizes, mesh))
        if self.findings.require("R16", list(sizes) == list(mesh), named, f"the mesh of the plan has {ours}, that of its block {theirs}"):
            for axis, size in sizes.items():
                self.findings.equal("R16", named, f"the size of the mesh axis '{axis}'", size, mesh[axis])

    @PLANNING.rule("R13", "memory facts are kept")
    def _facts(self, lineage: Lineage) -> None:
        """The memory facts of layers are kept as they are."""
        ours: dict[tuple[str, str], Fact] = {}
        for fact in _facts(self.plan.operations):
            first = ours.setdefault((fact.facts.mnemonic, fact.layer), fact)
            message = f"the memory facts of '{fact.layer}' are given twice"
            self.findings.require("R13", first is fact, fact, message, note("first here", first.span))
        theirs = _facts_of_source(lineage)
        for key, source in theirs.items():
            self.findings.require("R13", key in ours, source, f"the memory facts of '{key[1]}' are missing in the plan")
        for key, fact in ours.items():
            self._fact(fact, theirs.get(key), key[1])

    def _fact(self, fact: Fact, expected: Fact | None, layer: str) -> None:
        """The memory facts of a layer are those of the source."""
        if expected is None:
            self.findings.refuse("R13", fact, f"the source has no memory facts of '{layer}'")
            return
        same = _dropped(fact) == _dropped(expected)
        self.findings.require("R13", same, fact, f"what '{layer}' drops differs from the source")
        self.findings.components("R13", fact, "memory", f"of '{layer}'", fact.facts, expected.facts)

    @PLANNING.rule("R14", "the one objective is that of the phase")
    def _objective(self, phases: set[str]) -> None:
        """Decode reads every weight for one token, so memory comes first; all else computes first, and a training step sends more."""
        found = self.plan.objectives
        phase = "decode" if "decode" in phases else "prefill"
        wanted = OBJECTIVES["training" if self.training else phase]
        text = note(f"expected minimize [{', '.join(wanted)}]")
        places: list[Place] = [self.target, *self.plan.tasks[:1], *found]
        self.findings.require("R14", len(found) == 1, places[-1], f"the plan has {len(found)} objectives, not one", text)
        for objective in found[:1]:
            message = f"the objective is not that of the phase: {', '.join(objective.minimize)}"
            self.findings.require("R14", objective.minimize == wanted, objective, message, text)

    def _total(self, sources: Collection[dist.Task]) -> None:
        """The sum over all tasks, whatever their lineage."""
        where = next(iter(self.plan.tasks), self.target)
        found, expected = (total_work((task.work for task in tasks), [ONE] * len(tasks)) for tasks in (self.plan.tasks, sources))
        self.findings.components("R3", where, "total work", "of all tasks", found, expected)


Fact = MemoryFacts | ActivationFacts


def _facts(operations: Iterable[Operation]) -> list[Fact]:
    """The memory facts among the operations, in order."""
    found = (MemoryFacts.of(operation) or ActivationFacts.of(operation) for operation in operations)
    return [fact for fact in found if fact is not None]


def _facts_of_source(lineage: Lineage) -> dict[tuple[str, str], Fact]:
    """The memory facts of all blocks, by kind and by what the plan calls their layer."""
    facts = ((block, fact) for block in lineage.blocks for fact in _facts(block.operation.body))
    return {(fact.facts.mnemonic, lineage.origin(block, fact.layer)): fact for block, fact in facts}


def _dropped(fact: Fact) -> tuple[str, ...]:
    return fact.dropped if isinstance(fact, MemoryFacts) else ()
