"""Random edits of a document in a running language server: `python tests/lsp/lsp_fuzz.py 10000`.

After each change something is asked about a random place, which makes the server read the text. It must answer every time.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path
from typing import Any

from lsp_client import Client

PIECES = (
    *'{}()<>[]"@%#!^=:, \n\x00',
    *("::", "->", "\r\n", "//", "// -----\n", "<{", "}>", "{-#", "#-}", "é", "\U0001d54f", "\u2028"),
    *("model.", "%x", "@block", "bp.symbols ", "!bp.tensor<", "1" * 40, "max(", "loc("),
)
QUESTIONS = ("definition", "hover", "completion", "references", "documentHighlight")
URI = "file:///fuzz/test.bpir"


def fuzz(server: str, text: str, count: int, seed: int) -> int:
    """Make so many edits, a fresh text after each fifty; how large the server is at its end, in kilobytes (0: not known)."""
    draw = random.Random(seed)
    with Client([server]) as client:
        client.open(URI, text)
        lines = text.split("\n")
        for index in range(count):
            if index % 50 == 49:
                client.change(URI, {"text": text})
            else:
                client.change(URI, change(draw, lines))
            line, character = draw.randrange(len(lines) + 2), draw.randrange(60)
            ask(client, draw, line, character)
        client.change(URI, {"text": text})
        assert client.diagnostics(URI) == [], "the server has lost the text"
        status = Path(f"/proc/{client.process.pid}/status")
        rows = status.read_text().splitlines() if status.exists() else []
        return next((int(row.split()[1]) for row in rows if row.startswith("VmRSS")), 0)


def change(draw: random.Random, lines: list[str]) -> dict[str, Any]:
    """One edit: put in, leave out, or replace a part of a line or of several."""
    first = draw.randrange(len(lines))
    last = min(first + draw.choice((0, 0, 0, 0, 1, 3)), len(lines))
    places = sorted(draw.randrange(len(lines[first]) + 2) for _ in range(2))
    if draw.random() < 0.4:
        places[1] = places[0]
        last = first
    piece = draw.choice((*PIECES, draw.choice(lines), "")) if draw.random() < 0.9 else "".join(draw.choices(PIECES, k=8))
    place = {"start": {"line": first, "character": places[0]}, "end": {"line": last, "character": places[1]}}
    return {"range": place, "text": piece}


def ask(client: Client, draw: random.Random, line: int, character: int) -> None:
    question = draw.randrange(len(QUESTIONS) + 5)
    document = {"textDocument": {"uri": URI}}
    whole = {"start": {"line": 0, "character": 0}, "end": {"line": line + 5, "character": character}}
    if question < len(QUESTIONS):
        client.at(QUESTIONS[question], URI, line, character, context={"includeDeclaration": True, "triggerKind": 1})
    elif question == len(QUESTIONS):
        client.request("textDocument/semanticTokens/full", document)
    elif question == len(QUESTIONS) + 1:
        client.request("textDocument/documentSymbol", document)
    elif question == len(QUESTIONS) + 2:
        client.request("textDocument/inlayHint", {**document, "range": whole})
    elif question == len(QUESTIONS) + 3:
        client.request("textDocument/formatting", {**document, "options": {"tabSize": 2, "insertSpaces": True}})
    else:
        client.request("textDocument/codeAction", {**document, "range": whole, "context": {"diagnostics": []}})


def main(count: int) -> None:
    root = Path(__file__).parent.parent.parent
    text = (root / "examples" / "transformer_block.bpir").read_text(encoding="utf-8")
    server = str(Path(sys.executable).parent / "bp-lsp")
    print(f"{count} edits, all answered; the server holds {fuzz(server, text, count, 1) // 1000} MB at the end")


if __name__ == "__main__":
    main(int(sys.argv[1]))
