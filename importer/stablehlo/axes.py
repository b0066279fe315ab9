"""Axes of values: what a dimension of a tensor is, found out by what meets what.

An axis may turn out to be another one, or several that were written as one (`h*d`, where a reshape splits it).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod


class AxisError(Exception):
    """Axes that meet can't be the same."""


class Axis:
    """One axis. It is compared by identity, after `resolved`.

    Attributes:
        size: how long it is.
        repeats: whether it copies a value, as a head of K for several heads of Q: no part of the value that is seen.
    """

    __slots__ = ("parts", "repeats", "same", "size")

    def __init__(self, size: int, *, repeats: bool = False) -> None:
        self.size, self.repeats = size, repeats
        self.same: Axis | None = None
        self.parts: tuple[Axis, ...] = ()

    def __repr__(self) -> str:
        return f"Axis({self.size})"


def resolved(axes: Iterable[Axis]) -> list[Axis]:
    """What axes are, as far as is known: split ones as their parts."""
    found: list[Axis] = []
    for axis in axes:
        while axis.same is not None:
            axis = axis.same
        found += resolved(axis.parts) if axis.parts else [axis]
    return found


def unify(one: Iterable[Axis], other: Iterable[Axis], *, heads: bool = False) -> None:
    """Make two sequences of axes the same; where they are cut differently, both are split.

    Args:
        heads: a repeating axis of `other` meets an axis of `one` without being it.

    Raises:
        AxisError: they can't be.
    """
    left, right = resolved(one), resolved(other)
    while left and right:
        a, b = left.pop(0), right.pop(0)
        if a is b:
            continue
        if a.size == b.size:
            if a.repeats != b.repeats and not heads:
                raise AxisError
            if a.repeats == b.repeats:
                b.same = a
        elif a.size > b.size:
            left = [*split(a, b.size), *left]
            right.insert(0, b)
        else:
            right = [*split(b, a.size), *right]
            left.insert(0, a)
    if left or right:
        raise AxisError


def split(axis: Axis, first: int) -> tuple[Axis, Axis]:
    """Split an axis into one of a size and the rest, which is the faster one.

    Raises:
        AxisError: the size does not divide it.
    """
    if axis.size % first:
        raise AxisError
    axis.parts = (Axis(first, repeats=axis.repeats), Axis(axis.size // first, repeats=axis.repeats))
    return axis.parts[0], axis.parts[1]


def regrouped(axes: Iterable[Axis], shape: Sequence[int]) -> tuple[tuple[Axis, ...], ...]:
    """The axes of each dimension of a shape that has the same elements in the same order.

    Raises:
        AxisError: an axis would be cut in a way that it can't be.
    """
    rest = [axis for axis in resolved(axes) if axis.size > 1]
    found = []
    for size in shape:
        dimension: list[Axis] = []
        while prod(axis.size for axis in dimension) < size:
            if not rest:
                raise AxisError
            axis = rest.pop(0)
            left = size // prod(a.size for a in dimension)
            if axis.size > left:
                axis, behind = split(axis, left)
                rest.insert(0, behind)
            dimension.append(axis)
        if prod(axis.size for axis in dimension) != size:
            raise AxisError
        found.append(tuple(dimension))
    if rest:
        raise AxisError
    return tuple(found)
