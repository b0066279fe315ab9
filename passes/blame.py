"""Which options of a pass an error is about: they are named, with their places on the command line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from bpir.ir.diagnostic import Diagnostic, DiagnosticError, Span, note
from bpir.ir.dialect import is_input
from bpir.ir.operation import Operation, top_level
from bpir.ir.records import evolved
from bpir.passes.base import Pass

_WORD = re.compile(r"\w+", re.ASCII)


@contextmanager
def option_places(current: Pass, module: Operation) -> Iterator[None]:
    """Add to each error from inside which options of the pass it speaks of.

    An option is one of them if the error names its value: `tensor=8` and `context=1023` in "the relation '8 | 1023' is false". An error
    without a place of its own, or about an input of the file that options override, is placed at the first of them.
    """
    try:
        yield
    except DiagnosticError as failure:
        if not current.spans:
            raise
        inputs = {operation.span for operation in top_level(module) if is_input(operation.name)}
        raise DiagnosticError(*(_blamed(diagnostic, current, inputs) for diagnostic in failure.diagnostics)) from None


def _blamed(diagnostic: Diagnostic, current: Pass, inputs: set[Span | None]) -> Diagnostic:
    if diagnostic.severity != "error" or diagnostic.span in current.spans.values():
        return diagnostic
    words = set(_WORD.findall(diagnostic.message))
    named = {name: span for name, span in current.spans.items() if _values(span) and _values(span) <= words}
    movable = diagnostic.span is None or diagnostic.span in inputs
    if not named and movable:
        named = {name: span for name, span in current.spans.items() if name in words}
    notes = [note(f"option '{name}' is {_text(span)} here", span) for name, span in named.items()]
    if movable and named:
        name, span = next(iter(named.items()))
        diagnostic = evolved(diagnostic, span=span, message=f"with option '{name}', {diagnostic.message}")
        notes = notes[1:]
    return diagnostic.with_notes(*notes)


def _text(span: Span) -> str:
    return span.source.text[span.start : span.end]


def _values(span: Span) -> set[str]:
    return set(_WORD.findall(_text(span)))
