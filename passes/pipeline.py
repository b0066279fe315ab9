"""Pass pipelines as text: `a{x=1 y=2},b`, also inside `builtin.module(...)`.

    pipeline = "builtin.module(" passes ")" | passes
    passes   = pass ("," pass)*
    pass     = NAME [ "{" (NAME ["=" value])* "}" ]       options are separated by blanks or commas

A value is a quoted string, or runs to the next blank, comma or brace that is in no parentheses.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from bpir import passes
from bpir.ir.diagnostic import Diagnostic, DiagnosticError, Source, Span, error, fail, note, suggestion
from bpir.ir.records import Record
from bpir.passes.base import Option, Pass, options

COMMAND_LINE = "<command line>"

_NAME = re.compile(r"[A-Za-z_][\w.-]*", re.ASCII)
_BLANKS = re.compile(r"[ \t\r\n]*")
_SEPARATORS = re.compile(r"[ \t\r\n,]*")
_INTEGER = re.compile(r"-?[0-9]{1,1000}")
_PLAIN = re.compile(r"[@\w.*/+-]+", re.ASCII)  # a value that needs no quotes
_WRAPPER = re.compile(r"[ \t\r\n]*builtin\.module[ \t\r\n]*\(")
_CLOSING = {"(": ")", "[": "]", "{": "}"}


class _Word(metaclass=Record):
    """A piece of the text with its place; `value` is without quotes."""

    value: str
    span: Span
    missing: bool = False  # the value of an option that has none: the span is that of its name


def command_line(argument: str) -> Source:
    """An argument of the command line as a source; its text is bytes decoded as latin-1, as that of files."""
    import os

    return Source(COMMAND_LINE, os.fsencode(argument).decode("latin-1"))


def parse_pass(source: Source, start: int = 0) -> Pass:
    """The pass that the text from `start` on names, with its options.

    Raises:
        DiagnosticError: the text is malformed, or names no pass or option, or a value is not what the option expects.
    """
    scanner = _Scanner(source, start)
    found = scanner.one_pass()
    scanner.end("after the pass")
    return found


def parse_pipeline(source: Source, start: int = 0) -> list[Pass]:
    """The passes of the pipeline that the text from `start` on spells, in order.

    Raises:
        DiagnosticError: as `parse_pass`.
    """
    scanner = _Scanner(source, start)
    wrapped = scanner.skip(_WRAPPER)
    found = [scanner.one_pass()]
    while scanner.take(","):
        found.append(scanner.one_pass())
    if wrapped and not scanner.take(")"):
        raise fail("expected ',' or ')' after a pass of the pipeline", scanner.here())
    scanner.end("after the pipeline")
    return found


class _Scanner:
    """Reads the text of a pipeline from left to right."""

    def __init__(self, source: Source, start: int) -> None:
        self.source, self.offset = source, start

    def here(self, length: int = 1) -> Span:
        return Span(self.source, self.offset, self.offset + length)

    def skip(self, pattern: re.Pattern[str]) -> bool:
        match = pattern.match(self.source.text, self.offset)
        if match:
            self.offset = match.end()
        return bool(match)

    def take(self, character: str) -> bool:
        self.skip(_BLANKS)
        found = self.source.text.startswith(character, self.offset)
        self.offset += found
        return found

    def name(self, what: str) -> _Word:
        match = _NAME.match(self.source.text, self.offset)
        if not match:
            raise fail(f"expected {what}", self.here())
        self.offset = match.end()
        return _Word(match[0], Span(self.source, match.start(), match.end()))

    def end(self, where: str) -> None:
        self.skip(_BLANKS)
        if self.offset < len(self.source.text):
            found = self.source.text[self.offset]
            notes = [note("the shell takes unquoted braces apart: write '--pass=NAME{...}'")] if found == "=" else []
            raise fail(f"unexpected '{found}' {where}", self.here(), *notes)

    def one_pass(self) -> Pass:
        self.skip(_BLANKS)
        name = self.name("the name of a pass")
        given: list[tuple[_Word, _Word]] = []
        opened = self.here()
        if self.take("{"):
            self.skip(_SEPARATORS)
            while not self.take("}"):
                if self.offset >= len(self.source.text):
                    raise fail("expected '}' after the options of a pass", self.here(), note("opened here", opened))
                given.append(self.one_option())
                self.skip(_SEPARATORS)
        return _build(name, given)

    def one_option(self) -> tuple[_Word, _Word]:
        name = self.name("the name of an option, or '}'")
        if self.take("="):
            self.skip(_BLANKS)
            return name, self.value(name)
        return name, _Word("", name.span, missing=True)

    def value(self, name: _Word) -> _Word:
        text, start = self.source.text, self.offset
        if text[start : start + 1] in ("'", '"'):
            end = text.find(text[start], start + 1)
            if end < 0:
                raise fail(f"the quoted value of option '{name.value}' has no end", self.here())
            self.offset = end + 1
            return _Word(text[start + 1 : end], Span(self.source, start + 1, end))
        index = self.balanced_end(start)
        if index is None:
            where = Span(self.source, start, len(text))
            raise fail(f"unbalanced parentheses in the value of option '{name.value}'", where)
        if index == start:
            return _Word("", name.span, missing=True)
        self.offset = index
        return _Word(text[start:index], Span(self.source, start, index))

    def balanced_end(self, start: int) -> int | None:
        """The end of the value that begins at `start`; None if its parentheses do not match."""
        expected: list[str] = []
        for index, character in enumerate(self.source.text[start:], start):
            if not expected and character in ", \t\r\n)]}":
                return index
            if character in _CLOSING:
                expected.append(_CLOSING[character])
            elif character in ")]}" and character != expected.pop():
                return None
        return None if expected else len(self.source.text)


def _build(name: _Word, given: Iterable[tuple[_Word, _Word]]) -> Pass:
    """The pass with its options; every wrong option is reported."""
    if name.value not in passes.PASSES:
        raise fail(f"unknown pass '{name.value}'" + suggestion(name.value, passes.PASSES), name.span)
    cls = passes.load_pass(name.value)
    known = options(cls)
    free = next((o.name for o in known.values() if o.kind == "numbers"), None)
    fields: dict[str, Any] = {}
    spans: dict[str, Span] = {}
    errors: list[Diagnostic] = []
    for key, text in given:
        try:
            if key.value in spans:
                raise fail(f"option '{key.value}' is given twice", key.span, note("first here", spans[key.value]))
            option = known.get(key.value)
            if option is not None and option.kind != "numbers":
                fields[key.value] = _value(option, text)
            elif free is not None:
                fields.setdefault(free, {})[key.value] = _number(key, text)
            else:
                raise fail(_unknown_option(name.value, key.value, known), key.span)
            spans[key.value] = text.span
        except DiagnosticError as failure:
            errors.extend(failure.diagnostics)
    if errors:
        raise DiagnosticError(*errors)
    return cls(**fields, spans=spans)


def _unknown_option(pass_name: str, name: str, known: Iterable[str]) -> str:
    listed = ", ".join(known)
    hint = suggestion(name, known) or (f"; it has {listed}" if listed else "; it has no options")
    return f"unknown option '{name}' of pass '{pass_name}'{hint}"


def _number(key: _Word, text: _Word) -> int:
    if text.missing:
        raise fail(f"option '{key.value}' has no value: write {key.value}=INTEGER", key.span)
    if not _INTEGER.fullmatch(text.value):
        raise fail(f"'{key.value}' expects an integer, found '{text.value}'", text.span)
    return int(text.value)


def _value(option: Option, text: _Word) -> Any:
    """The value of an option from its text."""
    if text.missing:
        if option.kind == "flag":
            return True
        raise fail(f"option '{option.name}' has no value: write {option.spelling}", text.span)
    if option.kind == "flag":
        if text.value not in ("true", "false"):
            raise _expects(option, "true or false", text)
        return text.value == "true"
    if option.kind == "symbol":
        if not text.value.startswith("@") or len(text.value) == 1:
            raise _expects(option, "a symbol such as @name", text)
        return text.value[1:]
    if option.kind == "expression":
        return _expression(text)
    if option.kind == "expressions":
        if not (text.value.startswith("[") and text.value.endswith("]")):
            raise _expects(option, "values in brackets, as [8, 8, 7]", text)
        return tuple(_expression(part) for part in _parts(text))
    if option.choices and text.value not in option.choices:
        raise _expects(option, "one of " + ", ".join(option.choices), text, suggestion(text.value, option.choices))
    return text.value


def _expects(option: Option, what: str, text: _Word, hint: str = "") -> DiagnosticError:
    return fail(f"option '{option.name}' expects {what}, found '{text.value}'{hint}", text.span)


def _parts(text: _Word) -> Iterable[_Word]:
    """What is between the commas of a list in brackets."""
    begin = text.span.start + 1
    for part in text.value[1:-1].split(","):
        yield _Word(part, Span(text.span.source, begin, begin + len(part)))
        begin += len(part) + 1


def _expression(text: _Word) -> Any:
    from bpir.parser import parse_expression  # builds a grammar, so only when an expression is given

    try:
        return parse_expression(text.value)
    except DiagnosticError as failure:
        raise DiagnosticError(*(_moved(d, text.span) for d in failure.diagnostics)) from None


def _moved(diagnostic: Diagnostic, within: Span) -> Diagnostic:
    """The diagnostic about a text of its own, placed where that text is on the command line."""
    if diagnostic.span is None:
        return error(diagnostic.message, within, *diagnostic.notes)
    message = diagnostic.message.replace("the end of the file", "the end of the value")
    span = Span(within.source, within.start + diagnostic.span.start, within.start + diagnostic.span.end)
    return error(message, span, *diagnostic.notes)


def spell(current: Pass) -> str:
    """The pass and its options as `parse_pass` reads them."""
    given = []
    for name, span in current.spans.items():
        value = span.source.text[span.start : span.end]
        if getattr(current, name, None) is True:  # a flag may be written without a value
            value = "true"
        if not _PLAIN.fullmatch(value):
            quote = "'" if '"' in value else '"'
            value = quote + value + quote
        given.append(f"{name}={value}")
    return current.name + ("{" + " ".join(given) + "}" if given else "")
