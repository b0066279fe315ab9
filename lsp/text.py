"""A document's text and its places: bytes inside, as everywhere in bpir; outside lines and units of UTF-16, or as agreed."""

from __future__ import annotations

from bisect import bisect_right


class Lines:
    """The text of a document, in bytes decoded as latin-1, with its lines.

    Attributes:
        text: the bytes.
    """

    def __init__(self, text: str, units: str = "utf-16") -> None:
        self.units = units
        self.text = text.encode("utf-8", "surrogatepass").decode("latin-1")
        self._starts = [0]
        place = self.text.find("\n")
        while place >= 0:
            self._starts.append(place + 1)
            place = self.text.find("\n", place + 1)

    def position(self, offset: int) -> tuple[int, int]:
        """The line and the unit of a byte, both from 0."""
        line = bisect_right(self._starts, offset) - 1
        start = self._starts[line]
        text = self.text[start:offset]
        return line, len(text) if text.isascii() else sum(width_of(ord(byte), self.units) for byte in text)

    def offset(self, line: int, character: int) -> int:
        """The byte at a line and unit; the nearest one, where there is no such place."""
        if line < 0:
            return 0
        if line >= len(self._starts):
            return len(self.text)
        start = self._starts[line]
        text = self.text[start : self.end(line)]
        if text.isascii():
            return start + min(max(character, 0), len(text))
        units = 0
        for index, byte in enumerate(text):
            width = width_of(ord(byte), self.units)
            if width and units >= character:
                return start + index
            units += width
        return start + len(text)

    def end(self, line: int) -> int:
        """Where a line ends, before its line feed."""
        end = self._starts[line + 1] - 1 if line + 1 < len(self._starts) else len(self.text)
        return end - 1 if end > self._starts[line] and self.text[end - 1] == "\r" else end

    def start(self, line: int) -> int:
        """Where a line begins."""
        return self._starts[line]

    @property
    def count(self) -> int:
        """How many lines there are."""
        return len(self._starts)


def width_of(byte: int, units: str) -> int:
    """The units of the character that begins with a byte of UTF-8: none for one that goes on; in UTF-16 two beyond the first plane."""
    if units == "utf-8":
        return 1
    return 0 if 0x80 <= byte < 0xC0 else 2 if byte >= 0xF0 and units == "utf-16" else 1


def outward(text: str) -> str:
    """A text of bytes as people read it."""
    return text if text.isascii() else text.encode("latin-1", "replace").decode("utf-8", "replace")
