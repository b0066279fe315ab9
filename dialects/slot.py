"""The `slot` dialect: a machine that issues each command at a cycle, in one of its slots, and moves bytes on routes.

A cycle counts issues; how long a command runs is not known at this level.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from bpir.dialects.bp.parts import Integer
from bpir.dialects.concrete.envelope import Command, Transfer
from bpir.dialects.concrete.extension import Deviation, TargetExtension, Violation, differing, missing, superfluous
from bpir.ir.attributes import I64, IntegerAttr, SymbolRefAttr
from bpir.ir.declaration import OperationDeclaration
from bpir.ir.diagnostic import note
from bpir.ir.dialect import Dialect, declare
from bpir.ir.operation import Operation
from bpir.ir.property_parts import Reference
from bpir.ir.rulebook import RuleBook
from bpir.ir.syntax import Clause

declare(Dialect("slot", level="concrete", uses=("plan", "concrete")))


class Issue(OperationDeclaration):
    """`slot.issue @mlp.gelu.decode cycle 9 slot 0`: when and where a command is issued."""

    name = "slot.issue"
    command = Reference()
    cycle = Integer()
    slot = Integer()
    syntax = (
        command,
        Clause("cycle", (cycle,), optional=False, line=False),
        Clause("slot", (slot,), optional=False, line=False),
    )


class Route(OperationDeclaration):
    """`slot.route @send from 0 to 1`: the device that a transfer leaves, and the one that it reaches."""

    name = "slot.route"
    command = Reference()
    source = Integer()
    destination = Integer()
    syntax = (
        command,
        Clause("from", (source,), optional=False, line=False),
        Clause("to", (destination,), optional=False, line=False),
    )


class SlotMachine(TargetExtension):
    """`issue(t_i) = (cycle i, slot 0)`, and a route for each transfer."""

    kind = "slot"
    rules = RuleBook(kind)

    def operations(self, commands: Sequence[Operation]) -> list[Operation]:
        found = []
        for index, command in enumerate(Command.each(commands)):
            name = SymbolRefAttr((command.symbol,))
            place = {"cycle": IntegerAttr(index, I64), "slot": IntegerAttr(0, I64)}
            found.append(Issue.build(properties={"command": name, **place}, span=command.span))
            if len(command.ends) == 2:
                source, destination = (IntegerAttr(device, I64) for device in command.ends)
                ends = {"command": name, "source": source, "destination": destination}
                found.append(Route.build(properties=ends, span=command.span))
        return found

    def identity(self, operation: Operation) -> str:
        return (Issue.of(operation) or Route(operation)).command

    def deviations(self, commands: Sequence[Operation], operations: Sequence[Operation]) -> Iterable[Deviation]:
        """One command is issued in a cycle, the first in cycle 0, none is left out, and only transfers have routes."""
        issues = {issue.command: issue.operation for issue in Issue.each(operations)}
        for cycle, command in enumerate(Command.each(commands)):
            name = command.symbol
            if name not in issues:
                yield missing(Issue.name, name)
            else:
                yield from differing(issues[name], name, Issue.cycle.name, IntegerAttr(cycle, I64))
                yield from differing(issues[name], name, Issue.slot.name, IntegerAttr(0, I64))
        sent = {transfer.symbol: transfer.ends for transfer in Transfer.each(commands)}
        for route in Route.each(operations):
            if len(sent.get(route.command, ())) != 2:
                yield superfluous(route.operation, route.command)

    @rules.rule("R4", "every transfer has one route, no other command has one")
    @rules.rule("R5", "a route leads to another device, as the transfer says")
    def violations(self, commands: Sequence[Operation], operations: Sequence[Operation]) -> Iterable[Violation]:
        """Each place at which a rule of the slots is broken."""
        issues: dict[str, Issue] = {}
        routes: dict[str, Route] = {}
        slots: dict[tuple[int, int], Issue] = {}
        for operation in operations:
            route, issue = Route.of(operation), Issue.of(operation)
            if route is not None:
                first = routes.setdefault(route.command, route)
                if first is not route:
                    yield Violation("R4", route, f"@{route.command} has a route twice", (note("first here", first.span),))
            if issue is not None:
                yield from self._taken(issue, issues, slots)
        for command in Command.each(commands):
            yield from self._too_early(command, issues)
            if command.symbol in issues:
                yield from _routed(command, routes.get(command.symbol))

    @rules.rule("R1", "every command is issued once")
    @rules.rule("R2", "no two in the same slot of a cycle")
    def _taken(self, issue: Issue, issues: dict[str, Issue], slots: dict[tuple[int, int], Issue]) -> Iterable[Violation]:
        """An issue of a command that has one, or in a slot that is taken; `issues` and `slots` take it in."""
        earliest = issues.setdefault(issue.command, issue)
        if earliest is not issue:
            yield Violation("R1", issue, f"@{issue.command} is issued twice", (note("first here", earliest.span),))
            return
        place = (issue.cycle, issue.slot)
        other = slots.setdefault(place, issue)
        if other is not issue:
            message = f"@{issue.command} takes slot {place[1]} of cycle {place[0]}, where @{other.command} is"
            yield Violation("R2", issue, message, (note("issued here", other.span),))

    @rules.rule("R3", "for every dependency `t_j -> t_i`: `cycle(t_j) < cycle(t_i)`")
    def _too_early(self, command: Command, issues: Mapping[str, Issue]) -> Iterable[Violation]:
        """A command that is never issued, or not after those that it is after."""
        name = command.symbol
        if name not in issues:
            yield Violation("R1", command, f"@{name} is never issued")
            return
        cycle = issues[name].cycle
        for needed in command.after:
            if needed in issues and issues[needed].cycle >= cycle:
                earlier = issues[needed].cycle
                message = f"@{name} is issued at cycle {cycle}, not after @{needed} (cycle {earlier}), which it needs"
                yield Violation("R3", issues[name], message, (note("issued here", issues[needed].span),))


def _routed(command: Command, route: Route | None) -> Iterable[Violation]:
    name = command.symbol
    if not isinstance(command, Transfer):
        if route is not None:
            yield Violation("R4", route, f"@{name} is no transfer, so it has no route")
    elif route is None:
        yield Violation("R4", command, f"the transfer @{name} has no route")
    else:
        ends = (route.source, route.destination)
        if ends[0] == ends[1] or ends != command.ends:
            expected = " to ".join(map(str, command.ends))
            yield Violation("R5", route, f"the route of @{name} leads from {ends[0]} to {ends[1]}; the transfer is from {expected}")
