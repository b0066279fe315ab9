"""`bp-opt --format`: the canonical text of a module, with the comments of the source where they were.

The operations of source and canonical text are the same, in the same order, so each is an anchor; between two anchors the tokens of
both texts are aligned. A comment at the end of a line stays behind the token before it, one on a line of its own before the token after
it. Empty lines between lines stay too, one at a time.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from itertools import pairwise

import attrs

from bpir.ir.diagnostic import DiagnosticError, Source, fail
from bpir.ir.operation import Operation
from bpir.ir.printer import print_with_places
from bpir.parser import parse_module
from bpir.verifiers.structure import module as structure

_TOKEN = re.compile(r'//[^\n\r]*|@?"(?:[^"\\\n]|\\.)*"|[\w.$%@#!^]+|[^\s\x00]')
_CLOSING = ("}", "})", "]", ")")


@attrs.frozen
class _Token:
    start: int
    end: int
    text: str

    @property
    def is_comment(self) -> bool:
        return self.text.startswith("//")


def format_module(source: Source, generic: bool = False, allow_unregistered: bool = False) -> str:
    """The canonical text of a file, with its comments and the empty lines between its lines.

    Raises:
        DiagnosticError: the file is malformed, or its structure is.
    """
    module = parse_module(source, allow_unregistered=allow_unregistered)
    problems = structure.verify(module)
    if any(problem.severity == "error" for problem in problems):
        raise DiagnosticError(*problems)
    text, places = print_with_places(module, generic)
    formatted = _Layout(source.text, text, places).text()
    again = parse_module(Source(source.name, formatted), allow_unregistered=allow_unregistered)
    if print_with_places(again, generic)[0] != text or _comments(formatted) != _comments(source.text):
        raise fail(f"can't format '{source.name}': its comments stand where the canonical text has no place for them")
    return formatted


def _comments(text: str) -> Counter[str]:
    return Counter(token.text.rstrip() for token in _tokens(text) if token.is_comment)


def _tokens(text: str) -> list[_Token]:
    return [_Token(match.start(), match.end(), match[0]) for match in _TOKEN.finditer(text)]


class _Layout:
    """The lines of the canonical text, and what is put before and behind each."""

    def __init__(self, source: str, printed: str, places: Sequence[tuple[Operation, int]]) -> None:
        self.source = source
        self.lines = printed.rstrip("\n").split("\n") if printed.strip() else []
        self.before: dict[int, list[str]] = {}  # comments, and empty lines as ""
        self.behind: dict[int, str] = {}
        self.starts = [0]
        for line in self.lines:
            self.starts.append(self.starts[-1] + len(line) + 1)
        ours = _tokens(printed)
        self.kept = Counter(token.text for token in ours if token.is_comment)  # inside of raw bodies, which are printed as they are
        self.printed = [token for token in ours if not token.is_comment]
        everything = _tokens(source)
        self.words = [token for token in everything if not token.is_comment]
        self._align(places)
        self._place(everything)

    def text(self) -> str:
        """The formatted text."""
        found: list[str] = []
        for index in range(len(self.lines) + 1):
            for item in self.before.get(index, ()):
                if item or (found and found[-1]):
                    found.append(item)
            if index < len(self.lines):
                found.append(self.lines[index] + (f"  {self.behind[index]}" if index in self.behind else ""))
        while found and not found[-1]:
            found.pop()
        return "".join(f"{line}\n" for line in found)

    # --- aligning

    def _align(self, places: Sequence[tuple[Operation, int]]) -> None:
        """Find for each token of the source the place of the canonical text at which the same token is, and the lines around it."""
        found = self._matched(self._cuts(places))
        self.place = found
        lines = [None if place is None else bisect_right(self.starts, place) - 1 for place in found]
        self.line_after = [*lines, len(self.lines)]  # of the first token from this one on that both texts have
        self.line_before: list[int | None] = [None, *lines]  # of the last token before this one that both texts have
        for index in range(len(lines) - 1, -1, -1):
            if self.line_after[index] is None:
                self.line_after[index] = self.line_after[index + 1]
        for index in range(1, len(lines) + 1):
            if self.line_before[index] is None:
                self.line_before[index] = self.line_before[index - 1]

    def _cuts(self, places: Sequence[tuple[Operation, int]]) -> list[tuple[int, int]]:
        """Tokens of both texts at which an operation begins, in order; the beginnings and the ends, too."""
        source_starts, printed_starts = [t.start for t in self.words], [t.start for t in self.printed]
        cuts = [(0, 0)]
        for operation, place in places:
            if operation.span is not None:
                cut = (bisect_left(source_starts, operation.span.start), bisect_left(printed_starts, place))
                if cut[0] >= cuts[-1][0] and cut[1] >= cuts[-1][1]:
                    cuts.append(cut)
        return [*cuts, (len(self.words), len(self.printed))]

    def _matched(self, cuts: Sequence[tuple[int, int]]) -> list[int | None]:
        """The place in the canonical text of each token of the source; None where only the source has it."""
        starts = [t.start for t in self.printed]
        found: list[int | None] = [None] * len(self.words)
        for (a, b), (c, d) in pairwise(cuts):
            ours, theirs = [t.text for t in self.words[a:c]], [t.text for t in self.printed[b:d]]
            if ours == theirs:
                found[a:c] = starts[b:d]
                continue
            for i, j, size in SequenceMatcher(None, ours, theirs, autojunk=False).get_matching_blocks():
                found[a + i : a + i + size] = starts[b + j : b + j + size]
            if ours and theirs and a and found[a] is None:
                found[a] = starts[b]  # the name of the operation, which may be quoted in one text alone
        return found

    # --- placing

    def _place(self, everything: Iterable[_Token]) -> None:
        index, end, after_word = 0, 0, False  # the next token that is no comment, the end of the one before, whether that is on this line
        for token in everything:
            gap = re.sub(r"\r\n?", "\n", self.source[end : token.start])
            breaks = gap.count("\n")
            after_word = after_word and not breaks
            if breaks > 1:
                self._empty_line(index)
            if not token.is_comment:
                index, after_word = index + 1, True
            elif self.kept[token.text]:
                self.kept[token.text] -= 1
            else:
                self._comment(token.text.rstrip(), index, behind=after_word)
            end = token.end

    def _empty_line(self, index: int) -> None:
        line = self.line_after[index] or 0
        place = self.place[index] if index < len(self.place) else None
        if line == len(self.lines) or (place is not None and self._begins(line, place)):
            self.before.setdefault(line, []).append("")

    def _begins(self, line: int, place: int) -> bool:
        """Whether the token there is the first of its line, results of an operation aside."""
        before = self.lines[line][: place - self.starts[line]].strip()
        return not before or (before.startswith("%") and before.endswith("="))

    def _comment(self, text: str, index: int, behind: bool) -> None:
        line = self.line_before[index] if behind else None
        if line is not None:
            if line in self.behind:
                self._own_line(line, self.behind[line])
            self.behind[line] = text
        else:
            self._own_line(self.line_after[index] or 0, text)

    def _own_line(self, line: int, text: str) -> None:
        shown = self.lines[line] if line < len(self.lines) else ""
        indent = shown[: len(shown) - len(shown.lstrip())]
        if shown.strip().startswith(_CLOSING):
            indent += "  "
        self.before.setdefault(line, []).append(indent + text)
