"""Every example in Python of the documentation is run, page by page, in the folder of the project."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from docs_python import blocks, run
from support import ROOT

PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page)], ids=lambda page: page.name)
def test_the_examples_of_a_page(page: Path) -> None:
    command = [sys.executable, str(ROOT / "tests" / "api" / "docs_python.py"), str(page)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.splitlines()[-1]) == len(blocks(page))


def test_the_page_of_the_interface_has_examples() -> None:
    assert len(blocks(ROOT / "docs" / "api.md")) >= 6


@pytest.mark.parametrize(
    ("text", "message"),
    [("```pycon\n>>> 1 + 1\n3\n```\n", r"Expected:\s+3\s+Got:\s+2"), ("```pycon\n1 + 1\n```\n", "has no prompt")],
)
def test_a_wrong_example_fails(text: str, message: str, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(text)
    with pytest.raises(AssertionError, match=message):
        run(page)
