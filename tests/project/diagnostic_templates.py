"""The diagnostics that the sources can raise, read from the sources: messages with holes where values are put in."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import attrs
import pytest

from bpir.dialects.concrete.extension import Violation
from bpir.ir.diagnostic import Diagnostic
from bpir.ir.expressions.expression import ExpressionError
from bpir.parser.lexer import RawError

ROOT = Path(__file__).parent.parent.parent
FOLDERS = ("parser", "dialects", "passes", "verifiers", "ir")
_REFUSALS = ("refuse", "require", "_require", "claim", "same_type", "equal", "at_least", "Violation")
_CALLS = frozenset(("fail", "error", *_REFUSALS, "RawError", "ExpressionError"))
_MADE = (Diagnostic, ExpressionError, RawError, Violation)
_HOLE = "\0"


@attrs.frozen(order=True)
class Site:
    """A call that raises a diagnostic: `verifiers/structure/plan.py`, its lines, and what it says."""

    file: str
    first: int
    last: int
    template: str

    @property
    def key(self) -> str:
        return f"{self.file}: {self.template.replace(_HOLE, '...')}"

    def says(self, message: str) -> bool:
        """Whether the message can be its; what a verifier puts around it is allowed."""
        return re.search(".*".join(map(re.escape, self.template.split(_HOLE))), message, re.DOTALL) is not None


def sites() -> list[Site]:
    """Every call with a message of its own; one for each of those that it chooses from."""
    found: dict[Site, None] = {}
    functions: dict[str, list[ast.FunctionDef]] = {}
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            functions[str(path.relative_to(ROOT))] = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    returned_in = {file: {f.name: _returned(f) for f in local} for file, local in functions.items()}
    everywhere = {name: values for local in returned_in.values() for name, values in local.items()}
    for file, local in functions.items():
        returned = {**everywhere, **returned_in[file]}
        for function in local:
            for call, text in _messages(function, returned):
                found[Site(file, call.lineno, call.end_lineno or call.lineno, text)] = None
    return list(found)


class Raised:
    """The messages that were made, each with the lines of ours that were running."""

    def __init__(self) -> None:
        self._messages: dict[tuple[str, int], set[str]] = {}

    def add(self, texts: list[str]) -> None:
        frame = sys._getframe(1)
        while frame is not None:
            module = str(frame.f_globals.get("__name__", ""))
            if module.startswith("bpir."):
                place = module.removeprefix("bpir.").replace(".", "/") + ".py", frame.f_lineno
                self._messages.setdefault(place, set()).update(texts)
            frame = frame.f_back  # type: ignore[assignment]

    def at(self, site: Site) -> bool:
        """Whether that call has raised its message."""
        lines = range(site.first, site.last + 1)
        return any(site.says(message) for line in lines for message in self._messages.get((site.file, line), ()))


@contextmanager
def recorded() -> Iterator[Raised]:
    """Records what is raised meanwhile."""
    raised = Raised()
    with pytest.MonkeyPatch.context() as patch:
        for made in _MADE:
            patch.setattr(made, "__init__", _recording(made.__init__, raised))
        yield raised


def _recording(real: Any, raised: Raised) -> Any:
    def init(self: object, *arguments: Any, **named: Any) -> None:
        raised.add([a for a in (*arguments, *named.values()) if isinstance(a, str)])
        real(self, *arguments, **named)

    return init


def _name(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _returned(function: ast.FunctionDef) -> list[ast.expr]:
    """The expressions that a function returns; of a tuple its first part."""
    values = [node.value for node in ast.walk(function) if isinstance(node, ast.Return) and node.value is not None]
    return [value.elts[0] if isinstance(value, ast.Tuple) and value.elts else value for value in values]


def _messages(function: ast.FunctionDef, returned: dict[str, list[ast.expr]]) -> Iterator[tuple[ast.Call, str]]:
    """Calls, and the first argument of each that is a text of some length: a message.

    It may be a variable of the function: then it is what was assigned since the call before that used it. Either may be what another
    function returns.
    """
    variables: dict[str, list[ast.expr]] = {}
    for node in sorted(ast.walk(function), key=lambda n: getattr(n, "lineno", 0)):
        if isinstance(node, ast.Assign):
            target = node.targets[0].elts[0] if isinstance(node.targets[0], ast.Tuple) else node.targets[0]
            if isinstance(target, ast.Name):
                variables.setdefault(target.id, []).append(node.value)
        elif isinstance(node, ast.Call) and _name(node.func) in _CALLS:
            for argument in node.args[: 4 if _name(node.func) == "require" else 3]:
                values = variables.pop(argument.id, []) if isinstance(argument, ast.Name) else [argument]
                values = [v for value in values for v in (returned.get(_name(value.func), []) if isinstance(value, ast.Call) else [value])]
                texts = [text for value in values for text in _texts(value) if len(text.replace(_HOLE, "").strip()) > 5]
                yield from ((node, text) for text in texts)
                if texts:
                    break


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
