"""Byte-exact scanning: one regular expression a token, and the pieces of the language that no regular expression can match.

The text is the file's bytes decoded as latin-1. `TOKEN` skips white space and comments and matches one token; its last group
says the class. Which of several readings a token has (keyword or word, `<` or the start of a raw body, integer or dimension
list) is decided by what the parser's state accepts, so nothing here knows a keyword.
"""

from __future__ import annotations

import re

# Token classes: the group numbers of TOKEN. Literal tokens (keywords, punctuation) are looked up by their text first.
PUNCTUATION, WORD, VALUE, STRING, INTEGER, SYMBOL, HASH, BANG, CARET, FLOAT, NUMBERED, END = range(1, 13)
# Classes that only the parser's state can ask for; their tokens are scanned on demand.
RAW_ANGLE, RAW_SQUARE, DIMENSIONS, METADATA = range(20, 24)

TERMINALS = {
    "T_WORD": WORD,
    "T_VALUE": VALUE,
    "T_STRING": STRING,
    "T_INTEGER": INTEGER,
    "T_SYMBOL": SYMBOL,
    "T_HASH": HASH,
    "T_BANG": BANG,
    "T_CARET": CARET,
    "T_FLOAT": FLOAT,
    "T_NUMBERED": NUMBERED,
    "T_RAW_ANGLE": RAW_ANGLE,
    "T_RAW_SQUARE": RAW_SQUARE,
    "T_DIMENSIONS": DIMENSIONS,
    "T_METADATA": METADATA,
    "$END": END,
}
"""The names by which grammars call the classes."""

USER_WORDS = {
    WORD: "a word",
    VALUE: "a value (%name)",
    STRING: "a string",
    INTEGER: "an integer",
    SYMBOL: "a symbol (@name)",
    HASH: "an attribute (#name)",
    BANG: "a type (!name)",
    CARET: "a block (^name)",
    FLOAT: "a number",
    NUMBERED: "a result number (#0)",
    RAW_ANGLE: "'<'",
    RAW_SQUARE: "'['",
    DIMENSIONS: "dimensions",
    END: "the end of the file",
}
"""The name of a token class in diagnostics."""

STRING_PATTERN = r'"(?:[^"\\\n\v\f]|\\["\\nt]|\\[0-9a-fA-F]{2})*+"'
SUFFIX_PATTERN = r"(?:[0-9]++|[A-Za-z_$.\-][A-Za-z0-9_$.\-]*+)"
# of most dictionaries and function types, on one line
DICTIONARY = r"\{(?:[^{}\n]++|\{[^{}\n]*+\})*+\}"
FUNCTION_TYPE = r"\((?:[^\n\r/l{}]++|l(?!oc\()|/(?!/)|\{[^{}\n]*+\})*+(?<![ \t])"
# `#d.x<...>` whose body nests nothing, the common case; other bodies are completed by `raw_end`.
_FLAT_BODY = r"(?:<[^<>\[\](){}\"\-\x00]*+>)?"

_SPACE = r"(?:[ \t\r\n\x00]++|//[^\n\r]*+)*+"
SPACE = re.compile(_SPACE)
TOKEN = re.compile(
    rf"{_SPACE}(?:"
    r"(->|\*\*|:(?:[ \t\r\n]*+:)?|\{-\#|[(),=\[\]{}<>+*/|?;\-])"
    r"|([A-Za-z_][A-Za-z0-9_$.]*+)"
    rf"|(%{SUFFIX_PATTERN})"
    rf"|({STRING_PATTERN})"
    r"|(0x[0-9a-fA-F]++|[0-9]++(?!\.))"
    rf"|(@(?:[A-Za-z_][A-Za-z0-9_$.]*+|{STRING_PATTERN}))"
    rf"|(\#[0-9]++(?=[ \t\r\n]*+=)|\#[A-Za-z_$.\-][A-Za-z0-9_$.\-]*+{_FLAT_BODY})"
    rf"|(!{SUFFIX_PATTERN}{_FLAT_BODY})"
    rf"|(\^{SUFFIX_PATTERN})"
    r"|([0-9]++\.[0-9]*+(?:[eE][\-+]?[0-9]++)?)"
    r"|(\#[0-9]++)"
    r"|(\Z)"
    r")?"
)

_DIMENSION = rf"{_SPACE}(?:[0-9]++|\?|\[{_SPACE}[0-9]++{_SPACE}\]){_SPACE}x"
DIMENSION_LIST = re.compile(rf"{_SPACE}\*{_SPACE}x|(?:{_DIMENSION})++")
ONE_DIMENSION = re.compile(r"(\[?)\s*([0-9]+|\?)")

MAXIMUM_DEPTH = 2000
"""The number of brackets that may be open at once."""

_BRACKETS = re.compile(rf"[^<>\[\](){{}}\"\-\x00]*+(?:(->)|({STRING_PATTERN})|([<>\[\](){{}}\"\-\x00]))")
_CLOSERS = {">": "<", "]": "[", ")": "(", "}": "{"}


class RawError(Exception):
    """A raw body that does not end: what is wrong, and where."""

    def __init__(self, message: str, offset: int) -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset


def raw_end(text: str, start: int, end: int) -> int:
    """The offset after the bracket that closes the one at `start`; strings are skipped, `->` is one unit.

    Raises:
        RawError: the brackets are not balanced, a string does not end, or they nest too deeply.
    """
    opened: list[str] = []
    position = start
    while True:
        match = _BRACKETS.match(text, position, end)
        if match is None:
            raise RawError(f"unbalanced '{opened[-1]}' in this body: its closing bracket is missing", start)
        position = match.end()
        bracket = match[3]
        if bracket is None or bracket == "-":
            continue
        if bracket in "<[({":
            opened.append(bracket)
            if len(opened) > MAXIMUM_DEPTH:
                raise RawError("nested too deeply", position - 1)
        elif bracket == '"':
            raise RawError("this string does not end on its line, or has an unknown escape", position - 1)
        elif bracket == "\0" or opened[-1] != _CLOSERS[bracket]:
            raise RawError(f"unbalanced '{opened[-1]}' in this body: found '{bracket}' instead of its end", start)
        else:
            opened.pop()
            if not opened:
                return position


def metadata_end(text: str, start: int, end: int) -> int:
    """The offset after the `#-}` that closes the `{-#` at `start`."""
    position = start + 3
    while True:
        match = _METADATA.match(text, position, end)
        if match is None:
            raise RawError("this metadata section is not closed by '#-}'", start)
        position = match.end()
        if match[1]:
            return position


_METADATA = re.compile(rf"[^\"\#]*+(?:(\#-\}})|{STRING_PATTERN}|\#)")

_ESCAPE = re.compile(r'\\(["\\nt]|[0-9a-fA-F]{2})')
_NAMED = {"n": "\n", "t": "\t", '"': '"', "\\": "\\"}


def unquoted(literal: str) -> str:
    """The bytes that a string literal, quotes included, stands for."""
    if "\\" not in literal:
        return literal[1:-1]
    return _ESCAPE.sub(lambda m: _NAMED.get(m[1]) or chr(int(m[1], 16)), literal[1:-1])


def symbol_of(token: str) -> str:
    """The name in a symbol token: `@name` or `@"any text"`."""
    return unquoted(token[1:]) if token.startswith('@"') else token[1:]


_STRING_START = re.compile(r'@?"(?:[^"\\\n\v\f]|\\["\\nt]|\\[0-9a-fA-F]{2})*+')


def describe_bad_token(text: str, offset: int, end: int) -> tuple[str, int]:
    """The error at a place where no token starts, not even the end: a message and its offset."""
    match = _STRING_START.match(text, offset, end)
    if match is not None:
        stop = match.end()
        if stop < end and text[stop] == "\\":
            return f"unknown escape '{text[stop : stop + 2].strip()}' in a string; use \\\\, \\\", \\n, \\t or \\XX", stop
        return "this string does not end on its line", offset
    character = text[offset]
    if character in "@%^#!":
        kind = {"@": "symbol", "%": "value", "^": "block", "#": "attribute", "!": "type"}[character]
        return f"a name must follow '{character}' of a {kind}", offset
    if ord(character) < 0x80:
        shown = character if character.isprintable() else f"\\{ord(character):02X}"
        return f"unexpected character '{shown}'", offset
    return f"unexpected byte \\{ord(character):02X}: only strings may hold text that is not ASCII", offset


def is_word(text: str) -> bool:
    """Whether the text is one word token."""
    match = TOKEN.fullmatch(text)
    return match is not None and match.lastindex == WORD
