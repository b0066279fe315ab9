"""Tables of tokens and positions, and the last token of each sequence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from bpir.dialects.model.rules.reads import operand
from bpir.run.call import Array, Call
from bpir.run.operations.base import TOKEN_RANK, Semantics, T

if TYPE_CHECKING:
    from bpir.run.model.graph import Builder, Node


class Embedding(Semantics):
    """The row of each number (modulo the number of rows). A rank that has a part of the rows gives 0 for those of other ranks."""

    kind = "embedding"
    weight_gradient_reads = (operand(0),)
    own_sizes = ("rows",)

    def weight_dims(self, x: Sequence[T], y: Sequence[T], says: frozenset[str], own: Sequence[T] = ()) -> tuple[tuple[T, ...], ...]:
        return ((*own, *y[TOKEN_RANK:]),)

    def expand(self, builder: Builder, node: Node) -> list[int]:
        return [builder.step(self.kind, node, node.operands, features=node.made[0])]

    @staticmethod
    def _places(call: Call, ids: Array) -> tuple[Array, Array]:
        """The row of each number among the rank's, and whether the rank has it; the first row stands for those that it does not have."""
        first, count, rows = call.own[0]
        places = ids.real.astype(int) % rows - first
        here = (places >= 0) & (places < count)
        return np.where(here, places, 0), here

    def forward(self, call: Call) -> list[Array]:
        places, here = self._places(call, call.read(0))
        return [call.rows(0, places) * here[..., np.newaxis]]

    def weight_gradient(self, call: Call) -> list[Array]:
        dy = call.read(0)
        places, here = self._places(call, call.read(1))
        found = np.zeros((call.own[0][1], *dy.shape[TOKEN_RANK:]), dy.dtype)
        np.add.at(found, places, dy * here[..., np.newaxis])
        call.adds_rows(dy)
        return [found]


class Positions(Semantics):
    """Adds the row of each token's place in its sequence (modulo the number of rows)."""

    kind = "positions"
    own_sizes = ("rows",)
    in_place = (0,)

    def weight_dims(self, x: Sequence[T], y: Sequence[T], says: frozenset[str], own: Sequence[T] = ()) -> tuple[tuple[T, ...], ...]:
        return ((*own, *y[TOKEN_RANK:]),)

    @staticmethod
    def _places(call: Call) -> Array:
        return np.asarray(call.positions(0) % call.own[0][2])

    def forward(self, call: Call) -> list[Array]:
        x = call.read(0)
        return [x + call.rows(0, self._places(call))]

    def gradient(self, call: Call) -> list[Array]:
        return [call.read(0)]

    def weight_gradient(self, call: Call) -> list[Array]:
        dy = call.read(0)
        found = np.zeros((call.own[0][1], *dy.shape[TOKEN_RANK:]), dy.dtype)
        rows = dy.sum(axis=0)
        np.add.at(found, self._places(call), rows)
        call.adds_rows(rows)
        return [found]


class LastToken(Semantics):
    """The last token of each sequence; the identity in training, and where every token is asked for."""

    kind = "last_token"

    def expand(self, builder: Builder, node: Node) -> list[int]:
        return super().expand(builder, node) if builder.last else [node.operands[0]]

    def forward(self, call: Call) -> list[Array]:
        return [call.last_token(0)]
