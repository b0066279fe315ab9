"""Files and folders are small enough to be looked through, and tests share helpers, not each other."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

from support import ROOT

LINES = 400
MODULES = 15
CODE = (
    *("api", "benchmarks", "cost", "dialects", "docs", "evidence", "exporter", "importer", "ir", "lsp", "parser", "passes", "playground"),
    *("run", "startup", "sweep", "tests", "tools", "verifiers"),
)


def modules() -> list[Path]:
    return sorted(path for folder in CODE for path in (ROOT / folder).rglob("*.py") if "node_modules" not in path.parts)


def test_no_file_has_more_lines() -> None:
    found = {str(path.relative_to(ROOT)): len(path.read_text(encoding="utf-8").splitlines()) for path in modules()}
    assert len(found) > 400
    assert {name: lines for name, lines in found.items() if lines > LINES} == {}


def test_no_folder_has_more_modules() -> None:
    found = Counter(str(path.parent.relative_to(ROOT)) for path in modules() if path.name != "__init__.py")
    assert {name: count for name, count in found.items() if count > MODULES} == {}


def test_no_test_imports_another() -> None:
    found = []
    for path in (ROOT / "tests").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            found += [f"{path.name}: {name}" for name in names if name.rpartition(".")[2].startswith("test_")]
    assert found == []
