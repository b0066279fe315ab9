"""Whether the ranks' parts of a value are those of the value that the model has."""

from __future__ import annotations

from collections.abc import Sequence

import attrs
import numpy as np

from bpir.run.call import Array
from bpir.run.ranks.mesh import Layout, Mesh

TOLERANCE = 1e-9


@attrs.frozen
class Mismatch:
    """The first element that differs: on which rank, at which place of the whole tensor, what it is and should be."""

    rank: int
    place: tuple[int, ...]
    found: float
    expected: float


def compare(
    mesh: Mesh, arrays: Sequence[Array], layout: Layout, expected: Array, floor: float, maximum: bool = False
) -> tuple[float, Mismatch | None]:
    """The largest difference relative to the largest element, at least `floor`, and the first element that differs too much."""
    largest = 0.0
    scale = max(float(np.max(np.abs(expected))), floor)
    for rank in mesh.ranks:
        found = mesh.summed(arrays, layout, rank, maximum)
        part = mesh.cut(expected, layout, rank)
        difference = np.abs(np.subtract(found, part, dtype=float)) / scale
        difference[np.isnan(difference)] = np.inf
        largest = max(largest, float(difference.max()))
        if largest > TOLERANCE:
            index = tuple(int(i) for i in np.unravel_index(int(np.argmax(difference > TOLERANCE)), difference.shape))
            starts = (start for start, _ in mesh.ranges(layout, rank))
            place = tuple(i + start for i, start in zip(index, starts, strict=True))
            return largest, Mismatch(rank, place, float(found[index]), float(part[index]))
    return largest, None
