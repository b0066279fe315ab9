"""Mixtures of experts. Which experts a token is sent to is said by its place, not by its scores, so that routing is balanced, the same on
every rank, and no step of a gradient changes it: the rows of the batch are dealt out to the ranks of experts one by one, and on each of
them to its experts one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from bpir.dialects.model.rules.reads import operand, result
from bpir.run.call import Array, Call
from bpir.run.operations.base import TOKEN_RANK, Semantics, T
from bpir.run.operations.elementwise import softmax
from bpir.run.operations.linear import Linear, matrix

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


def _weighted(scores: Array, call: Call) -> Array:
    """The weights that scores make."""
    return 1 / (1 + np.exp(-scores)) if "scores sigmoid" in call.says else softmax(scores)


def _chosen(call: Call, index: int, scores: Array) -> Array:
    """The experts of each token of an operand, which is as large as the scores."""
    return experts_of(call.operands[index].rows(call.sizes["top"]), call, scores.shape[-1])


class Router(_Routed):
    """The weights of the chosen experts, divided by their sum (Shazeer et al. 2017, section 2.1)."""

    kind = "router"

    def expand(self, builder: Builder, node: Node) -> list[int]:
        if not builder.training:
            return super().expand(builder, node)
        scores = builder.step("router_scores", node, node.operands, "scores", node.says & {"bias"}, (node.sizes["experts"],))
        return [builder.step("router_choice", node, (scores,), "choice")]

    def weight_dims(self, x: Sequence[T], y: Sequence[T], says: frozenset[str], own: Sequence[T] = ()) -> tuple[tuple[T, ...], ...]:
        return ((*x[TOKEN_RANK:], *own), *([tuple(own)] if "bias" in says else []))

    def forward(self, call: Call) -> list[Array]:
        x, weight = call.read(0), call.weight(0)
        scores = call.matmul(matrix(x, TOKEN_RANK), weight).reshape(*x.shape[:TOKEN_RANK], -1)
        if "bias" in call.says:
            scores = scores + call.weight(1)
        chosen = np.take_along_axis(_weighted(scores, call), _chosen(call, 0, scores), axis=-1)
        return [chosen / chosen.sum(axis=-1, keepdims=True)]


class RouterScores(Linear):
    """The product of a token with a weight for each expert."""

    kind = "router_scores"

    def expand(self, builder: Builder, node: Node) -> list[int]:
        return [builder.step(self.kind, node, node.operands, features=node.made[0])]


class RouterChoice(Semantics):
    """The weights of the chosen experts, divided by their sum; the scores of the others have no gradient."""

    kind = "router_choice"
    gradient_reads = (operand(0), result(0))

    def forward(self, call: Call) -> list[Array]:
        scores = call.read(0)
        chosen = np.take_along_axis(_weighted(scores, call), _chosen(call, 0, scores), axis=-1)
        return [chosen / chosen.sum(axis=-1, keepdims=True)]

    def gradient(self, call: Call) -> list[Array]:
        dr, scores, r = (call.read(i) for i in range(3))
        places = _chosen(call, 1, scores)
        part = dr - (r * dr).sum(axis=-1, keepdims=True)
        if "scores sigmoid" in call.says:
            weights = np.take_along_axis(_weighted(scores, call), places, axis=-1)
            part = part / weights.sum(axis=-1, keepdims=True) * weights * (1 - weights)
        else:
            part = part * r
        found = np.zeros(scores.shape, part.dtype)
        np.put_along_axis(found, places, part, axis=-1)
        return [found]


class Dispatch(Semantics):
    """Each token once for each of its experts."""

    kind = "dispatch"
    constants = (1,)

    def forward(self, call: Call) -> list[Array]:
        x, route = call.read(0), call.read(1)
        return [np.repeat(x[:, :, np.newaxis], route.shape[-1], axis=TOKEN_RANK)]

    def gradient(self, call: Call) -> list[Array]:
        return [call.read(0).sum(axis=TOKEN_RANK)]


class Experts(_Routed):
    """Each row times the weight of its expert."""

    kind = "experts"
    by_experts = True
    weight_gradient_reads = (operand(0),)

    def weight_dims(self, x: Sequence[T], y: Sequence[T], says: frozenset[str], own: Sequence[T] = ()) -> tuple[tuple[T, ...], ...]:
        produced = tuple(y[TOKEN_RANK + 1 :])
        return ((*own, *x[TOKEN_RANK + 1 :], *produced), *([(*own, *produced)] if "bias" in says else []))

    def forward(self, call: Call) -> list[Array]:
        rows = call.read(0)
        shape = rows.shape[: TOKEN_RANK + 1]
        used, places = np.unique(self._places(call), return_inverse=True)
        weight = call.rows(0, used, rows.ndim - TOKEN_RANK - 1)
        flat = rows.reshape(int(np.prod(shape)), 1, -1)
        product = call.matmul(flat, weight.reshape(len(used), flat.shape[-1], -1)[places.reshape(-1)])
        made = product.reshape(*shape, *call.features[1:])
        if "bias" in call.says:
            bias = call.rows(1, used)
            made = made + (bias[places.reshape(-1)].reshape(made.shape) if call.adds_bias else 0)
        return [made]

    @staticmethod
    def _places(call: Call) -> Array:
        """The expert of each row of the first operand, among those of the rank."""
        first, _, experts = call.own[0]
        return experts_of(call.operands[0].rows(call.operands[0].array.shape[TOKEN_RANK]), call, experts) - first

    def gradient(self, call: Call) -> list[Array]:
        dy = call.read(0)
        shape = dy.shape[: TOKEN_RANK + 1]
        used, places = np.unique(self._places(call), return_inverse=True)
        weight = call.rows(0, used, call.weights[0].ndim - 1 - (dy.ndim - TOKEN_RANK - 1))
        contracted = weight.shape[1 : weight.ndim - (dy.ndim - TOKEN_RANK - 1)]
        flat = dy.reshape(int(np.prod(shape)), 1, -1)
        each = weight.reshape(len(used), -1, flat.shape[-1]).swapaxes(1, 2)
        return [call.matmul(flat, each[places.reshape(-1)]).reshape(*shape, *contracted)]

    def weight_gradient(self, call: Call) -> list[Array]:
        dy, rows = call.read(0), call.read(1)
        places = self._places(call).reshape(-1)
        x, y = rows.reshape(len(places), -1), dy.reshape(len(places), -1)
        products = call.matmul(x[:, :, np.newaxis], y[:, np.newaxis])
        found = [np.zeros((call.own[0][1], *products.shape[1:]), products.dtype)]
        np.add.at(found[0], places, products)
        found[0] = found[0].reshape(-1, *rows.shape[TOKEN_RANK + 1 :], *dy.shape[TOKEN_RANK + 1 :])
        if "bias" in call.says:
            found.append(np.zeros((call.own[0][1], *y.shape[1:]), y.dtype))
            np.add.at(found[1], places, y)
            found[1] = found[1].reshape(-1, *dy.shape[TOKEN_RANK + 1 :])
        return found


class Combine(Semantics):
    """The sum of a token's rows, each times its weight."""

    kind = "combine"
    gradient_reads = (operand(0), operand(1))

    def forward(self, call: Call) -> list[Array]:
        rows, route = call.read(0), call.read(1)
        return [np.einsum("bsk...,bsk->bs...", rows, route)]

    def gradient(self, call: Call) -> list[Array]:
        dy, rows, route = (call.read(i) for i in range(3))
        each = dy[:, :, np.newaxis]
        of_rows = each * route.reshape(*route.shape, *[1] * (dy.ndim - TOKEN_RANK))
        return [of_rows, (rows * each).sum(axis=tuple(range(TOKEN_RANK + 1, rows.ndim)))]
