"""What collectives do, each with real exchange between the ranks' arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import attrs
import numpy as np

from bpir.run.call import Array
from bpir.run.mesh import Layout, Mesh


@attrs.frozen(eq=False)
class Exchange:
    """One collective: the arrays of all ranks, their layouts before and after, the mesh axes that take part."""

    mesh: Mesh
    arrays: Sequence[Array]
    before: Layout
    after: Layout
    axes: tuple[str, ...]

    def total(self, rank: int) -> Array:
        """The sum over the ranks that take part."""
        return np.asarray(sum(self.arrays[other] for other in self.mesh.group(rank, self.axes)))


def all_reduce(exchange: Exchange, rank: int) -> Array:
    """Every rank gets the sum."""
    return exchange.total(rank)


def reduce_scatter(exchange: Exchange, rank: int) -> Array:
    """Every rank gets its part of the sum."""
    whole = exchange.mesh.ranges(exchange.before, rank)
    part = exchange.mesh.ranges(exchange.after, rank)
    return exchange.total(rank)[tuple(slice(a - start, b - start) for (a, b), (start, _) in zip(part, whole, strict=True))]


def all_gather(exchange: Exchange, rank: int) -> Array:
    """Every rank gets the parts of all; what no rank has is NaN."""
    whole = exchange.mesh.ranges(exchange.after, rank)
    result = np.full([b - a for a, b in whole], np.nan)
    for other in exchange.mesh.group(rank, exchange.axes):
        part = exchange.mesh.ranges(exchange.before, other)
        result[tuple(slice(a - start, b - start) for (a, b), (start, _) in zip(part, whole, strict=True))] = exchange.arrays[other]
    return result


COLLECTIVES: dict[str, tuple[Callable[[Exchange, int], Array], bool]] = {
    "all_reduce": (all_reduce, False),
    "reduce_scatter": (reduce_scatter, False),
    "all_gather": (all_gather, True),
}
"""By kind: what a rank gets, and whether the message is the whole result (else the whole operand)."""
