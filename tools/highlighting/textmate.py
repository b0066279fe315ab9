"""The TextMate grammar of the language, for VS Code and other editors, made from the table of the Pygments lexer.

    python -m bpir.tools.highlighting.textmate editors/vscode/syntaxes/bpir.tmLanguage.json

Each rule of the lexer is a rule here, in its order, so that both find the same tokens; the tests compare them on all examples.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from typing import Any

from pygments.lexer import words
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, Whitespace

from bpir.tools.common import write_output
from bpir.tools.highlighting.pygments_lexer import BpirLexer, keywords

SCOPES: dict[Any, str] = {
    Comment.Single: "comment.line.double-slash",
    Comment.Preproc: "keyword.control.directive",
    String.Double: "string.quoted.double",
    String.Escape: "constant.character.escape",
    String.Other: "string.unquoted",
    Keyword: "keyword.other",
    Keyword.Namespace: "entity.name.namespace",
    Keyword.Type: "storage.type",
    Name: "variable.parameter",
    Name.Function: "entity.name.function",
    Name.Variable: "variable.other",
    Name.Variable.Global: "constant.other.symbol",
    Name.Label: "entity.name.label",
    Name.Decorator: "support.type",
    Name.Property: "support.type.property-name",
    Name.Attribute: "entity.other.attribute-name",
    Number: "constant.numeric",
    Number.Integer: "constant.numeric.integer",
    Operator: "keyword.operator",
    Operator.Word: "keyword.operator.word",
    Punctuation: "punctuation",
}
"""What TextMate calls each kind of token, without the `.bpir` at its end; white space has no name."""


def grammar() -> dict[str, Any]:
    """The grammar, as the file holds it."""
    return {
        "$schema": "https://raw.githubusercontent.com/martinring/tmlanguage/master/tmlanguage.json",
        "name": "bpir",
        "scopeName": "source.bpir",
        "fileTypes": ["bpir"],
        "patterns": [pattern for rule in BpirLexer.tokens["root"] for pattern in _patterns(*rule)],
    }


def _patterns(regex: Any, action: Any, state: str = "") -> Iterable[dict[str, Any]]:
    """A rule of the lexer as rules of TextMate; that of plain words has the keywords before it, which the lexer finds in code."""
    text = regex.get() if isinstance(regex, words) else regex
    if state:
        yield _nested(text, action, state)
        return
    if action is Name:
        known = "|".join(sorted(keywords(), key=lambda word: (-len(word), word)))
        yield {"match": rf"(?:{known})(?![\w$])(?!\s*=(?!=))", "name": _scope(Keyword)}
    yield {"match": text, **_named(action)}


def _named(action: Any) -> dict[str, Any]:
    """The name of a rule, or of each of its groups."""
    if action in SCOPES or action is Whitespace:
        return {"name": _scope(action)} if action in SCOPES else {}
    (kinds,) = (cell.cell_contents for cell in action.__closure__)  # of Pygments' `bygroups`
    return {"captures": {str(index): {"name": _scope(kind)} for index, kind in enumerate(kinds, 1) if kind in SCOPES}}


def _nested(begin: str, action: Any, state: str) -> dict[str, Any]:
    """A state of the lexer that one rule opens and another closes."""
    rules = BpirLexer.tokens[state]
    (end,) = (rule[0] for rule in rules if rule[2:] == ("#pop",))
    inside = [{"match": rule[0], **_named(rule[1])} for rule in rules if len(rule) == 2 and rule[1] is not action]
    return {"begin": begin, "end": end, "name": _scope(action), "patterns": inside}


def _scope(kind: Any) -> str:
    return f"{SCOPES[kind]}.bpir"


if __name__ == "__main__":
    write_output(json.dumps(grammar(), indent=2) + "\n", sys.argv[1])
