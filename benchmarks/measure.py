"""Measures whole processes in turn (A B A B ...): processor time, wall time and peak memory; ratios of medians, and of minima."""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

BIN = Path(sys.executable).parent
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
"""That of the runs: nobody's modules are compiled again by each."""


def tool(name: str) -> str | None:
    """The path of a tool: of this environment, else of the machine; None if there is none."""
    own = BIN / name
    return str(own) if own.exists() else shutil.which(name)


class Run:
    """One finished process."""

    def __init__(self, command: Sequence[str]) -> None:
        start = time.perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=ENVIRONMENT)
        assert process.stderr is not None
        errors = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        self.wall = time.perf_counter() - start
        self.cpu = usage.ru_utime + usage.ru_stime
        self.memory = usage.ru_maxrss * 1024
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise RuntimeError(f"{' '.join(command)}: {errors.decode(errors='replace')[:400]}")


def in_turn(commands: Sequence[Sequence[str]], runs: int) -> list[list[Run]]:
    """The runs of each command, taken in turn after one warm-up each."""
    for command in commands:
        Run(command)
    found: list[list[Run]] = [[] for _ in commands]
    for _ in range(runs):
        for index, command in enumerate(commands):
            found[index].append(Run(command))
    return found


def median(runs: Sequence[Run], what: str = "cpu") -> float:
    return statistics.median(getattr(run, what) for run in runs)


def least(runs: Sequence[Run], what: str = "cpu") -> float:
    return min(getattr(run, what) for run in runs)


def timed(action: Callable[[], object], runs: int) -> list[float]:
    """Processor seconds of each of some calls."""
    found = []
    for _ in range(runs):
        start = time.process_time()
        action()
        found.append(time.process_time() - start)
    return found
