"""Boundary of planning: the stages of a plan run the sections of what the stages of its source run (stages.R7)."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from bpir.dialects.dist.stages import Stage as Source
from bpir.dialects.levels import DistributedTaskIR, PortablePlanIR
from bpir.dialects.network import BACKWARD, FORWARD, OPTIMIZER
from bpir.dialects.plan import Stage
from bpir.dialects.stages import Run
from bpir.ir.declaration import Place
from bpir.ir.diagnostic import note
from bpir.ir.expressions.expression import Expr
from bpir.verifiers.findings import Findings
from bpir.verifiers.planning.sections import Lineage
from bpir.verifiers.rulebooks import STAGES


@STAGES.rule("R7", "the stages of a plan run the sections of what those of its source run, backward in reverse, and update their weights")
def verify_planned_stages(findings: Findings, source: DistributedTaskIR, plan: PortablePlanIR, lineage: Lineage) -> None:
    """Refuse other stages than those of the source."""
    ours = Findings("stages", findings.facts, findings.claims)
    where: list[Place] = [*plan.stages, *plan.sections, *plan.tasks, plan.module]
    message = f"the plan has {len(plan.stages)} stages, and its source {len(source.stages)}"
    if ours.require("R7", len(plan.stages) == len(source.stages), where[0], message):
        of = _sections(plan, lineage)
        for stage, wanted in zip(plan.stages, source.stages, strict=True):
            _stage(ours, stage, wanted, of, lineage)
        _order(ours, plan, of)
    findings.diagnostics += ours.diagnostics
    findings.unstated += ours.unstated


def _sections(plan: PortablePlanIR, lineage: Lineage) -> dict[str, tuple[str, str]]:
    """The block and the part of a training step that each section of a plan runs."""
    alone = lineage.blocks[0].symbol if lineage.blocks else ""
    found = {}
    for section in plan.sections:
        for task in plan.tasks[section.extent.start : section.extent.stop][:1]:
            block = task.source.partition("/")[0] if "/" in task.source else alone
            found[section.symbol] = (block, lineage.part(block, task))
    return found


def _stage(findings: Findings, stage: Stage, wanted: Source, of: dict[str, tuple[str, str]], lineage: Lineage) -> None:
    there = note("in the source", wanted.span)
    same = (stage.place, stage.chunk) == (wanted.place, wanted.chunk)
    message = f"this is stage {stage.place} chunk {stage.chunk}, in the source {wanted.place} chunk {wanted.chunk}"
    findings.require("R7", same, stage, message, there)
    findings.equal("R7", stage, "the number of microbatches", stage.microbatches, wanted.microbatches, there)
    findings.equal("R7", stage, "the number of microbatches in flight", stage.in_flight, wanted.in_flight, there)
    parts = {block.symbol: {lineage.part(block.symbol, task) for task in block.tasks} for block in lineage.blocks}
    for part in ("", FORWARD, BACKWARD):
        runs = [(block, times) for block, times in wanted.runs if part in parts.get(block, ())]
        _same(findings, stage, part, _runs_of(stage, of, part), runs[::-1] if part == BACKWARD else runs, wanted)
    updated = _updated(wanted, {block for block, known in parts.items() if OPTIMIZER in known})
    given = _runs_of(stage, of, OPTIMIZER)
    _same(findings, stage, OPTIMIZER, sorted(given, key=_name), sorted(updated.items(), key=_name), wanted)


def _runs_of(stage: Stage, of: dict[str, tuple[str, str]], part: str) -> list[Run]:
    """The runs of a stage of one part of the training step, by block."""
    return [(of[name][0], times) for name, times in stage.runs if of.get(name, ("", "?"))[1] == part]


def _updated(stage: Source, blocks: Collection[str]) -> dict[str, Expr]:
    """How often a stage runs each of the blocks whose weights are updated."""
    found: dict[str, Expr] = {}
    for block, times in stage.runs:
        if block in blocks:
            found[block] = found[block] + times if block in found else times
    return found


def _name(run: Run) -> str:
    return run[0]


def _same(findings: Findings, stage: Stage, part: str, found: Sequence[Run], expected: Sequence[Run], source: Source) -> None:
    there = note("in the source", source.span)
    if list(map(_name, found)) != list(map(_name, expected)):
        ours, theirs = (", ".join(f"@{name}" for name, _ in runs) or "nothing" for runs in (found, expected))
        findings.refuse("R7", stage, f"the stage runs {f'{part} '.lstrip()}{ours}; expected {theirs}", there)
        return
    for (name, times), (_, wanted) in zip(found, expected, strict=True):
        findings.equal("R7", stage, f"how often the stage runs @{name} {part}".rstrip(), times, wanted, there)


def _order(findings: Findings, plan: PortablePlanIR, of: dict[str, tuple[str, str]]) -> None:
    """Of several sections of one block the first stages run the first ones."""
    place = {section.symbol: index for index, section in enumerate(plan.sections)}
    last: dict[tuple[str, str], int] = {}
    for stage in plan.stages:
        for name, _ in stage.runs:
            key = of.get(name)
            if key is None:
                continue
            index = -place[name] if key[1] == BACKWARD else place[name]  # backward comes first what was last forward
            if index < last.get(key, index):
                findings.refuse("R7", stage, f"@{name} is run behind a later section of the same block")
            last[key] = index
