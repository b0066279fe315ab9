"""Does a region hold its buffers? It does, it does not (by how much), or it can't be told (what a binding or a relation is missing of)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from bpir.dialects.concrete.envelope import Buffer, Region
from bpir.ir.diagnostic import Diagnostic, note
from bpir.ir.expression import Expr, constant, symbol
from bpir.ir.expression_intervals import Interval, interval
from bpir.ir.relations import Facts
from bpir.verifiers.contract import taken
from bpir.verifiers.rules import Findings

_LARGEST = 4  # buffers that a diagnostic names


def verify_capacity(findings: Findings, rule: str, region: Region, held: Sequence[Buffer]) -> None:
    """Refuse a region unless the end of its last buffer is proved to be within its size. Buffers are in the order of their offsets.

    A region without a size claims nothing.
    """
    if not region.says(Region.size) or not held:
        return
    size, end = region.size, held[-1].offset + _taken(held[-1])
    if findings.facts.at_least(size, end).proved:
        return
    limits = _limits(findings.facts)
    largest = interval(end - size, limits)[1]
    if largest is not None and largest <= 0:
        return
    numbers = {name: constant(value) for name, value in findings.facts.bindings.items()}
    excess = (end - size).substitute(numbers)
    what = f"the buffers in @{region.symbol}"
    if excess.integer is not None or findings.facts.greater(end, size).proved:
        needed, there = end.substitute(numbers).text, size.substitute(numbers).text
        message = f"{what} do not fit: they need {needed} bytes, there are {there}, {excess.text} too few"
        findings.refuse(rule, region, message, *_largest(held, numbers), *_first_beyond(findings, held, size))
        return
    names = _unlimited(excess, limits)
    free = ", ".join(names)
    message = f"that {what} fit can't be decided (unknown is not success): it depends on {free}"
    help = note(f"bind {free} to numbers (bp.bind, or bind-symbols), or declare upper bounds, such as '4096 > {names[0]}'")
    findings.refuse(rule, region, message, help, *_open(held, numbers), undecided=True)


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
    found: dict[str, Interval] = {name: (Fraction(value), Fraction(value)) for name, value in facts.bindings.items()}
    for relation in facts.relations:
        if relation.kind != "greater":
            continue
        left, right = relation.left, relation.right
        for limited, limit, above in ((right, left.constant, True), (left, right.constant, False)):
            name = limited.symbols[0] if len(limited.symbols) == 1 else ""
            if limit is not None and name and limited is symbol(name) and name not in facts.bindings:
                found[name] = _narrowed(found.get(name, (None, None)), limit, above)
    return found


def _narrowed(known: Interval, limit: Fraction, above: bool) -> Interval:
    """What is left of the interval of an integer that is below a limit (`above`), or above it."""
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
