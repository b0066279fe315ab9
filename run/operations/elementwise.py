"""Operations element by element, and the softmax over the last axis."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from bpir.run.call import Array, Call
from bpir.run.operations.base import Semantics

if TYPE_CHECKING:
    from bpir.run.model.graph import Builder, Node

DROPPED = 0.25  # the probability of a dropout


class Activation(Semantics):
    """`y = f(x)`; dX = dY f'(x). Both take complex numbers: the model's gradient is checked by the complex step."""

    gradient_reads = ("operand 0",)
    in_place = (0,)
    activation = True

    def value(self, x: Array) -> Array:
        raise NotImplementedError

    def derivative(self, x: Array) -> Array:
        raise NotImplementedError

    def forward(self, call: Call) -> list[Array]:
        return [self.value(call.read(0))]

    def gradient(self, call: Call) -> list[Array]:
        return [call.read(0) * self.derivative(call.read(1))]


class Gelu(Activation):
    """The tanh form (Hendrycks and Gimpel 2016)."""

    kind = "gelu"
    _slope, _cubic = math.sqrt(2 / math.pi), 0.044715

    def value(self, x: Array) -> Array:
        return np.asarray(0.5 * x * (1 + np.tanh(self._slope * (x + self._cubic * x**3))))

    def derivative(self, x: Array) -> Array:
        tanh = np.tanh(self._slope * (x + self._cubic * x**3))
        return np.asarray(0.5 * (1 + tanh) + 0.5 * x * (1 - tanh**2) * self._slope * (1 + 3 * self._cubic * x**2))


class Silu(Activation):
    """Elfwing et al. 2018."""

    kind = "silu"

    def value(self, x: Array) -> Array:
        return np.asarray(x / (1 + np.exp(-x)))

    def derivative(self, x: Array) -> Array:
        sigmoid = 1 / (1 + np.exp(-x))
        return sigmoid * (1 + x * (1 - sigmoid))


class Relu(Activation):
    """Linear on either side of zero; which side a complex number is on, its real part says."""

    kind = "relu"

    def value(self, x: Array) -> Array:
        return np.where(x.real > 0, x, 0)

    def derivative(self, x: Array) -> Array:
        return np.where(x.real > 0, 1.0, 0.0)


class Dropout(Semantics):
    """`y = x m / (1 - p)` with a mask `m` that is drawn by global position (Srivastava et al. 2014); inference has none."""

    kind = "dropout"
    gradient_reads = ("mask",)
    in_place = (0,)

    def expand(self, builder: Builder, node: Node) -> list[int]:
        return super().expand(builder, node) if builder.training else [node.operands[0]]

    def forward(self, call: Call) -> list[Array]:
        mask = call.drawn_mask()
        return [call.read(0) * mask / (1 - DROPPED), mask]

    def gradient(self, call: Call) -> list[Array]:
        return [call.read(0) * call.read(1) / (1 - DROPPED)]


class Add(Semantics):
    """The gradient of both operands is dY."""

    kind = "add"
    in_place = (0, 1)

    def forward(self, call: Call) -> list[Array]:
        return [call.read(0) + call.read(1)]

    def gradient(self, call: Call) -> list[Array]:
        dy = call.read(0)
        return [dy, dy]


class Mul(Semantics):
    """dA = dY B, dB = dY A."""

    kind = "mul"
    gradient_reads = ("operand 0", "operand 1")
    in_place = (0, 1)

    def forward(self, call: Call) -> list[Array]:
        return [call.read(0) * call.read(1)]

    def gradient(self, call: Call) -> list[Array]:
        dy, a, b = (call.read(i) for i in range(3))
        return [dy * b, dy * a]


def softmax(x: Array) -> Array:
    """Over the last axis; what is subtracted first changes nothing but the range."""
    powers = np.exp(x - x.real.max(axis=-1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=-1, keepdims=True))


class Softmax(Semantics):
    """Its gradient reads the result."""

    kind = "softmax"
    gradient_reads = ("result 0",)
    in_place = (0,)

    def forward(self, call: Call) -> list[Array]:
        return [softmax(call.read(0))]

    def gradient(self, call: Call) -> list[Array]:
        dy, y = call.read(0), call.read(1)
        return [y * (dy - (dy * y).sum(axis=-1, keepdims=True))]
