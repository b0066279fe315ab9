"""Several errors in one run: each is reported once, and nothing that only follows from another one."""

from __future__ import annotations

import pytest

from bpir.ir.diagnostic import DiagnosticError, Source
from bpir.parser import parse_module

HEAD = "bp.symbols B, S, H, e\nmodel.block @block(%x: !bp.tensor<B x S x H, e>) {\n"
TAIL = "  model.return %x\n}\n"


def lines(text: str) -> list[int]:
    """The lines of the errors, in the order in which they are shown."""
    with pytest.raises(DiagnosticError) as caught:
        parse_module(Source("test.mlir", text), allow_unregistered=True)
    found = []
    for diagnostic in caught.value.diagnostics:
        assert diagnostic.span is not None
        found.append(diagnostic.span.source.position(diagnostic.span.start)[0])
    return found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('"x.a"() {a = 1, a = 2} : () -> ()\n"x.b"() : () -> ()\n"x.c"() {c = [1, 2} : () -> ()\n', [1, 3]),
        ('%a = "x.a"() {v = dense<1> : i32} : () -> i32\n"x.b"(%a) : (i32) -> ()\n"x.c"(%c) : (i32) -> ()\n', [1, 3]),
        ('#a = bogus\n"x.a"() {v = #a} : () -> ()\n', [1]),
        ('"x.a"() ({\n  "x.b"() {v = } : () -> ()\n  "x.c"()[^no] : () -> ()\n}) : () -> ()\n"x.d"() : ()\n', [2, 3, 5]),
        ('"x.a"() ({\n  "x.b"() : () -> (\n}) : () -> ()\n"x.d"() {k = } : () -> ()\n', [3, 4]),
        ("module {\n  bp.symbols a where a ** \n  bp.bind b = c\n}\n", [3, 3]),
        (HEAD + '  %y = model.glu "a.b" %x\n  %z = model.gelu "a.c" %y\n  %w = model.gelu "a.d" %q\n' + TAIL, [3, 5]),
        (HEAD.replace("@block(", "@block(%y: i32 i32, ") + TAIL + "bp.bind H = \n" + 'module {\n  "x.y"() : () -> ()\n', [2, 6, 7]),
        ('"x.a"() ({\n  "x.b"() : () -> ()\n', [2]),
        ('"x.a"(%a) : (i32) -> ()\n"x.b"() {k = } : () -> ()\n', [2, 1]),
        ("func.func @f(%a: i32) {\n  retrun %a : i32\n  %b = 3\n  return\n}\nfunc.func @g( {\n  return\n}\n", [2, 3, 6]),
    ],
)
def test_what_is_reported(text: str, expected: list[int]) -> None:
    assert lines(text)[: len(expected)] == expected
    assert len(lines(text)) <= len(expected) + 1


def test_the_number_of_errors_is_bounded() -> None:
    assert len(lines('"x.a"() {v = } : () -> ()\n' * 500)) == 20
