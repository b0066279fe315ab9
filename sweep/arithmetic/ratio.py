"""Arrays of exact fractions: numerators and positive denominators, which `Whole` keeps from wrapping."""

from __future__ import annotations

import numpy as np

from bpir.sweep.arithmetic.whole import LARGEST, ONE, ZERO, Array, Whole


class Ratio:
    """Numerators over positive denominators; `undefined` says where there is no value (a division by zero), None for nowhere."""

    __slots__ = ("above", "below", "undefined")

    def __init__(self, above: Whole, below: Whole = ONE, undefined: Array | None = None) -> None:
        self.above, self.below, self.undefined = above, below, undefined

    def __add__(self, other: Ratio) -> Ratio:
        undefined = either(self.undefined, other.undefined)
        if self.below is other.below:
            return Ratio(self.above + other.above, self.below, undefined)
        above = self.above * other.below + other.above * self.below
        return Ratio(above, self.below * other.below, undefined).small()

    def __sub__(self, other: Ratio) -> Ratio:
        return self + Ratio(-other.above, other.below, other.undefined)

    def __mul__(self, other: Ratio) -> Ratio:
        return Ratio(self.above * other.above, self.below * other.below, either(self.undefined, other.undefined))

    def __truediv__(self, other: Ratio) -> Ratio:
        undefined = either(self.undefined, other.undefined)
        divisor = other.above
        above, below = self.above * other.below, self.below
        if divisor.low <= 0:
            zero = divisor.values == 0
            if zero.any():
                undefined = either(undefined, zero)
                divisor = ONE.where(zero, divisor)
            negative = divisor.values < 0
            if negative.any():
                above, divisor = (-above).where(negative, above), (-divisor).where(negative, divisor)
            divisor = divisor.tight()
        return Ratio(above, below * divisor, undefined)

    def settled(self) -> Ratio:
        """The same, without a denominator if every element is an integer."""
        if self.below is ONE:
            return self
        quotient = self.above // self.below
        if ((quotient * self.below).values == self.above.values).all():
            return Ratio(quotient, ONE, self.undefined)
        return self

    def small(self) -> Ratio:
        """The same in lowest terms, if its parts are about to be Python integers."""
        if self.below is ONE or max(self.above.high, -self.above.low, self.below.high) <= LARGEST >> 20:
            return self
        common = self.above.divisor_with(self.below)
        return Ratio((self.above // common).tight(), (self.below // common).tight(), self.undefined)

    def rounded_down(self) -> Ratio:
        return Ratio(self.above // self.below, ONE, self.undefined)

    def rounded_up(self) -> Ratio:
        return Ratio(-((-self.above) // self.below), ONE, self.undefined)

    def larger(self, other: Ratio) -> Ratio:
        undefined = either(self.undefined, other.undefined)
        if self.below is other.below:
            return Ratio(self.above.maximum(other.above), self.below, undefined)
        return self._chosen((self - other).above.values >= 0, other, undefined)

    def smaller(self, other: Ratio) -> Ratio:
        undefined = either(self.undefined, other.undefined)
        if self.below is other.below:
            return Ratio(self.above.minimum(other.above), self.below, undefined)
        return self._chosen((self - other).above.values <= 0, other, undefined)

    def where(self, chosen: Array, other: Ratio) -> Ratio:
        """Its values where `chosen`, those of the other elsewhere."""
        return self._chosen(chosen, other, either(self.undefined, other.undefined))

    def _chosen(self, chosen: Array, other: Ratio, undefined: Array | None) -> Ratio:
        return Ratio(self.above.where(chosen, other.above), self.below.where(chosen, other.below), undefined)


def either(a: Array | None, b: Array | None) -> Array | None:
    """Where one of the two is true; None for nowhere."""
    return b if a is None else a if b is None else np.logical_or(a, b)


NOUGHT = Ratio(ZERO)
UNIT = Ratio(ONE)
