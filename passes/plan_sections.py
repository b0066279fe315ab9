"""The sections of a plan: which blocks run, how often, after which others, and which buffer gives its content to which."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from bpir.dialects import plan
from bpir.dialects.bp import ExprAttr
from bpir.dialects.network import callees, calls, times_of
from bpir.dialects.sections import flows_attribute
from bpir.ir.attributes import I64, ArrayAttr, Attribute, IntegerAttr, StringAttr
from bpir.ir.diagnostic import Span, fail
from bpir.ir.expression import ZERO, Expr
from bpir.ir.operation import Operation, Value
from bpir.ir.records import Interned
from bpir.passes.plan_space import symbols
from bpir.passes.planning import Planning


def runs(found: Iterable[Operation]) -> dict[str, Expr]:
    """How often each block runs, where that is said, or where it is called at several places."""
    counted: dict[str, Expr] = {}
    once: set[str] = set()
    for call in found:
        for name in callees(call):
            if "times" not in call.properties and name not in counted:
                once.add(name)
            else:
                once.discard(name)
            counted[name] = counted.get(name, ZERO) + times_of(call)
    return {name: count for name, count in counted.items() if name not in once}


class Source(metaclass=Interned):
    """Where a value of a network comes from: a section, and the buffer that it is in. Both are empty for what the whole plan is given.

    Attributes:
        alone: whether the section gives no other value.
    """

    section: str = ""
    buffer: str = ""
    alone: bool = True


def plain_sections(plannings: Mapping[str, Planning]) -> list[Operation]:
    """The sections of a plan without a network: its blocks run once, in order."""
    sections = _Sections(plannings)
    for planning in plannings.values():
        if planning.tasks:
            sections.section(planning, planning.block.span, None, [])
    return sections.found


def network_sections(network: Operation, plannings: Mapping[str, Planning]) -> list[Operation]:
    """The sections of a plan with a network: one for each block that a call runs."""
    sections = _Sections(plannings)
    values: dict[Value, Source] = dict.fromkeys(network.arguments, Source())
    for call in calls(network):
        results = sections.call(call, [values[value] for value in call.operands])
        values.update(zip(call.results, results, strict=True))
    return sections.found


class _Sections:
    def __init__(self, plannings: Mapping[str, Planning]) -> None:
        self.plannings = plannings
        self.found: list[Operation] = []
        self.space = next(iter(plannings.values())).space

    def call(self, call: Operation, operands: Sequence[Source]) -> list[Source]:
        """Add the sections of a call; where its results come from."""
        given = list(operands)
        first: tuple[Operation, Planning] | None = None
        for name in callees(call):
            planning = self.plannings[name]
            if not planning.tasks:
                self._refuse_unless_identity(planning)
                continue
            times = times_of(call) if "times" in call.properties else None
            section = self.section(planning, call.span, times, given)
            first = first or (section, planning)
            returned = planning.block.returned
            given = [Source(_symbol(section), planning.homes[value], len(returned) == 1) for value in returned]
        if first is not None and "times" in call.properties:
            section, planning = first
            carried = zip(given, planning.block.arguments, strict=True)
            flows = [(source.buffer, planning.homes[value]) for source, value in carried if source.buffer != planning.homes[value]]
            if flows:
                section.properties["carries"] = flows_attribute(flows)
        return given

    def section(self, planning: Planning, span: Span | None, times: Expr | None, given: Sequence[Source]) -> Operation:
        """Add a section that runs a block on values; which buffer goes to which is said unless one goes to one."""
        last = planning.first + len(planning.tasks) - 1
        properties: dict[str, Attribute] = {"sym_name": StringAttr(self._name(planning.block.symbol))}
        if times is not None:
            properties["times"] = ExprAttr(times)
        properties["tasks"] = ArrayAttr((IntegerAttr(planning.first, I64), IntegerAttr(last, I64)))
        after = dict.fromkeys(source.section for source in given if source.section)
        if after:
            properties["after"] = symbols(after)
        if len(given) > 1 or not all(source.alone for source in given):
            pairs = zip(given, planning.block.arguments, strict=True)
            taken = [(source.buffer, planning.homes[value]) for source, value in pairs if source.section]
            if taken:
                properties["takes"] = flows_attribute(taken)
        self.found.append(plan.Section.build(properties=properties, span=span))
        return self.found[-1]

    def _name(self, block: str) -> str:
        """What the next section of a block is called: like the block, then with a number."""
        number, name = 1, block
        while name in self.space.taken:
            number += 1
            name = f"{block}.{number}"
        self.space.taken.add(name)
        return name

    def _refuse_unless_identity(self, planning: Planning) -> None:
        if planning.block.returned != planning.block.arguments:
            message = f"nothing of @{planning.block.symbol} is left to run, and it does not return what it takes, in the same order"
            raise fail(message, planning.block.span)


def _symbol(section: Operation) -> str:
    return plan.Section(section).symbol
