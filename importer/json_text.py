"""JSON in which every value and every key knows its place in the text.

The standard library's decoder forgets places and keeps the last of two equal keys, so the structure is read here; strings and
numbers are decoded by the standard library.
"""

from __future__ import annotations

import json
import re
from json.decoder import scanstring  # type: ignore[attr-defined]

import attrs

from bpir.ir.diagnostic import DiagnosticError, Source, Span, fail, note

MAXIMUM_DEPTH = 64
"""Levels of lists and objects; configurations have about five."""

MAXIMUM_DIGITS = 400
"""Digits of an integer: enough for any size, few enough to be read at once."""

_SPACE = re.compile(r"[ \t\n\r]*")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_WORD = re.compile(r"-?[A-Za-z0-9_.+]*")
_WORDS: dict[str, bool | float | None] = {
    "null": None,
    "true": True,
    "false": False,
    "Infinity": float("inf"),
    "-Infinity": float("-inf"),
    "NaN": float("nan"),
}
"""The words of JSON and the three that Python writes for floats; configurations have `Infinity`."""

_STRINGS = {
    "Unterminated string": "a string without its closing quote",
    "Invalid control character": "a control character in a string, which must be written as an escape",
    "Invalid \\": "an escape that JSON does not have",
}
"""The standard library's messages about strings, whose words differ between its versions, and ours."""


@attrs.frozen(eq=False)
class Node:
    """A value of JSON at its place; a list holds nodes, an object members by their keys."""

    value: bool | int | float | str | list[Node] | dict[str, Member] | None
    span: Span

    @property
    def kind(self) -> str:
        """The kind of a value in words: `an integer`, `null`."""
        if self.value is None or isinstance(self.value, bool):
            return self.text
        kinds = {int: "an integer", float: "a number with a point", str: "a string", list: "a list", dict: "an object"}
        return kinds[type(self.value)]

    @property
    def text(self) -> str:
        """The value as the file spells it, shortened where it is long."""
        written = self.span.source.text[self.span.start : self.span.end]
        return written if len(written) <= 60 else written[:56] + " ..."


@attrs.frozen(eq=False)
class Member:
    """One entry of an object."""

    key: Span
    node: Node


def shown(text: str) -> str:
    """A decoded string as diagnostics hold text: the bytes of UTF-8 as latin-1."""
    return text.encode("utf-8", "surrogatepass").decode("latin-1")


def read_json(source: Source) -> Node:
    """The value that the text is (RFC 8259, and Python's `Infinity` and `NaN`).

    Args:
        source: bytes decoded as latin-1; they must be UTF-8.

    Raises:
        DiagnosticError: the text is no JSON, an object has a key twice, or lists and objects are nested too deeply.
    """
    reader = _Reader(source)
    start = 3 if source.text.startswith("\xef\xbb\xbf") else 0  # a byte-order mark
    node, end = reader.value(reader.skip(start), 0)
    end = reader.skip(end)
    if end < len(source.text):
        raise reader.fail("expected the end of the file after the value", end)
    return node


def _no_value(word: str, more: bool) -> str:
    """The message for a word that is no value; `more` says that the text goes on there."""
    near = next((w for w in _WORDS if w.lower() in (word.lower(), {"none": "null"}.get(word.lower()))), "")
    hint = f"; did you mean '{near}'?" if near and word else ""
    found = f", found '{word[:40]}'" if word else "" if more else ", found the end of the file"
    return f"expected a value{found}{hint}"


class _Reader:
    """Reads values from a text; each method takes an offset and gives what it read with the offset after it."""

    def __init__(self, source: Source) -> None:
        self.source, self.text = source, source.text

    def fail(self, message: str, start: int, end: int = 0) -> DiagnosticError:
        return fail(f"malformed JSON: {message}", self.span(start, end))

    def span(self, start: int, end: int = 0) -> Span:
        return Span(self.source, start, end or start + 1)

    def skip(self, at: int) -> int:
        match = _SPACE.match(self.text, at)
        return match.end() if match else at

    def value(self, at: int, depth: int) -> tuple[Node, int]:
        opening = self.text[at : at + 1]
        if opening in ("{", "["):
            if depth == MAXIMUM_DEPTH:
                raise self.fail(f"lists and objects are nested more than {MAXIMUM_DEPTH} deep", at)
            return self.object(at, depth + 1) if opening == "{" else self.list(at, depth + 1)
        if opening == '"':
            text, end = self.string(at)
            return Node(text, self.span(at, end)), end
        return self.word(at)

    def object(self, at: int, depth: int) -> tuple[Node, int]:
        members: dict[str, Member] = {}
        end = self.skip(at + 1)
        if self.text[end : end + 1] == "}":
            return Node(members, self.span(at, end + 1)), end + 1
        while True:
            start = end
            if self.text[start : start + 1] != '"':
                raise self.fail("expected a key in double quotes", start)
            key, end = self.string(start)
            place = self.span(start, end)
            if key in members:
                first = note("first given here", members[key].key)
                raise fail(f"the key '{shown(key)}' is given twice", place, first)
            end = self.skip(end)
            if self.text[end : end + 1] != ":":
                raise self.fail(f"expected ':' after the key '{shown(key)}'", end)
            node, end = self.value(self.skip(end + 1), depth)
            members[key] = Member(place, node)
            end, closed = self.separator(end, "}")
            if closed:
                return Node(members, self.span(at, end)), end

    def list(self, at: int, depth: int) -> tuple[Node, int]:
        nodes: list[Node] = []
        end = self.skip(at + 1)
        if self.text[end : end + 1] == "]":
            return Node(nodes, self.span(at, end + 1)), end + 1
        while True:
            node, end = self.value(end, depth)
            nodes.append(node)
            end, closed = self.separator(end, "]")
            if closed:
                return Node(nodes, self.span(at, end)), end

    def separator(self, at: int, closing: str) -> tuple[int, bool]:
        """After a comma the start of what follows; after the closing bracket the offset behind it, and true."""
        at = self.skip(at)
        found = self.text[at : at + 1]
        if found == closing:
            return at + 1, True
        if found != ",":
            raise self.fail(f"expected ',' or '{closing}'", at)
        after = self.skip(at + 1)
        if self.text[after : after + 1] == closing:
            raise self.fail(f"expected another entry after ',', found '{closing}'", after)
        return after, False

    def string(self, at: int) -> tuple[str, int]:
        try:
            text, end = scanstring(self.text, at + 1)
            written = self.text[at:end]
            return (text if written.isascii() else json.loads(written.encode("latin-1").decode("utf-8"))), end
        except json.JSONDecodeError as failure:
            reason = next((ours for theirs, ours in _STRINGS.items() if failure.msg.startswith(theirs)), "a malformed string")
            raise self.fail(reason, min(failure.pos, len(self.text))) from None
        except UnicodeDecodeError as failure:
            raise self.fail("the text is not UTF-8", at + failure.start) from None

    def word(self, at: int) -> tuple[Node, int]:
        match = _WORD.match(self.text, at)
        word = match[0] if match else ""
        end = at + len(word)
        place = self.span(at, end)
        if word in _WORDS:
            return Node(_WORDS[word], place), end
        number = _NUMBER.match(self.text, at)
        if number is None or not number[0]:
            raise self.fail(_no_value(word, at < len(self.text)), at, end)
        if number.end() < end and word[number.end() - at] not in "+-":
            raise self.fail(f"'{word[:40]}' is no number", at, end)
        end, place = number.end(), self.span(at, number.end())
        if number[1] or number[2]:
            return Node(float(number[0]), place), end
        if len(number[0]) > MAXIMUM_DIGITS:
            raise self.fail(f"an integer of more than {MAXIMUM_DIGITS} digits", at, end)
        return Node(int(number[0]), place), end
