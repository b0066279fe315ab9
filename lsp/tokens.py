"""The tokens of a text as an editor needs them: no mistake ends the reading, and every token has its place."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_TOKEN = re.compile(
    r"""(?P<skip>[ \t\r\n\x00]+|//[^\n\r]*)
    |(?P<symbol>@(?:[A-Za-z_][\w$.]*|"(?:[^"\\\n]|\\.)*"))
    |(?P<value>%(?:[0-9]+|[A-Za-z_$.\-][\w$.\-]*)(?:\#[0-9]+)?)
    |(?P<label>\^(?:[0-9]+|[A-Za-z_$.\-][\w$.\-]*))
    |(?P<string>"(?:[^"\\\n]|\\.)*")
    |(?P<prefixed>[#!][A-Za-z_$.\-0-9][\w$.\-]*)
    |(?P<word>[A-Za-z_][\w$.]*)
    |(?P<number>[0-9]+(?:\.[0-9]*(?:[eE][+-]?[0-9]+)?)?)
    |(?P<sign>->|==|::|[^\s])""",
    re.VERBOSE | re.ASCII | re.DOTALL,
)


class Token(NamedTuple):
    """One token: its kind (`symbol`, `value`, `label`, `string`, `prefixed`, `word`, `number` or `sign`), its text and its place."""

    kind: str
    text: str
    start: int
    end: int


def tokens(text: str) -> Iterator[Token]:
    """The tokens of a text, without blanks and comments."""
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup
        if kind is not None and kind != "skip":
            yield Token(kind, match[0], match.start(), match.end())
