"""A diagnostic shows its source line by columns of a terminal, whatever the bytes, and suggests names that are near."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpir.ir.diagnostic import Diagnostic, Source, Span, suggestion


def shown(line: bytes, start: int, end: int) -> list[str]:
    source = Source("f", line.decode("latin-1"))
    return Diagnostic("no", Span(source, start, end)).render().split("\n")


@pytest.mark.parametrize(
    ("text", "marked", "caret"),
    [
        ("a = bc", "bc", "    ^~"),
        ("é = bc", "bc", "    ^~"),
        ("ab é", "é", "   ^"),
        ("é éé x", "éé", "  ^~"),
        ("中文 = b", "b", "       ^"),
        ("b = 中文", "中文", "    ^~~~"),
        ("e\u0301 = b", "b", "    ^"),  # a combining accent has no column of its own
        ("\tx", "x", " ^"),
    ],
)
def test_a_caret_stands_below_what_it_marks(text: str, marked: str, caret: str) -> None:
    start = len(text[: text.rindex(marked)].encode())
    found = shown(text.encode(), start, start + len(marked.encode()))
    assert found[0].startswith(f"f:1:{start + 1}: error: no")  # the column counts bytes, as LLVM's does
    assert found[1:] == ["  " + text.replace("\t", " "), "  " + caret]


def test_bytes_that_are_no_characters_are_escaped() -> None:
    assert shown(b"\xff\xc3\xa9 = b", 6, 7)[1:] == ["  \\xffé = b", "          ^"]


@given(st.binary(min_size=1, max_size=400).filter(lambda b: b"\n" not in b and b.strip()), st.data())
def test_every_line_can_be_shown(line: bytes, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(line)))
    end = data.draw(st.integers(start, len(line)))
    for text in shown(line, start, end):
        assert text.isprintable()


@pytest.mark.parametrize(
    ("name", "known", "near"),
    [
        ("gleu", ["gelu", "relu"], "gelu"),
        ("model.layernorm", ["model.layer_norm"], "model.layer_norm"),
        ("decod", ["decode", "prefill"], "decode"),
        ("flops", ["ops", "read"], "ops"),
        ("model.embedding", ["model.add", "model.gelu"], None),
        ("model.embedding", ["model.add", "model.rms_norm"], None),
        ("tokens", ["tensor"], None),
        ("add", ["mul"], None),
        ("x", ["y"], None),
    ],
)
def test_only_slips_are_near(name: str, known: list[str], near: str | None) -> None:
    assert suggestion(name, known) == (f"; did you mean '{near}'?" if near else "")
