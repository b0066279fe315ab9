"""Does a region hold its buffers? It does, it does not (by how much), or it can't be told (what a binding or a relation is missing of)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

from bpir.dialects.concrete.envelope import Buffer, Region
from bpir.ir.diagnostic import Diagnostic, note
from bpir.ir.expressions.expression import Expr, constant
from bpir.ir.expressions.intervals import Interval, interval
from bpir.ir.records import Record
from bpir.ir.relations.facts import Facts, Relation
from bpir.verifiers.binding.layout_and_fingerprints import taken
from bpir.verifiers.findings import Findings

_LARGEST = 4  # buffers that a diagnostic names


def verify_capacity(findings: Findings, rule: str, region: Region, held: Sequence[Buffer]) -> None:
    """Refuse a region unless the end of its last buffer is proved to be within its size. Buffers are in the order of their offsets.

    A region without a size claims nothing.
    """
    if not region.says(Region.size) or not held:
        return
    size, end = region.size, held[-1].offset + _taken(held[-1])
    room = Room.of(findings.facts, end, size)
    what = f"the buffers in @{region.symbol}"
    if room.fits is False:
        message = f"{what} do not fit: they need {room.needed.text} bytes, there are {room.there.text}, {room.excess.text} too few"
        findings.refuse(rule, region, message, *_largest(held, room.numbers), *_first_beyond(findings, held, size))
    elif room.fits is None:
        message = f"that {what} fit can't be decided (unknown is not success): it depends on {', '.join(room.free)}"
        findings.refuse(rule, region, message, room.help(), *_open(held, room.numbers), undecided=True)


class Room(metaclass=Record):
    """Whether so many bytes fit into others.

    Attributes:
        fits: None where that is not decided.
        free: the symbols on which it depends then.
    """

    fits: bool | None
    needed: Expr
    there: Expr
    free: tuple[str, ...]
    numbers: dict[str, Expr]

    @property
    def excess(self) -> Expr:
        """The bytes that are too few."""
        return self.needed - self.there

    @classmethod
    def of(cls, facts: Facts, needed: Expr, there: Expr) -> Room:
        """The answer that the facts give: by a proof, by the limits of symbols, or in numbers."""
        numbers = {name: constant(value) for name, value in facts.bindings.items()}
        limits = _limits(facts)
        excess = (needed - there).substitute(numbers)
        fits: bool | None = _never_positive(needed - there, limits) or facts.at_least(there, needed).proved or None
        if fits is None and (excess.integer is not None or facts.greater(needed, there).proved):
            fits = False
        free = tuple(_unlimited(excess, limits)) if fits is None else ()
        return cls(fits, needed.substitute(numbers), there.substitute(numbers), free, numbers)

    def help(self) -> Diagnostic:
        """A note on the facts that would decide it."""
        free = ", ".join(self.free)
        return note(f"bind {free} to numbers (bp.bind, or bind-symbols), or declare upper bounds, such as '4096 > {self.free[0]}'")


def _never_positive(excess: Expr, limits: Mapping[str, Interval]) -> bool:
    """Whether an expression is at most 0 within the limits of its symbols."""
    largest = interval(excess, limits)[1]
    return largest is not None and largest <= 0


def _unlimited(excess: Expr, limits: Mapping[str, Interval]) -> list[str]:
    """The symbols without an upper bound; all, if each has one."""
    return [name for name in excess.symbols if name not in limits or limits[name][1] is None] or list(excess.symbols)


def _open(held: Sequence[Buffer], numbers: dict[str, Expr]) -> list[Diagnostic]:
    """The buffers whose size is no number."""
    found = [b for b in held if _taken(b).substitute(numbers).constant is None]
    return [note(f"the size is open of {', '.join(f'@{b.symbol}' for b in found)}", found[0].span)] if found else []


def _taken(buffer: Buffer) -> Expr:
    """The bytes of all repetitions of a buffer."""
    return taken(buffer.size, buffer.times, buffer.alignment)


def _limits(facts: Facts) -> dict[str, Interval]:
    """Between which numbers each symbol is declared to be: by its number, or by relations such as `4096 > c` and `t > 1`."""
    bound: dict[str, Interval] = {name: (Fraction(value), Fraction(value)) for name, value in facts.bindings.items()}
    found = dict(bound)
    for relation in facts.relations:
        for name, limit, above in _limit(relation):
            if name not in bound:
                found[name] = _narrowed(found.get(name, (None, None)), limit, above)
    return found


def _limit(relation: Relation) -> Iterator[tuple[str, Fraction, bool]]:
    """The symbol that a relation such as `4096 > c` limits, with the number, and whether that is above it."""
    if relation.kind == "greater":
        left, right = relation.left, relation.right
        for limited, limit, above in ((right, left.constant, True), (left, right.constant, False)):
            if limit is not None and limited.symbols == (limited.text,):
                yield limited.text, limit, above


def _narrowed(known: Interval, limit: Fraction, above: bool) -> Interval:
    """The part of the interval of an integer that is below a limit (`above`), or above it."""
    low, high = known
    if above:
        below = Fraction(limit.__ceil__() - 1)
        return low, below if high is None else min(high, below)
    return max(low or Fraction(1), Fraction(limit.__floor__() + 1)), high


def _largest(held: Sequence[Buffer], numbers: dict[str, Expr]) -> list[Diagnostic]:
    """The buffers that take the most, where their sizes are numbers."""
    sizes = [(_taken(b).substitute(numbers).integer, b) for b in held]
    known = sorted(((size, b) for size, b in sizes if size is not None), key=lambda pair: -pair[0])
    return [note(f"@{buffer.symbol} takes {size} bytes", buffer.span) for size, buffer in known[:_LARGEST]]


def _first_beyond(findings: Findings, held: Sequence[Buffer], size: Expr) -> list[Diagnostic]:
    for buffer in held:
        if findings.facts.greater(buffer.offset + _taken(buffer), size).proved:
            return [note(f"@{buffer.symbol} is the first that ends beyond it", buffer.span)]
    return []
