"""Properties of operations: each is declared once, and is read, printed and checked by what its kind says."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache, cached_property
from typing import Any, ClassVar, Generic, Self, TypeVar, overload

from bpir.ir.attributes import ArrayAttr, Attribute, StringAttr, SymbolRefAttr, UnitAttr, quoted, symbol_text
from bpir.ir.declaration import (
    ATTRIBUTE_BODIES,
    Draft,
    Fragment,
    Inexpressible,
    OperationDeclaration,
    ParseContext,
    Piece,
    wanted,
    wanted_items,
)
from bpir.ir.diagnostic import Span, fail, suggestion
from bpir.ir.operation import Operation
from bpir.ir.syntax_part import ABSENT, Check, Part, alternative

_V = TypeVar("_V")


_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_$.]*")  # what the lexer takes for one


def _first(context: ParseContext, values: list[Any], span: Span) -> Any:
    return values[0]


def _collect(context: ParseContext, values: list[Any], span: Span) -> Any:
    return list(values)


class _Known(dict[Attribute | None, _V]):
    """The meanings of attributes, remembered: they are interned, and thousands of operations have the same ones."""

    def __init__(self, value: Callable[[Attribute | None], _V]) -> None:
        super().__init__()
        self.value = value

    def __missing__(self, attribute: Attribute | None) -> _V:
        value = self.value(attribute)
        if value.__class__ is not dict and value.__class__ is not list:  # which the reader may change
            self[attribute] = value
        return value


class Property(Part, Generic[_V]):
    """A part that sets one property to an attribute; subclasses say how it is spelled, and what its value is.

    Declared as an attribute of the operation's class, it is how the property is read: `Task(operation).phase`. Its name is then that of
    the attribute, unless it has one of its own. What is absent, or of another kind than a sound module has, reads as the empty value.
    """

    name: str = ""
    exact: ClassVar[type[Attribute] | None] = None  # every attribute of this class is right
    names_only: ClassVar[bool] = False  # what is right names symbols, and says nothing else

    def __set_name__(self, owner: type[OperationDeclaration], name: str) -> None:
        if not self.name:
            object.__setattr__(self, "name", name)
        owner.declared = (*owner.declared, self.name)

    @overload
    def __get__(self, view: None, owner: type[OperationDeclaration]) -> Self: ...

    @overload
    def __get__(self, view: OperationDeclaration, owner: type[OperationDeclaration]) -> _V: ...

    def __get__(self, view: OperationDeclaration | None, owner: type[OperationDeclaration]) -> Self | _V:
        if view is None:
            return self
        return self._known[view.operation.properties.get(self.name)]

    @cached_property
    def _known(self) -> _Known[_V]:
        return _Known(self.value)

    def value(self, attribute: Attribute | None) -> _V:
        """The meaning of the attribute; the empty value of its kind if it is absent or of another kind."""
        raise NotImplementedError

    def names(self) -> tuple[str, ...]:
        return (self.name,)

    def read(self, value: Any, draft: Draft) -> None:
        if value is not ABSENT:
            draft.properties[self.name] = value

    def pieces(self, operation: Operation) -> Iterable[Piece]:
        attribute = operation.properties.get(self.name)
        if attribute is not None:
            yield " "
            yield from self.spelling(attribute)

    def spelling(self, attribute: Attribute) -> Iterable[Piece]:
        """The custom spelling of the attribute."""
        raise NotImplementedError

    def checks(self) -> Mapping[str, Check]:
        return {self.name: Check(self.expected, self.exact, self.names_only)}

    def expected(self, attribute: Attribute) -> str:
        """The form that the attribute should have; empty if it has it."""
        return ""


class _String(Property[str]):
    def value(self, attribute: Attribute | None) -> str:
        return attribute.value if isinstance(attribute, StringAttr) else ""

    def expected(self, attribute: Attribute) -> str:
        return "" if isinstance(attribute, StringAttr) else "a string"


class SymbolName(_String):
    """`@name`: the symbol that the operation defines."""

    exact = StringAttr
    name: str = "sym_name"
    optional: bool = False

    def demanded(self) -> tuple[str, ...]:
        return () if self.optional else self.names()

    def fragment(self, rule: str) -> Fragment:
        return alternative(rule, "symbol_name", lambda c, v, s: StringAttr(v[0]), self.optional)

    def spelling(self, attribute: Attribute) -> Iterable[Piece]:
        attribute = wanted(attribute, StringAttr)
        if not attribute.value:  # `@""` is no symbol: LLVM takes an empty name in generic form only
            raise Inexpressible
        yield symbol_text(attribute.value)


class Reference(Property[str]):
    """`@name`: a symbol defined elsewhere; its value has no `@`."""

    exact = SymbolRefAttr

    def value(self, attribute: Attribute | None) -> str:
        return attribute.name if isinstance(attribute, SymbolRefAttr) else ""

    def fragment(self, rule: str) -> Fragment:
        return alternative(rule, "symbol_ref", _first)

    def spelling(self, attribute: Attribute) -> Iterable[Piece]:
        yield attribute

    def expected(self, attribute: Attribute) -> str:
        return "" if isinstance(attribute, SymbolRefAttr) else "a symbol (@name)"


class Text(_String):
    """`"text"`"""

    exact = StringAttr

    def fragment(self, rule: str) -> Fragment:
        return alternative(rule, "string", lambda c, v, s: StringAttr(v[0]))

    def spelling(self, attribute: Attribute) -> Iterable[Piece]:
        attribute = wanted(attribute, StringAttr)
        yield quoted(attribute.value)


class Word(_String):
    """A bare word, one of `choices` (any word if there are none); stored as a string."""

    choices: tuple[str, ...] = ()

    @property
    def allowed(self) -> tuple[str, ...]:
        """The words that it may be; none if it may be any."""
        return self.choices

    def fragment(self, rule: str) -> Fragment:
        def action(context: ParseContext, values: list[Any], span: Span) -> Any:
            if self.allowed and values[0] not in self.allowed:
                raise fail(
                    f"unknown {self.name} '{values[0]}', expected one of: {', '.join(self.allowed)}" + suggestion(values[0], self.allowed),
                    span,
                )
            return StringAttr(values[0])

        return alternative(rule, "word", action)

    def spelling(self, attribute: Attribute) -> Iterable[Piece]:
        attribute = wanted(attribute, StringAttr)
        yield attribute.value

    def expected(self, attribute: Attribute) -> str:
        if self.allowed and isinstance(attribute, StringAttr) and attribute.value not in self.allowed:
            return "one of " + ", ".join(self.allowed)
        if isinstance(attribute, StringAttr) and not _WORD.fullmatch(attribute.value):
            return "a word"
        return super().expected(attribute)


class References(Property[tuple[str, ...]]):
    """`[@a, @b]`; empty or absent where there are none."""

    names_only = True

    def value(self, attribute: Attribute | None) -> tuple[str, ...]:
        return references(attribute)

    def fragment(self, rule: str) -> Fragment:
        rules = f'{rule}: "[" {rule}_items "]" -> {rule}_is\n{rule}_items: symbol_ref ("," symbol_ref)* -> {rule}_list\n'
        return Fragment(rules, {rule + "_is": lambda c, v, s: ArrayAttr(tuple(v[0])), rule + "_list": _collect})

    def spelling(self, attribute: Attribute) -> Iterable[Piece]:
        yield "[" + ", ".join(v.text for v in wanted_items(attribute, SymbolRefAttr)) + "]"

    def expected(self, attribute: Attribute) -> str:
        good = isinstance(attribute, ArrayAttr) and set(map(type, attribute.values)) == {SymbolRefAttr}
        return "" if good else "an array of one or more symbols (@name)"


class Words(Property[tuple[str, ...]]):
    """`[word, word]`; stored as an array of strings."""

    def value(self, attribute: Attribute | None) -> tuple[str, ...]:
        return strings(attribute)

    def fragment(self, rule: str) -> Fragment:
        rules = f'{rule}: "[" {rule}_items "]" -> {rule}_is\n{rule}_items: word ("," word)* -> {rule}_list\n'
        return Fragment(rules, {rule + "_is": lambda c, v, s: ArrayAttr(tuple(map(StringAttr, v[0]))), rule + "_list": _collect})

    def spelling(self, attribute: Attribute) -> Iterable[Piece]:
        yield "[" + ", ".join(v.value for v in wanted_items(attribute, StringAttr)) + "]"

    def expected(self, attribute: Attribute) -> str:
        words = attribute.values if isinstance(attribute, ArrayAttr) else ()
        good = words and all(isinstance(v, StringAttr) and _WORD.fullmatch(v.value) for v in words)
        return "" if good else "an array of one or more words as strings"


class Flag(Property[bool]):
    """A keyword, present or absent; stored as `unit`."""

    keyword: str = ""

    def value(self, attribute: Attribute | None) -> bool:
        return attribute is not None

    def demanded(self) -> tuple[str, ...]:
        return ()

    def fragment(self, rule: str) -> Fragment:
        return alternative(rule, f'"{self.keyword or self.name}"', lambda c, v, s: UnitAttr(), optional=True)

    def spelling(self, attribute: Attribute) -> Iterable[Piece]:
        yield self.keyword or self.name

    def expected(self, attribute: Attribute) -> str:
        return "" if isinstance(attribute, UnitAttr) else "unit"


class Body(Property[_V]):
    """`<...>`: a body that the start symbol `start` parses into an attribute, which knows its text inside the brackets."""

    start: str = ""

    def fragment(self, rule: str) -> Fragment:
        return alternative(rule, "raw_angle", lambda c, v, s: c.body(self.start, v[0]))

    def spelling(self, attribute: Attribute) -> Iterable[Piece]:
        yield "<" + attribute.body_text() + ">"  # type: ignore[attr-defined]

    def expected(self, attribute: Attribute) -> str:
        return expected_body(attribute, self.start)


def expected_body(attribute: Attribute, start: str) -> str:
    """The form that an attribute should have, given the start symbol that parses its body; empty if it has it."""
    if ATTRIBUTE_BODIES.get(attribute.mnemonic) == start:
        return ""
    return " or ".join(f"#{name}<...>" for name, symbol in ATTRIBUTE_BODIES.items() if symbol == start)


@cache
def references(attribute: Attribute | None) -> tuple[str, ...]:
    """The names of an array of symbol references; each list is asked for by pass after pass."""
    if not isinstance(attribute, ArrayAttr):
        return ()
    return tuple(v.name for v in attribute.values if isinstance(v, SymbolRefAttr))


def strings(attribute: Attribute | None) -> tuple[str, ...]:
    """The values of an array of strings."""
    if not isinstance(attribute, ArrayAttr):
        return ()
    return tuple(v.value for v in attribute.values if isinstance(v, StringAttr))


_NAME = SymbolName()


def symbol_of(operation: Operation) -> str:
    """The symbol that an operation of any kind defines; empty if it defines none."""
    return _NAME.value(operation.properties.get(_NAME.name))
