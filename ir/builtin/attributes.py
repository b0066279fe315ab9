"""The rest of MLIR's builtin attributes and types; the most used ones are in `ir/attributes.py`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from bpir.ir.attributes import Attribute, FloatType, IntegerType, Type, joined, quoted
from bpir.ir.builtin.float_formats import float_text

DYNAMIC = -(1 << 63)
"""A dimension that is `?`."""


# --- numbers and data --------------------------------------------------------------------------------------------------------


class FloatAttr(Attribute):
    """`1.5 : f32`: a bit pattern of a floating-point type."""

    bits: int
    type: FloatType

    def pieces(self) -> Iterable[str | Attribute]:
        return (f"{float_text(self.bits, self.type.name)} : ", self.type)

    def array_piece(self) -> str | Attribute:
        text = float_text(self.bits, "f64") if self.type.name == "f64" else "0x"
        return self if text.startswith("0x") else text  # a bit pattern without its type would be an integer


class DenseArrayAttr(Attribute):
    """`array<i32: 1, 2>`: integers (as printed) or bit patterns of floats."""

    element: Type
    values: tuple[int, ...]

    def pieces(self) -> Iterable[str | Attribute]:
        yield "array<"
        yield self.element
        if self.values:
            yield ": " + ", ".join(map(self._item, self.values))
        yield ">"

    def _item(self, value: int) -> str:
        if isinstance(self.element, FloatType):
            return float_text(value, self.element.name)
        if self.element is IntegerType(1):
            return "true" if value else "false"
        return str(value)


class ElementsAttr(Attribute):
    """`dense<body> : type` or `sparse<body> : type`, the body in one canonical spelling."""

    kind: str
    body: str
    type: Type

    def pieces(self) -> Iterable[str | Attribute]:
        return (f"{self.kind}<{self.body}> : ", self.type)


class ResourceAttr(Attribute):
    """`dense_resource<key> : type`"""

    key: str
    type: Type

    def pieces(self) -> Iterable[str | Attribute]:
        return (f"dense_resource<{self.key}> : ", self.type)


# --- structure ---------------------------------------------------------------------------------------------------------------


class AffineAttr(Attribute):
    """`affine_map<(d0) -> (d0)>` or `affine_set<(d0) : (d0 >= 0)>`, dimensions and symbols renamed to `d0`, `s0`."""

    kind: str
    body: str
    dimensions: int = 0

    def pieces(self) -> Iterable[str | Attribute]:
        return (f"{self.kind}<{self.body}>",)


class StridedAttr(Attribute):
    """`strided<[4, ?], offset: 2>`"""

    strides: tuple[int, ...]
    offset: int = 0

    def pieces(self) -> Iterable[str | Attribute]:
        offset = f", offset: {dimension(self.offset)}" if self.offset else ""
        return (f"strided<[{', '.join(map(dimension, self.strides))}]{offset}>",)


class DistinctAttr(Attribute):
    """`distinct[0]<attribute>`: different from any other number's."""

    number: int
    value: Attribute | None

    def pieces(self) -> Iterable[str | Attribute]:
        yield f"distinct[{self.number}]<"
        if self.value is not None:
            yield self.value
        yield ">"


class OpaqueAttr(Attribute):
    """`#dialect.name<body> : type` of a dialect that is not ours, as it was written."""

    spelling: str
    type: Type | None = None

    def pieces(self) -> Iterable[str | Attribute]:
        yield self.spelling
        if self.type is not None:
            yield " : "
            yield self.type


class OpaqueType(Type):
    """`!dialect.name<body>` of a dialect that is not ours, as it was written."""

    spelling: str

    def pieces(self) -> Iterable[str | Attribute]:
        return (self.spelling,)


# --- locations ---------------------------------------------------------------------------------------------------------------


class Location(Attribute):
    """A location in a source; `inner()` is the text inside `loc(...)`."""

    __slots__ = ()

    def inner(self) -> Iterable[str | Attribute]:
        raise NotImplementedError

    def pieces(self) -> Iterable[str | Attribute]:
        yield "loc("
        yield from self.inner()
        yield ")"


class _Inner(Attribute):
    """A location inside another, without its own `loc(...)`."""

    location: Location

    def pieces(self) -> Iterable[str | Attribute]:
        return self.location.inner()


class UnknownLocation(Location):
    """`loc(unknown)`"""

    def inner(self) -> Iterable[str | Attribute]:
        return ("unknown",)


class FileLocation(Location):
    """`loc("file":1:2)`"""

    file: str
    line: int
    column: int

    def inner(self) -> Iterable[str | Attribute]:
        return (f"{quoted(self.file)}:{self.line}:{self.column}",)


class NameLocation(Location):
    """`loc("name")`, `loc("name"(child))`"""

    name: str
    child: Location | None = None

    def inner(self) -> Iterable[str | Attribute]:
        yield quoted(self.name)
        if self.child is not None:
            yield "("
            yield _Inner(self.child)
            yield ")"


class CallLocation(Location):
    """`loc(callsite(callee at caller))`"""

    callee: Location
    caller: Location

    def inner(self) -> Iterable[str | Attribute]:
        return ("callsite(", _Inner(self.callee), " at ", _Inner(self.caller), ")")


class FusedLocation(Location):
    """`loc(fused<metadata>[a, b])`"""

    locations: tuple[Location, ...]
    metadata: Attribute | None = None

    def inner(self) -> Iterable[str | Attribute]:
        yield "fused"
        if self.metadata is not None:
            yield "<"
            yield self.metadata
            yield ">"
        yield "["
        yield from joined([_Inner(location) for location in self.locations])
        yield "]"


# --- types -------------------------------------------------------------------------------------------------------------------


class NoneType(Type):
    """`none`"""

    def pieces(self) -> Iterable[str | Attribute]:
        return ("none",)


class TupleType(Type):
    """`tuple<i32, f32>`"""

    types: tuple[Type, ...]

    def pieces(self) -> Iterable[str | Attribute]:
        yield "tuple<"
        yield from joined(self.types)
        yield ">"


class ComplexType(Type):
    """`complex<f32>`"""

    element: Type

    def pieces(self) -> Iterable[str | Attribute]:
        return ("complex<", self.element, ">")


def dimension(size: int) -> str:
    return "?" if size == DYNAMIC else str(size)


def _shape(shape: tuple[int, ...] | None) -> str:
    return "*x" if shape is None else "".join(dimension(size) + "x" for size in shape)


class VectorType(Type):
    """`vector<4x[8]xf32>`; `scalable` marks the dimensions in brackets."""

    shape: tuple[int, ...]
    scalable: tuple[bool, ...]
    element: Type

    def pieces(self) -> Iterable[str | Attribute]:
        sizes = zip(self.shape, self.scalable, strict=True)
        yield "vector<" + "".join(f"[{size}]x" if flag else f"{size}x" for size, flag in sizes)
        yield self.element
        yield ">"


class BuiltinTensorType(Type):
    """`tensor<4x?xf32, encoding>`; the shape is None for `tensor<*xf32>`."""

    shape: tuple[int, ...] | None
    element: Type
    encoding: Attribute | None = None

    def pieces(self) -> Iterable[str | Attribute]:
        yield "tensor<" + _shape(self.shape)
        yield self.element
        if self.encoding is not None:
            yield ", "
            yield self.encoding
        yield ">"


class MemRefType(Type):
    """`memref<4x?xf32, layout, space>`; the shape is None for `memref<*xf32>`."""

    shape: tuple[int, ...] | None
    element: Type
    layout: Attribute | None = None
    space: Attribute | None = None

    def pieces(self) -> Iterable[str | Attribute]:
        yield "memref<" + _shape(self.shape)
        yield self.element
        if self.layout is not None:
            yield ", "
            yield self.layout
        if self.space is not None:
            yield ", "
            yield self.space.array_piece()
        yield ">"


def nested(attribute: Attribute) -> Iterator[Attribute]:
    """The attribute and all that its spelling nests, without recursion."""
    stack = [attribute]
    while stack:
        current = stack.pop()
        yield current
        stack.extend(piece for piece in current.pieces() if isinstance(piece, Attribute))
