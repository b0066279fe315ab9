"""How much effort a proof may take: counted, so that the same claim has the same answer on every machine."""

from __future__ import annotations


class ExhaustedError(Exception):
    """A proof took more steps than it may; it proves nothing."""


class Steps:
    """Steps that are left. One step is about one multiplication of two numbers."""

    def __init__(self, count: int) -> None:
        self.left = count

    def spend(self, count: int) -> None:
        """Take steps away.

        Raises:
            ExhaustedError: there are not that many.
        """
        self.left -= count
        if self.left < 0:
            raise ExhaustedError
