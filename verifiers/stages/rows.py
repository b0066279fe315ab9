"""The structure of stages, of a distributed module and of a plan: together they run what there is to run, each once (stages.R6)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bpir.dialects.levels import PortablePlanIR
from bpir.dialects.stages import StageRow
from bpir.ir.declaration import Place
from bpir.ir.diagnostic import Diagnostic, note, suggestion
from bpir.ir.expressions.expression import ONE, ZERO, Expr, total
from bpir.ir.relations.facts import Facts
from bpir.verifiers.findings import Findings
from bpir.verifiers.rulebooks import STAGES


@STAGES.rule("R6", "stages have places of their own, and run together each block or section as often as the network does")
def verify_shares(facts: Facts, stages: Sequence[StageRow], runs: Mapping[str, tuple[Place, Expr]], what: str) -> list[Diagnostic]:
    """Refuse stages that do not share out what runs.

    Args:
        runs: how often each block or section is run in all, by name.
        what: what these are.
    """
    findings = Findings("stages", facts)
    first: dict[tuple[int, int], StageRow] = {}
    for stage in stages:
        other = first.setdefault((stage.place, stage.chunk), stage)
        findings.require("R6", other is stage, stage, "this stage is there twice", note("the first", other.span))
        there = note("the first stage", stages[0].span)
        findings.equal("R6", stage, "the number of microbatches", stage.microbatches, stages[0].microbatches, there)
        for name in stage.times():
            findings.require("R6", name in runs, stage, f"the stage runs no {what} of the module: @{name}{suggestion(name, runs)}")
    if stages and not findings.diagnostics:
        _verify_runs(findings, _run_by(stages), runs)
    return findings.diagnostics


def _run_by(stages: Sequence[StageRow]) -> dict[str, Expr]:
    """How often stages run each block or section, in all."""
    shares: dict[str, list[Expr]] = {}
    for stage in stages:
        for name, times in stage.times().items():
            shares.setdefault(name, []).append(times)
    return {name: total(times) for name, times in shares.items()}


def _verify_runs(findings: Findings, found: Mapping[str, Expr], runs: Mapping[str, tuple[Place, Expr]]) -> None:
    """Stages run each block or section as often as it is run in all."""
    proved: dict[Expr, Expr] = {}  # forward and backward share alike
    for name, (operation, times) in runs.items():
        in_all = found.get(name, ZERO)
        if proved.get(in_all) is not times:
            before = len(findings.diagnostics)
            findings.equal("R6", operation, f"how often stages run @{name}, in all,", in_all, times)
            if len(findings.diagnostics) == before:
                proved[in_all] = times


@STAGES.rule("R8", "a plan of stages is not bound: one device runs only a part of it")
def verify_unstaged(plan: PortablePlanIR) -> list[Diagnostic]:
    """Refuse a plan of stages as the source of a concrete plan, whose devices run all of it."""
    findings = Findings("stages", plan.symbols.facts)
    for stage in plan.stages[:1]:
        findings.refuse("R8", stage, "a plan of stages is bound as if one device ran all of it")
    return findings.diagnostics


def runs_between(count: int) -> Expr:
    """How often a step sends from one stage to the next, for each microbatch: between each two of them."""
    return total([ONE] * (count - 1)) if count > 1 else ZERO
