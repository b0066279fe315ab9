"""The language server publishes the diagnostics of bp-opt, with places in the units of the protocol."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from lsp_client import Client
from lsp_documents import FILES, MODEL, URI, opened, where

from bpir.lsp.document import Document
from bpir.lsp.text import Lines
from bpir.tools import bp_opt
from bpir.tools.texts.split import MARKER

pytest.importorskip("pygls", reason="the language server needs pygls: pip install 'bpir[lsp]'")


def of_bp_opt(path: Path, capsys: pytest.CaptureFixture[str]) -> list[tuple[str, str, int, int]]:
    """Severity, message, line and column of each diagnostic and note of bp-opt."""
    text = path.read_bytes().decode("latin-1")
    bp_opt.main([str(path), "--verify-only", *(["--split-input-file"] if MARKER in text else [])])
    said = capsys.readouterr().err
    pattern = re.compile(rf"^(?:{re.escape(str(path))}:(\d+):(\d+): )?(error|warning|note|remark): (.*)$", re.MULTILINE)
    return [(severity, message, int(line or 0), int(column or 0)) for line, column, severity, message in pattern.findall(said)]


def of_document(document: Document) -> list[tuple[str, str, int, int]]:
    found = []
    for _, diagnostic in document.diagnostics():
        for line in diagnostic.render().split("\n"):
            match = re.match(rf"(?:{re.escape(document.name)}:(\d+):(\d+): )?(error|warning|note|remark): (.*)$", line)
            if match is not None:
                found.append((match[3], match[4], int(match[1] or 0), int(match[2] or 0)))
    return found


@pytest.mark.campaign
@pytest.mark.slow
def test_diagnostics_are_those_of_bp_opt(client: Client, capsys: pytest.CaptureFixture[str]) -> None:
    """Of every file: the same severities, messages and places; published with places in UTF-16 units."""
    count = 0
    for path in FILES:
        data = path.read_bytes()
        said = of_bp_opt(path, capsys)
        text = data.decode("utf-8", "surrogateescape")
        try:
            text.encode("utf-8")
        except UnicodeEncodeError:
            continue  # no text of UTF-8: no editor sends it
        document = Document(str(path), text)
        assert of_document(document) == said, path
        published = opened(client, text, path.as_uri())
        lines = Lines(text)
        main = [row for row in said if row[0] != "note"]
        assert [d["message"].split("\n")[0] for d in published] == [row[1] for row in main], path
        for d, (severity, _, line, column) in zip(published, main, strict=True):
            assert d["severity"] == {"error": 1, "warning": 2}[severity]
            if line:
                start = lines.start(line - 1) + column - 1
                assert (d["range"]["start"]["line"], d["range"]["start"]["character"]) == lines.position(start), path
        count += len(main)
    assert count > 400


def test_notes_are_related_information(client: Client) -> None:
    text = MODEL.replace("%g = model", "%u = model")
    (found,) = [d for d in opened(client, text) if "redefinition" in d["message"]]
    (note,) = found["relatedInformation"]
    assert note["message"] == "'%u' is first defined here"
    assert note["location"]["range"]["start"]["line"] == 6


def test_places_count_utf_16_units(client: Client) -> None:
    """The two characters before the mistake take 2 and 4 bytes, 1 and 2 units."""
    text = 'module {\n  model.block @"é𝕏"(%x: !bp.tensr<B>) {\n  }\n}\n'
    found = opened(client, text)[0]
    line = text.splitlines()[1]
    assert found["range"]["start"] == {"line": 1, "character": len(line[: line.index("!bp.tensr")].encode("utf-16-le")) // 2}


def test_a_change_is_applied_and_judged_again(client: Client) -> None:
    assert opened(client, MODEL) == []
    line, character = where(MODEL, "model.gelu", 0, 6)
    place = {"start": {"line": line, "character": character}, "end": {"line": line, "character": character + 4}}
    client.change(URI, {"range": place, "text": "gleu"})
    (found,) = client.diagnostics(URI)
    assert "unknown operation 'model.gleu'; did you mean 'model.gelu'?" in found["message"]
    client.change(URI, {"range": place, "text": "gelu"})
    assert client.diagnostics(URI) == []
