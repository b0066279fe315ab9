"""Cross entropy, and its parts where ranks share the vocabulary."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bpir.dialects.model.rules.reads import operand
from bpir.run.call import Array, Call, Operand
from bpir.run.operations.base import Semantics

if TYPE_CHECKING:
    from bpir.run.model.graph import Builder, Node


class CrossEntropy(Semantics):
    """The logarithm of the sum of exponentials, less the target's logit (labels are taken modulo the vocabulary)."""

    kind = "cross_entropy"

    def expand(self, builder: Builder, node: Node) -> list[int]:
        logits, labels = node.operands
        highest = builder.step("row_maximum", node, (logits,), "maximum")
        sums = builder.step("row_exponentials", node, (logits, highest, labels), "exponentials")
        return [builder.step("row_logarithm", node, (highest, sums), "logarithm")]


def _inside(operand: Operand) -> Array:
    """Which elements of the last dimension are no padding."""
    first, size = operand.last
    return np.arange(first, first + operand.array.shape[-1]) < size


class RowMaximum(Semantics):
    """Of each row the largest element, by its real part; what follows does not depend on it, so it has no gradient."""

    kind = "row_maximum"
    constants = (0,)
    maximum = True

    def forward(self, call: Call) -> list[Array]:
        x = np.where(_inside(call.operands[0]), call.read(0), -np.inf)
        return [np.take_along_axis(x, x.real.argmax(axis=-1)[..., np.newaxis], axis=-1)]

    def gradient(self, call: Call) -> list[Array]:
        return []


class RowExponentials(Semantics):
    """Of each row the sum of exponentials, and the element that the label names: 0 where another rank has it."""

    kind = "row_exponentials"
    constants = (1, 2)
    gradient_reads = (operand(0), operand(1), operand(2))

    @staticmethod
    def _here(call: Call, index: int, labels: Array) -> Array:
        """The mask of the elements that the labels name."""
        operand = call.operands[index]
        first, whole = operand.last
        places = labels.real.astype(int) % whole - first
        return np.asarray(places[..., np.newaxis] == np.arange(operand.array.shape[-1]))

    def forward(self, call: Call) -> list[Array]:
        x, highest, labels = call.read(0), call.read(1), call.read(2)
        target = np.where(self._here(call, 0, labels), x, 0).sum(axis=-1)
        powers = np.where(_inside(call.operands[0]), np.exp(x - highest), 0)
        return [np.stack([powers.sum(axis=-1), target], axis=-1)]

    def gradient(self, call: Call) -> list[Array]:
        dy, x, highest, labels = (call.read(i) for i in range(4))
        powers = np.where(_inside(call.operands[1]), np.exp(x - highest), 0)
        return [powers * dy[..., :1] + self._here(call, 1, labels) * dy[..., 1:]]


class RowLogarithm(Semantics):
    """`log s + m - x` for the sum `s`, the maximum `m` and the target's element `x`."""

    kind = "row_logarithm"
    constants = (0,)
    gradient_reads = (operand(1),)

    def forward(self, call: Call) -> list[Array]:
        highest, sums = call.read(0), call.read(1)
        return [np.log(sums[..., :1]) + highest - sums[..., 1:]]

    def gradient(self, call: Call) -> list[Array]:
        dy, sums = call.read(0), call.read(1)
        return [np.concatenate([dy / sums[..., :1], -dy], axis=-1)]
