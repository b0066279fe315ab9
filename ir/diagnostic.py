"""Errors and warnings as values that know how to show themselves: a message, a place in a source text, notes."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from contextlib import suppress

from bpir.ir.records import Record, evolved

_SHOWN_WIDTH = 160  # columns of a source line that a diagnostic shows around its caret


class Source:
    """A named text. The text is the file's bytes decoded as latin-1, so that an offset is a byte offset."""

    __slots__ = ("_starts", "first_line", "name", "text")

    def __init__(self, name: str, text: str, first_line: int = 1) -> None:
        self.name, self.text, self.first_line = name, text, first_line
        self._starts: list[int] = []

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


class Span:
    """The bytes `start` to `end` of a source."""

    __slots__ = ("end", "source", "start")

    def __init__(self, source: Source, start: int, end: int) -> None:
        self.source, self.start, self.end = source, start, end


class Diagnostic(metaclass=Record):
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
        return evolved(self, notes=(*self.notes, *notes))

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
    first, last = _whole(line, first), _whole(line, first + _SHOWN_WIDTH)
    start = max(first, min(column - 1, last))
    end = _whole(line, min(last, start + max(1, length)))
    before, marked, after = (printable(text.replace("\t", " ")) for text in (line[first:start], line[start:end], line[end:last]))
    yield f"  {before}{marked}{after}"
    yield "  " + " " * _columns(before) + paint + "^" + "~" * (_columns(marked) - 1) + reset


def _whole(line: str, offset: int) -> int:
    """The offset, or the next one at which no UTF-8 sequence is cut."""
    while 0 < offset < len(line) and 0x80 <= ord(line[offset]) < 0xC0 and ord(line[offset - 1]) >= 0x80:
        offset += 1
    return min(offset, len(line))


def _columns(text: str) -> int:
    """The number of terminal columns that a text takes: characters of East Asian scripts take two, combining ones none."""
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width

    return sum(0 if combining(c) else 2 if east_asian_width(c) in "WF" else 1 for c in text)


def printable(text: str) -> str:
    """The text with what is not printable shown as escapes; UTF-8 sequences are shown as the characters they are."""
    with suppress(UnicodeEncodeError):  # a message may hold characters beyond bytes
        text = text.encode("latin-1").decode("utf-8", "surrogateescape")
    return "".join(c if c.isprintable() else _escape(c) for c in text)


def _escape(character: str) -> str:
    if "\udc80" <= character <= "\udcff":  # a byte that is no part of a UTF-8 sequence
        return f"\\x{ord(character) - 0xDC00:02x}"
    return character.encode("unicode_escape").decode("ascii")


def error(message: str, span: Span | None = None, *notes: Diagnostic, undecided: bool = False) -> Diagnostic:
    return Diagnostic(message, span, "error", notes, undecided)


def warning(message: str, span: Span | None = None, *notes: Diagnostic) -> Diagnostic:
    return Diagnostic(message, span, "warning", notes)


def note(message: str, span: Span | None = None) -> Diagnostic:
    return Diagnostic(message, span, "note")


class DiagnosticError(Exception):
    """Carries diagnostics to the one place that shows them; a program that uses us may catch it. Its text shows the place of each."""

    __module__ = "bpir"  # where a program finds it

    def __init__(self, *diagnostics: Diagnostic) -> None:
        super().__init__("; ".join(d.message for d in diagnostics))
        self.diagnostics = diagnostics

    def __reduce__(self) -> tuple[type[DiagnosticError], tuple[Diagnostic, ...]]:
        return type(self), self.diagnostics

    def __str__(self) -> str:
        return "\n".join(d.render() for d in self.diagnostics)

    def _render_traceback_(self) -> list[str]:
        """The notebook's view of an error: its place in the text, not the place in our code."""
        return [f"{type(self).__name__}:", *str(self).split("\n")]


def fail(message: str, span: Span | None = None, *notes: Diagnostic) -> DiagnosticError:
    """A `DiagnosticError` with one error, to be raised."""
    return DiagnosticError(error(message, span, *notes))


def suggestion(name: str, known: Iterable[str]) -> str:
    """`; did you mean 'x'?` for the nearest known name that a slip could have made, or nothing."""
    from difflib import get_close_matches  # imported when a user errs, not at start-up

    name = name[:200]
    found = get_close_matches(name, sorted(set(known)), n=8, cutoff=0.6)
    near = next((other for other in found if _is_slip(name, other)), None)
    return f"; did you mean '{near}'?" if near is not None else ""


def _is_slip(name: str, other: str) -> bool:
    """Whether few letters differ (a third at most), or one begins or ends the other; a common prefix does not count."""
    (before, _, a), (others, _, b) = name.rpartition("."), other.rpartition(".")
    if before != others or not (a and b):
        a, b = name, other
    if min(len(a), len(b)) >= 3 and (a.startswith(b) or b.startswith(a) or a.endswith(b) or b.endswith(a)):
        return True
    return _slips(a.lower(), b.lower()) <= (max(len(a), len(b)) + 2) // 3


def _slips(a: str, b: str) -> int:
    """The number of letters to insert, delete, replace or exchange with the next one, to make one text of the other."""
    before: list[int] = []
    row = list(range(len(b) + 1))
    for i, x in enumerate(a):
        earlier, before, row = before, row, [i + 1]
        for j, y in enumerate(b):
            cost = min(before[j] + (x != y), before[j + 1] + 1, row[j] + 1)
            if i and j and x == b[j - 1] and a[i - 1] == y:
                cost = min(cost, earlier[j - 1] + 1)
            row.append(cost)
    return row[-1]
