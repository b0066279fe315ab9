"""Syntax errors in the user's words: what was expected, what was found, and a near name."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from bpir.ir.declaration import DECLARATIONS
from bpir.ir.diagnostic import Diagnostic, DiagnosticError, fail, note, suggestion
from bpir.parser.lexer import END as END_CLASS
from bpir.parser.lexer import USER_WORDS, WORD, is_word

if TYPE_CHECKING:
    from bpir.parser.engine import Program
    from bpir.parser.state import ParserState

_LISTS = {
    "generic": "the operand list",
    "regions": "the list of regions",
    "region": "the region",
    "entry_region": "the region",
    "array": "the array",
    "dictionary": "the dictionary",
    "op_properties": "the properties",
    "successors": "the list of successors",
    "function_type": "the list of types",
    "shaped_type": "the type",
    "location_trailing": "the location",
    "literal": "the list of elements",
    "attribute": "the attribute",
    "tuple_type": "the list of types",
    "expr_atom": "the expression",
    "affine_header": "the list of names",
}


def syntax_error(
    parser: ParserState, program: Program, states: list[int], row: dict[str | int, int], token: Any, finish: int
) -> DiagnosticError:
    """The diagnostic for a token that no rule accepts here; `finish` is the end of the token before it."""
    kind = token.lastindex
    text = token[kind]
    start = token.start(kind)
    span = parser.span(start, max(token.end(kind), start + 1))
    accepted = _accepted(program, states, row)
    words = [key for key in accepted if isinstance(key, str) and is_word(key)]
    operations = [word for word in words if word in DECLARATIONS or word == "module"]
    if kind == WORD and operations and text in DECLARATIONS:
        return fail(f"'{text}' has no custom form: write it in generic form, its name in quotes", span)
    if kind == WORD and operations and "." in text:
        return fail(f"unknown operation '{text}'{suggestion(text, _operation_names(operations))}", span)
    if kind == WORD and operations and len(operations) == len(words):
        return fail(f"unknown operation '{text}'{suggestion(text, _operation_names(operations))}", span)
    if kind == END_CLASS and start < len(parser.text):
        text, kind = parser.text[start], WORD  # the end of a body: the bracket that closes it
        span = parser.span(start, start + 1)
    found = "the end of the file" if kind == END_CLASS else f"'{_shown(text)}'"
    message = f"expected {_expected(program, states, accepted)}, found {found}"
    if kind == WORD:
        message += suggestion(text, words)
        if "x" in accepted and re.fullmatch(r"x\w+", text):
            message += f"; the 'x' between dimensions needs blanks: write 'x {text[1:]}'"
    if finish and (kind == END_CLASS or parser.text.count("\n", finish, start) > 1):
        span = parser.span(finish - 1, finish)  # far away: what is missing is missing after the last token
    return fail(message, span, *_opening(parser, accepted))


def _operation_names(accepted: list[str]) -> list[str]:
    return sorted({*accepted, *DECLARATIONS})


def _shown(text: str) -> str:
    return text if len(text) <= 40 else text[:37] + "..."


def _accepted(program: Program, states: list[int], row: dict[str | int, int]) -> list[str | int]:
    """The keys of a state that can really be shifted after the reductions they ask for."""
    return [key for key in row if _shifts(program, states, key)]


def _shifts(program: Program, states: list[int], key: str | int) -> bool:
    stack = states[-64:]
    for _ in range(200):
        action = program.actions[stack[-1]].get(key)
        if action is None:
            return False
        if action >= 0:
            return True
        left, length, _, _, _ = program.reductions[~action]
        if length >= len(stack):
            return True  # too long to follow here: believe the table
        if length:
            del stack[-length:]
        target = program.gotos[stack[-1]].get(left)
        if target is None:
            return True
        stack.append(target)
    return True


def _expected(program: Program, states: list[int], accepted: list[str | int]) -> str:
    closers = program.tables.closing.get(states[-1], {})
    shown: list[str] = []
    for key in sorted(accepted, key=lambda k: (isinstance(k, str) and is_word(k), str(k))):
        if isinstance(key, int):
            name = USER_WORDS.get(key)
        elif key in closers and key != ":" and closers[key] in _LISTS:
            name = f"'{key}' to close {_LISTS[closers[key]]}"
        elif key == ":" and closers.get(key) == "generic":
            name = "':' and the type of the operation"
        elif key in DECLARATIONS or key == "module":
            name = "an operation"
        else:
            name = f"'{key}'"
        if name and name not in shown:
            shown.append(name)
    if not shown:
        return "something else"
    if len(shown) > 6:
        shown = [*shown[:5], "something else"]
    return shown[0] if len(shown) == 1 else ", ".join(shown[:-1]) + " or " + shown[-1]


def _opening(parser: ParserState, accepted: list[str | int]) -> list[Diagnostic]:
    region = parser.regions[-1]
    if len(parser.regions) > 1 and "}" in accepted:
        return [note("the region that is open here starts there", parser.span(region.start - 1, region.start))]
    return []
