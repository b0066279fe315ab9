"""A whole plan: the blocks of a module, one after another, and the sections that say how often each runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from bpir.dialects.dist.tasks import Block
from bpir.dialects.levels import DistributedTaskIR, PortablePlanIR
from bpir.dialects.network import called, calls, networks
from bpir.ir.diagnostic import fail
from bpir.ir.expressions.expression import Expr
from bpir.ir.operation import Operation
from bpir.passes.distribution.distribution import new_module
from bpir.passes.inputs import inputs_of
from bpir.passes.planning.blocks import Planning
from bpir.passes.planning.names import Space
from bpir.verifiers.structure.levels import place_of

Make = Callable[[Block, Space, int], Planning]
"""Makes the planning of a block, from the name space of the plan and the place of its first task."""


def planned(ir: DistributedTaskIR, make: Make) -> PortablePlanIR:
    """The plan of a module: its inputs, mesh, objective, sections, buffers, memory facts, tasks and groups, in that order.

    Raises:
        DiagnosticError: there is no block to plan, or a block can't be planned.
    """
    plannings, found = plan_blocks(ir, make)
    whole = networks(ir.module)
    sections = []
    if whole or len(plannings) > 1:
        from bpir.passes.planning.sections import network_sections, plain_sections

        sections = network_sections(whole[0], plannings, ir) if whole else plain_sections(plannings)
    blocks = list(plannings.values())
    facts = [fact for planning in blocks for fact in planning.facts()]
    tasks = [task for tasks, _ in found for task in tasks]
    groups = [group for _, groups in found for group in groups]
    buffers = blocks[0].space.operations()
    return PortablePlanIR(
        new_module(ir.module, [*inputs_of(ir.module), *blocks[0].heading(), *sections, *buffers, *facts, *tasks, *groups])
    )


def plan_blocks(ir: DistributedTaskIR, make: Make) -> tuple[dict[str, Planning], list[tuple[list[Operation], list[Operation]]]]:
    """The planning of each block that the module runs, by name, in the order in which they run; and the tasks and groups of each."""
    blocks = {name: Block(block) for name, block in called(ir.module).items()}
    if not blocks:
        raise fail("the module has no dist.block to plan", place_of(ir.module))
    whole = networks(ir.module)
    named = (*ir.workloads, *ir.strategies, *ir.targets, *ir.deployments) if whole else ()
    times: Mapping[str, Expr] = {}
    if whole:
        from bpir.passes.planning.sections import runs

        times = runs(calls(whole[0]))
    space = Space(list(blocks.values()), times, bool(whole), [b.symbol for b in named])
    plannings: dict[str, Planning] = {}
    found = []
    first = 0
    parts: dict[int, tuple[str, str]] = {}
    for name, block in blocks.items():
        plannings[name] = make(block, space, first)
        found.append(plannings[name].run())
        if ir.is_training:
            parts |= {first + index: (name, plannings[name].part(task)) for index, task in enumerate(block.tasks)}
        first += len(plannings[name].tasks)
    if whole and parts:
        space.keep(parts)
    return plannings, found
