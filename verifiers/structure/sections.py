"""The structure of sections, of a plan and of a concrete plan: which tasks each runs, in which order, and how often a buffer is there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from bpir.dialects.sections import Section
from bpir.ir.declaration import Place
from bpir.ir.diagnostic import note, suggestion
from bpir.ir.expressions.expression import ONE, Expr, total
from bpir.ir.records import Interned
from bpir.verifiers.findings import Findings


class User(Protocol):
    """A task or a command: what uses buffers."""

    @property
    def reads(self) -> tuple[str, ...]: ...

    @property
    def writes(self) -> tuple[str, ...]: ...


class SectionLabels(metaclass=Interned):
    """Under which labels the rules of sections are raised."""

    extents: str
    order: str
    times: str


class SectionCheck:
    """Judges the sections of a module, and how often its buffers are there.

    Args:
        users: its tasks or commands, in order.
        buffers: how often each buffer is there, by name, with the operation that says so.
    """

    def __init__(
        self,
        findings: Findings,
        rules: SectionLabels,
        sections: Sequence[Section],
        users: Sequence[User],
        buffers: Mapping[str, tuple[Place, Expr]],
    ) -> None:
        self.findings = findings
        self.rules = rules
        self.sections = sections
        self.users = users
        self.buffers = buffers
        self.used = {section.symbol: self._used(section) for section in sections}

    def run(self) -> None:
        """Refuse what is wrong with them."""
        before = len(self.findings.diagnostics)
        self._extents()
        if len(self.findings.diagnostics) > before:
            return
        for index, section in enumerate(self.sections):
            self._after(section, [other.symbol for other in self.sections[:index]])
            self._takes(section)
            self._carries(section, self.sections[index:])
        self._times()

    def _used(self, section: Section) -> set[str]:
        """The buffers that the tasks of a section use."""
        return {
            name for place in section.extent if place < len(self.users) for name in (*self.users[place].reads, *self.users[place].writes)
        }

    def _extents(self) -> None:
        """Each section has tasks; of two sections they are the same, or none of them is; and every task is of a section."""
        of: dict[int, Section] = {}
        known: set[range] = set()
        for section in self.sections:
            extent = section.extent
            message = f"the extent of @{section.symbol} must be [first, last] with first <= last < {len(self.users)}"
            sound = bool(extent) and extent.stop <= len(self.users)
            if self.findings.require(self.rules.extents, sound, section, message) and extent not in known:
                known.add(extent)
                self._shares_none(section, next((of[place] for place in extent if place in of), None))
                of.update(dict.fromkeys(extent, section))
        left = next((place for place in range(len(self.users)) if place not in of), None) if of else None
        if left is not None:
            self.findings.refuse(self.rules.extents, self.sections[0], f"no section runs the task {left}, and others have sections")

    def _shares_none(self, section: Section, other: Section | None) -> None:
        """Refuse that a section has a task of another one."""
        if other is not None:
            rule = "two sections run the same tasks, or share none"
            message = f"@{section.symbol} has tasks of @{other.symbol}, but not the same: {rule}"
            self.findings.refuse(self.rules.extents, section, message, note("the other section", other.span))

    def _after(self, section: Section, before: Sequence[str]) -> None:
        """A section is after sections that are before it."""
        names = section.after
        for name in names:
            if name not in before:
                wrong = f"'after' names no section: @{name}{suggestion(name, self.used)}"
                message = f"@{section.symbol} is not after @{name}, which it is after" if name in self.used else wrong
                self.findings.refuse(self.rules.order, section, message)
        if len(set(names)) != len(names):
            self.findings.refuse(self.rules.order, section, "'after' names a section twice")

    def _takes(self, section: Section) -> None:
        given = {name for other in section.after for name in self.used.get(other, ())}
        for source, target in section.takes:
            self._flow(section, source, given, "the sections that it is after")
            self._flow(section, target, self.used[section.symbol], "its tasks")

    def _carries(self, section: Section, following: Sequence[Section]) -> None:
        """The values that a repetition gives to the next one come from this section or a later one, and all sections between are repeated
        as often.
        """
        for source, target in section.carries:
            self._flow(section, target, self.used[section.symbol], "its tasks")
            last = next((place for place, other in enumerate(following) if source in self.used[other.symbol]), None)
            if last is None:
                known = source in self.buffers
                what = f"@{source} is used neither by @{section.symbol} nor by a section behind it" if known else self._unknown(source)
                self.findings.refuse(self.rules.order, section, what)
                continue
            for other in following[1 : last + 1]:
                what = f"how often @{other.symbol} runs, which is repeated with @{section.symbol},"
                self.findings.equal(self.rules.order, other, what, other.times, section.times)

    def _flow(self, section: Section, name: str, used: Iterable[str], by: str) -> None:
        if name not in self.buffers:
            self.findings.refuse(self.rules.order, section, self._unknown(name))
        elif name not in used:
            self.findings.refuse(self.rules.order, section, f"@{section.symbol} names @{name}, which {by} do not use")

    def _unknown(self, name: str) -> str:
        return f"there is no buffer @{name}{suggestion(name, self.buffers)}"

    def _times(self) -> None:
        """A buffer is there once, or once for each run of the sections that use it."""
        users = self._runs_of_users()
        for name, (operation, times) in self.buffers.items():
            allowed = users.get(name, [])
            if times is not ONE and times not in allowed and not any(self.findings.facts.equal(times, runs).proved for runs in allowed):
                expected = " or ".join(dict.fromkeys(runs.text for runs in allowed)) or "1"
                message = f"@{name} is there {times.text} times, and what uses it runs {expected} times"
                self.findings.refuse(self.rules.times, operation, message)

    def _runs_of_users(self) -> dict[str, list[Expr]]:
        """How often the sections that use each buffer run, of those that run the same tasks together."""
        extents: dict[range, list[Section]] = {}
        for section in self.sections:
            extents.setdefault(section.extent, []).append(section)
        users: dict[str, list[Expr]] = {}
        for together in extents.values():
            runs = total(section.times for section in together)
            for name in self.used[together[0].symbol]:
                users.setdefault(name, []).append(runs)
        return users
