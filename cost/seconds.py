"""Seconds as an estimate: a number, and the least and the most that the evidence allows."""

from __future__ import annotations

from collections.abc import Iterable

import attrs


@attrs.frozen
class Range:
    """A figure: what is expected, and between which numbers it is; all three are the same where nothing is known of that."""

    value: float
    least: float
    most: float

    @classmethod
    def exactly(cls, value: float) -> Range:
        return cls(value, value, value)

    def __mul__(self, other: Range) -> Range:
        return Range(self.value * other.value, self.least * other.least, self.most * other.most)


@attrs.frozen
class Seconds:
    """An estimate; sums and multiples of estimates are estimates."""

    value: float = 0.0
    least: float = 0.0
    most: float = 0.0

    def __add__(self, other: Seconds) -> Seconds:
        return Seconds(self.value + other.value, self.least + other.least, self.most + other.most)

    def __sub__(self, other: Seconds) -> Seconds:
        return Seconds(self.value - other.value, self.least - other.most, self.most - other.least)

    def times(self, factor: float) -> Seconds:
        """A multiple by a number that is not negative."""
        return Seconds(self.value * factor, self.least * factor, self.most * factor)

    def or_longer(self, other: Seconds) -> Seconds:
        """The longer of two things that are done at once."""
        return Seconds(max(self.value, other.value), max(self.least, other.least), max(self.most, other.most))

    @property
    def known(self) -> bool:
        """Whether it is one number."""
        return self.least == self.value == self.most


def at_rate(amount: float, rate: Range) -> Seconds:
    """The time of an amount at a rate."""
    return Seconds(amount / rate.value, amount / rate.most, amount / rate.least)


def in_all(parts: Iterable[Seconds]) -> Seconds:
    """The sum."""
    found = Seconds()
    for part in parts:
        found = found + part
    return found


NONE = Seconds()
