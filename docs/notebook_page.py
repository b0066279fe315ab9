"""A notebook as a page: its cells are run, and what they show is below them, as a notebook would show it.

Only what such a page needs is here: code and Markdown, what is printed, the value of a cell's last expression as HTML or text, and the
error of a cell with the tag `raises-exception`. Nothing of Jupyter is needed.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any


class NotebookError(Exception):
    """A cell fails that should not, or the other way round."""


def page(path: Path, folder: Path) -> str:
    """The Markdown of a notebook whose cells are run in a folder, in order, in one namespace.

    Raises:
        NotebookError: a cell fails that has no tag `raises-exception`, or one that has it does not.
    """
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    namespace: dict[str, Any] = {"__name__": "__main__"}
    with contextlib.chdir(folder):
        parts = [part for index, cell in enumerate(cells) for part in _cell(cell, f"{path.name}, cell {index + 1}", namespace)]
    return "\n\n".join(parts) + "\n"


def _cell(cell: dict[str, Any], name: str, namespace: dict[str, Any]) -> Iterable[str]:
    text = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        yield text
    elif cell["cell_type"] == "code":
        yield f"```python\n{text}\n```"
        yield from _run(text, name, namespace, "raises-exception" in cell.get("metadata", {}).get("tags", ()))


def _run(text: str, name: str, namespace: dict[str, Any], raises: bool) -> list[str]:
    printed, value, failure = io.StringIO(), None, None
    with contextlib.redirect_stdout(printed):
        try:
            value = _value(text, name, namespace)
        except Exception as raised:
            if not raises:
                raise NotebookError(f"{name} fails: {type(raised).__name__}: {raised}") from raised
            failure = raised
    if raises and failure is None:
        raise NotebookError(f"{name} should fail, and does not")
    shown = [_text(printed.getvalue())] if printed.getvalue() else []
    if failure is not None:
        shown.append(_text("\n".join(getattr(failure, "_render_traceback_", lambda: [f"{type(failure).__name__}: {failure}"])())))
    elif value is not None:
        html = getattr(value, "_repr_html_", None)
        shown.append(f'<div class="output">{html()}</div>' if html is not None else _text(repr(value)))
    return shown


def _value(text: str, name: str, namespace: dict[str, Any]) -> Any:
    """Run a cell; the value of its last statement, if that is an expression."""
    statements = ast.parse(text, name).body
    last = statements[-1] if statements else None
    if not isinstance(last, ast.Expr):
        exec(compile(text, name, "exec"), namespace)
        return None
    exec(compile(ast.Module(statements[:-1], []), name, "exec"), namespace)
    return eval(compile(ast.Expression(last.value), name, "eval"), namespace)


def _text(text: str) -> str:
    return f"```text\n{text.rstrip()}\n```"
