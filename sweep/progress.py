"""How far a sweep is, on standard error: one line that is written over."""

from __future__ import annotations

import sys
import time

EVERY = 0.2
"""Seconds between two lines."""


class Progress:
    """Shows progress on a terminal, or wherever it is asked to (`always`)."""

    def __init__(self, when: str) -> None:
        terminal = sys.stderr is not None and sys.stderr.isatty()
        self._shown = when == "always" or (when == "auto" and terminal)
        self._last = 0.0
        self._began: dict[str, float] = {}
        self._width = 0

    def tell(self, what: str, done: int, count: int, kept: int) -> None:
        """So many of so many structures or points are done."""
        now = time.monotonic()
        began = self._began.setdefault(what, now)
        if not self._shown or (now - self._last < EVERY and done < count):
            return
        self._last = now
        rate = f"  {done / (now - began):,.0f} a second" if what == "points" and now > began else ""
        rows = f", {kept:,} rows" if what == "points" else ""
        filled = 20 * done // max(count, 1)
        line = f"[{'#' * filled}{'.' * (20 - filled)}] {done:,} of {count:,} {what}{rows}{rate}"
        self._write("\r" + line.ljust(self._width))
        self._width = len(line)

    def end(self) -> None:
        """End the line, where there is one."""
        if self._width:
            self._write("\n")
            self._width = 0

    @staticmethod
    def _write(text: str) -> None:
        try:
            sys.stderr.write(text)
            sys.stderr.flush()
        except (OSError, ValueError, AttributeError):  # nobody looks on
            pass
