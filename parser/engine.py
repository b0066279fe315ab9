"""The parser's loop: LALR over plain tables, pulling one token at a time. No recursion, no objects per token.

The stack holds states, values and offsets in three lists. A reduction calls the action of its rule at once, so that what was
read is in scope for what follows. Some nonterminals of the generic form (a type after `:`, a dictionary) repeat byte for byte
in large files: `memo` maps a text that was reduced to one of them to its value, and such a text is then taken as one step.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from bpir.ir.diagnostic import fail
from bpir.parser.lexer import (
    BANG,
    DIMENSION_LIST,
    DIMENSIONS,
    HASH,
    MAXIMUM_DEPTH,
    METADATA,
    RAW_ANGLE,
    RAW_SQUARE,
    TOKEN,
    WORD,
    RawError,
    metadata_end,
    raw_end,
)
from bpir.parser.tables import ACCEPT, Tables

RawAction = Callable[[Any, list[Any], int, int], Any]
"""Receives the parser's state, the values of all symbols of its rule, and the offsets of its text."""

SUMS = -1
"""The number of what is no memo: of sums that are read at once."""

_MAXIMUM_STACK = 60_000
_SIGILS = (HASH, BANG)


class Program(NamedTuple):
    """Tables with their actions put in: what `run` executes."""

    actions: list[dict[str | int, int]]
    gotos: list[dict[int, int]]
    reductions: list[tuple[int, int, int, RawAction | None, int]]
    """Per rule: nonterminal, length, index of the value that is passed on (or -1), action, memo number (or -1)."""
    memos: dict[int, list[tuple[Callable[..., re.Match[str] | None], int, int]]]
    """Per state: the matchers of texts that may be memoized, each with the memo's number and the state to go to."""
    starts: dict[str, int]
    tables: Tables
    wholes: frozenset[int]
    """The states in which an operation may come that leads back to the state: it may be read at once."""


def run(program: Program, parser: Any, start: str, position: int, end: int) -> Any:
    """Parse `parser.text[position:end]` by a start symbol; the value of its action.

    Raises:
        DiagnosticError: the text does not fit, or an action refused it.
    """
    actions, gotos, reductions, memos = program.actions, program.gotos, program.reductions, program.memos
    text: str = parser.text
    memo: list[dict[str, Any]] = parser.memo
    wholes: frozenset[int] = frozenset()
    if parser.has_generic:
        from bpir.parser.whole import OPERATION, read_whole

        wholes = program.wholes
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
            found = OPERATION.match(text, position, end)
            read_to = read_whole(parser, found) if found is not None else None
            if read_to is not None:
                position = finish = read_to
                continue
        elif state in memos:
            for matcher, number, target in memos[state]:
                found = matcher(text, position, end)
                if found is not None:
                    value = memo[number].get(found[1]) if number != SUMS else parser.sums.get(found)
                    after = target
                    break
            else:
                value = None
            if value is not None:
                states.append(after)
                values.append(value)
                offsets.append(found.start(1))  # type: ignore[union-attr]
                position = finish = found.end(1)  # type: ignore[union-attr]
                state = after
                row = actions[state]
                continue
        token = match(text, position, end)
        kind = token.lastindex  # type: ignore[union-attr]
        if kind is None:
            raise parser.bad_token(token.end())  # type: ignore[union-attr]
        value = token[kind]  # type: ignore[index]
        position = token.end()  # type: ignore[union-attr]
        if (kind in _SIGILS) and text.startswith("<", position, end) and value[-1] != ">":
            try:
                position = raw_end(text, position, end)
            except RawError as problem:
                raise fail(problem.message, parser.span(problem.offset, problem.offset + 1)) from None
            value = text[token.start(kind) : position]  # type: ignore[union-attr]
        literal = kind <= WORD
        while True:
            action = row.get(value) if literal else row.get(kind)
            if action is None:
                if kind == WORD:
                    action = row.get(WORD)
                if action is None:
                    action, kind, value, position, literal = _special(parser, row, token, position, end)
                    if action is None:
                        raise parser.syntax_error(program, states, row, token, finish)
            if action >= 0:
                if action == ACCEPT:
                    return values[1]
                states.append(action)
                values.append(value)
                offsets.append(position - len(value) if kind < RAW_ANGLE else parser.raw_start)
                finish = position
                state = action
                row = actions[state]
                if len(states) > check_at:
                    check_at = _check_depth(program, parser, states, offsets[-1])
                break
            left, length, index, call, number = reductions[~action]
            if length == 1 and index == 0:
                del states[-1]
            else:
                if length:
                    begin = offsets[-length]
                    if call is None:
                        value_of = values[index - length]
                    else:
                        value_of = call(parser, values[-length:], begin, finish)
                        if number >= 0:
                            parser.remember(number, begin, finish, value_of)
                    del states[-length:]
                    del values[-length:]
                    del offsets[-length:]
                else:
                    begin = finish
                    value_of = call(parser, [], begin, finish) if call is not None else []
                values.append(value_of)
                offsets.append(begin)
            state = gotos[states[-1]][left]
            states.append(state)
            row = actions[state]
            if state in wholes:
                found = OPERATION.match(text, token.start(), end)  # type: ignore[union-attr]
                read_to = read_whole(parser, found) if found is not None else None
                if read_to is not None:
                    position = finish = read_to
                    break


def _special(parser: Any, row: dict[str | int, int], token: Any, position: int, end: int) -> Any:
    """Another reading of a token that is not acceptable as it stands: action, class, value, end, whether it is literal."""
    kind = token.lastindex
    value = token[kind]
    start = token.start(kind)
    text: str = parser.text
    parser.raw_start = start
    if value[:1] == ":" and len(value) > 1:  # `@a :: @b` may have blanks between the colons, or they are two tokens
        if "::" in row:
            return row["::"], kind, "::", position, True
        return row.get(":"), kind, ":", start + 1, True
    if value == "{-#" and METADATA in row:
        return _raw(parser, row, METADATA, metadata_end, start, end)
    if value == "<" and RAW_ANGLE in row:
        return _raw(parser, row, RAW_ANGLE, raw_end, start, end)
    if value == "[" and RAW_SQUARE in row:
        return _raw(parser, row, RAW_SQUARE, raw_end, start, end)
    if DIMENSIONS in row:
        found = DIMENSION_LIST.match(text, start, end)
        if found is not None:
            return row[DIMENSIONS], DIMENSIONS, found[0], found.end(), False
    return None, kind, value, position, kind <= WORD


def _raw(parser: Any, row: dict[str | int, int], kind: int, finder: Any, start: int, end: int) -> Any:
    try:
        finish = finder(parser.text, start, end)
    except RawError as problem:
        raise fail(problem.message, parser.span(problem.offset, problem.offset + 1)) from None
    return row[kind], kind, parser.text[start:finish], finish, False


def _check_depth(program: Program, parser: Any, states: list[int], offset: int) -> int:
    """Count the brackets that are open; the stack's length at which to count again."""
    openers = program.tables.openers
    closers = program.tables.closers
    depth = sum(state in openers for state in states) - sum(state in closers for state in states)
    if depth > MAXIMUM_DEPTH or len(states) > _MAXIMUM_STACK:
        raise fail("nested too deeply", parser.span(offset, offset + 1))
    return len(states) + MAXIMUM_DEPTH - depth + 1
