"""Shared by the public functions of the parser."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bpir.ir.diagnostic import DiagnosticError, Source
from bpir.parser.engine import run
from bpir.parser.grammar import named_dialects, program
from bpir.parser.state import ParserState

if TYPE_CHECKING:
    from bpir.parser.shortcuts.reuse import Earlier


def parse(source: Source, start: str, allow_unregistered: bool, earlier: Earlier | None = None) -> Any:
    """Parse a whole source by a start symbol."""
    state = ParserState(source, program(named_dialects(source.text)), allow_unregistered, earlier)
    try:
        return run(state.program, state, start, 0, len(source.text))
    except DiagnosticError as problem:
        if start != "module":
            raise
        from bpir.parser.recovery import parse_again  # imported when a user errs

        raise parse_again(source, state.program, allow_unregistered, state, problem) from None


def parse_text(text: str, start: str) -> Any:
    """Parse a text that is not a file; opaque attributes and types of other dialects are allowed."""
    return parse(Source("<text>", text), start, True)
