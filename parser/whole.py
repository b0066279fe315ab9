"""Whole operations at once: those in generic form, without regions, whose parts were read before or are simple.

Large files say the same few dictionaries and types again and again. One regular expression takes an operation apart, and its parts are
looked up. Whatever is new and not simple, or wrong, is left to the grammar, which reads the operation from its beginning: no
diagnostic is made here.
"""

from __future__ import annotations

import re

from bpir.ir.attributes import Attribute, DictAttr, FunctionType, UnitAttr, dictionary
from bpir.ir.diagnostic import DiagnosticError, Span
from bpir.ir.operation import Operation, Value
from bpir.parser.engine import run
from bpir.parser.lexer import DICTIONARY, FUNCTION_TYPE, SPACE, STRING_PATTERN, SUFFIX_PATTERN
from bpir.parser.operation_actions import plain_operation
from bpir.parser.state import ParserState

MEMO_SIZE = 100_000

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


class WholeReader:
    """Reads whole operations of one text; it remembers their parts."""

    def __init__(self, parser: ParserState) -> None:
        self.parser = parser
        self.values: dict[str, Attribute] = {}  # by the text of a value of an entry
        self.models: dict[tuple[str, str | None, str | None], Operation] = {}  # by name, properties and attributes: one that has only these

    def read(self, found: re.Match[str]) -> int | None:
        """Read the operation that `OPERATION` found, and put it into its block; where it ends. None: the grammar must read it."""
        names, literal, uses, properties, attributes, text = found.groups()
        parser = self.parser
        type_ = parser.memo[0].get(text)
        if type_ is None or type_.__class__ is not FunctionType or literal not in parser.operation_names:
            return None
        known = parser.names.values
        operands: list[Value] = []
        texts = uses.split(", ") if uses else ()
        if len(texts) != len(type_.inputs):
            return None
        for use, wanted in zip(texts, type_.inputs, strict=True):
            value = known.get(use)
            if value.__class__ is not Value or value.type is not wanted:
                return None
            operands.append(value)
        results = [Value(t) for t in type_.results]
        defined = names.split(", ") if names else ()
        if defined and (len(defined) != len(results) or parser.names.forward or not known.keys().isdisjoint(defined)):
            return None
        model = self.models.get((literal, properties, attributes)) or self._model(found)
        if model is None or len(set(defined)) != len(defined):
            return None
        start, end = found.span(2)[0], found.end()
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
                Span(parser.source, start, end),
                model.declaration,
                block,
            )
        )
        for name, value in zip(defined, results, strict=False):
            value.name = name[1:]
            known[name] = value
            region.defined.append(name)
        return end

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
        if len(self.models) < MEMO_SIZE:
            self.models[literal, properties, attributes] = model
        return model

    def _dictionary(self, text: str, offset: int) -> DictAttr | None:
        """The attribute that a dictionary is; None if one of its entries is not simple.

        Raises:
            DiagnosticError: an entry is wrong.
        """
        known = self.parser.memo[2].get(text)
        if known is not None:
            return known  # type: ignore[no-any-return]
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
                value = self.values.get(spelled)
                if value is None:
                    begin = offset + match.start(2)
                    value = run(self.parser.program, self.parser, "only_attribute", begin, begin + len(spelled))
                    if len(self.values) < MEMO_SIZE:
                        self.values[spelled] = value
                found[key] = value
            position, count = match.end(), count + 1
        return dictionary(found.items()) if len(found) == count and count else None


def read_whole(parser: ParserState, found: re.Match[str]) -> int | None:
    """Read the operation that `OPERATION` found, and put it into its block; where it ends. None: the grammar must read it."""
    if parser.whole is None:
        parser.whole = WholeReader(parser)
    return parser.whole.read(found)
