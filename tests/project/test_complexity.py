"""No function has more than fifteen paths: one that has is several steps without names (McCabe 1976, as radon counts it)."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest
from support import ROOT

MOST = 15
Function = ast.FunctionDef | ast.AsyncFunctionDef


def paths(function: Function) -> int:
    """The number of paths of a function: one more than its branches. A function inside of it counts for itself."""
    return 1 + sum(map(_partings, function.body))


def _partings(node: ast.AST) -> int:
    if isinstance(node, Function):
        return 0
    found = sum(map(_partings, ast.iter_child_nodes(node)))
    match node:
        case ast.If() | ast.IfExp() | ast.ExceptHandler() | ast.Assert():
            return found + 1
        case ast.For() | ast.AsyncFor() | ast.While():
            return found + 1 + bool(node.orelse)
        case ast.Try():
            return found + bool(node.orelse)
        case ast.BoolOp():
            return found + len(node.values) - 1
        case ast.comprehension():
            return found + 1 + len(node.ifs)
        case ast.Match():
            return found + sum(not (isinstance(case.pattern, ast.MatchAs) and case.pattern.pattern is None) for case in node.cases)
    return found


def functions(tree: ast.AST) -> Iterator[Function]:
    """The functions and methods of a module, those inside of others, too."""
    return (node for node in ast.walk(tree) if isinstance(node, Function))


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("return 1", 1),
        ("if a:\n  return 1\nelif b:\n  return 2", 3),
        ("for x in y:\n  pass\nelse:\n  pass", 3),
        ("return a and b or c", 3),
        ("return [x for x in y if x for z in x]", 4),
        ("try:\n  pass\nexcept A:\n  pass\nexcept B:\n  pass\nelse:\n  pass", 4),
        ("def g():\n  return 1 if a else 2\nreturn g or 1", 2),
        ("match a:\n  case 1:\n    pass\n  case b.C():\n    pass\n  case _:\n    pass", 3),
    ],
)
def test_paths_are_counted(body: str, expected: int) -> None:
    function, *_ = functions(ast.parse("def f():\n" + "".join(f"  {line}\n" for line in body.splitlines())))
    assert paths(function) == expected


def test_no_function_has_too_many_paths() -> None:
    package = ROOT / "src" / "bpir"
    folders = [folder for folder in package.iterdir() if folder.is_dir()]  # links, which `rglob` does not follow by itself
    files = {path: path.relative_to(package) for folder in folders for path in sorted(folder.rglob("*.py"))}
    files |= {path: path.relative_to(ROOT) for path in sorted((ROOT / "evidence").rglob("*.py"))}
    assert len(files) > 330
    found = {
        (f"{name} {function.name}", function.lineno): paths(function)
        for path, name in files.items()
        for function in functions(ast.parse(path.read_text()))
    }
    assert len(found) > 3000
    large = {f"{name}, line {line}": count for (name, line), count in found.items() if count > MOST}
    assert not large, large
