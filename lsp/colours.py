"""Semantic highlighting, by the Pygments lexer: the same colours as in a terminal and on a page."""

from __future__ import annotations

from pygments.token import Comment, Keyword, Name, Number, Operator, String

from bpir.lsp.text import width_of
from bpir.tools.highlighting.pygments_lexer import BpirLexer

TYPES = (
    *("namespace", "type", "parameter", "variable", "property", "function"),
    *("macro", "keyword", "comment", "string", "number", "operator"),
)
"""The legend: the protocol's names of the kinds of tokens."""

_KINDS = (
    (Comment.Preproc, "macro"),
    (Comment, "comment"),
    (String, "string"),
    (Keyword.Namespace, "namespace"),
    (Keyword.Type, "type"),
    (Keyword, "keyword"),
    (Name.Function, "function"),
    (Name.Variable.Global, "macro"),
    (Name.Variable, "variable"),
    (Name.Label, "macro"),
    (Name.Decorator, "type"),
    (Name.Property, "property"),
    (Name.Attribute, "property"),
    (Name, "parameter"),
    (Number, "number"),
    (Operator, "operator"),
)


def colours(text: str, units: str = "utf-16") -> list[int]:
    """The tokens of a text as the protocol sends them: five integers each, places relative to the token before, in units of an encoding."""
    found: list[int] = []
    line = column = last_line = last_column = 0
    for _, kind, value in BpirLexer().get_tokens_unprocessed(text):
        shown = next((name for known, name in _KINDS if kind in known), None)
        for index, piece in enumerate(value.split("\n")):
            if index:
                line, column = line + 1, 0
            width = len(piece) if piece.isascii() else sum(width_of(byte, units) for byte in piece.encode("utf-8", "surrogatepass"))
            if shown is not None and piece.strip():
                found += (line - last_line, column - (last_column if line == last_line else 0), width, TYPES.index(shown), 0)
                last_line, last_column = line, column
            column += width
    return found
