"""The figures of a machine: rates, curves of efficiency, networks, measured tasks. Each knows where it is from."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import attrs

from bpir.cost.seconds import Range, Seconds, at_rate
from bpir.cost.toml_text import View
from bpir.ir.diagnostic import Span, fail


@attrs.frozen
class Evidence:
    """Where a figure is from: the file and line, and whose measurement it is, if that is said."""

    place: str
    what: str
    source: str = ""
    date: str = ""

    @property
    def text(self) -> str:
        said = ", ".join(part for part in (self.source, self.date) if part)
        return f"{self.what} ({self.place}{f'; {said}' if said else ''})"


@attrs.frozen(eq=False)
class Curve:
    """An efficiency by size: entries from the largest bound down, of which the first that a size reaches holds."""

    entries: tuple[tuple[Fraction, Range], ...]
    evidence: Evidence
    span: Span

    def at(self, size: Fraction) -> Range:
        """The efficiency for a size.

        Raises:
            DiagnosticError: the curve says nothing of one so small.
        """
        for bound, efficiency in self.entries:
            if size >= bound:
                return efficiency
        raise fail(f"the curve has no entry for {float(size):g}: its last one begins at {float(self.entries[-1][0]):g}", self.span)


@attrs.frozen(eq=False)
class Rate:
    """So much a second at most, and the share of it that is reached."""

    peak: Range
    efficiency: Curve
    evidence: Evidence

    def seconds(self, amount: Fraction) -> Seconds:
        """How long an amount takes."""
        return at_rate(float(amount), self.peak * self.efficiency.at(amount)) if amount else Seconds()


@attrs.frozen(eq=False)
class Tier:
    """A network between devices."""

    number: int
    devices: int
    rate: Rate
    latency: float
    wire: Mapping[str, tuple[Fraction, Fraction]]
    view: View

    def seconds(self, kind: str, message: Fraction, ranks: int) -> Seconds:
        """How long a collective takes on the network.

        Raises:
            DiagnosticError: the tier does not say what the collective moves.
        """
        if not message:
            return Seconds()
        if kind not in self.wire:
            raise fail(f"'{kind}' is missing in {self.view.title}: a plan has one on tier {self.number}", self.view.place())
        factor, share = self.wire[kind]
        moved = message * factor + message * factor / ranks * share
        time = at_rate(float(moved), self.rate.peak * self.rate.efficiency.at(message))
        return Seconds(self.latency + time.value, self.latency + time.least, self.latency + time.most)


@attrs.frozen(eq=False)
class Measured:
    """A task that was measured: of this kind, with exactly this work."""

    kind: str
    operations: Fraction
    bytes: Fraction
    message: Fraction
    ranks: int
    seconds: Seconds
    evidence: Evidence
    span: Span

    @property
    def key(self) -> tuple[object, ...]:
        return (self.kind, self.operations, self.bytes, self.message, self.ranks)
