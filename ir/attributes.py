"""Attributes and types: immutable, interned values, so that equality is identity at any depth.

Attributes of the builtin dialect are in `dialects/builtin.py`'s neighbourhood of this file; a dialect adds its own by
subclassing `Attribute` or `Type` with fields and `pieces()`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import ClassVar

from bpir.ir.records import Interned


class Attribute(metaclass=Interned):
    """A value known when the module is written. Subclasses have fields (`ir/records.py`) and give `pieces()`.

    Attributes:
        mnemonic: `dialect.name` of an attribute that is spelled `#dialect.name<...>`; empty for all others.
    """

    mnemonic: ClassVar[str] = ""

    def pieces(self) -> Iterable[str | Attribute]:
        """The generic spelling, in order: text, and nested attributes that the printer expands."""
        raise NotImplementedError

    def array_piece(self) -> str | Attribute:
        """The spelling as an element of an array, where `i64` and `f64` are left out."""
        return self

    @property
    def text(self) -> str:
        """The generic spelling as one string (no recursion, whatever the depth)."""
        return render(self)

    def __str__(self) -> str:
        return render(self)


class Type(Attribute):
    """The type of a value; usable as an attribute too."""


def render(attribute: Attribute) -> str:
    """The text of an attribute, nested ones expanded with a stack of our own."""
    out: list[str] = []
    stack: list[Iterator[str | Attribute]] = [iter(attribute.pieces())]
    while stack:
        for piece in stack[-1]:
            if isinstance(piece, str):
                out.append(piece)
            else:
                stack.append(iter(piece.pieces()))
                break
        else:
            stack.pop()
    return "".join(out)


def joined(items: Iterable[str | Attribute], separator: str = ", ") -> Iterator[str | Attribute]:
    """The items with a separator between them."""
    for index, item in enumerate(items):
        if index:
            yield separator
        yield item


_PRINTABLE = {c: chr(c) for c in range(0x20, 0x7F)} | {ord("\\"): "\\\\", ord('"'): "\\22"}


def quoted(text: str) -> str:
    """A string (latin-1 bytes) in MLIR's spelling: printable ASCII as it is, every other byte `\\XX`."""
    if _PLAIN.fullmatch(text):
        return f'"{text}"'
    return '"' + "".join(_PRINTABLE.get(ord(c)) or f"\\{ord(c):02X}" for c in text) + '"'


def is_bare_word(text: str) -> bool:
    """Whether the text is an MLIR bare identifier."""
    return _BARE_WORD.fullmatch(text) is not None


_PLAIN = re.compile(r"[ !#-\[\]-~]*")
_BARE_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_$.]*")


def symbol_text(name: str) -> str:
    """`@name`, quoted where it is not a bare word."""
    return "@" + (name if is_bare_word(name) else quoted(name))


class StringAttr(Attribute):
    """`"text"`; the value is bytes decoded as latin-1. A typed string keeps its type."""

    value: str
    type: Type | None = None

    @property
    def text(self) -> str:
        return quoted(self.value) if self.type is None else render(self)

    def pieces(self) -> Iterable[str | Attribute]:
        yield quoted(self.value)
        if self.type is not None:
            yield " : "
            yield self.type

    def array_piece(self) -> str | Attribute:
        return self if self.type is not None else quoted(self.value)


class UnitAttr(Attribute):
    """`unit`: present or absent."""

    def pieces(self) -> Iterable[str | Attribute]:
        return ("unit",)


class ArrayAttr(Attribute):
    """`[a, b]`"""

    values: tuple[Attribute, ...]

    def pieces(self) -> Iterable[str | Attribute]:
        items = [value.array_piece() for value in self.values]
        texts = [item for item in items if isinstance(item, str)]
        if len(texts) == len(items):
            return (f"[{', '.join(texts)}]",)
        return ("[", *joined(items), "]")


class DictAttr(Attribute):
    """`{a = 1, b}`; entries sorted by key."""

    entries: tuple[tuple[str, Attribute], ...]

    def pieces(self) -> Iterable[str | Attribute]:
        yield "{"
        for index, (key, value) in enumerate(self.entries):
            if index:
                yield ", "
            yield key if is_bare_word(key) else quoted(key)
            if not isinstance(value, UnitAttr):
                yield " = "
                yield value
        yield "}"


def dictionary(entries: Iterable[tuple[str, Attribute]]) -> DictAttr:
    """A dictionary attribute of the entries, sorted by the bytes of their keys."""
    return DictAttr(tuple(sorted(entries, key=lambda entry: entry[0])))


class SymbolRefAttr(Attribute):
    """`@root::@nested`"""

    path: tuple[str, ...]

    @property
    def root(self) -> str:
        return self.path[0]

    @property
    def name(self) -> str:
        """The whole path without `@`: `root::nested`."""
        path = self.path
        return path[0] if len(path) == 1 else "::".join(path)

    @property
    def text(self) -> str:
        path = self.path
        return symbol_text(path[0]) if len(path) == 1 else "::".join(map(symbol_text, path))

    def pieces(self) -> Iterable[str | Attribute]:
        return (self.text,)

    def array_piece(self) -> str:
        return self.text


class IntegerAttr(Attribute):
    """`42 : i64`, or `true` / `false` for an `i1`; the value as it is printed (signless integers are printed signed)."""

    value: int
    type: Type

    def pieces(self) -> Iterable[str | Attribute]:
        if self.type is I1:
            return ("true" if self.value else "false",)
        return (f"{self.value} : ", self.type)

    def array_piece(self) -> str | Attribute:
        return str(self.value) if self.type is I64 else self


class IntegerType(Type):
    """`i32`, `si8`, `ui16`"""

    width: int
    signedness: str = ""  # "", "s", "u"

    def pieces(self) -> Iterable[str | Attribute]:
        return (f"{self.signedness}i{self.width}",)


class IndexType(Type):
    """`index`"""

    def pieces(self) -> Iterable[str | Attribute]:
        return ("index",)


class FloatType(Type):
    """`f32`, `bf16`, ...: a builtin floating-point type, by name."""

    name: str

    def pieces(self) -> Iterable[str | Attribute]:
        return (self.name,)


class FunctionType(Type):
    """`(a, b) -> c`; one result that is not itself a function has no parentheses."""

    inputs: tuple[Type, ...]
    results: tuple[Type, ...]

    def pieces(self) -> Iterable[str | Attribute]:
        yield "("
        yield from joined(self.inputs)
        yield ") -> "
        if len(self.results) == 1 and not isinstance(self.results[0], FunctionType):
            yield self.results[0]
        else:
            yield "("
            yield from joined(self.results)
            yield ")"


I1 = IntegerType(1)
I64 = IntegerType(64)
