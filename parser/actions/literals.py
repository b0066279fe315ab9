"""Actions for data: `dense<...>`, `sparse<...>`, `dense_resource<...>`, `array<...>`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import prod
from typing import Any

from bpir.ir.attributes import Attribute, FloatType, IndexType, IntegerType, Type, quoted
from bpir.ir.builtin.attributes import (
    DYNAMIC,
    BuiltinTensorType,
    ComplexType,
    DenseArrayAttr,
    ElementsAttr,
    MemRefType,
    ResourceAttr,
    VectorType,
)
from bpir.ir.builtin.float_formats import FORMATS, float_text
from bpir.ir.diagnostic import Span, fail
from bpir.parser.actions.attributes import Number, float_bits, integer_value
from bpir.parser.engine import RawAction
from bpir.parser.lexer import unquoted
from bpir.parser.state import ParserState


class Literal:
    """A nested list of elements, flattened: its shape (None for one element alone) and its elements in order."""

    __slots__ = ("elements", "shape")

    def __init__(self, shape: tuple[int, ...] | None, elements: list[Any]) -> None:
        self.shape = shape
        self.elements = elements  # Number, "true", "false", a string literal with quotes, or a pair of numbers


def scalar(p: ParserState, v: list[Any], start: int, end: int) -> Literal:
    return Literal(None, [v[0]])


def pair(p: ParserState, v: list[Any], start: int, end: int) -> Literal:
    parts: list[Literal] = [v[1], v[3]]
    if any(part.shape is not None or isinstance(part.elements[0], tuple) for part in parts):
        raise fail("a pair has two elements, no lists", p.span(start, end))
    return Literal(None, [tuple(part.elements[0] for part in parts)])


def word_scalar(p: ParserState, v: list[Any], start: int, end: int) -> Literal:
    if v[0] not in ("true", "false"):
        raise fail(f"expected a number, 'true', 'false' or a string, found '{v[0][:60]}'", p.span(start, end))
    return Literal(None, [v[0]])


def literal_list(p: ParserState, v: list[Any], start: int, end: int) -> Literal:
    if len(v) == 2:
        return Literal((0,), [])
    items: list[Literal] = v[1]
    first = items[0].shape
    if any(item.shape != first for item in items):
        raise fail("the lists of this literal do not have the same shape", p.span(start, end))
    if len(items) == 1:
        return Literal((1, *(first or ())), items[0].elements)
    return Literal((len(items), *(first or ())), [e for item in items for e in item.elements])


def _shaped_type(p: ParserState, type_: Type, place: Span) -> tuple[tuple[int, ...], Type]:
    if not isinstance(type_, BuiltinTensorType | VectorType | MemRefType) or type_.shape is None:
        raise fail(f"data needs a ranked tensor, vector or memref type, not {type_.text[:80]}", place)
    if DYNAMIC in type_.shape:
        raise fail("the type of data has no '?'", place)
    return type_.shape, type_.element


def dense(p: ParserState, v: list[Any], start: int, end: int) -> Attribute:
    """`dense<literal> : type`"""
    type_: Type = v[-1]
    place = p.span(start, end)
    shape, element = _shaped_type(p, type_, place)
    if len(v) == 6:
        return ElementsAttr("dense", _dense_body(p, v[2], shape, element, place), type_)
    if prod(shape):
        raise fail("data without elements needs a type without elements", place)
    return ElementsAttr("dense", "", type_)


def _dense_body(p: ParserState, literal: Literal, shape: tuple[int, ...], element: Type, place: Span) -> str:
    """The canonical text of the elements: one element alone where all are the same."""
    if literal.shape is None:
        (alone,) = literal.elements
        if isinstance(alone, str) and alone[0] == '"' and isinstance(element, IntegerType | IndexType | FloatType | ComplexType):
            return _hex_data(unquoted(alone), shape, element, place)
        if isinstance(alone, tuple) and prod(shape) == 2 and not isinstance(element, ComplexType):
            literal = Literal(shape, list(alone))
    elif literal.shape != shape:
        raise fail(f"the literal has the shape {list(literal.shape)}, its type {list(shape)}", place)
    texts = list(_texts(p, literal.elements, element, place))
    if len(set(texts)) <= 1:
        return texts[0] if texts else ""
    return _nested(texts, shape)


def _hex_data(text: str, shape: tuple[int, ...], element: Type, place: Span) -> str:
    digits = text[2:]
    if not re.fullmatch(r"0x(?:[0-9a-fA-F]{2})*", text):
        raise fail("a string as data starts with 0x and has two hex digits a byte", place)
    bits = _storage_bits(element)
    count = prod(shape)
    given = len(digits) * 4
    sizes = {-(-count // 8) * 8} if bits == 1 else {bits, bits * count}
    if bits == 1 and digits.lower() in ("00", "ff"):
        sizes.add(8)  # one byte for all elements
    if given not in sizes:
        raise fail(f"{given // 8} byte(s) of data do not fill {count} element(s) of {element.text}", place)
    return quoted("0x" + digits.upper())


def _storage_bits(element: Type) -> int:
    if isinstance(element, ComplexType):
        return 2 * max(8, _storage_bits(element.element))
    width = 64 if isinstance(element, IndexType) else element.width if isinstance(element, IntegerType) else _width(element)
    return 1 if width == 1 else -(-width // 8) * 8


def _width(element: Type) -> int:
    return FORMATS[element.name].width if isinstance(element, FloatType) else 64


def _texts(p: ParserState, elements: list[Any], element: Type, place: Span) -> Iterator[str]:
    """The canonical text of each element."""
    inner = element.element if isinstance(element, ComplexType) else element
    for item in elements:
        if isinstance(item, tuple) != isinstance(element, ComplexType):
            raise fail(f"an element of {element.text[:80]} is {'a pair' if inner is not element else 'no pair'}", place)
        if isinstance(item, tuple):
            yield "(" + ", ".join(_text(p, part, inner, place) for part in item) + ")"
        else:
            yield _text(p, item, inner, place)


def _text(p: ParserState, item: Any, element: Type, place: Span) -> str:
    numeric = isinstance(element, IntegerType | IndexType | FloatType)
    if isinstance(item, Number):
        if isinstance(element, FloatType):
            return float_text(float_bits(p, item, element), element.name)
        if numeric:
            value = integer_value(p, item, element)
            return ("true" if value else "false") if element is IntegerType(1) else str(value)
        return quoted(item.text[1:-1])  # as LLVM reads it, which expects quotes here
    if item in ("true", "false"):
        if numeric and not (isinstance(element, IntegerType) and element.width == 1):
            raise fail(f"'{item}' is an i1, but the elements are {element.text}", place)
        return str(item) if numeric else quoted(item[1:-1])
    if numeric:
        raise fail(f"a string is no element of {element.text}", place)
    return quoted(unquoted(item))


def _nested(texts: list[str], shape: tuple[int, ...]) -> str:
    for length in reversed(shape):
        texts = ["[" + ", ".join(texts[i : i + length]) + "]" for i in range(0, len(texts), length)]
    return texts[0]


def sparse(p: ParserState, v: list[Any], start: int, end: int) -> Attribute:
    """`sparse<indices, values> : type`"""
    type_: Type = v[-1]
    place = p.span(start, end)
    shape, element = _shaped_type(p, type_, place)
    if len(v) < 8:
        return ElementsAttr("sparse", "", type_)
    indices: Literal = v[2]
    values: Literal = v[4]
    index_texts = list(_texts(p, indices.elements, IntegerType(64), place))
    value_texts = list(_texts(p, values.elements, element, place))
    count = indices.shape[0] if indices.shape else 1
    if indices.shape is not None and (len(indices.shape) > 2 or (indices.shape[1:] or (1,)) != (len(shape),)):
        raise fail(f"the indices of {len(shape)}-dimensional data are lists of {len(shape)} numbers", place)
    if values.shape is not None and values.shape != (count,):
        raise fail(f"there are {count} indices, but {len(value_texts)} values", place)
    if indices.shape is not None:
        _check_indices(index_texts, shape, type_, place)
    if not index_texts:
        return ElementsAttr("sparse", "", type_)
    body = [
        _nested(texts, literal.shape) if literal.shape else ", ".join(texts)
        for texts, literal in ((index_texts, indices), (value_texts, values))
    ]
    return ElementsAttr("sparse", ", ".join(body), type_)


def _check_indices(texts: list[str], shape: tuple[int, ...], type_: Type, place: Span) -> None:
    """Refuse an index outside of the shape; the numbers of all indices come one after another."""
    for position, text in enumerate(texts):
        if not 0 <= int(text) < shape[position % len(shape)]:
            raise fail(f"the index {text} is outside of {type_.text[:80]}", place)


def resource(p: ParserState, v: list[Any], start: int, end: int) -> Attribute:
    """`dense_resource<key> : type`"""
    if not isinstance(v[-1], BuiltinTensorType | VectorType | MemRefType):
        raise fail(f"data needs a tensor, vector or memref type, not {v[-1].text[:80]}", p.span(start, end))
    return ResourceAttr(v[2], v[-1])


def dense_array(symbols: tuple[str, ...]) -> RawAction:
    """`array<type: a, b>`"""
    type_at = symbols.index("type")
    items_at = symbols.index("literals") if "literals" in symbols else -1

    def action(p: ParserState, v: list[Any], start: int, end: int) -> Attribute:
        element: Type = v[type_at]
        place = p.span(start, end)
        if not isinstance(element, IntegerType | FloatType | IndexType):
            raise fail(f"the elements of an array are integers or floats, not {element.text[:80]}", place)
        width = 64 if isinstance(element, IndexType) else getattr(element, "width", 0) or _width(element)
        if element is not IntegerType(1) and width % 8:
            raise fail(f"the width of {element.text} is no multiple of 8", place)
        values: list[int] = []
        for item in v[items_at] if items_at >= 0 else ():
            literal: Literal = item
            part = literal.elements[0] if literal.shape is None else None
            if isinstance(part, Number):
                if isinstance(element, FloatType):
                    values.append(float_bits(p, part, element))
                else:
                    values.append(integer_value(p, part, element))
            elif part in ("true", "false") and element is IntegerType(1):
                values.append(int(part == "true"))
            else:
                raise fail(f"expected elements of {element.text}", place)
        return DenseArrayAttr(element, tuple(values))

    return action


LITERAL_ACTIONS: dict[str, RawAction] = {
    "scalar": scalar,
    "pair": pair,
    "word_scalar": word_scalar,
    "literal_list": literal_list,
    "dense": dense,
    "sparse": sparse,
    "resource": resource,
}
LITERAL_FACTORIES = {"dense_array": dense_array}
