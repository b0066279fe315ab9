"""Python may run without assertions (`-O`): none of ours decides what is read, refused or printed."""

from __future__ import annotations

import ast
import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bpir import dialects
from bpir.ir.declaration import DECLARATIONS
from bpir.ir.diagnostic import DiagnosticError, Source
from bpir.ir.printer import print_module
from bpir.parser import parse_module
from bpir.parser.actions.operations import property_names
from bpir.tools.texts.split import split
from bpir.verifiers.structure.module import verify

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent.parent
FOLDERS = ("ir", "dialects", "parser", "verifiers", "passes", "tools")
VALUES = (
    "unit",
    "7 : i64",
    '""',
    '"a"',
    '"a b"',
    "[]",
    '[7 : i64, "a"]',
    "{}",
    "{a = 7 : i64}",
    '@""',
    "@a",
    "i32",
    "() -> ()",
    "#bp.expr<B>",
    "#bp.work<ops = B>",
    "[#bp.relation<greater B, 1>]",
)


def generic_operations() -> list[str]:
    """Every operation of ours in generic form, each of its properties with values of every kind."""
    names = sorted(dialects.available())
    dialects.load_all(names)
    found = []
    for name, declaration in sorted(DECLARATIONS.items()):
        if declaration.dialect not in (*names, "func", "builtin"):
            continue
        properties = sorted(property_names(declaration))
        regions = [""] if declaration.syntax is not None and not declaration.isolated else REGIONS
        for changed in properties or [""]:
            for value in VALUES:
                entries = ", ".join(f"{p} = {value if p == changed else DEFAULTS.get(p, '@a')}" for p in properties)
                for region in regions:
                    found.append(f'bp.symbols B\n"{name}"() <{{{entries}}}>{region} : () -> ()\n')
    return found


REGIONS = ("", " ({\n})", ' ({\n^bb0(%x: i32):\n  "func.return"() : () -> ()\n})')
DEFAULTS = {"sym_name": '"s"', "function_type": "() -> ()", "fields": "{}", "layer": '"l"', "kind": '"training"'}


def answer(text: str) -> str:
    """The text in both forms, or its diagnostics; each form is read again, and prints the same."""
    found = []
    source = Source("test.mlir", text)
    try:
        for part in split(source):
            module = parse_module(part, allow_unregistered=True)
            for generic in (False, True):
                found.append(print_module(module, generic))
                if not generic:
                    again = parse_module(Source("again", found[-1]), allow_unregistered=True)
                    assert_same(print_module(again, generic), found[-1])
            found += [diagnostic.render() for diagnostic in verify(module)]
    except DiagnosticError as failure:
        found += [diagnostic.render() for diagnostic in failure.diagnostics]
    return "\n".join(found)


def assert_same(again: str, first: str) -> None:
    if again != first:  # no assertion: it must not vanish under -O
        raise ValueError(f"printed {first!r}, read and printed again {again!r}")


def corpus() -> list[str]:
    """The file tests of the language, LLVM's small cases, those of users, and every operation in generic form."""
    folders = (ROOT / "lit_tests" / "language", ROOT / "tests" / "conformance", ROOT / "tests" / "data" / "cases")
    paths = [p for folder in folders for p in sorted(folder.iterdir()) if p.suffix in (".bpir", ".mlir")]
    paths = [p for p in paths if not p.name.startswith(("hang_", "maxes"))]  # for the time that they take
    return [path.read_bytes().decode("latin-1") for path in paths] + generic_operations()


def digest() -> str:
    return hashlib.sha256("\0".join(map(answer, corpus())).encode()).hexdigest()


@pytest.mark.campaign
def test_the_language_is_the_same_without_assertions() -> None:
    environment = {**os.environ, "PYTHONOPTIMIZE": "1", "PYTHONPATH": f"{Path(__file__).parent}:{ROOT / 'evidence'}"}
    script = "import sys, test_optimized; assert False; sys.stdout.write(test_optimized.digest())"
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True)
    assert done.stderr == ""
    assert done.stdout == digest()


def _narrows(test: ast.expr) -> bool:
    """`isinstance(x, T)`, `x is not None`, and several of them: what only a type checker reads."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        return all(map(_narrows, test.values))
    if isinstance(test, ast.Compare):
        return isinstance(test.ops[0], ast.IsNot) and ast.unparse(test.comparators[0]) == "None"
    return isinstance(test, ast.Call) and ast.unparse(test.func) == "isinstance"


@pytest.mark.campaign(keep=2)
@pytest.mark.parametrize("folder", FOLDERS)
def test_assertions_only_narrow_types(folder: str) -> None:
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}: {ast.unparse(node)}"
        for path in sorted((ROOT / folder).rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Assert) and not _narrows(node.test)
    ]
    assert found == []


def test_the_forms_of_properties_assert_nothing() -> None:
    """A custom form that cannot express a property says so, whatever Python does with assertions."""
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for folder in FOLDERS
        for path in sorted((ROOT / folder).rglob("*.py"))
        for function in ast.walk(ast.parse(path.read_text()))
        if isinstance(function, ast.FunctionDef) and function.name in ("pieces", "spelling")
        for node in ast.walk(function)
        if isinstance(node, ast.Assert)
    ]
    assert found == []
