"""No module needs itself: following imports, those inside of functions included, never leads back to where it began."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from support import ROOT

PACKAGE = ROOT / "src" / "bpir"


def modules(package: Path) -> dict[str, Path]:
    """Every module of a package, by its whole name."""
    found = {}
    folders = [folder for folder in package.iterdir() if folder.is_dir()]  # links, which `rglob` does not follow by itself
    for path in (*package.glob("*.py"), *(path for folder in folders for path in folder.rglob("*.py"))):
        parts = path.relative_to(package.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def statements(tree: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    """The imports of a module, wherever they stand; not those that only a type checker sees."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        elif not (isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")):
            yield from statements(node)


def imported(text: str, name: str, known: Mapping[str, Path]) -> set[str]:
    """The known modules that the text of a module imports, besides itself."""
    found: set[str] = set()
    for node in statements(ast.parse(text)):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif node.module is not None and not node.level:
            found.update(whole if (whole := f"{node.module}.{alias.name}") in known else node.module for alias in node.names)
        else:
            raise AssertionError(f"{name} has a relative import, which this test does not follow")
    return (found & known.keys()) - {name}


def circle(imports: Mapping[str, set[str]]) -> list[str]:
    """A shortest list of modules of which each imports the next, the last one the first; empty if there is none."""
    shortest: list[str] = []
    for start in sorted(imports):
        before: dict[str, str] = {}
        waiting = [start]
        for module in waiting:
            for other in sorted(imports[module] - before.keys()):
                before[other] = module
                waiting.append(other)
            if start in before:
                break
        if start in before:
            path = [start]
            while before[path[-1]] != start:
                path.append(before[path[-1]])
            path = [start, *reversed(path[1:])]
            shortest = min(shortest or path, path, key=len)
    return shortest


@pytest.mark.slow
def test_no_module_imports_itself_by_a_detour() -> None:
    known = modules(PACKAGE)
    assert {
        "bpir.ir.expressions.expression",
        "bpir.parser",
        "bpir.verifiers.ssa.operations",
        "bpir.dialects.model.rules.operation",
    } <= known.keys()
    imports = {name: imported(path.read_text(), name, known) for name, path in known.items()}
    assert (
        "bpir.ir.expressions.normal_form" in imports["bpir.ir.expressions.expression"]
        and "bpir.tools.pages.explain" in imports["bpir.tools.bp_opt"]
    )
    found = circle(imports)
    assert not found, " -> ".join([*found, found[0]])


@pytest.mark.parametrize(
    ("b", "expected"),
    [
        ("import p.c", []),
        ("import p.a", ["p.a", "p.b"]),
        ("def later():\n    from p import a", ["p.a", "p.b"]),
        ("try:\n    from p.a import x\nexcept ImportError:\n    pass", ["p.a", "p.b"]),
        ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from p.a import x", []),
    ],
)
def test_a_circle_is_seen(b: str, expected: list[str]) -> None:
    texts = {"p": "", "p.a": "from p.b import x", "p.b": b, "p.c": "x = 1"}
    known = dict.fromkeys(texts, Path())
    assert circle({name: imported(text, name, known) for name, text in texts.items()}) == expected
