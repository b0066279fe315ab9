"""The `slot` dialect: a machine that issues each command at a cycle, in one of its slots, and moves bytes on routes.

A cycle counts issues; how long a command runs is not known at this level.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from bpir.dialects.concrete.envelope import devices_of, kind_of, reference_of
from bpir.dialects.concrete.extension import Deviation, TargetExtension, Violation, build, differing, missing, superfluous
from bpir.dialects.plan import Integer, names_of, number_of, symbol_of
from bpir.ir.attributes import I64, IntegerAttr, SymbolRefAttr
from bpir.ir.declaration import OperationDeclaration
from bpir.ir.diagnostic import note
from bpir.ir.dialect import Dialect, declare
from bpir.ir.operation import Operation
from bpir.ir.syntax import Clause, Reference

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

    def operations(self, commands: Sequence[Operation]) -> list[Operation]:
        found = []
        for index, command in enumerate(commands):
            name = SymbolRefAttr((symbol_of(command),))
            place = {"cycle": IntegerAttr(index, I64), "slot": IntegerAttr(0, I64)}
            found.append(build("slot.issue", {"command": name, **place}, command.span))
            if kind_of(command) == "transfer" and len(devices_of(command)) == 2:
                source, destination = (IntegerAttr(device, I64) for device in devices_of(command))
                found.append(build("slot.route", {"command": name, "source": source, "destination": destination}, command.span))
        return found

    def identity(self, operation: Operation) -> str:
        return reference_of(operation, "command")

    def deviations(self, commands: Sequence[Operation], operations: Sequence[Operation]) -> Iterable[Deviation]:
        """One command is issued in a cycle, the first in cycle 0, none is left out, and only transfers have routes."""
        issues = {reference_of(o, "command"): o for o in operations if o.name == "slot.issue"}
        for cycle, command in enumerate(commands):
            name = symbol_of(command)
            if name not in issues:
                yield missing("slot.issue", name)
            else:
                yield from differing(issues[name], name, "cycle", IntegerAttr(cycle, I64))
                yield from differing(issues[name], name, "slot", IntegerAttr(0, I64))
        sent = {symbol_of(command): devices_of(command) for command in commands if kind_of(command) == "transfer"}
        for route in operations:
            name = reference_of(route, "command")
            if route.name == "slot.route" and len(sent.get(name, ())) != 2:
                yield superfluous(route, name)

    def violations(self, commands: Sequence[Operation], operations: Sequence[Operation]) -> Iterable[Violation]:
        """R1 every command is issued once; R2 no two in the same slot of a cycle; R3 for every dependency `t_j -> t_i`:
        `cycle(t_j) < cycle(t_i)`; R4 every transfer has one route, no other command has one; R5 a route leads to another device,
        as the transfer says.
        """
        issues: dict[str, Operation] = {}
        routes: dict[str, Operation] = {}
        slots: dict[tuple[int, int], Operation] = {}
        for operation in operations:
            name = reference_of(operation, "command")
            first = (issues if operation.name == "slot.issue" else routes).setdefault(name, operation)
            if first is not operation:
                what, rule = ("is issued", "R1") if operation.name == "slot.issue" else ("has a route", "R4")
                yield Violation(rule, operation, f"@{name} {what} twice", (note("first here", first.span),))
            elif operation.name == "slot.issue":
                place = (number_of(operation, "cycle"), number_of(operation, "slot"))
                other = slots.setdefault(place, operation)
                if other is not operation:
                    message = f"@{name} takes slot {place[1]} of cycle {place[0]}, where @{reference_of(other, 'command')} is"
                    yield Violation("R2", operation, message, (note("issued here", other.span),))
        for command in commands:
            name = symbol_of(command)
            if name not in issues:
                yield Violation("R1", command, f"@{name} is never issued")
                continue
            cycle = number_of(issues[name], "cycle")
            for needed in names_of(command, "after"):
                if needed in issues and number_of(issues[needed], "cycle") >= cycle:
                    earlier = number_of(issues[needed], "cycle")
                    message = f"@{name} is issued at cycle {cycle}, not after @{needed} (cycle {earlier}), which it needs"
                    yield Violation("R3", issues[name], message, (note("issued here", issues[needed].span),))
            yield from _routed(command, routes.get(name))


def _routed(command: Operation, route: Operation | None) -> Iterable[Violation]:
    name = symbol_of(command)
    if kind_of(command) != "transfer":
        if route is not None:
            yield Violation("R4", route, f"@{name} is no transfer, so it has no route")
    elif route is None:
        yield Violation("R4", command, f"the transfer @{name} has no route")
    else:
        ends = (number_of(route, "source"), number_of(route, "destination"))
        if ends[0] == ends[1] or ends != devices_of(command):
            expected = " to ".join(map(str, devices_of(command)))
            yield Violation("R5", route, f"the route of @{name} leads from {ends[0]} to {ends[1]}; the transfer is from {expected}")
