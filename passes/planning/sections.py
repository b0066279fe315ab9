"""The sections of a plan: which blocks run, how often, after which others, and which buffer gives its content to which."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from bpir.dialects import plan
from bpir.dialects.bp import ExprAttr
from bpir.dialects.levels import DistributedTaskIR
from bpir.dialects.network import BACKWARD, FORWARD, OPTIMIZER, callees, calls, halves, part_of, times_of
from bpir.dialects.sections import flows_attribute
from bpir.ir.attributes import I64, ArrayAttr, Attribute, IntegerAttr, StringAttr
from bpir.ir.diagnostic import Span, fail
from bpir.ir.expressions.expression import ZERO, Expr, constant
from bpir.ir.operation import Operation, Value
from bpir.ir.records import Interned
from bpir.passes.planning.blocks import Planning
from bpir.passes.planning.names import symbols
from bpir.passes.planning.stages import Placed, planned_stages


def runs(found: Iterable[Operation]) -> dict[str, Expr]:
    """The number of times that each block runs, if the text says it or calls the block at several places."""
    counted: dict[str, Expr] = {}
    once: set[str] = set()
    for call in found:
        for name in callees(call) if part_of(call) != BACKWARD else ():
            if "times" not in call.properties and name not in counted:
                once.add(name)
            else:
                once.discard(name)
            counted[name] = counted.get(name, ZERO) + times_of(call)
    return {name: count for name, count in counted.items() if name not in once}


class Source(metaclass=Interned):
    """The origin of a value of a network: a section, and the buffer that it is in. Both are empty for the inputs of the whole plan.

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
        places = [planning.first + index for index in range(len(planning.tasks))]
        if places:
            sections.section(planning.block.symbol, places, planning.block.span, None, ())
    return sections.found


def network_sections(network: Operation, plannings: Mapping[str, Planning], ir: DistributedTaskIR) -> list[Operation]:
    """The sections of a plan with a network: one for each block, or part of one, that a call runs; in training updates of weights; then
    what goes between the stages of a pipeline, and these.
    """
    sections = _Sections(plannings)
    values: dict[Value, Source] = dict.fromkeys(network.arguments, Source())
    for call in calls(network):
        results = sections.call(call, [values[value] for value in call.operands])
        values.update(zip(call.results, results, strict=True))
    sections.updates()
    for border in ir.borders:
        sections.between(border.symbol, len(ir.stages) - 1)
    return [*sections.found, *planned_stages(ir.stages, sections.placed())]


class _Sections:
    def __init__(self, plannings: Mapping[str, Planning]) -> None:
        self.plannings = plannings
        self.found: list[Operation] = []
        self.space = next(iter(plannings.values())).space
        self.forward: dict[str, list[str]] = {}  # the forward sections of each block that have had no backward one yet
        self.backward: dict[str, list[str]] = {}  # its backward sections
        self.of: dict[tuple[str, str], list[plan.Section]] = {}  # the sections of each block and part

    def call(self, call: Operation, operands: Sequence[Source]) -> list[Source]:
        """Add the sections of a call; where its results come from."""
        given = list(operands)
        part = part_of(call)
        first: tuple[Operation, list[str]] | None = None
        for name in callees(call):
            planning = self.plannings[name]
            taken, returned = halves(part, planning.block.arguments, planning.block.returned, len(given))
            places = planning.places(part)
            if not places:
                self._refuse_unless_identity(planning, taken, returned)
                continue
            inputs = [planning.homes[value] for value in taken]
            times = times_of(call) if "times" in call.properties else None
            section = self.section(_called(name, part), places, call.span, times, self._after(name, part, given))
            self.of.setdefault((name, part), []).append(plan.Section(section))
            self._take(section, given, inputs)
            self._remember(name, part, _symbol(section))
            first = first or (section, inputs)
            given = [Source(_symbol(section), planning.homes[value], len(returned) == 1) for value in returned]
        if first is not None and "times" in call.properties:
            section, inputs = first
            flows = [(source.buffer, target) for source, target in zip(given, inputs, strict=True) if source.buffer != target]
            if flows:
                section.properties["carries"] = flows_attribute(flows)
        return given

    def updates(self) -> None:
        """The updates of the weights of each block, after all gradients of the block."""
        for name, planning in self.plannings.items():
            places = planning.places(OPTIMIZER)
            if places:
                times = self.space.runs.get(name)
                section = self.section(_called(name, OPTIMIZER), places, planning.block.span, times, self.backward.get(name, ()))
                self.of[name, OPTIMIZER] = [plan.Section(section)]

    def between(self, name: str, times: int) -> None:
        """What goes between the stages of a pipeline: a section of each part, once for each border, after those that give what is sent."""
        planning = self.plannings[name]
        parts = [part for part in ("", FORWARD, BACKWARD) if planning.places(part)]
        for part in parts:
            after = [s.symbol for (_, other), of in self.of.items() if other == part for s in of]
            self.section(_called(name, part), planning.places(part), planning.block.span, constant(times) if times > 1 else None, after)

    def placed(self) -> Placed:
        """The sections of each block and part; those of backward in the order of the calls that run forward."""
        return {key: sections[::-1] if key[1] == BACKWARD else sections for key, sections in self.of.items()}

    def _after(self, name: str, part: str, given: Sequence[Source]) -> list[str]:
        """The sections that a section needs: those of what it takes, and of backward the forward one, whose values it reads."""
        kept = self.forward.get(name, [])[-1:] if part == BACKWARD else []
        return list(dict.fromkeys([*(source.section for source in given if source.section), *kept]))

    def _remember(self, name: str, part: str, section: str) -> None:
        if part == FORWARD:
            self.forward.setdefault(name, []).append(section)
        elif part == BACKWARD:
            self.backward.setdefault(name, []).append(section)
            if self.forward.get(name):
                self.forward[name].pop()

    def section(self, name: str, places: Sequence[int], span: Span | None, times: Expr | None, after: Iterable[str]) -> Operation:
        """Add a section that runs the tasks at some places."""
        properties: dict[str, Attribute] = {"sym_name": StringAttr(self._name(name))}
        if times is not None:
            properties["times"] = ExprAttr(times)
        properties["tasks"] = ArrayAttr((IntegerAttr(places[0], I64), IntegerAttr(places[-1], I64)))
        names = list(after)
        if names:
            properties["after"] = symbols(names)
        self.found.append(plan.Section.build(properties=properties, span=span))
        return self.found[-1]

    @staticmethod
    def _take(section: Operation, given: Sequence[Source], inputs: Sequence[str]) -> None:
        """Say which buffer goes to which, unless one goes to one."""
        if len(given) > 1 or not all(source.alone for source in given):
            taken = [(source.buffer, target) for source, target in zip(given, inputs, strict=True) if source.section]
            if taken:
                section.properties["takes"] = flows_attribute(taken)

    def _name(self, block: str) -> str:
        """The name of the next section of a block: that of the block, then with a number."""
        number, name = 1, block
        while name in self.space.taken:
            number += 1
            name = f"{block}.{number}"
        self.space.taken.add(name)
        return name

    @staticmethod
    def _refuse_unless_identity(planning: Planning, taken: Sequence[Value], returned: Sequence[Value]) -> None:
        if list(taken) != list(returned):
            message = f"nothing of @{planning.block.symbol} is left to run, and it does not return what it takes, in the same order"
            raise fail(message, planning.block.span)


def _called(block: str, part: str) -> str:
    """The name of a section: that of its block, with the part of its training step."""
    return f"{block}.{part}" if part else block


def _symbol(section: Operation) -> str:
    return plan.Section(section).symbol
