"""Arrays of integers that cannot wrap: the type of each result is chosen by bounds that are Python integers.

A `Whole` knows two numbers between which all of its elements are. Before an operation is done, `_type` asks whether its result, between
the bounds that follow, fits 64 bits: if not, the elements are Python integers. There is no other place where a type is chosen.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

SMALLEST, LARGEST = -(2**63), 2**63 - 1
"""What 64 bits hold."""

Bounds = tuple[int, int]


class Whole:
    """Integers in an array, as int64 or as Python integers, none of them below `low` or above `high`.

    Axes of length 1 are those that the values do not depend on; arrays of different shapes are broadcast.
    """

    __slots__ = ("high", "low", "values")

    def __init__(self, values: Array, low: int, high: int) -> None:
        self.values, self.low, self.high = values, low, high

    def __add__(self, other: Whole) -> Whole:
        if self is ZERO or other is ZERO:
            return other if self is ZERO else self
        return _done(np.add, self, other, lambda a, b: (a.low + b.low, a.high + b.high))

    def __sub__(self, other: Whole) -> Whole:
        return _done(np.subtract, self, other, lambda a, b: (a.low - b.high, a.high - b.low))

    def __mul__(self, other: Whole) -> Whole:
        if self is ONE or other is ONE:
            return other if self is ONE else self
        return _done(np.multiply, self, other, _products)

    def __neg__(self) -> Whole:
        return ZERO - self

    def __floordiv__(self, other: Whole) -> Whole:
        """Rounded down; no element of the divisor, all of which are positive, is 0."""
        return self if other is ONE else _done(np.floor_divide, self, other, _quotients)

    def maximum(self, other: Whole) -> Whole:
        return _done(np.maximum, self, other, lambda a, b: (max(a.low, b.low), max(a.high, b.high)))

    def minimum(self, other: Whole) -> Whole:
        return _done(np.minimum, self, other, lambda a, b: (min(a.low, b.low), min(a.high, b.high)))

    def divisor_with(self, other: Whole) -> Whole:
        """The greatest common divisor of each pair; the elements of `other` are positive."""
        return _done(np.gcd, self, other, lambda a, b: (1, max(b.high, abs(a.low), abs(a.high))))

    def where(self, chosen: Array, other: Whole) -> Whole:
        """Its elements where `chosen`, those of the other elsewhere."""
        low, high = min(self.low, other.low), max(self.high, other.high)
        type = _type(low, high)
        return Whole(np.where(chosen, self.values.astype(type), other.values.astype(type)), low, high)

    def tight(self) -> Whole:
        """The same with the bounds that its elements have, in the type that these allow."""
        if not self.values.size:
            return ZERO
        low, high = int(self.values.min()), int(self.values.max())
        return Whole(self.values.astype(_type(low, high), copy=False), low, high)


def whole(numbers: list[int]) -> Whole:
    """An array of one axis."""
    low, high = min(numbers), max(numbers)
    return Whole(np.array(numbers, dtype=_type(low, high)), low, high)


def scalar(number: int) -> Whole:
    """One number, in an array without axes."""
    return Whole(np.array(number, dtype=_type(number, number)), number, number)


def _type(low: int, high: int) -> Any:
    """The narrowest type of all integers from `low` to `high`."""
    return np.int64 if low >= SMALLEST and high <= LARGEST else np.object_


def _done(operation: Callable[..., Any], a: Whole, b: Whole, bounds: Callable[[Whole, Whole], Bounds]) -> Whole:
    """The operation in a type that holds both operands and the result."""
    low, high = bounds(a, b)
    if _type(low, high) is not np.int64:
        a, b = a.tight(), b.tight()
        low, high = bounds(a, b)
    type = _type(min(low, a.low, b.low), max(high, a.high, b.high))
    found = operation(a.values.astype(type, copy=False), b.values.astype(type, copy=False))
    result = Whole(np.asarray(found, dtype=type), low, high)
    return result if type is np.int64 else result.tight()


def _products(a: Whole, b: Whole) -> Bounds:
    found = (a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high)
    return min(found), max(found)


def _quotients(a: Whole, b: Whole) -> Bounds:
    least = max(b.low, 1)
    found = (a.low // least, a.low // b.high, a.high // least, a.high // b.high)
    return min(found), max(found)


ZERO = scalar(0)
ONE = scalar(1)
