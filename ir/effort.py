"""Effort is counted in steps, never in time, so that the same question always ends in the same way."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import attrs


class Exhausted(Exception):
    """The steps that were allowed are spent: nothing is decided."""


@attrs.define
class Effort:
    """Steps that may still be done; one is about as much work as an operation on two small numbers."""

    left: int

    def spend(self, steps: int) -> None:
        """Account for steps.

        Raises:
            Exhausted: more are spent than there were.
        """
        self.left -= steps
        if self.left < 0:
            raise Exhausted

    @contextmanager
    def at_most(self, steps: int) -> Iterator[None]:
        """What is done inside has so many steps of those that are left; where it needs more, it ends there."""
        held = max(self.left - steps, 0)
        self.left -= held
        try:
            yield
        except Exhausted:
            if not held:
                raise
        finally:
            self.left = max(self.left, 0) + held
