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
    span = parser.span(start, max(token.end(kind), start + 1))
    accepted = {key: state for key in row if (state := _shifting(program, states, key)) is not None}
    words = [key for key in accepted if isinstance(key, str) and is_word(key)]
    operations = [word for word in words if _opens_operation(word)]
    if kind == WORD and operations:
        if text in DECLARATIONS:
            return fail(f"'{text}' has no custom form: write it in generic form, its name in quotes", span)
        if "." in text or len(operations) == len(words):
            return fail(f"unknown operation '{text}'{suggestion(text, {*operations, *DECLARATIONS})}", span)
    before = _WORD_BEFORE.search(parser.text, max(0, finish - 200), finish) if text == "<" else None
    if before is not None and before[0] not in _ANGLED:
        near = suggestion(before[0], _ANGLED)
        return fail(f"'{before[0]}' takes no '<'{near}", parser.span(before.start(), before.end()))
    ended = kind == END and start >= len(parser.text)  # else it is the end of a body
    found = "the end of the file" if ended else f"'{_shown(text or parser.text[start])}'"
    message = f"expected {_expected(program, accepted, bool(operations))}, found {found}"
    if kind == WORD:
        message += suggestion(text, words)
    if finish and (ended or parser.text.count("\n", finish, start) > 1):
        span = parser.span(finish - 1, finish)  # far away: what is missing is missing after the last token
    return fail(message, span, *_opening(parser, program, accepted, finish))


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


def _expected(program: Program, accepted: dict[str | int, int], operations: bool) -> str:
    """The acceptable tokens in the user's words: what closes something first, then keywords, then the rest."""
    shown: dict[str, int] = {}
    for key, state in accepted.items():
        rule = program.tables.closing.get(state, {}).get(str(key))
        if isinstance(key, int):
            if operations and key in _STARTS_OPERATION:
                continue
            shown[USER_WORDS.get(key, "")] = 3
        elif _opens_operation(key):
            shown["an operation"] = 2
        elif rule in _LISTS and key != ":":
            what = _list(rule, key)
            shown[f"'{key}' to close {what}"] = 0
        elif rule == "generic":
            shown["':' and the type of the operation"] = 0
        else:
            shown[f"'{key}'"] = 1
    names = sorted((name for name in shown if name), key=lambda name: (shown[name], name))
    if len(names) > 6:
        names = [*names[:5], "something else"]
    if not names:
        return "something else"
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " or " + names[-1]


_BRACKETS = re.compile(r'[()\[\]{}<>]|->|"(?:[^"\\\n]|\\.)*"?|//[^\n]*')
_CLOSERS = {"(": ")", "[": "]", "{": "}", "<": ">"}


def _list(rule: str, closer: str) -> str:
    """What the closing bracket closes."""
    if closer == ")" and rule in ("entry_region", "function_signature"):
        return "the list of arguments"
    return "the array" if rule == "attribute" and closer == "]" else _LISTS.get(rule, "")


def _opening(parser: ParserState, program: Program, accepted: dict[str | int, int], finish: int) -> list[Diagnostic]:
    """Where the region or list starts that is open here, if that is on another line."""
    region = parser.regions[-1]
    if len(parser.regions) > 1 and "}" in accepted:
        return [note("the region that is open here starts there", parser.span(region.start - 1, region.start))]
    opened: list[int] = []
    for match in _BRACKETS.finditer(parser.text, region.start, finish):
        if match[0] in _CLOSERS:
            opened.append(match.start())
        elif match[0] in ")]}>" and opened:
            opened.pop()
    if not opened or "\n" not in parser.text[opened[-1] : finish]:
        return []
    closer = _CLOSERS[parser.text[opened[-1]]]
    rule = program.tables.closing.get(accepted[closer], {}).get(closer) if closer in accepted else None
    what = _list(rule or "", closer)
    return [note(f"{what} is opened here", parser.span(opened[-1], opened[-1] + 1))] if what else []
