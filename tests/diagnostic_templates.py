"""The diagnostics that the sources can raise, read from the sources: messages with holes where values are put in."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
FOLDERS = ("parser", "dialects", "passes", "verifiers", "ir")
_CALLS = frozenset(("fail", "error", "refuse", "claim", "same_type", "RawError", "ExpressionError", "Verdict"))
_HOLE = "\0"


def templates() -> dict[str, str]:
    """Each message, holes as NUL, with the place of its call (`verifiers/plan.py:31`)."""
    found: dict[str, str] = {}
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(call, ast.Call) and _name(call.func) in _CALLS:
                    for message in _messages(call):
                        found.setdefault(message, f"{path.relative_to(ROOT)}:{call.lineno}")
    return found


def pattern(template: str) -> re.Pattern[str]:
    """What a message of the template looks like; what the verifier of a boundary puts around it is allowed."""
    return re.compile(".*".join(map(re.escape, template.split(_HOLE))), re.DOTALL)


def shown(template: str) -> str:
    return template.replace(_HOLE, "...")


def _name(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _messages(call: ast.Call) -> Iterator[str]:
    """The first argument that is a text of some length: a message."""
    for argument in call.args[:3]:
        texts = [text for text in _texts(argument) if len(text.replace(_HOLE, "").strip()) > 5]
        if texts:
            yield from texts
            return


def _texts(node: ast.expr) -> list[str]:
    if isinstance(node, ast.Constant):
        return [node.value] if isinstance(node.value, str) else [_HOLE]
    if isinstance(node, ast.JoinedStr):
        return ["".join(str(v.value) if isinstance(v, ast.Constant) else _HOLE for v in node.values)]
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return [a + b for a in _texts(node.left) for b in _texts(node.right)]
    if isinstance(node, ast.IfExp):
        return [*_texts(node.body), *_texts(node.orelse)]
    return [_HOLE]
