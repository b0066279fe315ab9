"""The documents of the tests of the language server, and places in them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from lsp_client import Client
from support import ROOT

BP_LSP = str(Path(sys.executable).parent / "bp-lsp")
FOLDERS = (ROOT / "examples", ROOT / "lit_tests")
FILES = sorted(path for folder in FOLDERS for end in ("bpir", "mlir") for path in folder.rglob(f"*.{end}") if "Output" not in path.parts)
URI = "file:///work/test.bpir"
MODEL = """module @m {
  bp.symbols B, S, H, F, t, e where t | F
  bp.bind e = 2
  bind.workload @w inference {phase = prefill, context = S}
  bind.strategy @tp {tensor = t}
  model.block @block(%x: !bp.tensor<B x S x H, e>) {
    %u = model.linear "mlp.expand" %x : [F]
    %g = model.gelu "mlp.gelu" %u
    %z = model.linear "mlp.contract" %g : [H]
    model.return %z
  }
}
"""


def opened(client: Client, text: str, uri: str = URI) -> list[dict[str, Any]]:
    """The diagnostics of a new document."""
    if uri in client.versions:
        client.close(uri)
    client.notes.clear()  # of an older document with this name
    client.open(uri, text)
    return client.diagnostics(uri)


def where(text: str, part: str, nth: int = 0, by: int = 0) -> tuple[int, int]:
    """The line and the character of the nth occurrence of a part of an ASCII text."""
    place = -1
    for _ in range(nth + 1):
        place = text.index(part, place + 1)
    before = text[: place + by]
    return before.count("\n"), len(before) - before.rfind("\n") - 1


def shown(text: str, location: dict[str, Any]) -> str:
    """The text at a location, with its place."""
    start, end = location["range"]["start"], location["range"]["end"]
    line = text.splitlines()[start["line"]]
    return f"{start['line']}:{line[start['character'] : end['character']]}"
