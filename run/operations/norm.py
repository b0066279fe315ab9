"""Normalisations over the feature axes, whose weights are vectors of the features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from bpir.run.call import Array, Call
from bpir.run.operations.base import TOKEN_RANK, Semantics, T

EPSILON = 1e-5


def _mean(array: Array) -> Array:
    """The mean over the features, kept as dimensions of size 1."""
    return np.asarray(array.mean(axis=tuple(range(TOKEN_RANK, array.ndim)), keepdims=True))


def _over_tokens(array: Array) -> Array:
    return np.asarray(array.sum(axis=tuple(range(TOKEN_RANK))))


class Normalization(Semantics):
    """`y = gamma * n` for the normalised `n`; a layer norm centres and adds beta."""

    vectors: ClassVar[int] = 1
    centred: ClassVar[bool] = False
    gradient_reads = ("operand 0",)
    weight_gradient_reads = ("operand 0",)

    def weight_dims(self, x: Sequence[T], y: Sequence[T], says: frozenset[str], own: Sequence[T] = ()) -> tuple[tuple[T, ...], ...]:
        return (tuple(x[TOKEN_RANK:]),) * self.vectors

    def _normalised(self, x: Array) -> tuple[Array, Array]:
        """The normalised operand, and what it was multiplied with."""
        if self.centred:
            x = x - _mean(x)
        scale = 1 / np.sqrt(_mean(x * x) + EPSILON)
        return x * scale, scale

    def forward(self, call: Call) -> list[Array]:
        normalised, _ = self._normalised(call.read(0))
        result = normalised * call.weight(0)
        return [result + call.weight(1) if self.centred else result]

    def gradient(self, call: Call) -> list[Array]:
        dy, (normalised, scale) = call.read(0) * call.weight(0), self._normalised(call.read(1))
        inner = dy - normalised * _mean(dy * normalised)
        return [scale * (inner - _mean(dy) if self.centred else inner)]

    def weight_gradient(self, call: Call) -> list[Array]:
        dy, (normalised, _) = call.read(0), self._normalised(call.read(1))
        gamma = _over_tokens(dy * normalised)
        return [gamma, _over_tokens(dy)] if self.centred else [gamma]


class LayerNorm(Normalization):
    """Ba et al. 2016."""

    kind = "layer_norm"
    vectors = 2
    centred = True


class RmsNorm(Normalization):
    """Zhang and Sennrich 2019."""

    kind = "rms_norm"
