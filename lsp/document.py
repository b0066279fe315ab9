"""A document that is being written: its names, what is wrong with it, and the last module that could be read from it."""

from __future__ import annotations

import gc
from bisect import bisect_right
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING

from bpir import dialects
from bpir.dialects.levels import ModuleIR
from bpir.ir.diagnostic import Diagnostic, DiagnosticError, Source
from bpir.ir.effort import BASE, PER_BYTE, allow, left, limited
from bpir.ir.operation import Operation
from bpir.lsp.names import Names
from bpir.lsp.text import Lines
from bpir.parser import parse_module
from bpir.parser.shortcuts.reuse import Earlier
from bpir.tools.common import explain_exception
from bpir.tools.texts.split import MARKER, split
from bpir.verifiers.structure.exhaustion import placed
from bpir.verifiers.structure.module import verify

if TYPE_CHECKING:
    from bpir.dialects.bp import SymbolTable

dialects.load_all(dialects.available())


class Section:
    """A part of a document between `// -----` markers, or all of it: a text that is read on its own.

    Attributes:
        source: its text; places of diagnostics are in it.
        start: where it begins in the document. An offset of the source is `offset - shift` of the document.
        module: what it holds; None if it cannot be read.
        found: what is wrong with it, as `bp-opt` says.
        earlier: the last text that could be read, of which the next version takes over what it can.
    """

    def __init__(self, source: Source, start: int, end: int, allow_unregistered: bool, earlier: Earlier | None = None) -> None:
        self.source, self.start, self.end, self.allow_unregistered = source, start, end, allow_unregistered
        self.padding = len(source.text) - (end - start)
        self.module: Operation | None = None
        self.found: list[Diagnostic] = []
        self.earlier = earlier
        if not self._read(earlier):
            self._read(None)

    def _read(self, earlier: Earlier | None) -> bool:
        """Read the text; whether all that is said of it would be said of a text of which nothing was read earlier."""
        self.module, self.found = None, []
        allow(BASE)  # each is an input of its own
        with limited(BASE), _uncollected():
            try:
                self.module = parse_module(self.source, allow_unregistered=self.allow_unregistered, earlier=earlier)
                spent = BASE + PER_BYTE * len(self.source.text) - left() + (earlier.steps if earlier is not None else 0)
                self.earlier = Earlier(self.source, self.module, spent)
                with placed(self.module):
                    self.found = verify(self.module)
            except DiagnosticError as failure:
                self.found = list(failure.diagnostics)
            except Exception as failure:
                self.found = explain_exception(failure)
            return earlier is None or left() >= earlier.steps  # or to read all of it may have been too much work

    def outward(self, offset: int) -> int:
        """The place in the document of an offset of the source."""
        return self.start + max(offset - self.padding, 0)

    def inward(self, offset: int) -> int:
        """The offset in the source of a place in the document."""
        return offset - self.start + self.padding

    @cached_property
    def names(self) -> Names:
        """Its names, with offsets of the source."""
        return Names(self.source.text)

    @cached_property
    def operations(self) -> dict[int, Operation]:
        """The operations that could be read, by the place of their name."""
        if self.module is None:
            return {}
        return {operation.span.start: operation for operation in self.module.walk() if operation.span is not None}

    @cached_property
    def symbols(self) -> SymbolTable | None:
        """What is declared of the dimension symbols; None if the text cannot be read."""
        return ModuleIR(self.module).symbols if self.module is not None else None

    @property
    def is_sound(self) -> bool:
        """Whether it can be read and has no error."""
        return self.module is not None and not any(d.severity == "error" for d in self.found)


@contextmanager
def _uncollected() -> Iterator[None]:
    """What is read inside lives as long as its document: to look for garbage in it meanwhile would cost a quarter of the time."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


class Document:
    """A text with a name, analysed when that is asked for first; a change makes another one, of which this one is `before`.

    Attributes:
        name: how diagnostics call it: its path.
        lines: its text.
    """

    def __init__(
        self, name: str, text: str, allow_unregistered: bool = False, units: str = "utf-16", before: Document | None = None
    ) -> None:
        self.name, self.allow_unregistered = name, allow_unregistered
        self._earlier = before.texts if before is not None else []
        self.lines = Lines(text, units)

    @cached_property
    def _divided(self) -> tuple[list[Section], list[Diagnostic]]:
        source = Source(self.name, self.lines.text)
        if MARKER not in source.text:
            return [self._section(0, source, 0, len(source.text))], []
        sections: list[Section] = []
        start = 0
        try:
            for part in split(source):
                end = source.text.find(MARKER, start)
                if end < 0 or end + len(MARKER) == len(source.text):
                    end = len(source.text)
                sections.append(self._section(len(sections), part, start, end))
                start = end + len(MARKER)
        except DiagnosticError as failure:
            return sections, list(failure.diagnostics)
        return sections, []

    def _section(self, index: int, source: Source, start: int, end: int) -> Section:
        earlier = self._earlier[index] if index < len(self._earlier) else None
        return Section(source, start, end, self.allow_unregistered, earlier)

    @property
    def texts(self) -> list[Earlier | None]:
        """The texts of its parts that could be read last; those of the version before, if this one was never looked at."""
        return [section.earlier for section in self.sections] if "_divided" in vars(self) else self._earlier

    @property
    def sections(self) -> list[Section]:
        """Its parts, in order."""
        return self._divided[0]

    def section_at(self, offset: int) -> Section | None:
        """The part that a place is in."""
        sections = self.sections
        index = bisect_right([section.start for section in sections], offset) - 1
        return sections[index] if index >= 0 else None

    def diagnostics(self) -> list[tuple[Section | None, Diagnostic]]:
        """What `bp-opt --split-input-file` says of it, in order, each with the part that it is about."""
        found: list[tuple[Section | None, Diagnostic]] = [(section, d) for section in self.sections for d in section.found]
        return [*found, *((None, d) for d in self._divided[1])]
