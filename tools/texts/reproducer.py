"""`--crash-reproducer`: what to send with a bug report, and what to run to see the failure again."""

from __future__ import annotations

import os
from collections.abc import Sequence
from shlex import quote

from bpir.ir.operation import Operation
from bpir.ir.printer import print_module
from bpir.passes.base import Pass
from bpir.passes.pipeline import spell


def numbered(path: str, number: int) -> str:
    """The file of the reproducer of a number: each failing part of an input has its own, `r.bpir`, `r.2.bpir`, and so on."""
    root, extension = os.path.splitext(path)
    if number == 1 or path == "-" or (os.path.exists(path) and not os.path.isfile(path)):
        return path
    return f"{root}.{number}{extension}"


def reproducer(module: Operation, passes: Sequence[Pass], path: str, flags: Sequence[str]) -> str:
    """The module that the failing pass was given, in generic form, headed by the command that fails on it."""
    command = ["bp-opt", path, *(f"--pass={spell(p)}" for p in passes), *(f"--{flag}" for flag in flags)]
    return f"// {' '.join(map(quote, command))}\n" + print_module(module, generic=True).rstrip("\n") + "\n"
