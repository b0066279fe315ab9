"""The time of each named section of a run, reported as MLIR does."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter

from bpir.passes.observers import Observer

_RULE = "===-------------------------------------------------------------------------==="


class Timing(Observer):
    """Adds up the wall time of named sections; sections do not nest."""

    def __init__(self) -> None:
        self.start = perf_counter()
        self.seconds: dict[str, float] = {}

    @contextmanager
    def section(self, name: str) -> Iterator[None]:
        begin = perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + perf_counter() - begin

    def render(self) -> str:
        """The table of sections, and the share of those whose name says that they verify."""
        total = perf_counter() - self.start
        rows = [*self.seconds.items(), ("Rest", total - sum(self.seconds.values())), ("Total", total)]
        verified = sum(seconds for name, seconds in self.seconds.items() if name.startswith("Verify"))
        lines = [_RULE, "... Execution time report ...".center(len(_RULE)).rstrip(), _RULE]
        lines += [f"  Total Execution Time: {total:.4f} seconds", "", "  ----Wall Time----  ----Name----"]
        lines += [f"  {seconds:8.4f} ({100 * seconds / total:5.1f}%)  {name}" for name, seconds in rows]
        lines.append(f"  Verification: {100 * verified / total:.1f}% of the total")
        return "\n".join(lines) + "\n"
