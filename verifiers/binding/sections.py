"""Boundary of binding, of a whole model: whether a concrete plan runs the sections of its plan, as often (bind-*.R18 and R19)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from bpir.dialects.bp import Work
from bpir.dialects.concrete.envelope import Command
from bpir.dialects.levels import ConcretePlanIR, PortablePlanIR
from bpir.dialects.plan import Task
from bpir.dialects.sections import Flow, Section
from bpir.ir.diagnostic import note
from bpir.ir.expressions.expression import ONE, total
from bpir.verifiers.findings import Findings
from bpir.verifiers.rulebooks import BINDING
from bpir.verifiers.section_totals import runs_of_members, total_work

_M = TypeVar("_M", Task, Command)

Names = Mapping[str, str]
"""The name of each task or buffer of the plan once it is bound."""


@BINDING.rule("R18", "the sections are those of the plan")
def verify_bound_sections(findings: Findings, plan: PortablePlanIR, bound: ConcretePlanIR, commands: Names, buffers: Names) -> None:
    """Refuse sections that are not those of the plan, and totals over all runs that differ."""
    message = f"{len(bound.sections)} sections are bound, and the plan has {len(plan.sections)}"
    where = next(iter((*bound.sections, *bound.plans)))
    findings.require("R18", len(plan.sections) == len(bound.sections), where, message)
    pairs = list(zip(plan.sections, bound.sections, strict=False))
    names = {source.symbol: section.symbol for source, section in pairs}
    for source, section in pairs:
        there = note("the section of the plan is here", source.span)
        message = f"the section @{section.symbol} is called @{source.symbol} in the plan"
        findings.require("R18", section.symbol == source.symbol, section, message, there)
        findings.equal("R18", section, f"how often @{section.symbol} runs", section.times, source.times, there)
        wanted = {commands.get(task.symbol, "") for task in _members(source, plan.tasks)}
        same = {command.symbol for command in _members(section, bound.commands)} == wanted
        findings.require("R18", same, section, f"@{section.symbol} does not run the commands of the tasks of its section", there)
        _order(findings, source, section, names, buffers)
    _totals(findings, plan, bound)


def _order(findings: Findings, source: Section, section: Section, names: Names, buffers: Names) -> None:
    """A bound section is after those that its section of the plan is after, and takes and carries the same."""
    there = note("the section of the plan is here", source.span)
    for what, ours, theirs in (
        ("is after", section.after, [names.get(name, "") for name in source.after]),
        ("takes", _texts(section.takes, {}), _texts(source.takes, buffers)),
        ("carries", _texts(section.carries, {}), _texts(source.carries, buffers)),
    ):
        found, expected = (", ".join(sorted(texts)) or "nothing" for texts in (ours, theirs))
        message = f"@{section.symbol} {what} {found}; expected {expected}"
        findings.require("R18", sorted(ours) == sorted(theirs), section, message, there)


@BINDING.rule("R19", "over all runs the work, and in all repetitions the bytes of the buffers, are those of the plan, or more bytes")
def _totals(findings: Findings, plan: PortablePlanIR, bound: ConcretePlanIR) -> None:
    """Over all runs of all sections the work is equal; in all their repetitions buffers are no smaller."""
    if not plan.sections and not bound.sections:
        return  # task by task says as much
    ours = _work(bound.sections, bound.commands)
    theirs = _work(plan.sections, plan.tasks)
    findings.components("R19", bound.plans[0], "total work", "of all runs of all commands", ours, theirs)
    needed = total(buffer.times * buffer.size for buffer in plan.buffers)
    held = total(buffer.times * buffer.size for buffer in bound.buffers)
    findings.at_least("R19", bound.plans[0], "the total size of all buffers", held, needed)


def _work(sections: Sequence[Section], members: Sequence[Task | Command]) -> Work:
    """All work together, over the runs of the sections; each once where there are none."""
    often = runs_of_members(sections, len(members)) if sections else [ONE] * len(members)
    return total_work((member.work for member in members), often)


def _members(section: Section, members: Sequence[_M]) -> Sequence[_M]:
    return members[section.extent.start : section.extent.stop]


def _texts(flows: Sequence[Flow], buffers: Names) -> list[str]:
    return [f"@{buffers.get(one, one)} -> @{buffers.get(other, other)}" for one, other in flows]
