"""`--split-input-file`: one file, several inputs, as mlir-opt 19 divides them."""

from __future__ import annotations

from collections.abc import Iterator

from bpir.ir.diagnostic import Source, Span, fail

MARKER = "// -----"


def split(source: Source) -> Iterator[Source]:
    """The parts between markers; diagnostics about a part name lines and columns of the whole file.

    The marker is any `// -----` that something follows, wherever it stands. An empty file has no part.

    Raises:
        DiagnosticError: nothing at all is before a marker, which mlir-opt refuses too.
    """
    text = source.text
    begin = padding = 0
    while begin < len(text):
        end = text.find(MARKER, begin)
        if end == begin:
            raise fail(f"nothing is before the marker '{MARKER}'", Span(source, end, end + len(MARKER)))
        if end < 0 or end + len(MARKER) == len(text):
            end = len(text)
        # A part that begins within a line is indented to its column.
        yield Source(source.name, " " * padding + text[begin:end], source.position(begin)[0])
        begin = end + len(MARKER)
        padding = source.position(begin)[1] - 1 if begin < len(text) else 0
