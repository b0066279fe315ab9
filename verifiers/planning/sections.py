"""Boundary of planning, of a whole model: where things come from, and whether the sections of a plan are the calls of the network."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from bpir.dialects.dist import tasks as dist
from bpir.dialects.dist.stages import Border
from bpir.dialects.levels import DistributedTaskIR, PortablePlanIR
from bpir.dialects.network import BACKWARD, FORWARD, OPTIMIZER, callees, calls, networks, part_of, part_of_phase, times_of
from bpir.dialects.plan import Section, Task
from bpir.dialects.sections import Flow
from bpir.ir.diagnostic import note
from bpir.ir.expressions.expression import ONE, Expr
from bpir.ir.operation import Operation, Value
from bpir.verifiers.findings import Findings
from bpir.verifiers.rulebooks import PLANNING
from bpir.verifiers.section_totals import runs_of_members, total_work
from bpir.verifiers.stages.rows import runs_between
from bpir.verifiers.zero_stages import SHARES_GRADIENTS, zero_stage

Homes = Mapping[str, Mapping[Value, str]]
"""The buffer of each value, by the block that it is in."""


class Lineage:
    """The blocks that are planned, in order, and what a plan says of where something of them comes from.

    Of several blocks that is `block/task`, of one the name of the task alone.
    """

    def __init__(self, source: Operation, blocks: Sequence[dist.Block]) -> None:
        self.blocks = blocks
        self.several = len(blocks) > 1
        self.network = next(iter(networks(source)), None)
        ir = DistributedTaskIR(source)
        sharing = {strategy.symbol for strategy in ir.strategies if zero_stage(strategy.fields) >= SHARES_GRADIENTS}
        self._early = {block.symbol for block in blocks if block.strategy in sharing}  # there gradients are reduced in backward
        self._runs: dict[str, Expr] = {}
        if self.network is not None:
            from bpir.verifiers.distribution.network_calls import runs

            self._runs = runs(calls(self.network))
        between = runs_between(len(ir.stages))
        self._runs |= dict.fromkeys((block.symbol for block in blocks if _is_between(block)), between)
        self._layers: dict[str, str] = {}  # the first block that has a layer
        for block in blocks:
            for task in block.tasks:
                self._layers.setdefault(task.layer, block.symbol)

    def origin(self, block: dist.Block, name: str = "") -> str:
        """The origin of a task, a state, or (without a name) an argument."""
        if not self.several:
            return name
        return f"{block.symbol}/{name}" if name else block.symbol

    def part(self, block: str, task: dist.Task | Task) -> str:
        """The part of the training step of a block, by its name, that a task is of."""
        return part_of_phase(task.phase, task.kind_of_work, block in self._early)

    def tasks(self, block: dist.Block, part: str) -> list[dist.Task]:
        """The tasks of a block that a call of a part runs."""
        return [task for task in block.tasks if self.part(block.symbol, task) == part]

    def runs(self, block: dist.Block) -> Expr:
        """The number of times that a block runs."""
        return self._runs.get(block.symbol, ONE)

    def owner(self, block: dist.Block, task: dist.Task) -> tuple[str, str]:
        """The block and the layer whose weights a task reads: its own, or those that it is tied to."""
        return (block.symbol if task.owner == task.layer else self._layers.get(task.owner, block.symbol)), task.owner


class _Expected:
    """A section that the plan must have: `after` are others, by their place in the list.

    Attributes:
        implied: that one value goes to one argument says as much as `takes`.
    """

    def __init__(
        self,
        block: dist.Block,
        place: Operation,
        tasks: Sequence[dist.Task],
        times: Expr = ONE,
        after: tuple[int, ...] = (),
        takes: tuple[Flow, ...] = (),
        implied: bool = True,
        carries: tuple[Flow, ...] = (),
    ) -> None:
        self.block, self.place, self.tasks, self.times, self.after = block, place, tasks, times, after
        self.takes, self.implied, self.carries = takes, implied, carries


def _is_between(block: dist.Block) -> bool:
    """Whether it is what goes between the stages of a pipeline."""
    return isinstance(block.operation.declaration, Border)


_Given = tuple[int, str, bool]
"""The origin of a value of the network: the place of a section (-1: an input of the whole plan), a buffer, and whether it is alone."""


@PLANNING.rule("R17", "its sections are the calls of the network, each with the tasks of its block, after those whose results it reads")
def verify_sections(findings: Findings, plan: PortablePlanIR, lineage: Lineage, planned: Mapping[str, Task], homes: Homes) -> None:
    """Refuse sections that are not the calls of the network (R17), and work that is not equal over all runs (R19)."""
    expected = _Calls(findings, lineage, homes).expected()
    places = {task.symbol: place for place, task in enumerate(plan.tasks)}
    if len(plan.sections) != len(expected):
        where = [*plan.sections, *plan.tasks][:1]
        message = f"the plan has {len(plan.sections)} sections, and its source runs {len(expected)}"
        findings.refuse("R17", where[0] if where else plan.module, message)
    for section, wanted in zip(plan.sections, expected, strict=False):
        of = {places[planned[name].symbol] for task in wanted.tasks if (name := lineage.origin(wanted.block, task.label)) in planned}
        _Pair(findings, section, wanted, plan.sections).verify(of)
    _total(findings, plan, lineage)


class _Calls:
    """The sections that a source asks for."""

    def __init__(self, findings: Findings, lineage: Lineage, homes: Homes) -> None:
        self.findings = findings
        self.lineage = lineage
        self.homes = homes
        self.blocks = {block.symbol: block for block in lineage.blocks}
        self.found: list[_Expected] = []
        self.unreturned: dict[str, list[int]] = {}  # the forward sections of a block that no backward section has followed
        self.backward: dict[str, list[int]] = {}

    def expected(self) -> list[_Expected]:
        network = self.lineage.network
        if network is None:
            with_tasks = [block for block in self.lineage.blocks if block.tasks]
            return [_Expected(block, block.operation, block.tasks) for block in with_tasks] if self.lineage.several else []
        values: dict[Value, _Given] = dict.fromkeys(network.arguments, (-1, "", True))
        for call in calls(network):
            values.update(zip(call.results, self._call(call, [values[value] for value in call.operands]), strict=False))
        for block in self.lineage.blocks:
            self._update(block)
        for block in filter(_is_between, self.lineage.blocks):
            self._between(block)
        return self.found

    def _update(self, block: dist.Block) -> None:
        """Weights are updated when all their gradients are there."""
        updates = self.lineage.tasks(block, OPTIMIZER)
        if updates:
            after = tuple(self.backward.get(block.symbol, ()))
            self.found.append(_Expected(block, block.operation, updates, self.lineage.runs(block), after))

    def _between(self, block: dist.Block) -> None:
        """Add a section for each part of what goes between stages, after all others of the part."""
        known = list(self.found)
        for part in ("", FORWARD, BACKWARD):
            sent = self.lineage.tasks(block, part)
            if sent:
                after = tuple(place for place, other in enumerate(known) if self.lineage.part(other.block.symbol, other.tasks[0]) == part)
                self.found.append(_Expected(block, block.operation, sent, self.lineage.runs(block), after))

    def _call(self, call: Operation, operands: list[_Given]) -> list[_Given]:
        """The origins of the results of a call, of which those of the operands are given."""
        given, first = operands, len(self.found)
        begin: list[str] = []
        for name in callees(call):
            block, homes = self.blocks[name], self.homes.get(name, {})
            taken, returned = _border(block, part_of(call), len(given))
            tasks = self._tasks(call, block, taken == returned)
            if tasks:
                targets = [homes.get(value, "") for value in taken]
                begin = begin or targets
                self._add(call, block, tasks, given, targets)
                given = [(len(self.found) - 1, homes.get(value, ""), len(returned) == 1) for value in returned]
        if "times" in call.properties and len(self.found) > first:
            back = [(one[1], target) for one, target in zip(given, begin, strict=False)]
            self.found[first].carries = tuple(flow for flow in back if flow[0] != flow[1])
        return given

    def _tasks(self, call: Operation, block: dist.Block, passes: bool) -> list[dist.Task]:
        """The tasks of a block that a call runs; one without tasks must pass on what it takes."""
        tasks = self.lineage.tasks(block, part_of(call))
        message = f"nothing of @{block.symbol} is planned, and it does not return what it takes, in the same order"
        self.findings.require("R17", bool(tasks) or passes, block, message)
        return tasks

    def _add(self, call: Operation, block: dist.Block, tasks: Sequence[dist.Task], given: list[_Given], targets: list[str]) -> None:
        """The section that runs the tasks of a block on what is given: it takes it into the targets."""
        part = part_of(call)
        after = [place for place, _, _ in given if place >= 0]
        if part == BACKWARD:
            after += self.unreturned.get(block.symbol, [])[-1:]
        takes = tuple((one[1], target) for one, target in zip(given, targets, strict=False) if one[0] >= 0)
        implied = len(given) == 1 and given[0][2]
        self.found.append(_Expected(block, call, tasks, times_of(call), tuple(dict.fromkeys(after)), takes, implied))
        self._passed(block.symbol, part)

    def _passed(self, name: str, part: str) -> None:
        place = len(self.found) - 1
        if part == FORWARD:
            self.unreturned.setdefault(name, []).append(place)
        elif part == BACKWARD:
            self.backward.setdefault(name, []).append(place)
            if self.unreturned.get(name):
                self.unreturned[name].pop()


def _border(block: dist.Block, part: str, count: int) -> tuple[list[Value], list[Value]]:
    """The values that a part of a block takes and returns: forward the first of both; backward a gradient of each result, and those of the
    arguments.
    """
    taken, returned = block.arguments, block.returned
    if not part:
        return taken, returned
    left = len(taken) - count
    return (taken[:count], returned[:left]) if part == FORWARD else (taken[left:], returned[count:])


class _Pair:
    """A section and the one that it must be."""

    def __init__(self, findings: Findings, section: Section, wanted: _Expected, sections: Sequence[Section]) -> None:
        self.findings = findings
        self.section = section
        self.wanted = wanted
        self.sections = sections
        self.there = note("what it runs", wanted.place.span)

    def verify(self, places: set[int]) -> None:
        """Refuse a section with other tasks than those of the block, which are at the places; other times, or another order."""
        section, wanted, name = self.section, self.wanted, self.section.symbol
        if set(section.extent) != places:
            self._refuse(f"@{name} does not run the tasks of '{wanted.block.symbol}', and no others")
        self.findings.equal("R17", section, f"how often @{name} runs", section.times, wanted.times, self.there)
        after = [self.sections[place].symbol for place in wanted.after if place < len(self.sections)]
        self._same("is after", section.after, after)
        if section.takes or not wanted.implied:
            self._same("takes", _texts(section.takes), _texts(wanted.takes))
        self._same("carries", _texts(section.carries), _texts(wanted.carries))

    def _same(self, verb: str, found: Sequence[str], expected: Sequence[str]) -> None:
        if sorted(found) != sorted(expected):
            ours, theirs = (", ".join(sorted(names)) or "nothing" for names in (found, expected))
            self._refuse(f"@{self.section.symbol} {verb} {ours}; expected {theirs}")

    def _refuse(self, message: str) -> None:
        self.findings.refuse("R17", self.section, message, self.there)


def _texts(flows: Iterable[Flow]) -> list[str]:
    return [f"@{one} -> @{other}" for one, other in flows]


@PLANNING.rule("R19", "work is equal in total, over all runs")
def _total(findings: Findings, plan: PortablePlanIR, lineage: Lineage) -> None:
    """The sum over all tasks and all their runs."""
    if not plan.sections and lineage.network is None:
        return  # the total of R3 is that
    found = total_work((task.work for task in plan.tasks), runs_of_members(plan.sections, len(plan.tasks)))
    tasks = [(task.work, lineage.runs(block)) for block in lineage.blocks for task in block.tasks]
    wanted = total_work((work for work, _ in tasks), [times for _, times in tasks])
    findings.components("R19", next(iter(plan.tasks), plan.module), "total work", "of all runs of all tasks", found, wanted)
