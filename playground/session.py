"""Runs the tools on a text, as a command line would; the page and the tests call it. Everything goes through `main` of the tools."""

from __future__ import annotations

import contextlib
import io
import os
import re
from collections.abc import Callable

_PLACE = re.compile(r"^input\.bpir:(\d+):(\d+): (error|warning|note|remark): (.*)$", re.MULTILINE)
FOLDER = "/tmp/playground"


def tool(name: str, *arguments: str) -> tuple[int, bytes, str]:
    """The exit status of a tool, its standard output, and what it says on standard error."""
    from importlib import import_module

    main: Callable[[list[str]], int] = import_module(f"bpir.tools.{name.replace('-', '_')}").main
    out, err = io.TextIOWrapper(io.BytesIO()), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = main(["--color=never", *arguments])
    out.flush()
    return status, out.buffer.getvalue(), err.getvalue()  # type: ignore[attr-defined]


def run(text: str, passes: list[str], numbers: str, view: str) -> dict[str, object]:
    """What the page shows of a text.

    Args:
        passes: as after `--pass=`.
        numbers: as after `--bind`, for all views but the text.
        view: `text`, `table` or `picture`.

    Returns:
        `output`, `said` (standard error), `status`, and `places`: line, column, length, severity and message of each diagnostic.
    """
    os.makedirs(FOLDER, exist_ok=True)
    os.chdir(FOLDER)
    with open("input.bpir", "w", encoding="utf-8", newline="") as file:
        file.write(text)
    target = [] if view == "text" else ["-o", "derived.bpir"]
    status, out, said = tool("bp-opt", "input.bpir", *(f"--pass={each}" for each in passes), *target)
    if status == 0 and view != "text":
        binding = ["--bind", *numbers.split()] if numbers.split() else []
        form = "svg" if view == "picture" else "table"
        status, out, more = tool("bp-report", "derived.bpir", f"--format={form}", *binding)
        said += more
    return {"output": out.decode("utf-8", "replace"), "said": said, "status": status, "places": places(said)}


def places(said: str) -> list[dict[str, object]]:
    """The diagnostics of a tool with their places in the text; the caret below says how long they are."""
    found: list[dict[str, object]] = []
    for match in _PLACE.finditer(said):
        below = said[match.end() + 1 :].split("\n", 2)
        carets = re.search(r"\^~*", below[1]) if len(below) > 1 else None
        length = len(carets[0]) if carets else 1
        found.append({"line": int(match[1]), "column": int(match[2]), "length": length, "severity": match[3], "message": match[4]})
    return found
