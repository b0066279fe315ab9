"""`--bind NAME=NUMBER`, in every tool that has it."""

from __future__ import annotations

import re

from bpir.tools.options import Arguments, Option, UsageError

TYPE_CHECKING = False  # without `typing`, which is a part of every start
if TYPE_CHECKING:
    from bpir.ir.operation import Operation

BIND = Option("bind", value="NAME=NUMBER", help="put a number for a symbol (repeat, or list: --bind B=1 S=2048)")

_BINDING = re.compile(r"([A-Za-z_]\w*)=([0-9]{1,1000})", re.ASCII)


def bindings(arguments: Arguments) -> dict[str, int]:
    """The numbers given; those that follow `--bind B=1` as further arguments are taken out of the files.

    Raises:
        UsageError: one is no positive integer, or a symbol is given two.
    """
    texts = [text for value in arguments.values("bind") for text in value.split(",")]
    if texts:
        texts += [text for text in arguments.positional if _BINDING.fullmatch(text)]
        arguments.positional = [text for text in arguments.positional if not _BINDING.fullmatch(text)]
    found: dict[str, int] = {}
    for text in texts:
        match = _BINDING.fullmatch(text)
        if not match or not int(match[2]):
            raise UsageError(f"--bind expects NAME=NUMBER with a positive integer, found '{text}'")
        if found.setdefault(match[1], int(match[2])) != int(match[2]):
            raise UsageError(f"--bind gives {match[1]} two numbers, {found[match[1]]} and {match[2]}")
    return found


def check_numbers(values: dict[str, int], module: Operation) -> None:
    """Refuse numbers that contradict those of the module, or break what it declares and assumes.

    Raises:
        DiagnosticError: they do.
    """
    if not values:
        return
    from bpir.ir.diagnostic import Span
    from bpir.passes.pipeline import command_line
    from bpir.tools.reports import numbers

    def place(name: str) -> Span | None:
        if name not in values:
            return None
        source = command_line(f"--bind {name}={values[name]}")
        return Span(source, len("--bind "), len(source.text))

    numbers.check_numbers(values, module, place)
