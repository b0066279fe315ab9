"""The language server over stdio: hover, completion, outline, hints, formatting, actions; its speed and its soundness."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest
from lsp_client import Client
from lsp_documents import BP_LSP, MODEL, URI, opened, shown, where
from lsp_fuzz import fuzz
from tiers import examples

from bpir.ir.diagnostic import Source
from bpir.ir.printer import print_module
from bpir.parser import parse_module

pytest.importorskip("pygls", reason="the language server needs pygls: pip install 'bpir[lsp]'")


@pytest.mark.parametrize(
    ("part", "by", "expected_texts"),
    [
        ("%u =", 1, ["%u : !bp.tensor<B x S x F, e>", "`B*F*S*e` bytes on one rank"]),
        ("[F]", 1, ["F", "declared: `t | F`"]),
        ("e = 2", 0, ["e = 2"]),
        ("model.gelu", 7, ['model.gelu "LAYER" %OPERAND', "**Equations**"]),
        ("@block(", 1, ["model.block @block"]),
        ("bind.strategy", 3, ["bind.strategy @NAME", "FIELD"]),
    ],
)
def test_hover(part: str, by: int, expected_texts: list[str], client: Client) -> None:
    opened(client, MODEL)
    found = client.at("hover", URI, *where(MODEL, part, 0, by))
    for text in expected_texts:
        assert text in found["contents"]["value"]


def test_hover_shows_the_local_size(client: Client) -> None:
    """F = 4*B of a shard on a mesh of t ranks: B*S*F*e/t bytes."""
    source = parse_module(Source("m", MODEL))
    from bpir.passes.manager import PassManager
    from bpir.passes.pipeline import parse_pipeline

    derived = print_module(PassManager(parse_pipeline(Source("", "distribute-inference")), print_module).run(source))
    opened(client, derived)
    found = client.at("hover", URI, *where(derived, "%u =", 0, 1))["contents"]["value"]
    assert "F@tensor" in found
    assert "`B*F*S*e/t` bytes on one rank" in found


def labels(client: Client, text: str, part: str) -> list[str]:
    """The completions proposed at the end of a text."""
    opened(client, text)
    return [item["label"] for item in client.at("completion", URI, *where(text, part, 0, len(part)))]


def test_completion(client: Client) -> None:
    assert {"model.gelu", "model.linear", "bind.strategy"} <= set(labels(client, MODEL.replace("%g = model.gelu", "%g = mod"), "%g = mod"))
    assert {"x", "u", "g"} <= set(labels(client, MODEL, '"mlp.gelu" %'))
    assert {"tensor", "data", "pipeline"} <= set(labels(client, MODEL, "{tens"))
    assert {"prefill", "decode"} <= set(labels(client, MODEL, "phase = "))
    assert {"B", "S", "H", "F"} <= set(labels(client, MODEL, "!bp.tensor<"))
    assert "tensor" in labels(client, MODEL.replace("S x H", "S@t x H"), "S@t")
    network = MODEL[:-2] + "  model.network @n(%x: !bp.tensor<B x S x H, e>) {\n    %y = model.call @b %x\n    model.return %y\n  }\n}\n"
    assert "block" in labels(client, network, "model.call @b")


def test_the_outline_is_a_tree(client: Client) -> None:
    opened(client, MODEL)
    (module,) = client.request("textDocument/documentSymbol", {"textDocument": {"uri": URI}})
    assert module["name"] == "m"
    assert [child["name"] for child in module["children"]] == ["w", "tp", "block"]
    assert [child["name"] for child in module["children"][2]["children"]] == ["mlp.expand", "mlp.gelu", "mlp.contract"]


def test_hints_say_types_and_bytes(client: Client) -> None:
    opened(client, MODEL)
    whole = {"start": {"line": 0, "character": 0}, "end": {"line": 99, "character": 0}}
    found = client.request("textDocument/inlayHint", {"textDocument": {"uri": URI}, "range": whole})
    assert [hint["label"] for hint in found] == [
        ": !bp.tensor<B x S x F, e> (B*F*S*e bytes)",
        ": !bp.tensor<B x S x F, e> (B*F*S*e bytes)",
        ": !bp.tensor<B x S x H, e> (B*H*S*e bytes)",
    ]


def test_formatting_keeps_comments_and_is_done_once(client: Client) -> None:
    text = MODEL.replace("  model.block", "// why\n model.block").replace("  %g =", "      %g  =")
    opened(client, text)
    (edit,) = client.request("textDocument/formatting", {"textDocument": {"uri": URI}, "options": {"tabSize": 2, "insertSpaces": True}})
    assert "  // why\n  model.block" in edit["newText"]
    opened(client, edit["newText"])
    assert client.request("textDocument/formatting", {"textDocument": {"uri": URI}, "options": {"tabSize": 2, "insertSpaces": True}}) == []
    opened(client, MODEL.replace("model.gelu", "model.gleu"))
    assert client.request("textDocument/formatting", {"textDocument": {"uri": URI}, "options": {"tabSize": 2, "insertSpaces": True}}) == []


def test_semantic_tokens_cover_the_text(client: Client) -> None:
    opened(client, MODEL)
    data = client.request("textDocument/semanticTokens/full", {"textDocument": {"uri": URI}})["data"]
    legend = client.capabilities["semanticTokensProvider"]["legend"]["tokenTypes"]
    lines, line, column, found = MODEL.splitlines(), 0, 0, []
    for index in range(0, len(data), 5):
        down, across, width, kind, _ = data[index : index + 5]
        line, column = line + down, across + (0 if down else column)
        found.append((lines[line][column : column + width], legend[kind]))
    assert ("gelu", "function") in found or ("model.gelu", "function") in found
    assert ("%x", "variable") in found
    assert ('"mlp.gelu"', "string") in found or ("mlp.gelu", "string") in found


def actions(client: Client, part: str, text: str) -> list[dict[str, Any]]:
    line, character = where(text, part)
    place = {"line": line, "character": character}
    request = {"textDocument": {"uri": URI}, "range": {"start": place, "end": place}, "context": {"diagnostics": []}}
    found: list[dict[str, Any]] = client.request("textDocument/codeAction", request)
    return found


def test_a_near_name_is_a_quick_fix(client: Client) -> None:
    text = MODEL.replace("model.gelu", "model.gleu")
    opened(client, text)
    (fix,) = [action for action in actions(client, "model.gleu", text) if action["kind"] == "quickfix"]
    assert fix["title"] == "Write 'model.gelu'"
    (edit,) = fix["edit"]["changes"][URI]
    assert shown(text, edit) == "7:model.gleu"
    assert edit["newText"] == "model.gelu"


def test_deriving_a_plan_opens_a_file_beside(client: Client) -> None:
    opened(client, MODEL)
    found = [action for action in actions(client, "model.block", MODEL) if "command" in action]
    assert [action["title"] for action in found] == ["Derive the plan (inference)", "Derive the tasks of a rank (inference)"]
    command = found[0]["command"]
    answer = client.request("workspace/executeCommand", {"command": command["command"], "arguments": command["arguments"]})
    assert answer["name"] == "test.plan.bpir"
    assert "plan.task @mlp.gelu.prefill" in answer["text"]
    client.at("hover", URI, 0, 0)
    edits = [note["params"]["edit"] for note in client.notes if note["method"] == "workspace/applyEdit"]
    assert edits[-1]["documentChanges"][1]["edits"][0]["newText"] == answer["text"]
    assert edits[-1]["documentChanges"][0] == {"kind": "create", "uri": "file:///work/test.plan.bpir", "options": {"overwrite": True}}


def test_without_pygls_the_tool_says_what_to_install(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    from bpir.tools import bp_lsp

    monkeypatch.setitem(sys.modules, "pygls", None)
    assert bp_lsp.main([]) == 1
    assert "pip install 'bpir[lsp]'" in capsys.readouterr().err
    assert bp_lsp.main(["a.bpir"]) == 2


# --- speed and soundness


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="the processor time of another process is read from /proc")
def test_a_change_in_a_thousand_operations_takes_a_tenth_of_a_second_of_the_processor() -> None:
    """Processor time of the server, not time that passes: 36 ms on the machine that this was written on."""
    chain = "".join(f'    %x{i + 1} = model.gelu "l{i}" %x{i}\n' for i in range(1000))
    block = f"  model.block @b(%x0: !bp.tensor<B x S x H, 2>) {{\n{chain}    model.return %x1000\n  }}\n"
    text = f"module {{\n  bp.symbols B, S, H\n{block}}}\n"
    with Client([BP_LSP]) as client:
        client.open(URI, text)
        assert client.diagnostics(URI) == []
        before = processor_time(client)
        for _ in range(20):
            place = {"line": 500, "character": 0}
            client.change(URI, {"range": {"start": place, "end": place}, "text": " "})
            assert client.diagnostics(URI) == []
        assert (processor_time(client) - before) / 20 < 0.1


def processor_time(client: Client) -> float:
    """Seconds."""
    fields = Path(f"/proc/{client.process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.slow
@pytest.mark.random
def test_random_edits_do_not_end_the_server() -> None:
    """`python tests/lsp/lsp_fuzz.py 10000` makes more of them."""
    fuzz(BP_LSP, MODEL, examples(400), seed=7)
