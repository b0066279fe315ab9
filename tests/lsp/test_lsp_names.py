"""Definitions and references of the language server: by hand, and as MLIR's own server has them for the generic form."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lsp_client import Client
from lsp_documents import FILES, MODEL, URI, opened, shown, where

from bpir import dialects
from bpir.ir.diagnostic import DiagnosticError, Source
from bpir.ir.expressions.error import ExpressionError
from bpir.ir.printer import print_module
from bpir.lsp.names import Name, Names
from bpir.lsp.text import Lines
from bpir.parser import parse_module
from bpir.tools.texts.split import MARKER, split

pytest.importorskip("pygls", reason="the language server needs pygls: pip install 'bpir[lsp]'")

MLIR = shutil.which("mlir-lsp-server-19")


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


@pytest.mark.campaign
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


@pytest.mark.campaign
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
