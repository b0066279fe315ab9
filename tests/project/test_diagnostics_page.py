"""`docs/diagnostics.md` shows what `bp-opt` says: each of its mistakes is made again."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bpir.tools import bp_opt

PAGE = (Path(__file__).parent.parent.parent / "docs" / "diagnostics.md").read_text()
MISTAKES = re.findall(r"## \d+\. ([^\n]+)\n\n```mlir\n(.*?)```\n\n`bp-opt`:\n\n```text\n(.*?)```\n\n`mlir-opt`:\n", PAGE, re.DOTALL)


def test_there_are_ten() -> None:
    assert len(MISTAKES) == 10


@pytest.mark.parametrize(("title", "text", "said"), MISTAKES, ids=[m[0] for m in MISTAKES])
def test_the_page_shows_what_is_said(
    title: str, text: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.mlir").write_text(text)
    assert bp_opt.main(["a.mlir", "--allow-unregistered-dialect"]) == 1
    assert capsys.readouterr().err == said
