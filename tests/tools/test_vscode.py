"""The VS Code extension: VS Code's own engine finds the tokens of the lexer; it can be packaged; its client fits the server."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import pytest
from pygments.token import Comment, Keyword, Name, Token, Whitespace
from support import ROOT

from bpir import __version__
from bpir.tools.highlighting import textmate
from bpir.tools.highlighting.pygments_lexer import BpirLexer

EXTENSION = ROOT / "editors" / "vscode"
EXAMPLES = sorted((ROOT / "examples").rglob("*.bpir"))
LIT = sorted(path for path in (ROOT / "lit_tests").rglob("*.bpir") if "Output" not in path.parts)
Row = tuple[int, int, int, str]


def test_the_grammar_is_made_from_the_lexer() -> None:
    written = json.loads((EXTENSION / "syntaxes" / "bpir.tmLanguage.json").read_text(encoding="utf-8"))
    assert written == textmate.grammar(), "run: python -m bpir.tools.highlighting.textmate editors/vscode/syntaxes/bpir.tmLanguage.json"


def test_every_kind_of_token_has_its_own_scope() -> None:
    kinds = {kind for path in EXAMPLES for _, kind, value in tokens(path) if value.strip()}
    assert kinds <= set(textmate.SCOPES)
    assert {Comment.Single, Keyword, Name.Function, Name.Variable} <= kinds
    assert len(set(textmate.SCOPES.values())) == len(textmate.SCOPES)


def test_the_manifest_says_what_is_there() -> None:
    manifest = json.loads((EXTENSION / "package.json").read_text(encoding="utf-8"))
    assert manifest["version"] == __version__
    (grammar,) = manifest["contributes"]["grammars"]
    assert grammar["scopeName"] == textmate.grammar()["scopeName"]
    for path in (grammar["path"], manifest["main"], manifest["contributes"]["languages"][0]["configuration"]):
        assert (EXTENSION / path).is_file()
    assert (EXTENSION / "LICENSE").read_text() == (ROOT / "LICENSE").read_text()
    client = (EXTENSION / "extension.js").read_text(encoding="utf-8")
    server = (ROOT / "lsp" / "server.py").read_text(encoding="utf-8")
    for word in ("bpir.derive", "showsDerived", "allowUnregisteredDialect"):
        assert f'"{word}"' in server and word in client
    settings = manifest["contributes"]["configuration"]["properties"]
    assert set(settings) == {"bpir.server", "bpir.allowUnregisteredDialect"}


# --- with npm


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the extension with the packages that it needs."""
    if shutil.which("npm") is None or shutil.which("node") is None:
        pytest.skip("npm is not installed")
    folder = tmp_path_factory.mktemp("vscode") / "extension"
    shutil.copytree(EXTENSION, folder, ignore=shutil.ignore_patterns("node_modules", "*.vsix"))
    done = npm(folder, "install", "--no-audit", "--no-fund", "--ignore-scripts", "--no-package-lock")
    if done.returncode:
        pytest.skip(f"npm reaches no registry: {done.stderr.strip().splitlines()[-1:]}")
    return folder


def npm(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["npm", *arguments], cwd=folder, capture_output=True, text=True, timeout=300)


@pytest.mark.slow
@pytest.mark.long
def test_vs_code_finds_the_tokens_that_pygments_finds(installed: Path) -> None:
    paths = [*EXAMPLES, *LIT]
    command = ["node", "test/tokens.js", "syntaxes/bpir.tmLanguage.json", *map(str, paths)]
    done = subprocess.run(command, cwd=installed, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    count = 0
    for path in paths:
        theirs = merged([(line, start, end, scope) for line, start, end, scope in found[str(path)] if scope != "source.bpir"])
        ours = merged(list(rows(path)))
        assert theirs == ours, path
        count += len(ours)
    assert count > 10_000


def tokens(path: Path) -> list[tuple[int, Any, str]]:
    return list(BpirLexer().get_tokens_unprocessed(path.read_text(encoding="utf-8")))


def rows(path: Path) -> list[Row]:
    """The lexer's tokens, one row a line that they are on, with their places in UTF-16 units."""
    found: list[Row] = []
    line = column = 0
    for _, kind, value in tokens(path):
        assert kind is not Token.Error, f"{path}:{line + 1}"
        for index, piece in enumerate(value.split("\n")):
            if index:
                line, column = line + 1, 0
            width = len(piece.encode("utf-16-le")) // 2
            if piece.strip() and kind is not Whitespace:
                found.append((line, column, column + width, f"{textmate.SCOPES[kind]}.bpir"))
            column += width
    return found


def merged(given: list[Row]) -> list[Row]:
    """Neighbours with one scope as one: where the parts of a string or a comment meet is nothing that is seen."""
    found: list[Row] = []
    for line, start, end, scope in given:
        if found and found[-1][0] == line and found[-1][2] == start and found[-1][3] == scope:
            found[-1] = (line, found[-1][1], end, scope)
        else:
            found.append((line, start, end, scope))
    return found


@pytest.mark.slow
@pytest.mark.long
def test_the_extension_is_packaged(installed: Path) -> None:
    done = npm(installed, "run", "package")
    assert done.returncode == 0, done.stdout + done.stderr
    with zipfile.ZipFile(installed / f"bpir-{__version__}.vsix") as package:
        names = set(package.namelist())
    assert {f"extension/{name}" for name in ("extension.js", "package.json", "syntaxes/bpir.tmLanguage.json", "readme.md")} <= names
    assert "extension/node_modules/vscode-languageclient/node.js" in names
    assert not any("oniguruma" in name or name.startswith("extension/test/") for name in names)


@pytest.mark.slow
@pytest.mark.long
def test_the_client_can_be_loaded(installed: Path) -> None:
    """With a stand-in for VS Code, which is no package: `activate` starts the client with the command of the settings."""
    script = """
    const Module = require("module");
    const load = Module._load;
    const log = [];
    const vscode = {
      workspace: { getConfiguration: () => ({ get: (name) => ({ server: "bp-lsp" })[name] }) },
      commands: { registerCommand: (name) => { log.push(name); return {}; } },
      window: { showWarningMessage: (text) => log.push(text) },
    };
    class LanguageClient {
      constructor(id, name, server, options) { log.push(server.command, options.documentSelector[0].language); }
      async start() { throw new Error("no such file"); }
      isRunning() { return false; }
    }
    Module._load = (name, ...rest) =>
      name === "vscode" ? vscode : name === "vscode-languageclient/node" ? { LanguageClient } : load(name, ...rest);
    require("./extension.js").activate({ subscriptions: [] }).then(() => console.log(JSON.stringify(log)));
    """
    done = subprocess.run(["node", "-e", script], cwd=installed, capture_output=True, text=True, env={**os.environ}, timeout=60)
    assert done.returncode == 0, done.stderr
    log = json.loads(done.stdout)
    assert log[:3] == ["bpir.restart", "bp-lsp", "bpir"]
    assert "pip install 'bpir[lsp]'" in log[3]
