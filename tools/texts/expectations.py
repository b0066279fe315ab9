"""`--verify-diagnostics`: diagnostics are compared with the `expected-*` annotations of the input.

    // expected-error@+1 {{text that the message contains}}

The line is that of the annotation, moved by `@+N` or `@-N`; `@above` and `@below` are the nearest lines without
annotations, `@unknown` is a diagnostic without a place in the input: it speaks of the command line, or of another file.
`expected-note`, `expected-warning` and `expected-remark` work alike.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import attrs

from bpir.ir.diagnostic import Diagnostic, Source, Span, error

_SEVERITY = r"expected-(?P<severity>error|note|warning|remark)"
_PLACE = r"(?:@(?P<place>[+-][0-9]{1,9}|above|below|unknown))?"
_ANNOTATION = re.compile(_SEVERITY + r" *" + _PLACE + r" *\{\{(?P<text>[^\n]{0,2000}?)\}\}(?!\})", re.ASCII)
_ATTEMPT = re.compile(_SEVERITY + r"(?:-re)? *(?:@|\{\{)")


@attrs.define(eq=False)
class _Expectation:
    severity: str
    text: str
    line: int | None  # None: without a place
    span: Span
    met: bool = False

    def meets(self, diagnostic: Diagnostic, line: int | None) -> bool:
        return not self.met and self.severity == diagnostic.severity and self.line == line and self.text in diagnostic.message


def verify_diagnostics(source: Source, diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """The differences between the diagnostics of the source and its annotations; none if they agree.

    Every diagnostic needs an annotation of its own, and every annotation a diagnostic. Notes without a place explain
    the run, not the input, and need none.
    """
    found: list[Diagnostic] = []
    expectations = list(_expectations(source, found))
    for diagnostic in _flat(diagnostics):
        line = None
        if diagnostic.span is not None and diagnostic.span.source is source:
            line = source.position(diagnostic.span.start)[0]
        met = next((e for e in expectations if e.meets(diagnostic, line)), None)
        if met is not None:
            met.met = True
        elif line is not None or diagnostic.severity != "note":
            found.append(error(f"unexpected {diagnostic.severity}: {diagnostic.message}", diagnostic.span))
    for expectation in expectations:
        if not expectation.met:
            message = f"expected {expectation.severity} '{expectation.text}' was not produced"
            found.append(error(message, expectation.span))
    return found


def _flat(diagnostics: Iterable[Diagnostic]) -> Iterator[Diagnostic]:
    for diagnostic in diagnostics:
        yield diagnostic
        yield from _flat(diagnostic.notes)


def _expectations(source: Source, malformed: list[Diagnostic]) -> Iterator[_Expectation]:
    """The annotations of the source; what looks like one and is none is reported."""
    annotations = list(_ANNOTATION.finditer(source.text))
    annotated = {source.position(a.start())[0] for a in annotations}
    begins = {a.start() for a in annotations}
    for attempt in _ATTEMPT.finditer(source.text):
        if attempt.start() not in begins:
            span = Span(source, attempt.start(), attempt.end())
            malformed.append(error("malformed annotation, expected 'expected-SEVERITY@PLACE {{text}}'", span))
    for annotation in annotations:
        span = Span(source, annotation.start(), annotation.end())
        line = _line(annotation["place"] or "+0", source.position(span.start)[0], annotated)
        yield _Expectation(annotation["severity"], annotation["text"], line, span)


def _line(place: str, line: int, annotated: set[int]) -> int | None:
    """The line that an annotation on `line` speaks of; None for no line."""
    if place == "unknown":
        return None
    if place not in ("above", "below"):
        return line + int(place)
    step = 1 if place == "below" else -1
    line += step
    while line in annotated:
        line += step
    return line
