"""Python's texts and the language's: inside, a text is the bytes of a file decoded as latin-1, so that an offset is a byte offset."""

from __future__ import annotations

from bpir.ir.diagnostic import fail


def inward(text: str) -> str:
    """A text of Python as the parser reads it.

    Raises:
        DiagnosticError: it holds a half of a surrogate pair, which is no character.
    """
    try:
        return text.encode("utf-8", "surrogateescape").decode("latin-1")
    except UnicodeEncodeError as failure:
        raise fail(f"the text holds half of a character at index {failure.start}, which UTF-8 can't say") from None


def outward(text: str) -> str:
    """A text of ours as Python has it; a byte that is no part of UTF-8 becomes what `inward` makes it from again."""
    return text.encode("latin-1").decode("utf-8", "surrogateescape")
