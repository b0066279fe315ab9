"""A mesh of simulated ranks, and which part of a tensor each of them holds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from math import prod

import attrs
import numpy as np

from bpir.run.call import Array

Axes = tuple[tuple[str, ...], ...]
Ranges = tuple[tuple[int, int], ...]


EXPERT = "expert"
"""The mesh axis whose ranks share experts, and the rows of tokens as their experts lie."""
ROWS = 3
"""The first dimensions of rows: batch, tokens, and the rows of a token."""


@attrs.frozen
class Layout:
    """Where a tensor lies: its sizes, the mesh axes that share each of them, and those over which it is still to be summed.

    Attributes:
        shared: the mesh axes that share its elements, in their order and in equal parts, whatever its dimensions.
    """

    dims: tuple[int, ...]
    axes: Axes
    unreduced: tuple[str, ...] = ()
    shared: tuple[str, ...] = ()

    @property
    def with_experts(self) -> bool:
        """Whether its rows lie where their experts do: they are counted over batch, tokens and rows, and dealt out one by one."""
        return len(self.axes) >= ROWS and EXPERT in self.axes[ROWS - 1]

    def among(self, replicas: Mapping[str, int]) -> Layout:
        """The layout over all replicas, each of which has its own part of the first dimension: the axes with their sizes, in mesh order."""
        first, *axes = self.axes
        own = tuple(axis for axis in replicas if axis not in first)
        count = prod(replicas[axis] for axis in own)
        return Layout((self.dims[0] * count, *self.dims[1:]), ((*own, *first), *axes), self.unreduced, self.shared)


@attrs.frozen(eq=False)
class Mesh:
    """Ranks by their coordinates, the last axis running fastest.

    Attributes:
        resized: whether a dimension of the model may have another size on the ranks, so that they divide it.
        rows: the numbers of rows of the model's tables: these are padded with zeros; heads are copied.
    """

    sizes: Mapping[str, int]
    resized: bool = False
    rows: frozenset[int] = frozenset()

    @property
    def ranks(self) -> range:
        return range(prod(self.sizes.values()))

    def coordinates(self, rank: int) -> dict[str, int]:
        found = {}
        for axis, size in reversed(list(self.sizes.items())):
            rank, found[axis] = divmod(rank, size)
        return found

    def group(self, rank: int, axes: Iterable[str]) -> list[int]:
        """The ranks that differ from a rank in these axes only, itself included."""
        own, free = self.coordinates(rank), tuple(axes)
        found = []
        for places in product(*(range(self.sizes[axis]) for axis in free)):
            found.append(self._rank({**own, **dict(zip(free, places, strict=True))}))
        return sorted(found)

    def _rank(self, coordinates: Mapping[str, int]) -> int:
        rank = 0
        for axis, size in self.sizes.items():
            rank = rank * size + coordinates[axis]
        return rank

    def place(self, rank: int, axes: Iterable[str]) -> tuple[int, int]:
        """The number of parts into which axes share a dimension, the first axis running slowest, and a rank's own part."""
        own = self.coordinates(rank)
        parts, place = 1, 0
        for axis in axes:
            parts, place = parts * self.sizes[axis], place * self.sizes[axis] + own[axis]
        return parts, place

    def ranges(self, layout: Layout, rank: int) -> Ranges:
        """The first and last index, of each dimension, of a rank's part; of its elements where these are shared.

        Raises:
            ValueError: a dimension has no equal parts.
        """
        found = self._blocks(layout, rank)
        if not layout.shared:
            return found
        parts, place = self.place(rank, layout.shared)
        count = -(-prod(end - start for start, end in found) // parts)
        return ((place * count, (place + 1) * count),)

    def _blocks(self, layout: Layout, rank: int) -> Ranges:
        found = []
        dims, axes = layout.dims, layout.axes
        if layout.with_experts:
            replicas, _ = self.place(rank, axes[0])  # each has rows of its own
            dims, axes = (1, 1, prod(dims[:ROWS]) // replicas, *dims[ROWS:]), ((), (), (EXPERT,), *axes[ROWS:])
        for index, (size, names) in enumerate(zip(dims, axes, strict=True)):
            parts, place = self.place(rank, names)
            if size % parts:
                raise ValueError(f"a dimension of {size} has no {parts} equal parts")
            dealt = layout.with_experts and index == ROWS - 1
            found.append((0, size // parts) if dealt else (place * (size // parts), (place + 1) * (size // parts)))
        return tuple(found)

    def with_experts(self, layout: Layout, rank: int) -> tuple[int, int]:
        """Of rows that lie where their experts do, the number of the rank's first and how many ranks share them; of others 0 and 0."""
        parts, place = self.place(rank, (EXPERT,)) if layout.with_experts else (0, 0)
        replicas, own = self.place(rank, layout.axes[0]) if layout.with_experts else (1, 0)
        return own * (prod(layout.dims[:ROWS]) // replicas) + place, parts

    def fitted(self, array: Array, axes: Axes) -> Array:
        """A whole array of the model with the sizes that the ranks divide."""
        for dimension, (size, names) in enumerate(zip(array.shape, axes, strict=True) if self.resized else ()):
            if EXPERT in names:
                continue  # it divides what it shares
            parts, _ = self.place(0, names)
            wanted = -(-size // parts) * parts
            if size in self.rows or wanted % size:
                padding = [(0, wanted - size if index == dimension else 0) for index in range(array.ndim)]
                array = np.pad(array, padding)
            else:
                array = np.repeat(array, wanted // size, axis=dimension)
        return array

    def rows_of(self, size: int, axes: Sequence[str]) -> int:
        """The number of places along a dimension that are no padding."""
        parts, _ = self.place(0, axes)
        return next((rows for rows in sorted(self.rows) if self.resized and -(-rows // parts) * parts == size), size)

    def cut(self, array: Array, layout: Layout, rank: int) -> Array:
        """A rank's part of a whole array."""
        if layout.with_experts:
            parts, place = self.place(rank, (EXPERT,))
            replicas, own = self.place(rank, layout.axes[0])
            array = np.split(array, replicas)[own].reshape(1, 1, -1, *array.shape[ROWS:])[:, :, place::parts]
        block = array[tuple(slice(*ends) for ends in self._blocks(layout, rank))]
        return share(block, *self.place(rank, layout.shared)) if layout.shared else block

    def summed(self, arrays: Sequence[Array], layout: Layout, rank: int, maximum: bool = False) -> Array:
        """A rank's part with what other ranks add to it; or the maximum of both."""
        if not layout.unreduced:
            return arrays[rank]
        return total([arrays[other] for other in self.group(rank, layout.unreduced)], maximum)

    def first(self, rank: int, axes: Iterable[str]) -> bool:
        """Whether the rank is the first along each of the axes."""
        own = self.coordinates(rank)
        return all(own[axis] == 0 for axis in axes)


def share(array: Array, parts: int, place: int) -> Array:
    """One of equal parts of the elements of an array, in their order; zeros fill the last."""
    count = -(-array.size // parts)
    return np.pad(array.ravel(), (0, parts * count - array.size))[place * count : (place + 1) * count]


def total(parts: Sequence[Array], maximum: bool) -> Array:
    """The sum of parts, or their maximum."""
    return np.asarray(np.maximum.reduce(parts) if maximum else sum(parts))
