"""bp-export: a plan as other programs read it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable

from bpir.tools.bindings import BIND, bindings, check_numbers
from bpir.tools.common import Tool, only_file, read_module, wants_color
from bpir.tools.options import Arguments, Option, UsageError

OPTIONS = [
    Option("chakra", help="Chakra execution traces, one file a rank: NAME.RANK.et, and NAME.groups.json"),
    BIND,
    Option("rank", value="RANKS", help="these ranks only, counted from 0: --rank=0,1"),
    Option("o", value="NAME", help="what the names of the files begin with; all are written or none"),
]


def body(arguments: Arguments) -> int:
    """Read the plan, and write its traces."""
    values = bindings(arguments)
    chosen = _ranks(arguments)
    name = arguments.value("o")
    if not arguments.flag("chakra"):
        raise UsageError("say what to export: --chakra")
    if not name or name == "-":
        raise UsageError("give a name to the files, one a rank: -o NAME writes NAME.0.et, ...")
    module = read_module(only_file(arguments), wants_color(arguments))
    from bpir.dialects.bp import symbol_table
    from bpir.exporter.chakra import chakra_traces
    from bpir.exporter.numbers import Numbers

    check_numbers(values, module)
    numbers = Numbers({**symbol_table(module).bindings, **values})
    write_all((name + ending, data) for ending, data in chakra_traces(module, numbers, chosen))
    return 0


def _ranks(arguments: Arguments) -> list[int]:
    texts = [text for value in arguments.values("rank") for text in value.split(",")]
    for text in texts:
        if not (text.isascii() and text.isdigit() and len(text) < 10):
            raise UsageError(f"--rank expects numbers, as 0,1, found '{text}'")
    return list(dict.fromkeys(map(int, texts)))


def write_all(files: Iterable[tuple[str, bytes]]) -> None:
    """Write every file beside its place, then move all of them there: all are written or none.

    Raises:
        DiagnosticError: one can't be written.
    """
    from bpir.ir.diagnostic import fail

    parts: list[tuple[str, str]] = []
    path = ""
    try:
        for path, data in files:
            part = f"{path}.{os.getpid()}.part"
            descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
            parts.append((part, path))
            with open(descriptor, "wb") as stream:
                stream.write(data)
        for _, path in parts:
            if os.path.isdir(path):
                raise IsADirectoryError(21, "it is a directory")
        for part, path in parts:
            os.replace(part, path)
    except OSError as failure:
        raise fail(f"cannot write '{path}': {failure.strerror}") from None
    finally:
        for part, _ in parts:
            with contextlib.suppress(OSError):
                os.unlink(part)


TOOL = Tool(
    "bp-export",
    "bp-export --chakra [FILE|-] -o NAME [--bind NAME=NUMBER ...]",
    "Writes the execution traces of a plan, which simulators read.",
    OPTIONS,
    body,
)


def main(argv: list[str] | None = None) -> int:
    return TOOL.run(argv)
