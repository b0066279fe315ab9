"""JSON with places: it reads what the standard library reads, and every refusal has a place."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpir.importer.json_text import MAXIMUM_DEPTH, Node, read_json
from bpir.ir.diagnostic import DiagnosticError, Source

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20)


def source(text: str) -> Source:
    return Source("config.json", text.encode("utf-8", "surrogatepass").decode("latin-1"))


def plain(node: Node) -> Any:
    """The value without its places."""
    if isinstance(node.value, list):
        return [plain(item) for item in node.value]
    if isinstance(node.value, dict):
        return {key: plain(member.node) for key, member in node.value.items()}
    return node.value


@pytest.mark.slow
@given(VALUES, st.sampled_from([None, 1]), st.booleans())
def test_what_the_standard_library_writes_is_read(value: Any, indent: int | None, ascii: bool) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii)
    if not ascii and any("\ud800" <= c <= "\udfff" for c in text):
        return  # half of a pair is no UTF-8
    found = plain(read_json(source(text)))
    assert found == value
    assert json.dumps(found) == json.dumps(value)  # 1, 1.0 and true are three values


@given(VALUES, st.data())
def test_a_broken_text_is_refused_where_the_standard_library_refuses_it(value: Any, data: st.DataObject) -> None:
    text = json.dumps(value)
    at = data.draw(st.integers(0, len(text)))
    text = (
        text[:at]
        + data.draw(st.sampled_from(["", ",", '"', "]", "}", "x", "1", "\\", "\n", ":"]))
        + text[at + data.draw(st.integers(0, 2)) :]
    )
    try:
        expected = json.loads(text)
    except ValueError:
        with pytest.raises(DiagnosticError) as caught:
            read_json(source(text))
        (diagnostic,) = caught.value.diagnostics
        assert diagnostic.span is not None and 0 <= diagnostic.span.start <= len(text)
        return
    try:
        found = plain(read_json(source(text)))
    except DiagnosticError as failure:
        assert "is given twice" in failure.diagnostics[0].message  # the standard library takes the last of them
        return
    assert json.dumps(found) == json.dumps(expected)


def test_places_are_byte_offsets() -> None:
    text = '{"é": [1,\n "b"]}'
    node = read_json(source(text))
    assert isinstance(node.value, dict)
    member = node.value["é"]
    assert (member.key.start, member.key.end) == (1, 5)  # a quote, two bytes, a quote
    assert isinstance(member.node.value, list)
    assert member.node.value[1].span.source.position(member.node.value[1].span.start) == (2, 2)


def test_infinity_is_a_number() -> None:
    assert plain(read_json(source("[Infinity, -Infinity]"))) == [math.inf, -math.inf]
    assert math.isnan(plain(read_json(source("NaN"))))


@pytest.mark.parametrize(
    ("text", "message", "place"),
    [
        ("", "malformed JSON: expected a value, found the end of the file", (1, 1)),
        ('{"a": 1', "malformed JSON: expected ',' or '}'", (1, 8)),
        ('{"a" 1}', "malformed JSON: expected ':' after the key 'a'", (1, 6)),
        ("{a: 1}", "malformed JSON: expected a key in double quotes", (1, 2)),
        ("{'a': 1}", "malformed JSON: expected a key in double quotes", (1, 2)),
        ('{"a": 1,}', "malformed JSON: expected another entry after ',', found '}'", (1, 9)),
        ("[1 2]", "malformed JSON: expected ',' or ']'", (1, 4)),
        ('["a\n"]', "malformed JSON: a control character in a string, which must be written as an escape", (1, 4)),
        ('["a', "malformed JSON: a string without its closing quote", (1, 2)),
        ('["\\x"]', "malformed JSON: an escape that JSON does not have", (1, 3)),
        ("[True]", "malformed JSON: expected a value, found 'True'; did you mean 'true'?", (1, 2)),
        ("[None]", "malformed JSON: expected a value, found 'None'; did you mean 'null'?", (1, 2)),
        ("[01]", "malformed JSON: '01' is no number", (1, 2)),
        ("[1.]", "malformed JSON: '1.' is no number", (1, 2)),
        ("[.5]", "malformed JSON: expected a value, found '.5'", (1, 2)),
        ("{} {}", "malformed JSON: expected the end of the file after the value", (1, 4)),
        ('{"a": 1,\n "a": 2}', "the key 'a' is given twice", (2, 2)),
        ("[" * 65 + "]" * 65, f"malformed JSON: lists and objects are nested more than {MAXIMUM_DEPTH} deep", (1, 65)),
        ("[" * 100_000, f"malformed JSON: lists and objects are nested more than {MAXIMUM_DEPTH} deep", (1, 65)),
        ("[" + "9" * 100_000 + "]", "malformed JSON: an integer of more than 400 digits", (1, 2)),
    ],
)
def test_what_is_wrong_is_said_at_its_place(text: str, message: str, place: tuple[int, int]) -> None:
    with pytest.raises(DiagnosticError) as caught:
        read_json(source(text))
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.message == message
    assert diagnostic.span is not None
    assert diagnostic.span.source.position(diagnostic.span.start) == place


def test_bytes_that_are_no_utf_8_are_refused() -> None:
    with pytest.raises(DiagnosticError, match="the text is not UTF-8") as caught:
        read_json(Source("config.json", '{"a": "\xff"}'))
    assert caught.value.diagnostics[0].span is not None
    assert caught.value.diagnostics[0].span.start == 7


def test_a_byte_order_mark_is_passed_over() -> None:
    assert plain(read_json(Source("config.json", "\xef\xbb\xbf[1]"))) == [1]
