"""Errors and warnings as values that know how to show themselves: a message, a place in a source text, notes."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from contextlib import suppress

import attrs

_SHOWN_WIDTH = 160  # columns of a source line that a diagnostic shows around its caret


@attrs.define(eq=False)
class Source:
    """A named text. The text is the file's bytes decoded as latin-1, so that an offset is a byte offset."""

    name: str
    text: str
    first_line: int = 1
    _starts: list[int] = attrs.field(factory=list, init=False, repr=False)

    def position(self, offset: int) -> tuple[int, int]:
        """The line and column of a byte offset, both counted from 1; a line ends at LF."""
        starts = self._line_starts()
        index = bisect_right(starts, offset) - 1
        return index + self.first_line, offset - starts[index] + 1

    def line(self, number: int) -> str:
        """The text of a line, without its end."""
        starts = self._line_starts()
        index = number - self.first_line
        if not 0 <= index < len(starts):
            return ""
        end = starts[index + 1] - 1 if index + 1 < len(starts) else len(self.text)
        return self.text[starts[index] : end].rstrip("\r")

    def _line_starts(self) -> list[int]:
        if not self._starts:
            self._starts.append(0)
            self._starts.extend(i + 1 for i, c in enumerate(self.text) if c == "\n")
        return self._starts


@attrs.frozen(eq=False)
class Span:
    """The bytes `start` to `end` of a source."""

    source: Source
    start: int
    end: int


@attrs.frozen(eq=False)
class Diagnostic:
    """One message about one place: what is wrong in the user's words, and notes with places of their own."""

    message: str
    span: Span | None = None
    severity: str = "error"  # error, warning, note, remark
    notes: tuple[Diagnostic, ...] = ()
    undecided: bool = False
    """Whether it says of a claim that it is neither proved nor refuted."""

    def render(self, color: bool = False) -> str:
        """The lines `FILE:LINE:COL: severity: message`, the source line and a caret, then the notes."""
        return "\n".join(self._lines(color))

    def with_notes(self, *notes: Diagnostic) -> Diagnostic:
        return attrs.evolve(self, notes=(*self.notes, *notes))

    def _lines(self, color: bool) -> Iterator[str]:
        paint = _COLORS.get(self.severity, "") if color else ""
        reset = "\033[0m" if paint else ""
        severity = f"{paint}{self.severity}{reset}: "
        message = printable(self.message)
        if self.span is None:
            yield f"{severity}{message}"
        else:
            source = self.span.source
            line, column = source.position(self.span.start)
            yield f"{source.name}:{line}:{column}: {severity}{message}"
            yield from _excerpt(source.line(line), column, self.span.end - self.span.start, paint, reset)
        for note in self.notes:
            yield from note._lines(color)


_COLORS = {"error": "\033[1;31m", "warning": "\033[1;35m", "note": "\033[1;36m", "remark": "\033[1;34m"}


def _excerpt(line: str, column: int, length: int, paint: str, reset: str) -> Iterator[str]:
    if not line.strip():
        return
    first = max(0, column - 1 - _SHOWN_WIDTH // 2) if len(line) > _SHOWN_WIDTH else 0
    shown = line[first : first + _SHOWN_WIDTH]
    before = line[first : column - 1]
    underline = max(1, min(length, len(shown) - len(before)))
    yield "  " + printable(shown.replace("\t", " "))
    yield "  " + " " * len(printable(before.replace("\t", " "))) + paint + "^" + "~" * (underline - 1) + reset


def printable(text: str) -> str:
    """The text with bytes that are not printable shown as escapes; UTF-8 sequences are shown as the characters they are."""
    with suppress(UnicodeEncodeError, UnicodeDecodeError):
        text = text.encode("latin-1").decode("utf-8")
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def error(message: str, span: Span | None = None, *notes: Diagnostic, undecided: bool = False) -> Diagnostic:
    return Diagnostic(message, span, "error", notes, undecided)


def warning(message: str, span: Span | None = None, *notes: Diagnostic) -> Diagnostic:
    return Diagnostic(message, span, "warning", notes)


def note(message: str, span: Span | None = None) -> Diagnostic:
    return Diagnostic(message, span, "note")


class DiagnosticError(Exception):
    """Carries diagnostics to the one place that shows them; never meant to reach a user as an exception."""

    def __init__(self, *diagnostics: Diagnostic) -> None:
        super().__init__("; ".join(d.message for d in diagnostics))
        self.diagnostics = diagnostics


def fail(message: str, span: Span | None = None, *notes: Diagnostic) -> DiagnosticError:
    """A `DiagnosticError` with one error, to be raised."""
    return DiagnosticError(error(message, span, *notes))


def suggestion(name: str, known: Iterable[str]) -> str:
    """`; did you mean 'x'?` for the nearest known name, or nothing."""
    from difflib import get_close_matches  # imported when a user errs, not at start-up

    near = get_close_matches(name[:200], sorted(set(known)), n=1, cutoff=0.6)
    return f"; did you mean '{near[0]}'?" if near else ""
