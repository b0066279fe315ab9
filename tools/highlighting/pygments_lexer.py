"""Colours for `.bpir`: a Pygments lexer, registered under the name `bpir`, and the style in which `bp-opt` paints what it prints.

    pygmentize -l bpir examples/gpt2.bpir

The keywords are those of the grammar, so that a new clause is coloured as soon as it is declared.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any, ClassVar

from pygments import highlight
from pygments.formatters import Terminal256Formatter
from pygments.lexer import RegexLexer, bygroups, words
from pygments.style import Style
from pygments.token import (
    Comment,
    Keyword,
    Name,
    Number,
    Operator,
    Punctuation,
    String,
    Token,
    Whitespace,
)

_SUFFIX = r"[\w$.\-]+"
_TYPES = r"(?:tensor|vector|memref|tuple|complex|index|none|[su]?i[0-9]+|b?f[0-9]+|tf32|f[468]E[0-9]M[0-9]\w*)\b"


@cache
def keywords() -> tuple[str, ...]:
    """The bare words that mean something in some custom form, but for those that open an operation."""
    from bpir import dialects
    from bpir.parser.grammar import compose

    text, _, _ = compose(dialects.load_all(dialects.available()))
    found = re.findall(r'"([A-Za-z_]\w*)"', text)
    return tuple(sorted({*found, "true", "false"} - set(_OPENING)))


_OPENING = ("module", "return", "call", "unrealized_conversion_cast")
_COMPONENTS = ("ops", "read", "write", "msg")


class BpirLexer(RegexLexer):
    """Tokens of `.bpir`: operations by dialect, symbols, values, work, comments, and the directives of lit and FileCheck."""

    name = "bpir"
    aliases: ClassVar[list[str]] = ["bpir"]
    filenames: ClassVar[list[str]] = ["*.bpir"]
    url = "https://mlir.llvm.org/docs/LangRef/"
    flags = re.MULTILINE

    def __init__(self, **options: Any) -> None:
        # A listing is shown as it is: no line is added or taken away.
        super().__init__(**{"stripnl": False, "ensurenl": False, **options})

    tokens: ClassVar[dict[str, Any]] = {
        "root": [
            (r"\s+", Whitespace),
            (r"// -----.*$", Comment.Preproc),
            (r"(//\s*)((?:RUN|REQUIRES|UNSUPPORTED|XFAIL|DEFINE|REDEFINE):)(.*)$", bygroups(Comment.Single, Comment.Preproc, String.Other)),
            (r"(//\s*)([A-Z][A-Z0-9_]*(?:-[A-Z0-9_{}]+)*:)(.*)$", bygroups(Comment.Single, Comment.Preproc, String.Other)),
            (
                r"(//.*?)(expected-(?:error|warning|note|remark)(?:@\S+)?)(\s*)(\{\{.*\}\})(.*)$",
                bygroups(Comment.Single, Comment.Preproc, Whitespace, String.Other, Comment.Single),
            ),
            (r"//.*$", Comment.Single),
            (r"\{-#|#-\}", Comment.Preproc),
            (r'@"(?:[^"\\\n]|\\.)*"|@[A-Za-z_][\w$.\-]*', Name.Variable.Global),
            (
                r'(")((?:[a-z]\w*))(\.)([\w.$]+)(")(?=\s*\()',
                bygroups(Punctuation, Keyword.Namespace, Punctuation, Name.Function, Punctuation),
            ),
            (r'"', String.Double, "string"),
            (rf"(%{_SUFFIX})([:#])([0-9]+)", bygroups(Name.Variable, Punctuation, Number.Integer)),
            (rf"%{_SUFFIX}", Name.Variable),
            (rf"\^{_SUFFIX}", Name.Label),
            (rf"#{_SUFFIX}", Name.Decorator),
            (rf"!{_SUFFIX}", Keyword.Type),
            (words(_OPENING, prefix=r"^(\s*)", suffix=r"\b"), bygroups(Whitespace, Name.Function)),
            (words(_OPENING, suffix=r"\b"), Name.Function),
            (rf"({'|'.join(_COMPONENTS)})(\s*)(=)", bygroups(Name.Property, Whitespace, Operator)),
            (r"([a-z_]\w*)(\.)([a-z_][\w.$]*)(?=\s*=)", Name.Attribute),
            (r"([a-z_]\w*)(\.)([a-z_][\w.$]*)", bygroups(Keyword.Namespace, Punctuation, Name.Function)),
            (_TYPES + r"(?!\s*=)", Keyword.Type),
            (r"0x[0-9a-fA-F]+|[0-9]+\.[0-9]*(?:[eE][+-]?[0-9]+)?|[0-9]+", Number),
            (r"(?<=\s)x(?=\s)", Operator.Word),
            (r"(?<=[0-9?*\]])x", Operator.Word),
            (r"[A-Za-z_][\w$]*", Name),
            (r"->|\*\*|::|[-+*/|=?]", Operator),
            (r"[(){}\[\]<>,:;.@]", Punctuation),
        ],
        "string": [
            (r'[^"\\\n]+', String.Double),
            (r'\\(?:["\\nt]|[0-9a-fA-F]{2})', String.Escape),
            (r'"|$', String.Double, "#pop"),
            (r"\\", String.Double),
        ],
    }

    def get_tokens_unprocessed(self, text: str, stack: Any = ("root",)) -> Any:
        """The tokens; a bare word that is a keyword of the grammar is one, unless it is the key of an entry."""
        known = frozenset(keywords())
        for index, kind, value in super().get_tokens_unprocessed(text, stack):
            if kind is Name and value in known and not re.match(r"\s*=(?!=)", text[index + len(value) : index + len(value) + 9]):
                kind = Keyword
            yield index, kind, value


class BpirStyle(Style):
    """Colours of middling brightness, which can be read on a light and on a dark terminal; most text keeps the terminal's own."""

    name = "bpir"
    styles: ClassVar[dict[Any, str]] = {
        Token: "",
        Comment: "#767676",
        Comment.Preproc: "bold #8a6a00",
        String: "#3a8137",
        String.Other: "#3a8137",
        String.Escape: "bold #3a8137",
        Keyword: "#a24fb0",
        Keyword.Namespace: "#2d75d8",
        Keyword.Type: "#1c7f80",
        Name.Function: "bold #2d75d8",
        Name.Variable.Global: "#bc5a22",
        Name.Label: "#bc5a22",
        Name.Decorator: "#1c7f80",
        Name.Property: "bold #a24fb0",
        Number: "#c0504d",
    }


def painted(text: str) -> str:
    """The text with the escapes of a terminal with 256 colours."""
    return highlight(text, BpirLexer(), Terminal256Formatter(style=BpirStyle))
