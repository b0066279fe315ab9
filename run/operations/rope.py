"""Positions of tokens as rotations."""

from __future__ import annotations

import numpy as np

from bpir.run.call import Array, Call
from bpir.run.operations.base import Semantics

BASE = 10_000.0
"""Of the angles: pair `i` of `n/2` turns by `BASE**(-2i/n)` a position (Su et al. 2021, section 3.3)."""


def rotated(x: Array, positions: Array, dims: int, sign: int) -> Array:
    """`x` with the pairs `(i, i + n/2)` of the first `dims` elements of its last dimension turned by the positions of its tokens."""
    half = dims // 2
    angles = sign * np.outer(positions, BASE ** (-np.arange(half) / max(half, 1)))
    angles = angles.reshape(len(positions), *[1] * (x.ndim - 3), half)
    first, second, rest = x[..., :half], x[..., half : 2 * half], x[..., 2 * half :]
    turned = (first * np.cos(angles) - second * np.sin(angles), second * np.cos(angles) + first * np.sin(angles))
    return np.concatenate((*turned, rest), axis=-1)


class Rope(Semantics):
    """Turns each operand by the positions of its tokens; its gradient turns back, and reads dY only (Su et al. 2021, equation 34)."""

    kind = "rope"
    lanes = True
    in_place = (0,)

    def forward(self, call: Call) -> list[Array]:
        return self._all(call, 1)

    def gradient(self, call: Call) -> list[Array]:
        return self._all(call, -1)

    @staticmethod
    def _all(call: Call, sign: int) -> list[Array]:
        arrays = [call.read(index) for index in range(len(call.operands))]
        sizes = [call.sizes.get("dims", array.shape[-1]) for array in arrays]
        return [rotated(array, call.positions(i), size, sign) for i, (array, size) in enumerate(zip(arrays, sizes, strict=True))]
