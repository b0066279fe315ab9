"""The structure of a concrete plan by itself: references, order, layout, transfers, and the rules of its target (concrete.R1 to R8)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from bpir.dialects.bind import Deployment, Target
from bpir.dialects.concrete.envelope import Buffer, Command, Devices, Plan, Region, Section, Transfer
from bpir.dialects.concrete.extension import extension_of
from bpir.dialects.levels import ConcretePlanIR
from bpir.ir.attributes import ArrayAttr, SymbolRefAttr
from bpir.ir.declaration import OperationDeclaration, Place
from bpir.ir.diagnostic import Diagnostic, note, suggestion
from bpir.ir.dialect import dialect_of, is_input
from bpir.ir.expressions.expression import ZERO, Expr, constant
from bpir.ir.operation import Operation
from bpir.ir.property_parts import references, symbol_of
from bpir.verifiers.binding.layout_and_fingerprints import least_multiple, taken
from bpir.verifiers.findings import Findings
from bpir.verifiers.rulebooks import CONCRETE
from bpir.verifiers.structure.capacity import verify_capacity
from bpir.verifiers.structure.sections import SectionCheck, SectionLabels

_SYMBOLS: dict[str, type[OperationDeclaration]] = {
    Plan.target.name: Target,
    Plan.deployment.name: Deployment,
    Region.devices.name: Devices,
    Buffer.region.name: Region,
    Command.reads.name: Buffer,
    Command.writes.name: Buffer,
}
"""The names that references of the envelope may resolve to; `after`, and those of a target's dialect, name commands."""

_DOUBLINGS = 8
"""Multiples of a buffer's alignment that its offset may be rounded up to, and still be seen at once not to be below what it rounds."""


def verify(module: Operation) -> list[Diagnostic]:
    """Everything that is wrong with a concrete module by itself."""
    return _Structure(module).verify()


class _Structure:
    def __init__(self, module: Operation) -> None:
        self.ir = ConcretePlanIR(module)
        self.facts = self.ir.symbols.facts
        self.findings = Findings("concrete", self.facts)
        self.operations = self.ir.operations
        self.commands = self.ir.commands
        self.multiples: dict[tuple[Expr, int], bool] = {}  # whether distances are multiples of alignments
        self.named = {name: o for o in self.operations if (name := symbol_of(o))}

    @CONCRETE.rule("R9", "every command is of a section where there are sections, and two of them run the same commands or none in common")
    @CONCRETE.rule("R10", "sections are behind those that they are after, and name buffers that they use")
    @CONCRETE.rule("R11", "a buffer is there once, or once for each run of the sections that use it")
    def verify(self) -> list[Diagnostic]:
        plans = self.ir.plans
        if len(plans) != 1:
            derived = [operation for operation in self.operations if not is_input(operation.name)]
            places: list[Place] = [*plans[1:], *derived]
            self.findings.refuse("R1", next(iter(places), None), f"a concrete module has one concrete.plan, found {len(plans)}")
            return self.findings.diagnostics
        kind = self._kind(plans[0])
        self._references(kind)
        return self.findings.diagnostics or self._sound(kind)

    def _sound(self, kind: str) -> list[Diagnostic]:
        """The faults of a plan for a kind of target whose references all resolve."""
        self._order()
        self._transfers()
        self._layout()
        held = {buffer.symbol: (buffer, buffer.times) for buffer in self.ir.buffers}
        SectionCheck(self.findings, SectionLabels("R9", "R10", "R11"), self.ir.sections, self.commands, held).run()
        return self.findings.diagnostics + self._target(kind)

    @CONCRETE.rule("R8", "a target that is bound to has an extension")
    def _kind(self, plan: Plan) -> str:
        """The kind of the target; empty, and a finding, if nothing extends the envelope for it."""
        target = Target.of(self.named.get(plan.target))
        if target is None:
            return ""
        kind = target.kind
        if extension_of(kind) is None:
            self.findings.refuse("R8", target, f"nothing is known of targets of the kind '{kind}'")
        return kind

    @CONCRETE.rule("R1", "one `concrete.plan`, and every reference resolves")
    @CONCRETE.rule("R7", "operations of a target's dialect are of the target's kind")
    def _references(self, kind: str) -> None:
        known = self._symbols()
        alien, judged = self._dialects(kind)
        for operation in self.operations:
            if operation.name in alien:
                message = f"'{operation.name}' can't be in a plan for a {kind} target"
                self.findings.refuse("R7", operation, message)
            if operation.name in judged:
                self._names(operation, known)

    def _names(self, operation: Operation, known_as: Mapping[str, set[str]]) -> None:
        """Every name in an operation is that of what it must be, once in a list."""
        of_level = operation.dialect == self.ir.level
        for name, used in _referring(operation):
            cls = _SYMBOLS.get(name) if of_level else None
            what = cls.name if cls is not None else "command"
            known = known_as[what]
            if not known.issuperset(used):
                self._unknown(operation, name, what, [symbol for symbol in used if symbol not in known], known)
            if of_level and len(used) > 1 and len(set(used)) != len(used):
                self.findings.refuse("R1", operation, f"'{name}' names a {what} twice")

    def _unknown(self, operation: Operation, name: str, what: str, symbols: Sequence[str], known: set[str]) -> None:
        for symbol in symbols:
            self.findings.refuse("R1", operation, f"'{name}' names no {what}: @{symbol}{suggestion(symbol, known)}")

    def _symbols(self) -> dict[str, set[str]]:
        """The symbols that a reference may name, by the kind of what it names."""
        known = {cls.name: {symbol_of(one.operation) for one in self.ir.each(cls)} for cls in _SYMBOLS.values()}
        return {**known, "command": {command.symbol for command in self.commands}}

    def _dialects(self, kind: str) -> tuple[set[str], set[str]]:
        """Of the names of operations those that can't be in a plan for the kind of target, and those whose references are judged here.

        Inputs of derivations are judged by themselves, sections by R10.
        """
        names = {operation.name for operation in self.operations}
        ours = {name: dialect for name in names if (dialect := dialect_of(name)) is not None}
        inputs = {name for name, dialect in ours.items() if dialect.is_input}
        others = {name for name, dialect in ours.items() if dialect.is_extension and dialect.name != kind}
        alien = others - inputs if kind else set()
        return alien, names - alien - inputs - {Section.name}

    @CONCRETE.rule("R2", "commands are after those that they need")
    def _order(self) -> None:
        place = {command.symbol: index for index, command in enumerate(self.commands)}
        for index, command in enumerate(self.commands):
            for name in command.after:
                if place[name] >= index:
                    where = note("it is here", self.commands[place[name]].span)
                    self.findings.refuse("R2", command, f"@{command.symbol} is not after @{name}, which it needs", where)

    @CONCRETE.rule("R6", "a transfer is between two devices that there are")
    def _transfers(self) -> None:
        devices = next(iter(self.ir.devices), None)
        for command in Transfer.each(self.operations):
            ends = command.ends
            if len(ends) != 2 or ends[0] == ends[1]:
                found = ", ".join(map(str, ends)) or "none"
                self.findings.refuse("R6", command, f"the transfer @{command.symbol} needs two devices; it has {found}")
            elif devices is None:
                self.findings.refuse("R6", command, f"the transfer @{command.symbol} needs two devices; the plan has none")
            else:
                self._enough(command, devices, max(ends) + 1)

    def _enough(self, transfer: Transfer, devices: Devices, needed: int) -> None:
        """There are as many devices as the transfer needs."""
        count = devices.count
        verdict = self.facts.at_least(count, constant(needed))
        if not verdict.proved:
            how = f"there are {count.text}" if verdict.refuted else f"that {count.text} are enough can't be decided"
            where = note("the devices are here", devices.span)
            message = f"the transfer @{transfer.symbol} needs {needed} devices, {how}"
            self.findings.refuse("R6", transfer, message, where, undecided=not verdict.refuted)

    # --- layout

    @CONCRETE.rule("R5", "they fit into the region")
    def _layout(self) -> None:
        for region in self.ir.regions:
            held = [buffer for buffer in self.ir.buffers if buffer.region == region.symbol]
            before = len(self.findings.diagnostics)
            self._all_aligned(held)
            self._disjoint(held)
            if len(self.findings.diagnostics) == before:
                verify_capacity(self.findings, "R5", region, held)

    @CONCRETE.rule("R3", "a buffer's offset is a multiple of its alignment")
    def _all_aligned(self, held: Sequence[Buffer]) -> None:
        """The sum of two multiples is one: of buffers with the same alignment only the distances are judged, and each of them once."""
        before, good, last = ZERO, True, 0
        for buffer in held:
            alignment, offset = buffer.alignment, buffer.offset
            follows = self._is_multiple(offset - before, alignment)
            good = (good and alignment == last and follows) or self._aligned(buffer, alignment, offset)
            before, last = offset, alignment

    def _is_multiple(self, distance: Expr, alignment: int) -> bool:
        """Whether a distance is known to be a multiple of an alignment; each is judged once."""
        step = (distance, alignment)
        if step not in self.multiples:
            self.multiples[step] = self.facts.divides(constant(alignment), distance).proved
        return self.multiples[step]

    def _aligned(self, buffer: Buffer, alignment: int, offset: Expr) -> bool:
        verdict = self.facts.divides(constant(alignment), offset)
        if not verdict.proved:
            how = "is not" if verdict.refuted else "can't be decided to be"
            self.findings.refuse(
                "R3",
                buffer,
                f"the offset of @{buffer.symbol} {how} a multiple of {alignment}: {offset.text}",
                note(verdict.text),
                undecided=not verdict.refuted,
            )
        return verdict.proved

    @CONCRETE.rule("R4", "buffers of a region are in the order of their offsets and do not overlap")
    def _disjoint(self, held: Sequence[Buffer]) -> None:
        """Each buffer begins where the one before ends, or later; the first not below 0. No size is negative (bp.R5).

        A layer's sizes and distances come again with every layer: each pair of them is judged once.
        """
        for first in held[:1]:
            self.findings.at_least("R4", first, f"the offset of @{first.symbol}", first.offset, ZERO)
        apart: set[tuple[Expr, Expr]] = set()
        for before, buffer in pairwise(held):
            taken_before = taken(before.size, before.times, before.alignment)
            pair = (buffer.offset - before.offset, taken_before)
            if pair not in apart:
                known = len(self.findings.diagnostics)
                self._behind(before, buffer, before.offset + taken_before)
                if len(self.findings.diagnostics) == known:
                    apart.add(pair)

    def _behind(self, before: Buffer, buffer: Buffer, end: Expr) -> None:
        """A buffer begins where the one before ends, or later: an end rounded up to a multiple is not below it, others are compared."""
        offset, aligned = buffer.offset, buffer.alignment
        if not any(offset is least_multiple(end, aligned << more) for more in range(_DOUBLINGS)):
            where = note(f"@{before.symbol} ends at {end.text}", before.span)
            self.findings.at_least("R4", buffer, f"the offset of @{buffer.symbol}", offset, end, where)

    # --- the target

    def _target(self, kind: str) -> list[Diagnostic]:
        extension = extension_of(kind)
        if extension is None:
            return []
        findings = Findings(kind, self.facts)
        own = [o for o in self.operations if o.dialect == kind]
        for violation in extension.violations([command.operation for command in self.commands], own):
            findings.refuse(violation.rule, violation.operation, violation.message, *violation.notes)
        return findings.diagnostics


def _referring(operation: Operation) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The properties of an operation that name something, each with the names."""
    for name, attribute in operation.properties.items():
        if isinstance(attribute, SymbolRefAttr):
            yield name, (attribute.name,)
        elif isinstance(attribute, ArrayAttr):
            yield name, references(attribute)
