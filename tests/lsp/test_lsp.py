"""The language server over stdio: what it answers, and that it says of every file what the tools and MLIR's own server say."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lsp_client import Client
from lsp_fuzz import fuzz
from support import ROOT

from bpir import dialects
from bpir.ir.diagnostic import DiagnosticError, Source
from bpir.ir.expressions.error import ExpressionError
from bpir.ir.printer import print_module
from bpir.lsp.document import Document
from bpir.lsp.names import Name, Names
from bpir.lsp.text import Lines
from bpir.parser import parse_module
from bpir.tools import bp_opt
from bpir.tools.split import MARKER, split

pytest.importorskip("pygls", reason="the language server needs pygls: pip install 'bpir[lsp]'")

BP_LSP = str(Path(sys.executable).parent / "bp-lsp")
MLIR = shutil.which("mlir-lsp-server-19")
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


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with Client([BP_LSP]) as running:
        yield running


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


# --- definitions and references


def test_a_value_is_defined_once_and_used_where_it_is_read(client: Client) -> None:
    opened(client, MODEL)
    for nth in (0, 1):
        found = client.at("definition", URI, *where(MODEL, "%g", nth, 1))
        assert [shown(MODEL, f) for f in found] == ["7:%g"]
    found = client.at("references", URI, *where(MODEL, "%x"), context={"includeDeclaration": True})
    assert [shown(MODEL, f) for f in found] == ["5:%x", "6:%x"]
    found = client.at("references", URI, *where(MODEL, "%x"), context={"includeDeclaration": False})
    assert [shown(MODEL, f) for f in found] == ["6:%x"]


def test_a_dimension_symbol_leads_to_its_declaration(client: Client) -> None:
    opened(client, MODEL)
    found = client.at("definition", URI, *where(MODEL, "[F]", 0, 1))
    assert [shown(MODEL, f) for f in found] == ["1:F"]
    assert found[0]["range"]["start"]["character"] == MODEL.splitlines()[1].index("F,")
    found = client.at("references", URI, *where(MODEL, "[H]", 0, 1), context={"includeDeclaration": True})
    assert [shown(MODEL, f) for f in found] == ["1:H", "5:H", "8:H"]


def test_names_of_neighbouring_regions_are_different_values(client: Client) -> None:
    text = (
        "func.func @f(%a: i32) -> i32 {\n  return %a : i32\n}\n"
        "func.func @g(%a: i32) -> i32 {\n  %b = func.call @f(%a) : (i32) -> i32\n  return %b : i32\n}\n"
    )
    assert opened(client, text) == []
    found = client.at("references", URI, *where(text, "%a", 2), context={"includeDeclaration": True})
    assert [shown(text, f) for f in found] == ["3:%a", "4:%a"]
    found = client.at("definition", URI, *where(text, "@f", 1))
    assert [shown(text, f) for f in found] == ["0:@f"]


def test_names_are_known_in_a_text_with_mistakes(client: Client) -> None:
    text = MODEL.replace("model.gelu", "model.gleu").replace("[H]\n", "[H\n")
    assert len(opened(client, text)) >= 2
    assert [shown(text, f) for f in client.at("definition", URI, *where(text, "%g", 1))] == ["7:%g"]


def test_the_lineage_leads_into_the_source_file(client: Client, tmp_path: Path) -> None:
    (tmp_path / "model.bpir").write_text(MODEL)
    source = parse_module(Source("model.bpir", MODEL))
    from bpir.passes.manager import PassManager
    from bpir.passes.pipeline import parse_pipeline

    derived = print_module(PassManager(parse_pipeline(Source("", "distribute-inference")), print_module).run(source))
    uri = (tmp_path / "dist.bpir").as_uri()
    opened(client, derived, uri)
    (found,) = client.at("definition", uri, *where(derived, 'from "mlp.gelu"', 0, 7))
    assert found["uri"] == (tmp_path / "model.bpir").as_uri()
    assert shown(MODEL, found) == '7:"mlp.gelu"'
    (block,) = client.at("definition", uri, *where(derived, 'from "block"', 0, 7))
    assert shown(MODEL, block) == "5:@block"
    client.close(uri)


# --- the judge: MLIR's own server, on the generic form


def parts(path: Path) -> Iterator[str]:
    """The generic form of each part of a file that can be read.

    MLIR looks up no symbol from inside an operation that has one region and is of a dialect that it does not know, because that might
    have symbols of its own; such operations get a second, empty region.
    """
    source = Source(str(path), path.read_bytes().decode("latin-1"))
    try:
        sections = list(split(source)) if MARKER in source.text else [source]
    except DiagnosticError:
        return
    for section in sections:
        try:
            text = print_module(parse_module(section, allow_unregistered=True), generic=True)
        except (DiagnosticError, ExpressionError):
            continue
        if text.isascii():
            yield with_second_regions(text)


def with_second_regions(text: str) -> str:
    opening: list[str] = []
    lines = []
    for line in text.split("\n"):
        inner = line.lstrip()
        if inner.startswith("})") and opening:
            if re.search(r'"(?:builtin\.module|func\.func)"', opening.pop()) is None:
                line = line.replace("})", "}, {})", 1)
        elif line.endswith("({"):
            opening.append(line)
        lines.append(line)
    return "\n".join(lines)


def places(answer: list[dict[str, Any]] | None) -> list[tuple[int, int]]:
    return sorted((found["range"]["start"]["line"], found["range"]["start"]["character"]) for found in answer or [])


def expected(name: Name, names: Names, lines: Lines) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Our definition and references as MLIR counts them: a symbol is defined by its operation, and that is no reference."""
    if name.target is None:
        return [], []
    references = names.references(name)
    if name.kind != "symbol":
        return [lines.position(name.target.start)], sorted(lines.position(other.start) for other in references)
    operation = names.operations[name.target.operation]
    return [lines.position(operation.start)], sorted(lines.position(other.start) for other in references if not other.defines)


@pytest.mark.slow
@pytest.mark.skipif(MLIR is None, reason="mlir-lsp-server-19 is not installed (Debian: mlir-19-tools)")
def test_definitions_and_references_are_those_of_mlir() -> None:
    """Of every value, block and symbol of every file, one use a name of each definition asked of MLIR (its answer is that of all)."""
    asked = differ = 0
    with Client([str(MLIR)]) as judge:
        for path in FILES:
            for index, text in enumerate(parts(path)):
                uri = f"file:///{path.name}.{index}.mlir"
                judge.open(uri, text, "mlir")
                if any(d["severity"] == 1 for d in judge.diagnostics(uri)):
                    continue  # MLIR knows better what is wrong with some operations of its own
                names, lines = Names(text), Lines(text)
                for name in names.found:
                    if name.kind in ("value", "block", "symbol") and not (name.kind == "symbol" and name.defines):
                        place = lines.position(name.start + 1)
                        definition = places(judge.at("definition", uri, *place))
                        references = places(judge.at("references", uri, *place, context={"includeDeclaration": True}))
                        asked += 1
                        differ += (definition, references) != expected(name, names, lines)
                        assert not differ, f"{path}, part {index}: {name}"
                judge.close(uri)
    assert asked > 7000


def test_the_custom_form_has_the_names_of_the_generic_form() -> None:
    """The custom form has the names that the judge sees in the generic form, with the same definitions."""
    count = 0
    dialects.load_all(dialects.available())
    for path in FILES:
        source = Source(str(path), path.read_bytes().decode("latin-1"))
        try:
            module = parse_module(source)
        except (DiagnosticError, ExpressionError):
            continue
        custom, generic = Names(print_module(module)), Names(print_module(module, generic=True))
        more = len(generic.operations) - len(custom.operations)  # the module that the custom form may leave out
        assert more in (0, 1), path
        for kind in ("value", "symbol"):
            assert linked(custom, kind, 0) == linked(generic, kind, more), path
            count += len(linked(custom, kind, 0))
    assert count > 1000


def linked(names: Names, kind: str, shift: int) -> list[tuple[str, str, int, str | None, int | None]]:
    """Each name with its operation, and the operation of its definition; operations by their order, from `shift` on."""
    return sorted(
        (name.text, names.operations[name.operation].name, name.operation - shift, None, None)
        if name.target is None
        else (name.text, names.operations[name.operation].name, name.operation - shift, name.target.text, name.target.operation - shift)
        for name in names.found
        if name.kind == kind
    )


# --- diagnostics


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


# --- the other answers


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
def test_random_edits_do_not_end_the_server() -> None:
    """`python tests/lsp_fuzz.py 10000` makes more of them."""
    fuzz(BP_LSP, MODEL, 400, seed=7)
