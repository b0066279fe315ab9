"""Collectives as real exchanges between the ranks' arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

import attrs
import numpy as np

from bpir.run.call import Array
from bpir.run.ranks.mesh import Layout, Mesh, share, total


@attrs.frozen(eq=False)
class Exchange:
    """One collective: the arrays of all ranks, and for each dimension the mesh axes that it gathers, scatters or (the first) sums.

    Attributes:
        maximum: whether it takes the maximum, not the sum.
        layouts: how its operand and its result lie.
        elements: whether it gathers or scatters equal parts of the elements, whatever the dimensions.
    """

    mesh: Mesh
    arrays: Sequence[Array]
    axes: tuple[tuple[str, ...], ...]
    maximum: bool = False
    layouts: Sequence[Layout] = ()
    elements: bool = False

    def total(self, rank: int) -> Array:
        """The sum over the ranks that take part."""
        taking_part = [axis for axes in self.axes for axis in axes]
        return total([self.arrays[other] for other in self.mesh.group(rank, taking_part)], self.maximum)


def all_reduce(exchange: Exchange, rank: int) -> Array:
    """Every rank gets the sum."""
    return exchange.total(rank)


def reduce_scatter(exchange: Exchange, rank: int) -> Array:
    """Every rank gets its part of the sum."""
    result = exchange.total(rank)
    if exchange.elements:
        return share(result, *exchange.mesh.place(rank, exchange.axes[0]))
    for dimension, axes in enumerate(exchange.axes):
        parts, place = exchange.mesh.place(rank, axes)
        if parts > 1:
            result = np.split(result, parts, axis=dimension)[place]
    return result


def all_gather(exchange: Exchange, rank: int) -> Array:
    """Every rank gets the parts of all, one behind the other."""
    if exchange.elements:
        whole = [end - start for start, end in exchange.mesh.ranges(exchange.layouts[1], rank)]
        return _gathered(exchange, rank, 0)[: prod(whole)].reshape(whole)
    return _gathered(exchange, rank, len(exchange.axes) - 1)


def _gathered(exchange: Exchange, rank: int, dimension: int) -> Array:
    """The rank's array, gathered along a dimension and those before it."""
    if dimension < 0:
        return exchange.arrays[rank]
    group = exchange.mesh.group(rank, exchange.axes[dimension])
    ordered = sorted(group, key=lambda other: exchange.mesh.place(other, exchange.axes[dimension])[1])
    return np.concatenate([_gathered(exchange, other, dimension - 1) for other in ordered], axis=dimension)


def all_to_all(exchange: Exchange, rank: int) -> Array:
    """Every rank gets what belongs to it now from the parts of all."""
    mesh, (before, after) = exchange.mesh, exchange.layouts
    numbers = np.arange(prod(before.dims)).reshape(before.dims)
    whole = np.full(before.dims, np.nan, exchange.arrays[rank].dtype)
    for other in mesh.group(rank, [axis for axes in exchange.axes for axis in axes]):
        whole.flat[mesh.cut(numbers, before, other).reshape(-1)] = exchange.arrays[other].reshape(-1)
    return mesh.cut(whole, after, rank)


COLLECTIVES: dict[str, tuple[Callable[[Exchange, int], Array], bool]] = {
    "all_reduce": (all_reduce, False),
    "reduce_scatter": (reduce_scatter, False),
    "all_gather": (all_gather, True),
    "all_to_all": (all_to_all, False),
}
"""By kind: what a rank gets, and whether the message is the whole result (else the whole operand)."""
