"""Boundary of planning: the stages of a plan run the sections of what the stages of its source run (stages.R7)."""

from __future__ import annotations

from collections.abc import Sequence

from bpir.dialects.dist.stages import Stage as Source
from bpir.dialects.levels import DistributedTaskIR, PortablePlanIR
from bpir.dialects.network import BACKWARD, FORWARD, OPTIMIZER
from bpir.dialects.plan import Stage
from bpir.dialects.stages import Run
from bpir.ir.diagnostic import note
from bpir.ir.expressions.expression import Expr
from bpir.verifiers.findings import Findings
from bpir.verifiers.planning.sections import Lineage
from bpir.verifiers.rulebooks import STAGES


@STAGES.rule("R7", "the stages of a plan run the sections of what those of its source run, backward in reverse, and update their weights")
def verify_planned_stages(findings: Findings, source: DistributedTaskIR, plan: PortablePlanIR, lineage: Lineage) -> None:
    """Refuse other stages than those of the source."""
    ours = Findings("stages", findings.facts, findings.claims)
    if len(plan.stages) != len(source.stages):
        where = [*plan.stages, *plan.sections, *plan.tasks]
        message = f"the plan has {len(plan.stages)} stages, and its source {len(source.stages)}"
        ours.refuse("R7", where[0] if where else plan.module, message)
    else:
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
    if (stage.place, stage.chunk) != (wanted.place, wanted.chunk):
        findings.refuse(
            "R7", stage, f"this is stage {stage.place} chunk {stage.chunk}, in the source {wanted.place} chunk {wanted.chunk}", there
        )
    findings.equal("R7", stage, "the number of microbatches", stage.microbatches, wanted.microbatches, there)
    findings.equal("R7", stage, "the number of microbatches in flight", stage.in_flight, wanted.in_flight, there)
    parts = {block.symbol: {lineage.part(block.symbol, task) for task in block.tasks} for block in lineage.blocks}
    for part in ("", FORWARD, BACKWARD):
        runs = [(block, times) for block, times in wanted.runs if part in parts.get(block, ())]
        expected = runs[::-1] if part == BACKWARD else runs
        _same(
            findings,
            stage,
            part,
            [(of[name][0], times) for name, times in stage.runs if of.get(name, ("", "?"))[1] == part],
            expected,
            wanted,
        )
    updated: dict[str, Expr] = {}
    for block, times in wanted.runs:
        if OPTIMIZER in parts.get(block, ()):
            updated[block] = updated[block] + times if block in updated else times
    given = [(of[name][0], times) for name, times in stage.runs if of.get(name, ("", "?"))[1] == OPTIMIZER]
    _same(findings, stage, OPTIMIZER, sorted(given, key=_name), sorted(updated.items(), key=_name), wanted)


def _name(run: Run) -> str:
    return run[0]


def _same(findings: Findings, stage: Stage, part: str, found: Sequence[Run], expected: Sequence[Run], source: Source) -> None:
    there = note("in the source", source.span)
    if [name for name, _ in found] != [name for name, _ in expected]:
        ours, theirs = (", ".join(f"@{name}" for name, _ in runs) or "nothing" for runs in (found, expected))
        findings.refuse("R7", stage, f"the stage runs {part + ' ' if part else ''}{ours}; expected {theirs}", there)
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
