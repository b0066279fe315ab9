"""Actions that build types."""

from __future__ import annotations

import re
from typing import Any

from bpir.ir.attributes import Attribute, DictAttr, FloatType, FunctionType, IndexType, IntegerAttr, IntegerType, StringAttr, Type
from bpir.ir.builtin.attributes import (
    DYNAMIC,
    AffineAttr,
    BuiltinTensorType,
    ComplexType,
    MemRefType,
    NoneType,
    OpaqueAttr,
    OpaqueType,
    StridedAttr,
    TupleType,
    VectorType,
)
from bpir.ir.builtin.float_formats import FORMATS
from bpir.ir.diagnostic import fail, suggestion
from bpir.parser.engine import RawAction
from bpir.parser.lexer import ONE_DIMENSION
from bpir.parser.namespaces import OURS, UPSTREAM
from bpir.parser.state import ParserState

_INTEGER = re.compile(r"(s|u|)i([0-9]+)")
_MAXIMUM_WIDTH = (1 << 24) - 1
_SIMPLE: dict[str, Type] = {name: FloatType(name) for name in FORMATS} | {"index": IndexType(), "none": NoneType()}
_KNOWN = (*_SIMPLE, "i1", "i8", "i16", "i32", "i64", "tensor", "vector", "memref", "tuple", "complex", "true", "false", "unit", "dense")


def word_type(p: ParserState, v: list[Any], start: int, end: int) -> Type:
    word = v[0]
    found = p.types.get(word)
    if found is None:
        found = p.types[word] = _word_type(p, word, start, end)
    return found


def _word_type(p: ParserState, word: str, start: int, end: int) -> Type:
    found = _SIMPLE.get(word)
    if found is not None:
        return found
    match = _INTEGER.fullmatch(word)
    if match is None:
        raise fail(f"unknown type or attribute '{word[:80]}'{suggestion(word, _KNOWN)}", p.span(start, end))
    width = int(match[2][:20])
    if width > _MAXIMUM_WIDTH:
        raise fail(f"an integer type has at most {_MAXIMUM_WIDTH} bits", p.span(start, end))
    return IntegerType(width, match[1])


def bang_type(p: ParserState, v: list[Any], start: int, end: int) -> Type:
    """`!alias`, `!dialect.name<...>` or `!dialect<...>`"""
    token = v[0]
    found = p.types.get(token)
    if found is not None:
        return found
    name = token.partition("<")[0]
    if len(name) == len(token) and "." not in name:
        alias = p.type_aliases.get(name)
        if alias is None:
            raise fail(f"undefined type alias '{name}'{suggestion(name, p.type_aliases)}", p.span(start, end))
        expanded = p.expand(alias, start)
        assert isinstance(expanded, Type)
        return expanded
    dialect = p.dialect_of(name, "type", start)
    if dialect in OURS:
        found = p.own_type(token, start)
    elif p.allow_unregistered:
        if dialect in UPSTREAM:
            p.check_owner("type", token, dialect, start)
        found = OpaqueType(token)
    else:
        raise fail(
            f"type '{name}' belongs to the unknown dialect '{dialect}'; use --allow-unregistered-dialect to accept it",
            p.span(start, start + len(name)),
        )
    p.types[token] = found
    return found


def function_type(symbols: tuple[str, ...]) -> RawAction:
    """`(inputs) -> (results)` or `(inputs) -> result`, where either list may be empty."""

    inputs_at = 1 if symbols[1] == "type_list" else -1
    close = 2 if inputs_at == 1 else 1
    rest = symbols[close + 2 :]

    def action(p: ParserState, v: list[Any], start: int, end: int) -> FunctionType:
        inputs = tuple(v[1]) if inputs_at == 1 else ()
        if len(rest) == 1:
            return FunctionType(inputs, (v[-1],))
        return FunctionType(inputs, tuple(v[-2]) if len(rest) == 3 else ())

    return action


def tuple_type(p: ParserState, v: list[Any], start: int, end: int) -> Type:
    return TupleType(tuple(v[2]) if len(v) == 4 else ())


def complex_type(p: ParserState, v: list[Any], start: int, end: int) -> Type:
    if not isinstance(v[2], IntegerType | FloatType):
        raise fail(f"the element of a complex type is an integer or a float, not {_short(v[2])}", p.span(start, end))
    return ComplexType(v[2])


def _short(attribute: Attribute) -> str:
    return attribute.text[:80]


def _dimensions(p: ParserState, text: str, start: int, end: int) -> tuple[tuple[int, ...] | None, tuple[bool, ...]]:
    if "*" in text:
        return None, ()
    sizes: list[int] = []
    scalable: list[bool] = []
    for match in ONE_DIMENSION.finditer(_COMMENT.sub(" ", text) if "/" in text else text):
        scalable.append(bool(match[1]))
        digits = match[2]
        if len(digits) > 19 or (digits != "?" and int(digits) >= 1 << 63):
            raise fail(f"the dimension {digits[:40]} is too large", p.span(start, end))
        sizes.append(DYNAMIC if digits == "?" else int(digits))
    return tuple(sizes), tuple(scalable)


_COMMENT = re.compile(r"//[^\n\r]*")


def shaped(symbols: tuple[str, ...]) -> RawAction:
    """`tensor<dims element>`, `vector<...>`, `memref<...>` with what follows the element."""
    dims_at = symbols.index("T_DIMENSIONS") if "T_DIMENSIONS" in symbols else -1
    type_at = symbols.index("type")
    rest_at = symbols.index("attribute_list") if "attribute_list" in symbols else -1
    trailing = symbols[-2:] == ("COMMA", "MORETHAN")

    def action(p: ParserState, v: list[Any], start: int, end: int) -> Type:
        kind = v[0]
        shape, scalable = _dimensions(p, v[dims_at], start, end) if dims_at >= 0 else ((), ())
        element = v[type_at]
        rest = v[rest_at] if rest_at >= 0 else []
        place = p.span(start, end)
        if trailing and kind != "tensor":  # LLVM forgives it where an encoding may stand
            raise fail("expected an attribute after ','", p.span(end - 1, end))
        if kind != "vector" and True in scalable:
            raise fail("only vectors have scalable dimensions", place)
        if kind == "vector":
            if shape is None or any(size <= 0 for size in shape):
                raise fail("the dimensions of a vector are positive numbers", place)
            if not isinstance(element, IntegerType | FloatType | IndexType):
                raise fail(f"the elements of a vector are integers, floats or index, not {_short(element)}", place)
            if rest:
                raise fail("a vector has no encoding", place)
            return VectorType(shape, scalable, element)
        if kind == "tensor":
            return _tensor(shape, element, rest, place)
        return _memref(shape, element, rest, place)

    return action


def _tensor(shape: tuple[int, ...] | None, element: Type, rest: list[Attribute], place: Any) -> Type:
    if isinstance(element, FunctionType | BuiltinTensorType | MemRefType | TupleType | NoneType):
        raise fail(f"a tensor cannot hold {_short(element)}", place)
    if len(rest) > 1 or (rest and shape is None):
        raise fail("a tensor has at most one encoding, and an unranked one has none", place)
    return BuiltinTensorType(shape, element, rest[0] if rest else None)


def _of_upstream(attribute: Attribute) -> bool:
    """Whether this is an attribute of a dialect that LLVM knows, which may be a memory space; others are opaque to it."""
    return isinstance(attribute, OpaqueAttr) and re.split("[.<]", attribute.spelling[1:], maxsplit=1)[0] in UPSTREAM


def _memref(shape: tuple[int, ...] | None, element: Type, rest: list[Attribute], place: Any) -> Type:
    if isinstance(element, FunctionType | BuiltinTensorType | TupleType | NoneType | OpaqueType):
        raise fail(f"a memref cannot hold {_short(element)}", place)
    layout, space = _layout_and_space(rest, place)
    if layout is not None:
        layout = _checked_layout(layout, shape, place)
    if isinstance(space, IntegerAttr) and space.value == 0:
        space = None  # the default, which is not written
    return MemRefType(shape, element, layout, space)


def _layout_and_space(rest: list[Attribute], place: Any) -> tuple[StridedAttr | AffineAttr | None, Attribute | None]:
    """The layout and the memory space among the attributes of a memref, where they are given."""
    layout: StridedAttr | AffineAttr | None = None
    space: Attribute | None = None
    for attribute in rest:
        if space is not None:
            raise fail("the memory space of a memref is last, and once", place)
        if isinstance(attribute, StridedAttr) or (isinstance(attribute, AffineAttr) and attribute.kind == "affine_map"):
            layout = attribute
        elif isinstance(attribute, StringAttr | DictAttr | IntegerAttr) or _of_upstream(attribute):
            space = attribute
        else:
            raise fail(f"{_short(attribute)} is no memory space", place)
    return layout, space


def _checked_layout(layout: StridedAttr | AffineAttr, shape: tuple[int, ...] | None, place: Any) -> StridedAttr | AffineAttr | None:
    """The layout of a memref with the shape; None if it is the identity, which is not written."""
    if shape is None:
        raise fail("an unranked memref has no layout", place)
    if isinstance(layout, StridedAttr):
        if len(layout.strides) != len(shape):
            raise fail(f"the memref has {len(shape)} dimension(s), its layout {len(layout.strides)} stride(s)", place)
        return layout
    if layout.dimensions != len(shape):
        raise fail(f"the memref has {len(shape)} dimension(s), its layout map {layout.dimensions}", place)
    return None if layout.body == _identity(len(shape)) else layout


def _identity(rank: int) -> str:
    names = ", ".join(f"d{index}" for index in range(rank))
    return f"({names}) -> ({names})"


TYPE_ACTIONS: dict[str, RawAction] = {
    "word_type": word_type,
    "bang_type": bang_type,
    "tuple_type": tuple_type,
    "complex_type": complex_type,
}
TYPE_FACTORIES = {"function_type": function_type, "shaped": shaped}
