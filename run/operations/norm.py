"""Normalisations over the feature axes, whose weights are vectors of the features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from bpir.dialects.model.rules.reads import operand
from bpir.run.call import Array, Call
from bpir.run.operations.base import TOKEN_RANK, Semantics, T

EPSILON = 1e-5


def _mean(array: Array, kept: int) -> Array:
    """The mean over all but the first dimensions, kept as dimensions of size 1."""
    return np.asarray(array.mean(axis=tuple(range(kept, array.ndim)), keepdims=True))


def _kept(call: Call, index: int) -> int:
    """The number of an operand's dimensions that have statistics of their own: batch and tokens, and the heads if the norm is over the head
    size.
    """
    return call.operands[index].array.ndim - 1 if "over" in call.says else TOKEN_RANK


class Normalization(Semantics):
    """`y = gamma * n` for the normalised `n`; a layer norm centres and adds beta. Over the features, or the last dimension."""

    vectors: ClassVar[int] = 1
    centred: ClassVar[bool] = False
    in_place = (0,)
    gradient_reads = (operand(0),)
    weight_gradient_reads = (operand(0),)

    def weight_dims(self, x: Sequence[T], y: Sequence[T], says: frozenset[str], own: Sequence[T] = ()) -> tuple[tuple[T, ...], ...]:
        return (tuple(x[-1:] if "over" in says and "per_head" not in says else x[TOKEN_RANK:]),) * self._kept_vectors(says)

    def _kept_vectors(self, says: frozenset[str]) -> int:
        return 0 if "no_weights" in says else self.vectors - ("no_beta" in says)

    def _normalised(self, x: Array, kept: int) -> tuple[Array, Array]:
        """The normalised operand, and what it was multiplied with."""
        if self.centred:
            x = x - _mean(x, kept)
        scale = 1 / np.sqrt(_mean(x * x, kept) + EPSILON)
        return x * scale, scale

    def forward(self, call: Call) -> list[Array]:
        result, _ = self._normalised(call.read(0), _kept(call, 0))
        vectors = self._kept_vectors(call.says)
        if vectors:
            result = result * call.weight(0)
        return [result + call.weight(1) if vectors > 1 else result]

    def gradient(self, call: Call) -> list[Array]:
        kept = _kept(call, 0)
        dy, (normalised, scale) = call.read(0), self._normalised(call.read(1), kept)
        if self._kept_vectors(call.says):
            dy = dy * call.weight(0)
        inner = dy - normalised * _mean(dy * normalised, kept)
        return [scale * (inner - _mean(dy, kept) if self.centred else inner)]

    def weight_gradient(self, call: Call) -> list[Array]:
        kept = _kept(call, 0)
        dy, (normalised, _) = call.read(0), self._normalised(call.read(1), kept)
        summed = tuple(range(TOKEN_RANK if "per_head" in call.says else kept))
        gradients = [np.asarray(array.sum(axis=summed)) for array in (dy * normalised, dy)]
        return gradients[: self._kept_vectors(call.says)]


class LayerNorm(Normalization):
    """Ba et al. 2016."""

    kind = "layer_norm"
    vectors = 2
    centred = True


class RmsNorm(Normalization):
    """Zhang and Sennrich 2019."""

    kind = "rms_norm"
