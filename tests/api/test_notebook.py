"""The page of a notebook: cells are run in order, their output is below them, and a cell that fails fails the page."""

from __future__ import annotations

import json
from pathlib import Path

import notebook_page as notebook
import pytest
from notebook_page import NotebookError
from support import ROOT


def write(folder: Path, *cells: tuple[str, str], tags: tuple[str, ...] = ()) -> Path:
    found = [{"cell_type": kind, "metadata": {"tags": list(tags)}, "source": text.splitlines(keepends=True)} for kind, text in cells]
    path = folder / "x.ipynb"
    path.write_text(json.dumps({"cells": found, "nbformat": 4, "nbformat_minor": 5}))
    return path


def test_cells_share_a_namespace_and_show_what_they_print_and_their_last_value(tmp_path: Path) -> None:
    cells = ("x = 20\nprint('said')\nx + 1", "x *= 2", "x\nNone", "x")
    path = write(tmp_path, ("markdown", "# Title"), *(("code", cell) for cell in cells))
    assert notebook.page(path, tmp_path).split("\n\n") == [
        "# Title",
        "```python\nx = 20\nprint('said')\nx + 1\n```",
        "```text\nsaid\n```",
        "```text\n21\n```",
        "```python\nx *= 2\n```",
        "```python\nx\nNone\n```",
        "```python\nx\n```",
        "```text\n40\n```\n",
    ]


def test_a_value_that_knows_html_is_shown_as_html(tmp_path: Path) -> None:
    text = "class Shown:\n    def _repr_html_(self):\n        return '<b>1</b>'\n\n\nShown()"
    assert notebook.page(write(tmp_path, ("code", text)), tmp_path).endswith('\n\n<div class="output"><b>1</b></div>\n')


def test_cells_run_in_the_folder(tmp_path: Path) -> None:
    path = write(tmp_path, ("code", "import os\nos.listdir()"))
    assert "['x.ipynb']" in notebook.page(path, tmp_path)


@pytest.mark.parametrize(
    ("text", "tags", "message"),
    [
        ("1 / 0", (), "x.ipynb, cell 1 fails: ZeroDivisionError: division by zero"),
        ("1 +", (), "x.ipynb, cell 1 fails: SyntaxError"),
        ("1", ("raises-exception",), "x.ipynb, cell 1 should fail, and does not"),
    ],
)
def test_a_cell_does_as_its_tag_says(text: str, tags: tuple[str, ...], message: str, tmp_path: Path) -> None:
    with pytest.raises(NotebookError, match=message):
        notebook.page(write(tmp_path, ("code", text), tags=tags), tmp_path)


def test_the_error_of_a_cell_is_shown(tmp_path: Path) -> None:
    text = 'import bpir\nbpir.parse("model.x", "a.bpir")'
    found = notebook.page(write(tmp_path, ("code", text), tags=("raises-exception",)), tmp_path)
    assert "DiagnosticError:\na.bpir:1:1: error: " in found
    assert "Traceback" not in found


def test_the_notebook_of_the_site() -> None:
    """It is stored without outputs, and what it shows agrees with arithmetic by hand."""
    path = ROOT / "docs" / "notebook.ipynb"
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    assert all(cell.get("outputs", []) == [] and cell.get("execution_count") is None for cell in cells)
    found = notebook.page(path, ROOT)
    kv = 2 * 2048 * 12288 * 2 // 8  # K and V of 2048 tokens, 12288 elements of 2 bytes, on 8 ranks
    assert f"B =   1   weights   453,153,792   KV cache {kv:>13,} bytes" in found
    assert found.count('<div class="output">') == 3
    assert "proved under tensor = 8\nrefuted under tensor = 8\n" in found
    assert "did you mean 'tensor'?" in found
