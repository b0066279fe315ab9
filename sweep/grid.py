"""What `--grid` says: the names that are swept, and the values of each, in order.

    t=1,2,4,8    p=1..16    t=divisors:96    n=powers:64    recompute=none,full    D=..

`divisors:96` are all numbers that divide it, `powers:64` the powers of two up to it. `D=..` is as far as a `--where` bounds it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import isqrt

import attrs

from bpir.ir.diagnostic import Source, Span, fail
from bpir.passes.pipeline import command_line

MOST_VALUES = 1_000_000
"""Of one axis."""

_AXIS = re.compile(r"([A-Za-z_]\w*)=(.+)", re.ASCII | re.DOTALL)
_NUMBER = re.compile(r"[0-9]{1,18}", re.ASCII)
_RANGE = re.compile(r"([0-9]{1,18})\.\.([0-9]{1,18})", re.ASCII)
_SERIES = re.compile(r"(divisors|powers):([0-9]{1,18})", re.ASCII)
_WORD = re.compile(r"[A-Za-z_]\w*", re.ASCII)


@attrs.frozen
class Axis:
    """A swept name, its values as numbers or words (none for `..`), and where it is written."""

    name: str
    values: tuple[int | str, ...]
    span: Span = attrs.field(eq=False)

    @property
    def open(self) -> bool:
        """Whether its values follow from a condition."""
        return not self.values

    @property
    def numbers(self) -> tuple[int, ...]:
        """Its values, if all are numbers."""
        found = tuple(value for value in self.values if isinstance(value, int))
        return found if len(found) == len(self.values) else ()


def parse_grid(texts: Sequence[str]) -> list[Axis]:
    """The axes, in order.

    Raises:
        DiagnosticError: a text is no axis, a name stands twice, or there is no value, or one twice.
    """
    found: dict[str, Axis] = {}
    for text in texts:
        axis = _axis(command_line(f"--grid {text}"), len("--grid "))
        if axis.name in found:
            raise fail(f"'{axis.name}' is swept twice", axis.span)
        found[axis.name] = axis
    return list(found.values())


def _axis(source: Source, start: int) -> Axis:
    match = _AXIS.fullmatch(source.text, start)
    if match is None:
        raise fail("expected NAME=VALUES, such as t=1,2,4 or B=1..64", Span(source, start, len(source.text)))
    span = Span(source, match.start(), match.end())
    if match[2] == "..":
        return Axis(match[1], (), span)
    values: list[int | str] = []
    place = match.start(2)
    for item in match[2].split(","):
        values += _values(item, Span(source, place, place + len(item)))
        place += len(item) + 1
    repeated = next((value for value in values if values.count(value) > 1), None) if len(values) < 1_000 else None
    if repeated is not None or len(set(values)) < len(values):
        raise fail(f"a value of '{match[1]}' stands twice" + (f": {repeated}" if repeated is not None else ""), span)
    if len({type(value) for value in values}) > 1:
        raise fail(f"'{match[1]}' has words and numbers", span)
    return Axis(match[1], tuple(values), span)


def _values(item: str, span: Span) -> list[int] | list[str]:
    """The values that one item of a list says."""
    if _NUMBER.fullmatch(item):
        first = last = int(item)
    elif match := _RANGE.fullmatch(item):
        first, last = int(match[1]), int(match[2])
    elif match := _SERIES.fullmatch(item):
        return _series(match[1], int(match[2]), span)
    elif _WORD.fullmatch(item):
        return [item]
    else:
        raise fail(f"'{item}' is no value: expected a number, 1..64, divisors:96, powers:64 or a word", span)
    if last < first:
        raise fail(f"the range {item} is empty", span)
    if last - first >= MOST_VALUES:
        raise fail(f"an axis has at most {MOST_VALUES} values, and {item} has {last - first + 1}", span)
    return list(range(first, last + 1))


def _series(kind: str, number: int, span: Span) -> list[int]:
    if not number:
        raise fail(f"'{kind}:' needs a positive number", span)
    return divisors(number) if kind == "divisors" else [2**k for k in range(number.bit_length())]


def divisors(number: int) -> list[int]:
    """All positive numbers that divide a positive one, ascending."""
    if number > MOST_VALUES**2:
        number_text = f"{number:,}"
        raise fail(f"the divisors of {number_text} are not looked for: it is above {MOST_VALUES**2:,}", None)
    small = [k for k in range(1, isqrt(number) + 1) if number % k == 0]
    return small + [number // k for k in reversed(small) if k * k != number]
