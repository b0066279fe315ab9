"""Scanning: tokens, raw bodies, strings."""

from __future__ import annotations

import pytest

from bpir.parser import lexer
from bpir.parser.lexer import MAXIMUM_DEPTH, TOKEN, RawError, metadata_end, raw_end, symbol_of, unquoted


def tokens(text: str) -> list[tuple[int, str]]:
    found, position = [], 0
    while True:
        match = TOKEN.match(text, position)
        assert match is not None
        if match.lastindex is None or match.lastindex == lexer.END:
            return found
        found.append((match.lastindex, match[match.lastindex]))
        position = match.end()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("%a-b.c$d#1", ["%a-b.c$d", "#1"]),
        ("%0a", ["%0", "a"]),
        ("0x10 00x10 0x 3. 1.5e-3 1.0e 1e5", ["0x10", "00", "x10", "0", "x", "3.", "1.5e-3", "1.0", "e", "1", "e5"]),
        ("a// comment\rb", ["a", "b"]),
        ("()->i32 - >", ["(", ")", "->", "i32", "-", ">"]),
        ("@a::@b : :@c", ["@a", "::", "@b", ": :", "@c"]),
        ("#d.x<a, b> #d.x<<>>", ["#d.x<a, b>", "#d.x", "<", "<", ">", ">"]),
        ("2**-3", ["2", "**", "-", "3"]),
        ("^bb0: ^0", ["^bb0", ":", "^0"]),
    ],
)
def test_tokens(text: str, expected: list[str]) -> None:
    assert [value for _, value in tokens(text)] == expected


@pytest.mark.parametrize("text", ["\x0c", "\x0b", "\xa0", "\xef\xbb\xbf", "@", "%", "~", '"open', '"\\q"', "."])
def test_no_token_starts_here(text: str) -> None:
    match = TOKEN.match(text)
    assert match is not None
    assert match.lastindex is None
    message, offset = lexer.describe_bad_token(text, match.end(), len(text))
    assert message
    assert 0 <= offset <= len(text)


@pytest.mark.parametrize("body", ["<>", "<a<b>[c](d){e}>", '<">">', "<a -> b>", "<->>", "<a // b>", "<\n>"])
def test_raw_body_ends_at_its_bracket(body: str) -> None:
    assert raw_end(body + ">", 0, len(body) + 1) == len(body)


@pytest.mark.parametrize("body", ["<", "<(>", "<a >= b>)", '<"a>', "<\0>", "<[}>", "<" * (MAXIMUM_DEPTH + 2)])
def test_raw_body_that_does_not_end(body: str) -> None:
    if body == "<a >= b>)":
        assert raw_end(body, 0, len(body)) == 4  # `>` closes it: what follows is an error elsewhere
    else:
        with pytest.raises(RawError):
            raw_end(body, 0, len(body))


def test_metadata_skips_strings() -> None:
    text = '{-# a: "#-}" # #-} rest'
    assert text[: metadata_end(text, 0, len(text))] == '{-# a: "#-}" # #-}'


def test_strings() -> None:
    assert unquoted(r'"a\n\t\"\\\0A\fF"') == 'a\n\t"\\\n\xff'
    assert symbol_of('@"a b"') == "a b"
    assert symbol_of("@ab") == "ab"
