"""Whole operations at once: those in generic form, without regions, whose parts were read before or are simple.

Large files say the same few dictionaries and types again and again. One regular expression takes an operation apart, and its parts are
looked up. Whatever is new and not simple, or wrong, is left to the grammar, which reads the operation from its beginning: no
diagnostic is made here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from bpir.ir.attributes import (
    I64,
    ArrayAttr,
    Attribute,
    DictAttr,
    FunctionType,
    IntegerAttr,
    StringAttr,
    SymbolRefAttr,
    Type,
    UnitAttr,
)
from bpir.ir.diagnostic import DiagnosticError, Span
from bpir.ir.operation import Operation, Value
from bpir.parser.actions.operations import plain_operation
from bpir.parser.lexer import DICTIONARY, FUNCTION_TYPE, SPACE, STRING_PATTERN, SUFFIX_PATTERN
from bpir.parser.state import ParserState

MEMO_SIZE = 100_000
MODELS = 10_000  # remembered operations: where there are more, each says something of its own

_SPACE = SPACE.pattern
_NAMES = rf"%{SUFFIX_PATTERN}(?:, %{SUFFIX_PATTERN})*+"
OPERATION = re.compile(
    rf"{_SPACE}(?:({_NAMES}) = )?({STRING_PATTERN})\(({_NAMES})?\)"
    rf"(?: <({DICTIONARY})>)?(?: ({DICTIONARY}))? : ({FUNCTION_TYPE})(?!{_SPACE}loc[ \t]*+\()"
)
_ENTRY = re.compile(
    rf"(?:\{{|, )([A-Za-z_][A-Za-z0-9_$.]*+)(?: = ((?:{STRING_PATTERN}"
    r"|\#[A-Za-z_$][A-Za-z0-9_$.]*+(?:<[^<>\[\](){}\"\-\x00]*+>)?"
    r"|@[A-Za-z_][A-Za-z0-9_$.]*+|\[[^<>\[\](){}\"/\-\x00]*+\]|[A-Za-z_][A-Za-z0-9_$.]*+"
    r"|[0-9]++(?: : [A-Za-z_][A-Za-z0-9_]*+)?)))?(?=, |\})"
)

_SYMBOLS = re.compile(r"\[@[A-Za-z_][A-Za-z0-9_$.]*+(?:, @[A-Za-z_][A-Za-z0-9_$.]*+)*+\]")
_SMALL = 18  # digits of a number that fits in an `i64`


class WholeReader:
    """Reads whole operations of one text; it remembers their parts."""

    def __init__(self, parser: ParserState) -> None:
        self.parser = parser
        self.values: dict[str, Attribute] = {}  # by the text of a value of an entry
        self.models: dict[tuple[str, str | None, str | None], Operation] = {}  # by name, properties and attributes: one that has only these

    def read(self, position: int, end: int) -> int | None:
        """Read the operation at an offset, and put it into its block; where it ends. None: the grammar must read what is there."""
        found = OPERATION.match(self.parser.text, position, end)
        if found is None:
            return None
        names, literal, uses, properties, attributes, text = found.groups()
        parser = self.parser
        type_ = parser.memo[0].get(text)
        if type_ is None or type_.__class__ is not FunctionType or literal not in parser.operation_names:
            return None
        operands = self._operands(uses, type_.inputs)
        defined = names.split(", ") if names else ()
        if operands is None or (defined and not self._may_define(defined, len(type_.results))):
            return None
        model = self.models.get((literal, properties, attributes)) or self._model(found)
        if model is None:
            return None
        results = [Value(t) for t in type_.results]
        region = parser.regions[-1]
        block = region.block or parser.block()
        block.operations.append(
            Operation(
                model.name,
                operands,
                results,
                [],
                model.properties.copy(),
                [],
                model.attributes.copy(),
                None,
                Span(parser.source, found.start(2), found.end()),
                model.declaration,
                block,
            )
        )
        for name, value in zip(defined, results, strict=False):
            value.name = name[1:]
            parser.names.values[name] = value
            region.defined.append(name)
        return found.end()

    def _operands(self, uses: str | None, types: Sequence[Type]) -> list[Value] | None:
        """The values of a list of operands; None unless each is defined, alone under its name, and has its type."""
        known = self.parser.names.values
        texts = uses.split(", ") if uses else ()
        if len(texts) != len(types):
            return None
        operands: list[Value] = []
        for use, wanted in zip(texts, types, strict=True):
            value = known.get(use)
            if value.__class__ is not Value or value.type is not wanted:
                return None
            operands.append(value)
        return operands

    def _may_define(self, names: Sequence[str], count: int) -> bool:
        """Whether these are new names, one for each of the results, and no value was used before its definition."""
        scope = self.parser.names
        return len(names) == count == len(set(names)) and not scope.forward and scope.values.keys().isdisjoint(names)

    def _model(self, found: re.Match[str]) -> Operation | None:
        """An operation with the name, properties and attributes of the one that was found; None if they are not simple."""
        _, literal, _, properties, attributes, _ = found.groups()
        parser = self.parser
        name, declaration = parser.operation_names[literal]
        try:
            inherent = self._dictionary(properties, found.start(4)) if properties is not None else None
            discardable = self._dictionary(attributes, found.start(5)) if attributes is not None else None
            if (properties is not None and inherent is None) or (attributes is not None and discardable is None):
                return None
            model = plain_operation(name, declaration, inherent, discardable, parser.span(found.start(2), found.end()))
        except DiagnosticError:
            return None
        if len(self.models) < MODELS:
            self.models[literal, properties, attributes] = model
        return model

    def _dictionary(self, text: str, offset: int) -> dict[str, Attribute] | None:
        """The entries of a dictionary, sorted; None if one of them is not simple.

        Raises:
            DiagnosticError: an entry is wrong.
        """
        known: DictAttr | None = self.parser.memo[2].get(text)
        if known is not None:
            return dict(known.entries)
        found: dict[str, Attribute] = {}
        position, count = 0, 0
        while text[position] != "}":
            match = _ENTRY.match(text, position)
            if match is None:
                return None
            key, spelled = match.groups()
            if spelled is None:
                found[key] = UnitAttr()
            else:
                value = self.values.get(spelled) or _literal(spelled)
                if value is None:
                    begin = offset + match.start(2)
                    value = self.parser.read("only_attribute", begin, begin + len(spelled))
                    if len(self.values) < MEMO_SIZE:
                        self.values[spelled] = value
                found[key] = value
            position, count = match.end(), count + 1
        if not count or len(found) < count:
            return None
        names = list(found)
        return found if names == sorted(names) else {name: found[name] for name in sorted(names)}


def _literal(text: str) -> Attribute | None:
    """The attribute that a string, a symbol, a list of symbols or an `i64` is: there are as many as operations. None of others."""
    first = text[0]
    if first == '"':
        return StringAttr(text[1:-1], None) if "\\" not in text else None
    if first == "@":
        return SymbolRefAttr((text[1:],))
    if first == "[":
        return ArrayAttr(tuple([SymbolRefAttr((name,)) for name in text[2:-1].split(", @")])) if _SYMBOLS.fullmatch(text) else None
    digits, _, type_ = text.partition(" : ")
    if digits.isdigit() and len(digits) <= _SMALL and type_ in ("", "i64"):
        return IntegerAttr(int(digits), I64)
    return None
