"""A machine as a TOML file describes it: engines, memory, network tiers, and what was measured. Every figure knows where it is from.

name = "a100"
overlap = "none"                      # or "roofline": the longer of operations and memory traffic

[matrix]                              # and [vector], or any name that [engines] gives to a kind of operation
operations_per_second = 312e12
efficiency = [[1e9, 0.9], [0, 0.5]]   # [at least, efficiency] by operations of the task, or one number
source = "NVIDIA A100 data sheet"     # optional, with date = "2021-06"

[memory]
bytes = 85899345920
bytes_per_second = 2039e9
efficiency = [[1e6, 0.9, 0.85, 0.95], [0, 0.3]]    # with the least and the most it may be

[[network]]                           # tier 0; the next one is tier 1
devices = 8
bytes_per_second = 300e9
efficiency = 0.65
latency = 1e-5
all_reduce = {factor = 2.0, share = -1}            # wire bytes of m among n: m*factor + m*factor/n*share
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any

from bpir.cost.figures import Curve, Evidence, Measured, Rate, Tier
from bpir.cost.seconds import Range, Seconds
from bpir.cost.toml_text import Document, View
from bpir.ir.diagnostic import Source, fail, note, suggestion

OVERLAPS = ("none", "roofline")
COLLECTIVES = ("p2p", "all_reduce", "reduce_scatter", "all_gather", "all_to_all")
TIERS = {"tensor": 0, "pipeline": 1, "data": 1}
"""The network tier of each mesh axis where a system does not say it (`[axes]`)."""

_PROVENANCE = ("source", "date")
_ENGINE = ("operations_per_second", "efficiency", *_PROVENANCE)
_MEMORY = ("bytes", "bytes_per_second", "efficiency", *_PROVENANCE)
_TIER = ("devices", "bytes_per_second", "efficiency", "latency", *COLLECTIVES, *_PROVENANCE)


class System:
    """A described machine.

    Args:
        source: the text of the file.
        evidence: further files, whose figures come before its own.

    Raises:
        DiagnosticError: a file is wrong, or two say different things of the same.
    """

    def __init__(self, source: Source, evidence: Sequence[Source] = ()) -> None:
        self.file = View(Document(source), (), Document(source).data)
        self.others = [View(Document(other), (), Document(other).data) for other in evidence]
        self.name = self.file.text("name", "every estimate is printed with the name of its system")
        self.overlap = self.file.text("overlap", f"it is {' or '.join(OVERLAPS)}")
        if self.overlap not in OVERLAPS:
            near = suggestion(self.overlap, OVERLAPS)
            raise fail(f"'overlap' is {' or '.join(OVERLAPS)}, not '{self.overlap}'{near}", self.file.place("overlap"))
        self.engine_of = self._engine_of()
        self._engines: dict[str, Rate] = {}
        self._check_tables()
        self.tiers = [self._tier(place, view) for place, view in enumerate(self.file.views("network"))]
        self.axes = self._axes()
        self.measured = self._measured()

    def _views(self) -> list[View]:
        """The files whose figures come first, then the system's."""
        return [*self.others, self.file]

    def _check_tables(self) -> None:
        engines = {"matrix", "vector", *self.engine_of.values()}
        known = ("name", "overlap", "memory", "network", "engines", "axes", "measured", *_PROVENANCE, *sorted(engines))
        for view in self._views():
            view.known(known)
        for name in sorted(engines & self.file.table.keys()):
            self.engine(name)

    def _engine_of(self) -> dict[str, str]:
        """Which engine does a kind of operation, where the system says so."""
        found: dict[str, str] = {}
        if "engines" not in self.file.table:
            return found
        view = self.file.view("engines", "")
        for kind in view.table:
            engine = view.text(kind)
            if not isinstance(self.file.table.get(engine), dict) or engine in ("memory", "engines", "axes"):
                engines = [name for name, table in self.file.table.items() if isinstance(table, dict) and "operations_per_second" in table]
                near = suggestion(engine, engines) or f": the engines are {', '.join(engines)}"
                raise fail(f"there is no engine '{engine}'{near}", view.place(kind))
            found[kind] = engine
        return found

    def engine(self, name: str) -> Rate:
        """An engine.

        Raises:
            DiagnosticError: the system does not have it, or not all of its figures.
        """
        if name not in self._engines:
            view = self.file.view(name, "a plan has operations for this engine")
            view.known(_ENGINE)
            self._engines[name] = self._rate(view, "operations_per_second", name)
        return self._engines[name]

    @cached_property
    def memory(self) -> Rate:
        """The memory's bandwidth."""
        view = self.file.view("memory", "a plan moves bytes")
        view.known(_MEMORY)
        return self._rate(view, "bytes_per_second", "memory")

    @property
    def memory_bytes(self) -> Fraction | None:
        """How many bytes a device has; None where nothing is said."""
        view = self.file.view("memory", "a plan moves bytes")
        return Fraction(view.number("bytes", "")) if "bytes" in view.table else None

    def tier(self, axis: str) -> Tier:
        """The network tier of a mesh axis.

        Raises:
            DiagnosticError: the system has none for it.
        """
        if axis not in self.axes:
            raise fail(f"nothing says which network tier the ranks of '{axis}' are on: add [axes] {axis} = ...", self.file.place())
        number = self.axes[axis]
        if number >= len(self.tiers):
            message = f"there is no network tier {number}, which '{axis}' is on: the file has {len(self.tiers)} [[network]]"
            raise fail(message, self.file.place())
        return self.tiers[number]

    def _axes(self) -> dict[str, int]:
        found = dict(TIERS)
        if "axes" in self.file.table:
            view = self.file.view("axes", "")
            for axis in view.table:
                found[axis] = int(view.number(axis, "", strict=False))
        return found

    def _tier(self, number: int, view: View) -> Tier:
        view.known(_TIER)
        devices = int(view.number("devices", "how many devices are on it"))
        wire: dict[str, tuple[Fraction, Fraction]] = {}
        for kind in COLLECTIVES:
            if kind in view.table:
                moved = view.view(kind, "")
                moved.known(("factor", "share"))
                factor = moved.number("factor", "what of the message goes over the wire")
                wire[kind] = (Fraction(factor), Fraction(moved.number("share", "the share of one rank", least=-1e9)))
        latency = view.number("latency", "seconds until a message begins", strict=False)
        return Tier(number, devices, self._rate(view, "bytes_per_second", f"network tier {number}"), latency, wire, view)

    def _rate(self, view: View, key: str, what: str) -> Rate:
        peak = _range(view, key, view.needed(key, f"how much {what} does a second"))
        curve = self._curve(view, what)
        return Rate(peak, curve, self._evidence(view, (key,), f"{what}: {key} = {peak.value:g}"))

    def _curve(self, view: View, what: str) -> Curve:
        """The curve of a table: of the first evidence that has one, else of the system.

        Raises:
            DiagnosticError: there is none, or two files have different ones.
        """
        found = None
        for other in self.others:
            table: Any = other.table
            for part in view.path:
                table = table[part] if isinstance(table, dict) and part in table else {}
            if isinstance(table, dict) and "efficiency" in table:
                curve = self._parsed(View(other.document, view.path, table), what)
                if found is not None and found.entries != curve.entries:
                    before = note(f"the other one is here, from {found.evidence.text}", found.span)
                    raise fail(f"two files have different curves of {what}: leave one out", curve.span, before)
                found = found or curve
        return found or self._parsed(view, what)

    def _parsed(self, view: View, what: str) -> Curve:
        value = view.needed("efficiency", f"the share of its peak that {what} reaches")
        evidence = self._evidence(view, ("efficiency",), f"{what}: efficiency")
        if not isinstance(value, list):
            entries: list[tuple[Fraction, Range]] = [(Fraction(0), _share(view, _range(view, "efficiency", value)))]
            return Curve(tuple(entries), evidence, view.place("efficiency"))
        entries = []
        for entry in value:
            if not isinstance(entry, list) or len(entry) not in (2, 4):
                form = "[at least, efficiency] or [at least, efficiency, least, most]"
                raise fail(f"an entry of a curve is {form}, not {entry!r}", view.place("efficiency"))
            bound, *shares = (view.checked("efficiency", number, strict=False) for number in entry)
            limits = Range(shares[0], *(shares[1:] or (shares[0], shares[0])))
            if entries and Fraction(bound) == entries[-1][0]:
                raise fail(f"the curve has two entries at {bound:g}: which one holds?", view.place("efficiency"))
            if entries and Fraction(bound) > entries[-1][0]:
                raise fail("the entries of a curve stand from the largest down", view.place("efficiency"))
            entries.append((Fraction(bound), _share(view, limits)))
        if not entries:
            raise fail("the curve is empty", view.place("efficiency"))
        return Curve(tuple(entries), evidence, view.place("efficiency"))

    def _measured(self) -> dict[tuple[object, ...], Measured]:
        """The measured tasks of all files.

        Raises:
            DiagnosticError: two rows say different seconds of the same task.
        """
        found: dict[tuple[object, ...], Measured] = {}
        for file in self._views():
            for view in file.views("measured"):
                row = self._row(view)
                other = found.setdefault(row.key, row)
                if other.seconds != row.seconds:
                    message = f"this task was measured as {other.seconds.value:g} s already, and here as {row.seconds.value:g} s"
                    raise fail(message, row.span, note("the other row is here", other.span))
        return found

    def _row(self, view: View) -> Measured:
        view.known(("kind", "operations", "bytes", "message", "ranks", "seconds", *_PROVENANCE))
        seconds = _range(view, "seconds", view.needed("seconds", "what was measured"))
        kind = view.text("kind", "the kind of operation, as bp-report says it")

        def amount(key: str) -> Fraction:
            return Fraction(view.checked(key, view.table.get(key, 0), strict=False))

        ranks = int(view.number("ranks", "")) if "ranks" in view.table else 1
        evidence = self._evidence(view, ("seconds",), f"measured {kind}")
        measured = Seconds(seconds.value, seconds.least, seconds.most)
        return Measured(kind, amount("operations"), amount("bytes"), amount("message"), ranks, measured, evidence, view.place("seconds"))

    def _evidence(self, view: View, path: tuple[str, ...], what: str = "") -> Evidence:
        where = f"{view.document.source.name}:{view.document.line((*view.path, *path))}"
        source, date = (view.text(key) or View(view.document, (), view.document.data).text(key) for key in _PROVENANCE)
        return Evidence(where, what, source, date)


def _range(view: View, key: str, value: Any) -> Range:
    """A number, or a table with a value, the least and the most."""
    if not isinstance(value, dict):
        return Range.exactly(view.checked(key, value))
    inner = View(view.document, (*view.path, key), value)
    inner.known(("value", "least", "most"))
    found = Range(*(inner.number(name, f"'{key}' has a value, the least and the most") for name in ("value", "least", "most")))
    if not found.least <= found.value <= found.most:
        raise fail(f"'{key}' is between its least and its most: {found.least:g} <= {found.value:g} <= {found.most:g}", view.place(key))
    return found


def _share(view: View, found: Range) -> Range:
    """An efficiency: a share of a peak, above 0 and not above 1."""
    if not 0 < found.least <= found.value <= found.most <= 1:
        shown = f"{found.value:g}" if found.least == found.most else f"{found.least:g} <= {found.value:g} <= {found.most:g}"
        raise fail(f"an efficiency is above 0 and at most 1, not {shown}", view.place("efficiency"))
    return found
