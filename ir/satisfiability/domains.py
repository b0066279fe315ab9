"""The domain of each variable: its interval, and its remainder by a modulus. Every change can be undone."""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd

BITS = 1_000  # of a bound; a variable whose bounds would be larger keeps what it has
_MODULUS_BITS = 256


class Empty(Exception):
    """No number is left for a variable."""


class Domains:
    """The domains of all variables. `changed` holds the variables whose domains shrank since it was last emptied."""

    def __init__(self, lower: Sequence[int | None], upper: Sequence[int | None]) -> None:
        self.lower = list(lower)
        self.upper = list(upper)
        self.modulus = [1] * len(self.lower)
        self.remainder = [0] * len(self.lower)
        self.changed: list[int] = []
        self._trail: list[tuple[int, int | None, int | None, int, int]] = []

    def fixed(self, v: int) -> bool:
        """Whether one number is left."""
        low = self.lower[v]
        return low is not None and low == self.upper[v]

    def at_least_zero(self, v: int) -> bool:
        """Whether no negative number is left."""
        low = self.lower[v]
        return low is not None and low >= 0

    def count(self, v: int) -> int | None:
        """The number of values that are left; None if they are not bounded."""
        low, high = self.lower[v], self.upper[v]
        return None if low is None or high is None else (high - low) // self.modulus[v] + 1

    def residue(self, v: int) -> tuple[int, int]:
        """Modulus and remainder; the modulus of one number is 0."""
        low = self.lower[v]
        if low is not None and low == self.upper[v]:
            return 0, low
        return self.modulus[v], self.remainder[v]

    def mark(self) -> int:
        """A state to which `undo` goes back."""
        return len(self._trail)

    def undo(self, mark: int) -> None:
        """Take back all changes since the mark."""
        self.changed.clear()
        while len(self._trail) > mark:
            v, low, high, modulus, remainder = self._trail.pop()
            self.lower[v], self.upper[v], self.modulus[v], self.remainder[v] = low, high, modulus, remainder

    def fix(self, v: int, value: int) -> None:
        """The variable is that number. Raises Empty where it can't be."""
        low, high = self.lower[v], self.upper[v]
        if (low is not None and value < low) or (high is not None and value > high):
            raise Empty
        self._set(v, value, value, self.modulus[v], self.remainder[v])

    def at_least(self, v: int, bound: int) -> None:
        """Raises Empty where no number is left."""
        low = self.lower[v]
        if (low is None or bound > low) and bound.bit_length() <= BITS:
            self._set(v, bound, self.upper[v], self.modulus[v], self.remainder[v])

    def at_most(self, v: int, bound: int) -> None:
        """Raises Empty where no number is left."""
        high = self.upper[v]
        if (high is None or bound < high) and bound.bit_length() <= BITS:
            self._set(v, self.lower[v], bound, self.modulus[v], self.remainder[v])

    def congruent(self, v: int, modulus: int, remainder: int) -> None:
        """The variable leaves that remainder; a modulus of 0 says that it is the remainder. Raises Empty where no number is left."""
        if modulus == 0:
            if remainder.bit_length() <= BITS:
                self.at_least(v, remainder)
                self.at_most(v, remainder)
            return
        modulus = abs(modulus)
        m, r = self.residue(v)
        if m == 0:
            if (r - remainder) % modulus:
                raise Empty
            return
        common = gcd(m, modulus)
        if (remainder - r) % common:
            raise Empty
        if m % modulus == 0:
            return
        step = modulus // common
        if (m * step).bit_length() > _MODULUS_BITS:
            return
        r += m * ((remainder - r) // common * pow(m // common, -1, step) % step)
        m *= step
        self._set(v, self.lower[v], self.upper[v], m, r % m)

    def _set(self, v: int, low: int | None, high: int | None, modulus: int, remainder: int) -> None:
        if modulus > 1:
            if low is not None:
                low += (remainder - low) % modulus
            if high is not None:
                high -= (high - remainder) % modulus
        if low is not None and high is not None and low > high:
            raise Empty
        self._trail.append((v, self.lower[v], self.upper[v], self.modulus[v], self.remainder[v]))
        self.lower[v], self.upper[v], self.modulus[v], self.remainder[v] = low, high, modulus, remainder
        self.changed.append(v)
