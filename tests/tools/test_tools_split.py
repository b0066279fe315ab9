"""`--split-input-file` gives the parts that mlir-opt 19 gives, with places in the whole file."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpir.ir.diagnostic import DiagnosticError, Source
from bpir.tools.texts.split import split

MLIR_OPT = shutil.which("mlir-opt-19")


def parts(text: str) -> list[tuple[str, int]]:
    return [(part.text, part.first_line) for part in split(Source("f", text))]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("a\n", [("a\n", 1)]),
        ("a\n// -----\nb\n", [("a\n", 1), ("        \nb\n", 2)]),
        ("a\r\n// -----\r\nb", [("a\r\n", 1), ("        \r\nb", 2)]),
        ("a\n  // -----\nb", [("a\n  ", 1), ("          \nb", 2)]),
        ("a // -----\nb", [("a ", 1), ("          \nb", 1)]),
        ("a\n// -----x", [("a\n", 1), ("        x", 2)]),
        ("a\n// -----", [("a\n// -----", 1)]),  # nothing follows: a comment
        ("a\n// -----\n", [("a\n", 1), ("        \n", 2)]),
        ("a\n// ----\nb", [("a\n// ----\nb", 1)]),
        ("a\n//-----\nb", [("a\n//-----\nb", 1)]),
        ("a\n\n// -----\n// -----\nb", [("a\n\n", 1), ("        \n", 3), ("        \nb", 4)]),
    ],
)
def test_parts(text: str, expected: list[tuple[str, int]]) -> None:
    assert parts(text) == expected


@pytest.mark.parametrize(("text", "column"), [("// -----\na", 1), ("a// -----// -----b", 10)])
def test_nothing_before_a_marker_is_refused(text: str, column: int) -> None:
    with pytest.raises(DiagnosticError) as caught:
        parts(text)
    assert caught.value.diagnostics[0].render().startswith(f"f:1:{column}: error: nothing is before the marker")


PIECES = st.sampled_from(["// -----", "// ----", "// ", "-", "\n", " ", '"e.a"() : () -> ()\n', "x"])


@given(st.lists(PIECES, max_size=8).map("".join))
def test_every_place_of_a_part_is_the_place_in_the_file(text: str) -> None:
    source = Source("f", text)
    try:
        found = list(split(source))
    except DiagnosticError:
        return
    for part in found:
        for offset, character in enumerate(part.text):
            line, column = part.position(offset)
            assert character in " \n" or source.line(line)[column - 1] == character


@pytest.mark.skipif(not MLIR_OPT, reason="mlir-opt-19 is not installed")
@pytest.mark.parametrize(
    "text",
    [
        '"e.a"() : () -> ()\n// -----\n"e.b"() : () -> ()\n',
        '"e.a"() : () -> ()\n// -----\n',
        '"e.a"() : () -> ()\n// -----',
        '"e.a"() : () -> ()\n// -----\n// -----\n"e.b"() : () -> ()\n',
        '"e.a"() : () -> () // -----\n"e.b"() : () -> ()\n',
        '"e.a"() : () -> ()\n//// -----\n"e.b"() : () -> ()\n',
        '"e.a"() : () -> ()\n// ----\n"e.b"() : () -> ()\n',
        '"e.a"() : () -> ()\n// ---- // -----\n"e.b"() : () -> ()\n',
    ],
)
def test_mlir_opt_finds_as_many_parts(text: str) -> None:
    command = [MLIR_OPT or "", "--split-input-file", "--allow-unregistered-dialect"]
    done = subprocess.run(command, input=text.encode(), capture_output=True)
    assert done.stdout.count(b"module {") == len(parts(text))
