"""Several errors in one run: after an error in an operation, the text is read again without that operation.

An operation with an error is blanked out, which keeps every offset, and what it would have defined is remembered, so that no
error is reported that only follows from the first one. Nothing here runs on a text without errors.
"""

from __future__ import annotations

import re
from typing import Any

from bpir.ir.diagnostic import Diagnostic, DiagnosticError, Source
from bpir.ir.expressions.error import ExpressionError
from bpir.parser.engine import Program
from bpir.parser.lexer import SPACE
from bpir.parser.state import ParserState

_MAXIMUM_ERRORS = 20
_MAXIMUM_WORK = 2_000_000  # bytes read again in all
_NAMES = re.compile(r"[%^#!@][A-Za-z0-9_$.\-]+")
_STARTS = re.compile(
    r"[ \t]*(?:\}|module\b|return\b|\^[\w$.\-]+[ \t]*[:(]|[#!][\w$.\-]+[ \t]*=(?!=)|%[\w$.\-]+(?::\d+)?[ \t]*(?:,[ \t%\w$.:\-]*)?=(?!=)"
    r'|"[^"\n]*"[ \t]*\(|[a-z_]+\.[a-z_]+\b(?![ \t]*=))'
)
"""The beginnings of a line that starts an operation, a block or an alias, or closes a region."""
_BRACES = re.compile(r'[{}]|"(?:[^"\\\n]|\\.)*"?|//[^\n]*')


def parse_again(source: Source, program: Program, allow_unregistered: bool, failed: ParserState, first: DiagnosticError) -> DiagnosticError:
    """All errors that a run on a module can honestly report, given the first one and the state in which it was met."""
    found: list[Diagnostic] = list(first.diagnostics)
    shown = {_place(diagnostic) for diagnostic in found}
    defined: set[str] = set()
    text = source.text
    work = 0
    problem, state = first, failed
    for _ in range(2 * _MAXIMUM_ERRORS):
        if len(found) >= _MAXIMUM_ERRORS or work + len(text) > _MAXIMUM_WORK:
            break
        extent = _extent(state, problem)
        if extent is None or not text[slice(*extent)].strip():
            break  # it is not clear what to leave out, or that is left out already
        start, end = extent
        defined.update(_NAMES.findall(text, start, end))
        text = text[:start] + re.sub(r"[^\n]", " ", text[start:end]) + text[end:]
        work += max(len(text), 1000)
        state = ParserState(source, program, allow_unregistered, state.earlier)
        state.text = text
        another = _error_of(state)
        if another is None:
            break
        problem = another
        for diagnostic in problem.diagnostics:
            if _place(diagnostic) not in shown and not _follows(diagnostic, defined):
                shown.add(_place(diagnostic))
                found.append(diagnostic)
    later = sorted(found[len(first.diagnostics) :], key=lambda d: d.span.start if d.span is not None else 0)
    return DiagnosticError(*first.diagnostics, *later[: _MAXIMUM_ERRORS - 1])


def _error_of(state: ParserState) -> DiagnosticError | None:
    """The next error of a text; None if it has none, or the steps are spent, so that what is left is not looked at."""
    try:
        state.read("module", 0, len(state.text))
    except DiagnosticError as problem:
        return problem
    except ExpressionError:
        return None
    return None


def _place(diagnostic: Diagnostic) -> Any:
    return diagnostic.span.start if diagnostic.span is not None else diagnostic.message


def _follows(diagnostic: Diagnostic, defined: set[str]) -> bool:
    """Whether the diagnostic speaks of a name that stood in text that was left out, or of no place at all."""
    span = diagnostic.span
    if span is None:
        return True
    return any(name in defined for name in _NAMES.findall(diagnostic.message)) or span.source.text[span.start : span.end] in defined


def _extent(state: ParserState, problem: DiagnosticError) -> tuple[int, int] | None:
    """The start and the end of the operation with the problem; None if that is not clear."""
    first = problem.diagnostics[0]
    span = first.span
    text = state.text
    if span is None or span.source is not state.source or first in state.unresolved:
        return None  # (what is unresolved is known at the end, when all was read)
    if span.start >= len(text.rstrip()) or first.message.endswith("found the end of the file"):
        return None
    begin = _read_to(state, span.start)
    error = span.start
    line = text.rfind("\n", 0, error) + 1
    read = SPACE.match(text, begin)  # comments are no content
    if not text[line:error].strip() and _STARTS.match(text, line) and read is not None and read.end() < line:
        error = line - 1  # what follows an operation that is not complete: that one is left out
    start = _start(text, begin, error)
    return (start, end) if (end := _end(text, start, error)) is not None else None


def _read_to(state: ParserState, error: int) -> int:
    """The end of the operation that was read last before an error; else the start of the operations of its region."""
    open_regions = list(state.regions)
    while len(open_regions) > 1 and _in_signature(state.text, open_regions[-1].start, error):
        open_regions.pop()
    scope = open_regions[-1]
    begin = _inside(state.text, scope.start) if len(open_regions) > 1 else 0
    for operation in reversed(scope.block.operations if scope.block is not None else ()):
        if operation.span is not None and operation.span.end <= error:
            return max(begin, operation.span.end)
    return begin


def _in_signature(text: str, start: int, error: int) -> bool:
    """Whether a region that starts with `(arguments)` has not come to its `{` yet."""
    if text[start - 1] != "(":
        return False
    depth = 1
    for match in re.finditer(r"[()]", text[start:error]):
        depth += 1 if match[0] == "(" else -1
        if depth == 0:
            return "{" not in text[start + match.end() : error]
    return True


def _inside(text: str, start: int) -> int:
    """The start of a region's operations: behind the `{`, also if the region starts with `(arguments)`."""
    if text[start - 1] != "(":
        return start
    depth = 1
    for match in re.finditer(r"[()]", text[start:]):
        depth += 1 if match[0] == "(" else -1
        if depth == 0:
            brace = text.find("{", start + match.end())
            return brace + 1 if brace >= 0 else start
    return start


def _start(text: str, begin: int, error: int) -> int:
    """The last place between what was read and the error where a line starts an operation; else where reading went on."""
    found = SPACE.match(text, begin)
    start = found.end() if found is not None else begin
    line = text.rfind("\n", 0, error) + 1
    while line > start:
        if _STARTS.match(text, line):
            return line
        line = text.rfind("\n", 0, line - 1) + 1
    return min(start, error)


def _end(text: str, start: int, error: int) -> int | None:
    """The start of the next operation, or the end of the region, by braces and the beginnings of lines; None if there is neither."""
    depth = 0
    position = start
    line = text.find("\n", max(error, start))
    while line >= 0:
        line += 1
        for match in _BRACES.finditer(text, position, line):
            if match[0] == "{":
                depth += 1
            elif match[0] == "}":
                depth -= 1
                if depth < 0:
                    return match.start() if match.start() > error else None
        position = line
        if depth == 0 and _STARTS.match(text, line):
            return line
        line = text.find("\n", line)
    return len(text) if depth == 0 else None
