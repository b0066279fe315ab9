"""Matrix products with a weight."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from bpir.dialects.model.rules.reads import operand
from bpir.run.call import Array, Call
from bpir.run.operations.base import TOKEN_RANK, Semantics, T

if TYPE_CHECKING:
    from bpir.run.model.graph import Builder, Node


def matrix(array: Array, leading: int) -> Array:
    """The array as a matrix: its first `leading` dimensions are the rows."""
    rows = 1
    for size in array.shape[:leading]:
        rows *= size
    return array.reshape(rows, -1)


def _contracting(call: Call, produced: int, contracted: int = 0) -> Array:
    """The weight with what it contracts in front; a table has it behind."""
    weight = call.weight(0, contracted)
    return np.moveaxis(weight, range(produced), range(-produced, 0)) if "tied" in call.says else weight


class Linear(Semantics):
    """`y = x W + b`: keeps batch and tokens, contracts the rest (Shoeybi et al. 2019, section 3).

    Where the result is a partial sum, one rank adds the bias. Its gradient, a sum over all tokens of the whole dY, is the same on each.
    """

    kind = "linear"
    weight_gradient_reads = (operand(0),)

    def expand(self, builder: Builder, node: Node) -> list[int]:
        """One step for each result, named after what reads it as Q, K or V, else by its number."""
        several = len(node.shapes) > 1
        return [
            builder.step(self.kind, node, node.operands, (node.roles[i] or str(i)) if several else "", features=shape)
            for i, shape in enumerate(node.shapes)
        ]

    def weight_dims(self, x: Sequence[T], y: Sequence[T], says: frozenset[str], own: Sequence[T] = ()) -> tuple[tuple[T, ...], ...]:
        produced = tuple(y[TOKEN_RANK:])
        if "tied" in says:  # the table of another layer: its rows are what is produced
            return ((*produced, *x[TOKEN_RANK:]),)
        return ((*x[TOKEN_RANK:], *produced), *([produced] if "bias" in says else []))

    def forward(self, call: Call) -> list[Array]:
        x = call.read(0)
        weight = _contracting(call, len(call.features), x.ndim - TOKEN_RANK)
        product = call.matmul(matrix(x, TOKEN_RANK), matrix(weight, x.ndim - TOKEN_RANK))
        result = product.reshape(*x.shape[:TOKEN_RANK], *call.features)
        if "bias" in call.says and call.adds_bias:
            result = result + call.weight(1)
        return [result]

    def gradient(self, call: Call) -> list[Array]:
        dy = call.read(0)
        weight = _contracting(call, dy.ndim - TOKEN_RANK)
        contracted = weight.shape[: weight.ndim - (dy.ndim - TOKEN_RANK)]
        product = call.matmul(matrix(dy, TOKEN_RANK), matrix(weight, len(contracted)).T)
        return [product.reshape(*dy.shape[:TOKEN_RANK], *contracted)]

    def weight_gradient(self, call: Call) -> list[Array]:
        dy, x = call.read(0), call.read(1)
        product = call.matmul(matrix(x, TOKEN_RANK).T, matrix(dy, TOKEN_RANK))
        found = [product.reshape(*x.shape[TOKEN_RANK:], *dy.shape[TOKEN_RANK:])]
        if "tied" in call.says:
            found[0] = np.moveaxis(found[0], range(x.ndim - TOKEN_RANK), range(TOKEN_RANK - x.ndim, 0))
        if "bias" in call.says:
            found.append(dy.sum(axis=(0, 1)))
        return found
