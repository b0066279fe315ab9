"""The parser's loop: LALR over plain tables, pulling one token at a time. No recursion, no objects per token.

The stack holds states, values and offsets in three lists. A reduction calls the action of its rule at once, so that what was
read is in scope for what follows. Some nonterminals of the generic form (a type after `:`, a dictionary) repeat byte for byte
in large files: `memo` maps a text that was reduced to one of them to its value, and such a text is then taken as one step.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from bpir.ir.diagnostic import fail
from bpir.ir.records import Record
from bpir.parser.lexer import (
    BANG,
    DIMENSION_LIST,
    DIMENSIONS,
    END,
    HASH,
    MAXIMUM_DEPTH,
    METADATA,
    PUNCTUATION,
    RAW_ANGLE,
    RAW_SQUARE,
    TOKEN,
    RawError,
    metadata_end,
    raw_end,
)
from bpir.parser.tables import ACCEPT, Tables

RawAction = Callable[[Any, list[Any], int, int], Any]
"""Receives the parser's state, the values of all symbols of its rule, and the offsets of its text."""

Reduction = tuple[int, int, int, RawAction | None, int]
"""A rule: its nonterminal, its length, the index of the value that is passed on (or -1), its action, and the number of its memo."""

SUMS = -1
"""The number of what is no memo: of sums that are read at once."""
NO_MEMO = -1
ONLY_VALUE = -2
"""The number of a rule without a memo that passes on its only value, as most rules do."""

_MAXIMUM_STACK = 60_000
_AS_MATCHED = frozenset(range(PUNCTUATION, END + 1)) - {HASH, BANG}  # tokens that no body may follow
_RAW = (("{-#", METADATA, metadata_end), ("<", RAW_ANGLE, raw_end), ("[", RAW_SQUARE, raw_end))


class Program(metaclass=Record):
    """Tables with their actions put in: what `run` executes."""

    actions: list[dict[str | int, int]]
    gotos: list[dict[int, int]]
    reductions: list[Reduction]
    memos: dict[int, list[tuple[Callable[..., re.Match[str] | None], int, int]]]
    """Per state: the matchers of texts that may be memoized, each with the memo's number and the state to go to."""
    starts: dict[str, int]
    tables: Tables
    wholes: frozenset[int]
    """The states in which an operation may come that leads back to the state: it may be read at once."""
    whole_reader: Callable[[Any], Callable[[int, int], int | None]]
    """Makes what reads an operation at once, between two offsets: it says where the operation ends, or None."""


def run(program: Program, parser: Any, start: str, position: int, end: int) -> Any:
    """Parse `parser.text[position:end]` by a start symbol; the value of its action.

    Raises:
        DiagnosticError: the text does not fit, or an action refused it.
    """
    actions, gotos, reductions, memos = program.actions, program.gotos, program.reductions, program.memos
    text: str = parser.text
    wholes: frozenset[int] = parser.wholes
    match = TOKEN.match
    state = program.starts[start]
    states = [state]
    values: list[Any] = [None]
    offsets = [position]
    check_at = MAXIMUM_DEPTH
    finish = position  # the end of the last token
    row = actions[state]
    while True:
        if state in wholes:
            read_to = parser.read_whole(position, end)
            if read_to is not None:
                position = finish = read_to
                continue
        elif state in memos:
            known = _remembered(parser, memos[state], text, position, end)
            if known is not None:
                value, state, begin, position = known
                finish = position
                states.append(state)
                values.append(value)
                offsets.append(begin)
                row = actions[state]
                continue
        token: Any = match(text, position, end)  # always one, of no class where the text is wrong
        kind = token.lastindex
        if kind in _AS_MATCHED:
            value, position = token[kind], token.end()
        else:
            value, position = _with_body(parser, token, end)
        while True:
            action = row.get(value)  # of a keyword or a sign
            if action is None:
                action = row.get(kind)
                if action is None:
                    action, kind, value, position = _other_reading(program, parser, states, token, end, finish)
            if action >= 0:
                if action == ACCEPT:
                    return values[1]
                states.append(action)
                values.append(value)
                offsets.append(position - len(value))
                finish = position
                state = action
                row = actions[state]
                if len(states) > check_at:
                    check_at = _check_depth(program, parser, states, offsets[-1])
                break
            reduction = reductions[~action]
            if reduction[4] == ONLY_VALUE:
                del states[-1]
            else:
                _reduce(parser, reduction, states, values, offsets, finish)
            state = gotos[states[-1]][reduction[0]]
            states.append(state)
            row = actions[state]
            if state in wholes:
                position = token.start()  # an operation that starts with this token may be read at once
                break


def _remembered(parser: Any, texts: list[Any], text: str, position: int, end: int) -> tuple[Any, int, int, int] | None:
    """The value of a text that was read before, the state to go to, and where it begins and ends. None: the grammar must read it."""
    for matcher, number, target in texts:
        found = matcher(text, position, end)
        if found is not None:
            value = parser.memo[number].get(found[1]) if number != SUMS else parser.sums.get(found)
            return (value, target, found.start(1), found.end(1)) if value is not None else None
    return None


def _with_body(parser: Any, token: re.Match[str], end: int) -> tuple[str, int]:
    """The text of a `#name` or `!name`, with its body where one follows at once, and its end.

    Raises:
        DiagnosticError: there is no token here, or the body does not end.
    """
    kind, position, text = token.lastindex, token.end(), parser.text
    if kind is None:
        raise parser.bad_token(position)
    value = token[kind]
    if text.startswith("<", position, end) and value[-1] != ">":
        position = _end_of_body(parser, raw_end, position, end)
        value = text[token.start(kind) : position]
    return value, position


def _reduce(parser: Any, reduction: Reduction, states: list[int], values: list[Any], offsets: list[int], finish: int) -> None:
    """Replace the values of the symbols of a rule by that of its action, and remember it where the rule has a memo."""
    _, length, index, call, number = reduction
    if not length:
        values.append(call(parser, [], finish, finish) if call is not None else [])
        offsets.append(finish)
        return
    begin = offsets[-length]
    if call is None:
        value = values[index - length]
    else:
        value = call(parser, values[-length:], begin, finish)
        if number >= 0:
            parser.remember(number, begin, finish, value)
    del states[-length:]
    del values[-length:]
    del offsets[-length:]
    values.append(value)
    offsets.append(begin)


def _other_reading(
    program: Program, parser: Any, states: list[int], token: re.Match[str], end: int, finish: int
) -> tuple[int, int, str, int]:
    """Another reading of a token that is not acceptable as it was matched: its action, class, text and end.

    Raises:
        DiagnosticError: there is none.
    """
    row = program.actions[states[-1]]
    kind: int = token.lastindex  # type: ignore[assignment]
    value, start = token[kind], token.start(kind)
    if value[:1] == ":" and len(value) > 1:  # `@a :: @b` may have blanks between the colons, or they are two tokens
        if "::" in row:
            return row["::"], kind, "::", token.end()
        if ":" in row:
            return row[":"], kind, ":", start + 1
    for opening, raw, find_end in _RAW:
        if value == opening and raw in row:
            finish = _end_of_body(parser, find_end, start, end)
            return row[raw], raw, parser.text[start:finish], finish
    if DIMENSIONS in row:
        found = DIMENSION_LIST.match(parser.text, start, end)
        if found is not None:
            return row[DIMENSIONS], DIMENSIONS, found[0], found.end()
    raise parser.syntax_error(program, states, row, token, finish)


def _end_of_body(parser: Any, find_end: Callable[[str, int, int], int], start: int, end: int) -> int:
    """The end of a body that is not read by the grammar.

    Raises:
        DiagnosticError: it does not end.
    """
    try:
        return find_end(parser.text, start, end)
    except RawError as problem:
        raise fail(problem.message, parser.span(problem.offset, problem.offset + 1)) from None


def _check_depth(program: Program, parser: Any, states: list[int], offset: int) -> int:
    """Count the brackets that are open; the stack's length at which to count again."""
    openers = program.tables.openers
    closers = program.tables.closers
    depth = sum(state in openers for state in states) - sum(state in closers for state in states)
    if depth > MAXIMUM_DEPTH or len(states) > _MAXIMUM_STACK:
        raise fail("nested too deeply", parser.span(offset, offset + 1))
    return len(states) + MAXIMUM_DEPTH - depth + 1
