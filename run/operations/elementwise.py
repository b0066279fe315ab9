"""Operations element by element, and the softmax over the last axis."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from bpir.dialects.model.rules.reads import MASK, operand, result
from bpir.run.call import Array, Call
from bpir.run.operations.base import TOKEN_RANK, Semantics, T

if TYPE_CHECKING:
    from bpir.run.model.graph import Builder, Node

DROPPED = 0.25  # the probability of a dropout


class Activation(Semantics):
    """`y = f(x)`; dX = dY f'(x). Both take complex numbers: the model's gradient is checked by the complex step."""

    gradient_reads = (operand(0),)
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


class QuickGelu(Activation):
    """`x sigmoid(1.702 x)` (Hendrycks and Gimpel 2016)."""

    kind = "quick_gelu"

    def value(self, x: Array) -> Array:
        return np.asarray(x / (1 + np.exp(-1.702 * x)))

    def derivative(self, x: Array) -> Array:
        sigmoid = 1 / (1 + np.exp(-1.702 * x))
        return sigmoid * (1 + 1.702 * x * (1 - sigmoid))


class GeluErf(Activation):
    """The exact form (Hendrycks and Gimpel 2016); of a complex number the error function to first order in its imaginary part."""

    kind = "gelu_erf"

    def value(self, x: Array) -> Array:
        z = x / math.sqrt(2)
        erf = np.vectorize(math.erf, otypes=[float])(z.real) + (1j * z.imag * self._slope(z.real) if np.iscomplexobj(z) else 0)
        return np.asarray(0.5 * x * (1 + erf))

    def derivative(self, x: Array) -> Array:
        erf = np.vectorize(math.erf, otypes=[float])(x / math.sqrt(2))
        return np.asarray(0.5 * (1 + erf) + x * np.exp(-x * x / 2) / math.sqrt(2 * math.pi))

    @staticmethod
    def _slope(z: Array) -> Array:
        return np.asarray(2 / math.sqrt(math.pi) * np.exp(-z * z))


class Relu2(Activation):
    """The square of relu (So et al. 2021)."""

    kind = "relu2"

    def value(self, x: Array) -> Array:
        return np.where(x.real > 0, x * x, 0)

    def derivative(self, x: Array) -> Array:
        return np.where(x.real > 0, 2 * x, 0.0)


class Bounded(Activation):
    """An activation whose gradient reads its result."""

    gradient_reads = (result(0),)


class Sigmoid(Bounded):
    """The derivative is `y (1 - y)`."""

    kind = "sigmoid"

    def value(self, x: Array) -> Array:
        return np.asarray(1 / (1 + np.exp(-x)))

    def derivative(self, x: Array) -> Array:
        return np.asarray(x * (1 - x))


class Tanh(Bounded):
    """The derivative is `1 - y^2`."""

    kind = "tanh"

    def value(self, x: Array) -> Array:
        return np.asarray(np.tanh(x))

    def derivative(self, x: Array) -> Array:
        return np.asarray(1 - x * x)


CAP = 3.0
"""The bound of a softcap; no count depends on it."""


class Softcap(Bounded):
    """`c tanh(x/c)`; the derivative is `1 - (y/c)^2` (Gemma Team 2024). It is no activation that could be fused with what is before it."""

    kind = "softcap"
    activation = False

    def value(self, x: Array) -> Array:
        return np.asarray(CAP * np.tanh(x / CAP))

    def derivative(self, x: Array) -> Array:
        return np.asarray(1 - (x / CAP) ** 2)


SCALE = 0.75
"""The number of a scale; no count depends on it."""


class Scale(Semantics):
    """The product with a number, forward and backward."""

    kind = "scale"
    in_place = (0,)

    def forward(self, call: Call) -> list[Array]:
        return [call.read(0) * SCALE]

    def gradient(self, call: Call) -> list[Array]:
        return [call.read(0) * SCALE]


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
    gradient_reads = (MASK,)
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
    gradient_reads = (operand(0), operand(1))
    in_place = (0, 1)

    def forward(self, call: Call) -> list[Array]:
        return [call.read(0) * call.read(1)]

    def gradient(self, call: Call) -> list[Array]:
        dy, a, b = (call.read(i) for i in range(3))
        return [dy * b, dy * a]


def softmax(x: Array, sinks: Array | None = None) -> Array:
    """Over the last axis; what is subtracted first changes nothing but the range. A sink is one more element, and of no result."""
    highest = x.real.max(axis=-1, keepdims=True)
    powers = np.exp(x - highest)
    total = powers.sum(axis=-1, keepdims=True)
    return np.asarray(powers / (total if sinks is None else total + np.exp(sinks - highest)))


class Softmax(Semantics):
    """Its gradients read the result, `batch x tokens x heads x visible tokens` where the heads have sinks."""

    kind = "softmax"
    gradient_reads = (result(0),)
    weight_gradient_reads = (result(0),)
    in_place = (0,)

    def weight_dims(self, x: Sequence[T], y: Sequence[T], says: frozenset[str], own: Sequence[T] = ()) -> tuple[tuple[T, ...], ...]:
        return (tuple(x[TOKEN_RANK:-1]),) if "sinks" in says else ()

    def forward(self, call: Call) -> list[Array]:
        return [softmax(call.read(0), call.weight(0)[..., np.newaxis] if "sinks" in call.says else None)]

    def weight_gradient(self, call: Call) -> list[Array]:
        """The share of a sink is what the others leave of 1; it takes from each of them in proportion."""
        dy, y = call.read(0), call.read(1)
        share = 1 - y.sum(axis=-1)
        return [np.asarray(-(share * (dy * y).sum(axis=-1)).sum(axis=tuple(range(TOKEN_RANK))))]

    def gradient(self, call: Call) -> list[Array]:
        dy, y = call.read(0), call.read(1)
        return [y * (dy - (dy * y).sum(axis=-1, keepdims=True))]
