"""Actions that build attributes: numbers, strings, arrays, dictionaries, symbols, dialect attributes."""

from __future__ import annotations

from typing import Any

from bpir.ir.attributes import (
    I1,
    I64,
    ArrayAttr,
    Attribute,
    DictAttr,
    FloatType,
    IndexType,
    IntegerAttr,
    IntegerType,
    StringAttr,
    SymbolRefAttr,
    Type,
    UnitAttr,
    dictionary,
)
from bpir.ir.builtin.attributes import DYNAMIC, DistinctAttr, FloatAttr, OpaqueAttr, StridedAttr
from bpir.ir.builtin.float_formats import FORMATS, from_double
from bpir.ir.diagnostic import fail, suggestion
from bpir.parser.engine import RawAction
from bpir.parser.lexer import symbol_of, unquoted
from bpir.parser.namespaces import OURS, UPSTREAM
from bpir.parser.state import ParserState

_F64 = FloatType("f64")
_MAXIMUM_DIGITS = 4000


class Number:
    """A number as it was written: digits, or a float, with its sign."""

    __slots__ = ("end", "negative", "start", "text")

    def __init__(self, negative: bool, text: str, start: int, end: int) -> None:
        self.negative = negative
        self.text = text
        self.start = start
        self.end = end

    @property
    def is_float(self) -> bool:
        return "." in self.text

    @property
    def is_hex(self) -> bool:
        return self.text.startswith("0x")


def number(p: ParserState, v: list[Any], start: int, end: int) -> Number:
    if len(v[-1]) > _MAXIMUM_DIGITS:
        raise fail(f"a number has at most {_MAXIMUM_DIGITS} digits", p.span(start, end))
    return Number(len(v) == 2, v[-1], start, end)


def number_attribute(p: ParserState, v: list[Any], start: int, end: int) -> Attribute:
    """`number` or `number : type`"""
    literal: Number = v[0]
    if len(v) == 1:
        type_: Type = _F64 if literal.is_float else I64
    else:
        type_ = v[2]
    if isinstance(type_, FloatType):
        return FloatAttr(float_bits(p, literal, type_), type_)
    return IntegerAttr(integer_value(p, literal, type_), type_)


def float_bits(p: ParserState, literal: Number, type_: FloatType) -> int:
    """The bit pattern that a number stands for in a floating-point type; a hex number is the pattern itself."""
    place = p.span(literal.start, literal.end)
    if literal.is_float:
        value = float(literal.text)
        return from_double(-value if literal.negative else value, type_.name)
    if not literal.is_hex:
        raise fail(f"a {type_.name} needs a dot: write {literal.text}.0, or its bit pattern in hex", place)
    if literal.negative:
        raise fail("a bit pattern in hex has no sign", place)
    bits = int(literal.text, 16)
    if bits.bit_length() > FORMATS[type_.name].width:
        raise fail(f"{literal.text[:40]} has more bits than a {type_.name}", place)
    return bits


def integer_value(p: ParserState, literal: Number, type_: Type) -> int:
    """The value of a number in an integer type, signed unless the type is unsigned (or `i1`)."""
    place = p.span(literal.start, literal.end)
    if not isinstance(type_, IntegerType | IndexType):
        raise fail(f"a number cannot have the type {type_.text[:80]}", place)
    if literal.is_float:
        raise fail(f"a number with a dot cannot have the type {type_.text}", place)
    width, sign = (64, "s") if isinstance(type_, IndexType) else (type_.width, type_.signedness)
    if literal.negative and sign == "u":
        raise fail(f"{type_.text} holds no negative numbers", place)
    magnitude = int(literal.text, 16 if literal.is_hex else 10)
    if literal.negative and not magnitude:
        raise fail("-0 is no integer: write 0", place)
    value = -magnitude if literal.negative else magnitude
    if not _fits(value, width, sign == "s"):
        raise fail(f"{str(value)[:60]} does not fit in {type_.text}", place)
    if type_ is I1:
        return value & 1
    return value if sign == "u" or not width or value < 1 << width - 1 else value - (1 << width)


def _fits(value: int, width: int, signed: bool) -> bool:
    """Whether so many bits hold a value: without `signed`, positive ones that set the highest bit, too."""
    if not width:
        return value == 0
    return -(1 << width - 1) <= value < 1 << (width - 1 if signed else width)


def boolean(p: ParserState, v: list[Any], start: int, end: int) -> Attribute:
    return IntegerAttr(1 if v[0] == "true" else 0, I1)


def unit(p: ParserState, v: list[Any], start: int, end: int) -> Attribute:
    return UnitAttr()


def string(p: ParserState, v: list[Any], start: int, end: int) -> str:
    return unquoted(v[0])


def string_attribute(p: ParserState, v: list[Any], start: int, end: int) -> Attribute:
    return StringAttr(v[0], v[2] if len(v) > 1 else None)


def array(p: ParserState, v: list[Any], start: int, end: int) -> Attribute:
    return ArrayAttr(tuple(v[1]) if len(v) == 3 else ())


def dictionary_attribute(p: ParserState, v: list[Any], start: int, end: int) -> DictAttr:
    if len(v) == 2:
        return DictAttr(())
    found: dict[str, Attribute] = {}
    for key, value, offset in v[1]:
        if key in found:
            raise fail(f"duplicate key '{key}' in a dictionary", p.span(offset, offset + len(key)))
        found[key] = value
    return dictionary(found.items())


def entry(p: ParserState, v: list[Any], start: int, end: int) -> tuple[str, Attribute, int]:
    key = v[0]
    if key[0] == '"':
        key = unquoted(key)
        if not key:
            raise fail("a key of a dictionary cannot be empty", p.span(start, end))
    return key, v[2] if len(v) == 3 else UnitAttr(), start


def properties(p: ParserState, v: list[Any], start: int, end: int) -> Attribute:
    found: Attribute = v[1]
    return found


def symbol_name(p: ParserState, v: list[Any], start: int, end: int) -> str:
    name = symbol_of(v[0])
    if not name:
        raise fail("a symbol's name cannot be empty", p.span(start, end))
    return name


def symbol_first(p: ParserState, v: list[Any], start: int, end: int) -> list[str]:
    return [symbol_of(v[0])]


def symbol_more(p: ParserState, v: list[Any], start: int, end: int) -> list[str]:
    v[0].append(symbol_of(v[2]))
    found: list[str] = v[0]
    return found


def symbol_ref(p: ParserState, v: list[Any], start: int, end: int) -> Attribute:
    return SymbolRefAttr(tuple(v[0]))


def hash_attribute(p: ParserState, v: list[Any], start: int, end: int) -> Attribute:
    """`#alias`, `#dialect.name<...>` or `#dialect<...>`, the latter two with a type if they want one"""
    token = v[0]
    typed = len(v) > 1
    found = p.attributes.get(token) if not typed else None
    if found is not None:
        return found
    name = token.partition("<")[0]
    if len(name) == len(token) and "." not in name:
        alias = p.attribute_aliases.get(name)
        if alias is None:
            raise fail(f"undefined attribute alias '{name}'{suggestion(name, p.attribute_aliases)}", p.span(start, end))
        if typed:
            raise fail("an alias takes no type", p.span(start, end))
        return p.expand(alias, start)
    dialect = p.dialect_of(name, "attribute", start)
    if dialect in OURS:
        if typed:
            raise fail(f"'{name}' takes no type", p.span(start, end))
        found = p.own_attribute(token, start)
    elif p.allow_unregistered:
        if dialect in UPSTREAM:
            p.check_owner("attribute", token, dialect, start)
        found = OpaqueAttr(token, v[2] if typed else None)
    else:
        raise fail(
            f"attribute '{name}' belongs to the unknown dialect '{dialect}'; use --allow-unregistered-dialect to accept it",
            p.span(start, start + len(name)),
        )
    if not typed:
        p.attributes[token] = found
    return found


def distinct(p: ParserState, v: list[Any], start: int, end: int) -> Attribute:
    number_ = integer(p, [v[2]], start, end)
    value = v[5] if len(v) == 7 else None
    if p.distinct.setdefault(number_, value) is not value:
        raise fail(f"distinct[{number_}] stands for another attribute before", p.span(start, end))
    return DistinctAttr(number_, value)


def strided(symbols: tuple[str, ...]) -> RawAction:
    """`strided<[2, ?], offset: 3>`"""
    strides_at = symbols.index("sizes") if "sizes" in symbols else -1
    offset_at = symbols.index("size") if "size" in symbols else -1

    def action(p: ParserState, v: list[Any], start: int, end: int) -> Attribute:
        strides = tuple(v[strides_at]) if strides_at >= 0 else ()
        if 0 in strides:
            raise fail("a stride cannot be 0", p.span(start, end))
        return StridedAttr(strides, v[offset_at] if offset_at >= 0 else 0)

    return action


def size(p: ParserState, v: list[Any], start: int, end: int) -> int:
    if v[0] == "?":
        return DYNAMIC
    value = integer(p, [v[-1]], start, end)
    return -value if len(v) == 2 else value


def integer(p: ParserState, v: list[Any], start: int, end: int) -> int:
    """An integer of the base grammar, bounded in digits."""
    digits = v[0]
    if len(digits) > _MAXIMUM_DIGITS:
        raise fail(f"a number has at most {_MAXIMUM_DIGITS} digits", p.span(start, end))
    return int(digits, 16 if digits[:2] == "0x" else 10)


ATTRIBUTE_ACTIONS: dict[str, RawAction] = {
    "number": number,
    "number_attribute": number_attribute,
    "boolean": boolean,
    "unit": unit,
    "string": string,
    "string_attribute": string_attribute,
    "array": array,
    "dictionary": dictionary_attribute,
    "entry": entry,
    "properties": properties,
    "symbol_name": symbol_name,
    "symbol_first": symbol_first,
    "symbol_more": symbol_more,
    "symbol_ref": symbol_ref,
    "hash_attribute": hash_attribute,
    "distinct": distinct,
    "size": size,
    "integer": integer,
}
ATTRIBUTE_FACTORIES = {"strided": strided}
