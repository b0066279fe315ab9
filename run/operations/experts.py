"""Mixtures of experts. Which experts a token is sent to is said by its place, not by its scores, so that routing is balanced, the same on
every rank, and no step of a gradient changes it: the rows of the batch are dealt out to the ranks of experts one by one, and on each of
them to its experts one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from bpir.run.call import Array, Call
from bpir.run.operations.base import TOKEN_RANK, Semantics, T
from bpir.run.operations.elementwise import softmax
from bpir.run.operations.linear import matrix

if TYPE_CHECKING:
    from bpir.run.model.graph import Builder, Node


def experts_of(rows: Array, call: Call, experts: int) -> Array:
    """The expert of each row, by its number."""
    ranks = call.sizes.get("expert ranks", 1)
    each = experts // ranks
    return np.asarray(rows % ranks * each + rows // ranks % each)


class _Routed(Semantics):
    own_sizes = ("experts",)

    def expand(self, builder: Builder, node: Node) -> list[int]:
        return [builder.step(self.kind, node, node.operands, features=node.made[0])]


class Router(_Routed):
    """The weights of the chosen experts, divided by their sum (Shazeer et al. 2017, section 2.1)."""

    kind = "router"

    def weight_dims(self, x: Sequence[T], y: Sequence[T], says: frozenset[str], own: Sequence[T] = ()) -> tuple[tuple[T, ...], ...]:
        return ((*x[TOKEN_RANK:], *own), *([tuple(own)] if "bias" in says else []))

    def forward(self, call: Call) -> list[Array]:
        x, weight = call.read(0), call.weight(0)
        scores = call.matmul(matrix(x, TOKEN_RANK), weight).reshape(*x.shape[:TOKEN_RANK], -1)
        if "bias" in call.says:
            scores = scores + call.weight(1)
        weights = 1 / (1 + np.exp(-scores)) if "scores sigmoid" in call.says else softmax(scores)
        chosen = np.take_along_axis(weights, experts_of(call.operands[0].rows(call.sizes["top"]), call, scores.shape[-1]), axis=-1)
        return [chosen / chosen.sum(axis=-1, keepdims=True)]


class Dispatch(Semantics):
    """Each token once for each of its experts."""

    kind = "dispatch"

    def forward(self, call: Call) -> list[Array]:
        x, route = call.read(0), call.read(1)
        return [np.repeat(x[:, :, np.newaxis], route.shape[-1], axis=TOKEN_RANK)]


class Experts(_Routed):
    """Each row times the weight of its expert."""

    kind = "experts"
    by_experts = True

    def weight_dims(self, x: Sequence[T], y: Sequence[T], says: frozenset[str], own: Sequence[T] = ()) -> tuple[tuple[T, ...], ...]:
        produced = tuple(y[TOKEN_RANK + 1 :])
        return ((*own, *x[TOKEN_RANK + 1 :], *produced), *([(*own, *produced)] if "bias" in says else []))

    def forward(self, call: Call) -> list[Array]:
        rows = call.read(0)
        shape = rows.shape[: TOKEN_RANK + 1]
        first, _, experts = call.own[0]
        places = experts_of(call.operands[0].rows(shape[TOKEN_RANK]), call, experts) - first
        used, places = np.unique(places, return_inverse=True)
        weight = call.rows(0, used, rows.ndim - TOKEN_RANK - 1)
        flat = rows.reshape(int(np.prod(shape)), 1, -1)
        product = call.matmul(flat, weight.reshape(len(used), flat.shape[-1], -1)[places.reshape(-1)])
        result = product.reshape(*shape, *call.features[1:])
        if "bias" in call.says:
            bias = call.rows(1, used)
            result = result + (bias[places.reshape(-1)].reshape(result.shape) if call.adds_bias else 0)
        return [result]


class Combine(Semantics):
    """The sum of a token's rows, each times its weight."""

    kind = "combine"

    def forward(self, call: Call) -> list[Array]:
        rows, route = call.read(0), call.read(1)
        return [np.einsum("bsk...,bsk->bs...", rows, route)]
