"""Syntax errors in the user's words: what was expected, what was found, and a near name."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from bpir.ir.declaration import DECLARATIONS
from bpir.ir.diagnostic import Diagnostic, DiagnosticError, fail, note, suggestion
from bpir.parser.lexer import BANG, CARET, END, HASH, METADATA, NUMBERED, STRING, USER_WORDS, VALUE, WORD, is_word

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
    "block_label": "the list of arguments",
    "function_signature": "the list of arguments",
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
    accepted = {key: state for key in row if (state := _shifting(program, states, key)) is not None}
    words = [key for key in accepted if isinstance(key, str) and is_word(key)]
    operations = [word for word in words if _opens_operation(word)]
    if kind == WORD and operations:
        unknown = _no_operation(text, words, operations)
        if unknown is not None:
            return fail(unknown, parser.span(start, token.end(kind)))
    elif text == "<":
        before = _WORD_BEFORE.search(parser.text, max(0, finish - 200), finish)
        if before is not None and before[0] not in _ANGLED:
            return fail(f"'{before[0]}' takes no '<'{suggestion(before[0], _ANGLED)}", parser.span(before.start(), before.end()))
    return _unexpected(parser, program, accepted, token, finish)


def _unexpected(parser: ParserState, program: Program, accepted: dict[str | int, int], token: Any, finish: int) -> DiagnosticError:
    """The expected and the found text at the token, or behind the last token if that is far away."""
    kind = token.lastindex
    text = token[kind]
    start = token.start(kind)
    ended = kind == END and start >= len(parser.text)  # else it is the end of a body
    found = "the end of the file" if ended else f"'{_shown(text or parser.text[start])}'"
    words = [key for key in accepted if isinstance(key, str) and is_word(key)]
    near = suggestion(text, words) if kind == WORD else ""
    if finish and (ended or parser.text.count("\n", finish, start) > 1):
        span = parser.span(finish - 1, finish)
    else:
        span = parser.span(start, max(token.end(kind), start + 1))
    return fail(f"expected {_expected(program, accepted)}, found {found}{near}", span, *_opening(parser, program, accepted, finish))


def _no_operation(word: str, words: list[str], operations: list[str]) -> str | None:
    """Why a word opens no operation, where one may come; None if the word may be meant for something else."""
    if word in DECLARATIONS:
        return f"'{word}' has no custom form: write it in generic form, its name in quotes"
    if "." in word or len(operations) == len(words):
        return f"unknown operation '{word}'{suggestion(word, {*operations, *DECLARATIONS})}"
    return None


_WORD_BEFORE = re.compile(r"(?<![A-Za-z0-9_$.#!%@^])[A-Za-z_][A-Za-z0-9_$.]*\Z")
_ANGLED = ("tensor", "vector", "memref", "tuple", "complex", "dense", "sparse", "array", "affine_map", "affine_set", "strided")
_STARTS_OPERATION = frozenset((VALUE, STRING, HASH, BANG, CARET, NUMBERED, METADATA))


def _opens_operation(word: str) -> bool:
    return word in DECLARATIONS or any(declaration.spelling == word for declaration in DECLARATIONS.values())


def _shown(text: str) -> str:
    return text if len(text) <= 40 else text[:37] + "..."


def _shifting(program: Program, states: list[int], key: str | int) -> int | None:
    """The state that shifts a token, after the reductions that it asks for; None if no state does."""
    stack = states[-64:]
    for _ in range(200):
        action = program.actions[stack[-1]].get(key)
        if action is None:
            return None
        if action >= 0:
            return stack[-1]
        left, length, _, _, _ = program.reductions[~action]
        if length >= len(stack):
            return stack[-1]  # too long to follow here: believe the table
        if length:
            del stack[-length:]
        target = program.gotos[stack[-1]].get(left)
        if target is None:
            return stack[-1]
        stack.append(target)
    return stack[-1]


def _expected(program: Program, accepted: dict[str | int, int]) -> str:
    """The acceptable tokens in the user's words: what closes something first, then keywords, then the rest."""
    operations = any(isinstance(key, str) and is_word(key) and _opens_operation(key) for key in accepted)
    ranks: dict[str, int] = {}
    for key, state in accepted.items():
        if isinstance(key, str):
            name, rank = _expected_literal(key, program.tables.closing.get(state, {}).get(key))
            ranks[name] = rank
        elif not (operations and key in _STARTS_OPERATION):
            ranks[USER_WORDS.get(key, "")] = 3
    names = sorted((name for name in ranks if name), key=lambda name: (ranks[name], name))
    if len(names) > 6:
        names = [*names[:5], "something else"]
    if not names:
        return "something else"
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " or " + names[-1]


def _expected_literal(key: str, rule: str | None) -> tuple[str, int]:
    """A keyword or sign in the user's words, with its rank; `rule` is what it closes."""
    if _opens_operation(key):
        return "an operation", 2
    if rule in _LISTS and key != ":":
        return f"'{key}' to close {_list(rule, key)}", 0
    if rule == "generic":
        return "':' and the type of the operation", 0
    return f"'{key}'", 1


_BRACKETS = re.compile(r'[()\[\]{}<>]|->|"(?:[^"\\\n]|\\.)*"?|//[^\n]*')
_CLOSERS = {"(": ")", "[": "]", "{": "}", "<": ">"}


def _list(rule: str, closer: str) -> str:
    """The bracket that the closing one closes."""
    if closer == ")" and rule in ("entry_region", "function_signature"):
        return "the list of arguments"
    return "the array" if rule == "attribute" and closer == "]" else _LISTS.get(rule, "")


def _opening(parser: ParserState, program: Program, accepted: dict[str | int, int], finish: int) -> list[Diagnostic]:
    """The start of the region or list that is open here, if that is on another line."""
    region = parser.regions[-1]
    if len(parser.regions) > 1 and "}" in accepted:
        return [note("the region that is open here starts there", parser.span(region.start - 1, region.start))]
    opened = _open_bracket(parser.text, region.start, finish)
    if opened is None or "\n" not in parser.text[opened:finish]:
        return []
    closer = _CLOSERS[parser.text[opened]]
    rule = program.tables.closing.get(accepted[closer], {}).get(closer) if closer in accepted else None
    what = _list(rule or "", closer)
    return [note(f"{what} is opened here", parser.span(opened, opened + 1))] if what else []


def _open_bracket(text: str, start: int, end: int) -> int | None:
    """The offset of the last bracket of a part of the text that is not closed in it."""
    opened: list[int] = []
    for match in _BRACKETS.finditer(text, start, end):
        if match[0] in _CLOSERS:
            opened.append(match.start())
        elif match[0] in ")]}>" and opened:
            opened.pop()
    return opened[-1] if opened else None
