"""One execution of an operation: the arrays that it may read, and a meter of what it touched."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from fractions import Fraction
from math import prod
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

STORED = {
    "f8E4M3FN": (8, 1, 1, 0),
    "f8E5M2": (8, 1, 1, 0),
    "i8": (8, 1, 1, 0),
    "fp8_block": (8, 128, 128, 32),
    "mxfp8": (8, 32, 1, 8),
    "mxfp4": (4, 32, 1, 8),
    "nvfp4": (4, 16, 1, 8),
}
"""Of a format the bits of an element, the rows and columns of a block, and the bits of its scale."""


@attrs.define(eq=False)
class Meter:
    """The bytes that one task touched on one rank.

    Attributes:
        read: the bytes of each distinct value that was read.
        written: the bytes written; None if every result is, whole.
        message: the logical bytes of a collective.
        weights: the elements of weights that were read, or updated.
        held: the bytes of each weight that lies on the rank, read or not.
        matmul: operations of matrix products; a multiply-add is 2.
        scratch: the bytes of what an unfused execution holds besides operands and results.
    """

    read: dict[Hashable, Fraction] = attrs.field(factory=dict)
    written: Fraction | None = None
    message: Fraction = Fraction(0)
    weights: int = 0
    held: dict[Hashable, Fraction] = attrs.field(factory=dict)
    matmul: int = 0
    scratch: Fraction = Fraction(0)

    @property
    def bytes_read(self) -> Fraction:
        return sum(self.read.values(), Fraction(0))


@attrs.frozen(eq=False)
class Operand:
    """An array that a task reads.

    Attributes:
        key: its value in the text; read twice, it counts once.
        width: the bytes of an element.
        position: that of its first token in the sequence: behind the cached ones, and those that other ranks hold.
        first, size: which of the last dimension is its first, and how large that is on all ranks together, without padding.
        tokens: its first sequence, its first token in each, and how many tokens a sequence has on all ranks together.
        with_experts: of rows that lie where their experts do, the number of the first and how many ranks share them.
    """

    array: Array
    key: Hashable = None
    width: Fraction = Fraction(0)
    position: int = 0
    first: int = 0
    size: int = 0
    tokens: tuple[int, int, int] = (0, 0, 0)
    with_experts: tuple[int, int] = (0, 0)

    def rows(self, each: int) -> Array:
        """The numbers of its rows, of which each token has so many, counted over all ranks."""
        place, ranks = self.with_experts
        if ranks:
            return place + ranks * np.arange(self.array.shape[2])[np.newaxis, np.newaxis]
        sequence, token, tokens = self.tokens
        sequences, count = self.array.shape[:2]
        numbers = (sequence + np.arange(sequences))[:, np.newaxis] * (tokens or count) + token + np.arange(count)
        return np.asarray(numbers[..., np.newaxis] * each + np.arange(each))

    @property
    def last(self) -> tuple[int, int]:
        """The start of the array in the last dimension, and the size of that dimension on all ranks together."""
        return self.first, self.size or self.array.shape[-1]


@attrs.define(eq=False)
class Call:
    """The view of one execution that an operation's semantics may ask.

    Attributes:
        operands: the operands of the task; in a gradient dY, then what the gradient reads.
        weights: the rank's part of each weight.
        says: the flags of the model operation (`bias`, `transposed`).
        sizes: its expressions in numbers (`dims n`).
        features: the rank's part of the dimensions that a linear produces.
        mask: the rank's part of the dropout mask, drawn by global position.
        step: tells the weights of one step from those of another in the same task.
        own: of each size that weights alone have the rank's first place, how many it has, and how many there are.
        width: the bytes of an element of the result.
        weight_width: the bytes of an element of the weights, where it may not be that of the first operand.
        causal: how the scores of new tokens count: `exact`, `half`, or all of them; `window` tokens are seen, if it is given.
        adds_bias: whether this rank adds the bias: one of those that a partial sum is spread over.
    """

    operands: Sequence[Operand]
    weights: Sequence[Array] = ()
    says: frozenset[str] = frozenset()
    features: tuple[int, ...] = ()
    mask: Callable[[], Array] | None = None
    own: Sequence[tuple[int, int, int]] = ()
    width: Fraction = Fraction(0)
    weight_width: Fraction = Fraction(0)
    causal: str = ""
    window: int | None = None
    adds_bias: bool = True
    step: int = 0
    meter: Meter = attrs.field(factory=Meter)
    sizes: Mapping[str, int] = attrs.field(factory=dict)
    share: Fraction = Fraction(1)  # of the scores that count

    def positions(self, index: int) -> Array:
        """The positions of an operand's tokens in the sequence."""
        operand = self.operands[index]
        return np.arange(operand.position, operand.position + operand.array.shape[1])

    def read(self, index: int) -> Array:
        """An operand, read whole."""
        operand = self.operands[index]
        self.meter.read[operand.key if operand.key is not None else index] = operand.array.size * operand.width
        return operand.array

    def last_token(self, index: int) -> Array:
        """The last token of an operand, which alone is read."""
        operand = self.operands[index]
        array = operand.array[:, -1:]
        self.meter.read[operand.key if operand.key is not None else index] = array.size * operand.width
        return array

    def weight(self, index: int, contracted: int = 0) -> Array:
        """A weight, read whole; its elements are as wide as those of the first operand.

        Of a matrix so many first dimensions are contracted.
        """
        return self._part(index, self.weights[index], self.weight_width or self.operands[0].width, 0, contracted)

    def rows(self, index: int, places: Array, contracted: int = 0) -> Array:
        """The rows of a weight at some places, which alone are read; its elements are as wide as those of the result.

        Where so many dimensions behind the first are contracted, each row is a matrix.
        """
        return self._part(index, self.weights[index][places], self.width, 1, contracted)

    def _part(self, index: int, part: Array, width: Fraction, leading: int, contracted: int) -> Array:
        key = ("weight", self.step, index)
        if key not in self.meter.held:
            self.meter.weights += self.weights[index].size
        self.meter.held[key] = self._bytes(self.weights[index], width, leading, contracted)
        self.meter.read[key] = self._bytes(part, width, leading, contracted)
        return part

    def _bytes(self, weight: Array, width: Fraction, leading: int, contracted: int) -> Fraction:
        """The bytes of a weight, which is stored in another format if it is a matrix and the operation says so."""
        stored = next((say.removeprefix("stored ") for say in self.says if say.startswith("stored ")), "")
        if not stored or not contracted:
            return weight.size * width
        bits, rows, columns, scale = STORED[stored]
        matrices, within = prod(weight.shape[:leading]), weight.shape[leading:]
        blocks = -(-prod(within[:contracted]) // rows) * -(-prod(within[contracted:]) // columns)
        return Fraction(weight.size * bits + matrices * blocks * scale, 8)

    def adds_rows(self, rows: Array) -> None:
        """Note that the gradient of a weight is added to these rows of it alone."""
        self.meter.written = self.meter.read["rows"] = rows.size * self.width

    def matmul(self, left: Array, right: Array) -> Array:
        """The product of matrices `... x m x k` and `... x k x n`, counted."""
        result = np.asarray(np.matmul(left, right))
        self.meter.matmul += int(2 * result.size * left.shape[-1] * self.share)
        return result

    def between(self, query: int, context: int) -> None:
        """From now on products are of scores of new tokens, of which those count that a causal mask would leave, token by token."""
        counted = query * context
        if self.causal == "exact":
            seen = context if self.window is None else self.window
            counted = sum(min(context - query + token, seen) for token in range(1, query + 1))
        elif self.causal == "half":
            counted = -(-counted // 2)
        self.share = Fraction(counted, query * context)

    def drawn_mask(self) -> Array:
        """The mask of a dropout: True where an element stays."""
        assert self.mask is not None, "only a dropout draws a mask"
        return np.asarray(self.mask())
