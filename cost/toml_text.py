"""TOML with places: what a file says, and where each key and table of it stands."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from math import isfinite
from typing import Any

import attrs

from bpir.ir.diagnostic import Source, Span, fail, suggestion

Path = tuple[str | int, ...]

_TABLE = re.compile(r"[ \t]*\[([A-Za-z0-9_.-]+)\][ \t]*(?:#.*)?\r?$")
_ITEM = re.compile(r"[ \t]*\[\[([A-Za-z0-9_.-]+)\]\][ \t]*(?:#.*)?\r?$")
_KEY = re.compile(r"[ \t]*([A-Za-z0-9_.-]+)[ \t]*=")
_AT = re.compile(r" \(at line (\d+), column (\d+)\)$")


class Document:
    """A TOML file.

    Raises:
        DiagnosticError: it is not TOML.
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        try:
            self.data: dict[str, Any] = tomllib.loads(source.text.encode("latin-1").decode("utf-8"))
        except UnicodeDecodeError as failure:
            raise fail("a TOML file is UTF-8", Span(source, failure.start, failure.start + 1)) from None
        except tomllib.TOMLDecodeError as failure:
            raise fail(*self._problem(str(failure))) from None
        self._places = dict(self._found())

    def _problem(self, message: str) -> tuple[str, Span]:
        match = _AT.search(message)
        text = self.source.text
        place = len(text)
        if match is not None:
            lines = text.split("\n")
            place = sum(len(line) + 1 for line in lines[: int(match[1]) - 1]) + int(match[2]) - 1
        said = _AT.sub("", message.removesuffix(" (at end of document)"))
        return f"this is not TOML: {said[:1].lower()}{said[1:]}", Span(self.source, min(place, len(text)), min(place + 1, len(text)))

    def _found(self) -> Iterable[tuple[Path, Span]]:
        """Tables by their headers, and keys by their lines."""
        counts: dict[str, int] = {}
        at: Path = ()
        start = 0
        for line in self.source.text.split("\n"):
            if match := _ITEM.match(line):
                counts[match[1]] = counts.get(match[1], -1) + 1
                at = (*match[1].split("."), counts[match[1]])
            elif match := _TABLE.match(line):
                at = tuple(match[1].split("."))
            elif match := _KEY.match(line):
                yield (*at, *match[1].split(".")), Span(self.source, start + match.start(1), start + match.end(1))
            if match is not None and not _KEY.match(line):
                yield at, Span(self.source, start + match.start(1), start + match.end(1))
            start += len(line) + 1

    def place(self, path: Path) -> Span:
        """Where a key or table stands, or what it is in; the beginning of the file where nothing else is known."""
        while path:
            if path in self._places:
                return self._places[path]
            path = path[:-1]
        return Span(self.source, 0, 0)

    def line(self, path: Path) -> int:
        """The line of a key."""
        return self.source.position(self.place(path).start)[0]


@attrs.frozen
class View:
    """A table of a document: reads its keys, and refuses what they are not."""

    document: Document
    path: Path
    table: dict[str, Any]

    @property
    def title(self) -> str:
        """How the table is written."""
        names = ".".join(str(part) for part in self.path if isinstance(part, str))
        return f"[[{names}]]" if self.path and isinstance(self.path[-1], int) else f"[{names}]" if names else "the file"

    def place(self, key: str = "") -> Span:
        return self.document.place((*self.path, key) if key else self.path)

    def known(self, keys: Iterable[str]) -> None:
        """Refuse other keys.

        Raises:
            DiagnosticError: naming the first one, and a near name.
        """
        names = tuple(keys)
        for key in self.table:
            if key not in names:
                near = suggestion(key, names) or f": expected {', '.join(names)}"
                raise fail(f"{self.title} has no '{key}'{near}", self.place(key))

    def needed(self, key: str, why: str) -> Any:
        """The value of a key.

        Raises:
            DiagnosticError: it is absent; `why` says what needs it.
        """
        if key not in self.table:
            raise fail(f"'{key}' is missing in {self.title}: {why}", self.place())
        return self.table[key]

    def view(self, key: str, why: str) -> View:
        """A table below."""
        found = self.needed(key, why)
        if not isinstance(found, dict):
            raise fail(f"'{key}' is a table, as [{key}]", self.place(key))
        return View(self.document, (*self.path, key), found)

    def views(self, key: str) -> list[View]:
        """A list of tables below; none where it is absent."""
        found = self.table.get(key, [])
        if not isinstance(found, list) or not all(isinstance(item, dict) for item in found):
            raise fail(f"'{key}' is a list of tables, each as [[{key}]]", self.place(key))
        return [View(self.document, (*self.path, key, index), item) for index, item in enumerate(found)]

    def text(self, key: str, why: str = "") -> str:
        """A text; empty where it is absent and nothing needs it."""
        found = self.needed(key, why) if why else self.table.get(key, "")
        if not isinstance(found, str):
            raise fail(f"'{key}' is a text in quotes", self.place(key))
        return found

    def number(self, key: str, why: str, *, least: float = 0.0, strict: bool = True) -> float:
        """A number, larger than `least` (or as large, if not `strict`)."""
        return self.checked(key, self.needed(key, why), least=least, strict=strict)

    def checked(self, key: str, value: Any, *, least: float = 0.0, strict: bool = True) -> float:
        """The value of a key as a number.

        Raises:
            DiagnosticError: it is none, or too small.
        """
        good = isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)
        if not good or value < least or (strict and value == least):
            bound = f"a number {'above' if strict else 'that is not below'} {least:g}"
            raise fail(f"'{key}' must be {bound}, not {value!r}", self.place(key))
        return float(value)
