"""Expressions, work and tensors as attributes and types: what every level shares."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from operator import attrgetter
from typing import Self

from bpir.ir.attributes import (
    ArrayAttr,
    Attribute,
    DictAttr,
    IntegerAttr,
    IntegerType,
    StringAttr,
    SymbolRefAttr,
    Type,
    UnitAttr,
)
from bpir.ir.expressions.expression import ONE, ZERO, Expr, ceildiv, constant
from bpir.ir.records import fields
from bpir.ir.relations.facts import Relation
from bpir.ir.relations.relation import RelationKind

Rewriting = Callable[[Expr], Expr]


class Symbolic(Attribute):
    """An attribute that holds expressions: passes and verifiers see them without knowing the attribute."""

    __slots__ = ()

    def expressions(self) -> Iterable[Expr]:
        """The expressions it holds."""
        raise NotImplementedError

    def rewritten(self, rewrite: Rewriting) -> Attribute:
        """The same attribute with each expression rewritten."""
        raise NotImplementedError

    def body_text(self) -> str:
        """The text between `<` and `>`."""
        raise NotImplementedError

    def pieces(self) -> Iterable[str | Attribute]:
        return (f"#{self.mnemonic}<{self.body_text()}>",)


class ExprAttr(Symbolic):
    """`#bp.expr<2*h*d>`: one exact expression of positive integer symbols."""

    mnemonic = "bp.expr"
    expr: Expr

    def expressions(self) -> Iterable[Expr]:
        return (self.expr,)

    def rewritten(self, rewrite: Rewriting) -> Attribute:
        return ExprAttr(rewrite(self.expr))

    def body_text(self) -> str:
        return self.expr.text


COMPONENTS = ("ops", "read", "write", "msg")


class Vector(Symbolic):
    """An attribute of named expressions in a fixed order; one that is zero is left out of the text."""

    __slots__ = ()

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """The names of the components, in order."""
        return fields(cls)

    @classmethod
    def zero(cls) -> Self:
        """The vector of which every component is zero."""
        return cls(*(ZERO for _ in cls.names()))

    @property
    def components(self) -> tuple[Expr, ...]:
        return _getter(type(self))(self)

    def items(self) -> list[tuple[str, Expr]]:
        """The names and values of the components that are not zero."""
        return [(name, value) for name, value in zip(self.names(), self.components, strict=True) if value is not ZERO]

    def expressions(self) -> Iterable[Expr]:
        return self.components

    def rewritten(self, rewrite: Rewriting) -> Attribute:
        return type(self)(*map(rewrite, self.components))

    def body_text(self) -> str:
        return ", ".join(f"{name} = {value.text}" for name, value in self.items())


@cache
def _getter(cls: type[Vector]) -> Callable[[Vector], tuple[Expr, ...]]:
    return attrgetter(*fields(cls))


class Work(Vector):
    """`#bp.work<ops = ..., read = ..., write = ..., msg = ...>`: exact work of one task on one rank.

    `ops` counts arithmetic operations (a multiply-add is 2), `read` and `write` bytes moved, `msg` the logical bytes of a
    collective.
    """

    mnemonic = "bp.work"
    ops: Expr
    read: Expr
    write: Expr
    msg: Expr


NO_WORK = Work(ZERO, ZERO, ZERO, ZERO)


def work(ops: Expr = ZERO, read: Expr = ZERO, write: Expr = ZERO, msg: Expr = ZERO) -> Work:
    return Work(ops, read, write, msg)


class RelationAttr(Symbolic):
    """`#bp.relation<divides t, h>`, `<equal H, h*d>`, `<greater t, 1>`"""

    mnemonic = "bp.relation"
    kind: RelationKind
    left: Expr
    right: Expr

    def expressions(self) -> Iterable[Expr]:
        return (self.left, self.right)

    def rewritten(self, rewrite: Rewriting) -> Attribute:
        return RelationAttr(self.kind, rewrite(self.left), rewrite(self.right))

    @property
    def relation(self) -> Relation:
        return Relation(self.kind, self.left, self.right)

    def body_text(self) -> str:
        return f"{self.kind} {self.left.text}, {self.right.text}"


IDENTIFIER = re.compile(r"[A-Za-z_]\w*", re.ASCII)
ELEMENT = re.compile(r"bf16|tf32|f(?:16|32|64|80|128)|f8E\d+M\d+\w*|[su]?i[1-9]\d*")
"""The types of elements that are known by their names."""


class TensorType(Type, Symbolic):
    """`!bp.tensor<B x S@tensor x H, e, unreduced={tensor}>`: a tensor with symbolic dimensions.

    `dims` are global sizes; `axes` names the mesh axes that shard each of them; `element` is the width of an element in bytes, or a
    builtin type; `unreduced` names the mesh axes over which the value is still a partial sum. `shared` names those whose ranks each hold
    an equal share of the elements, in their order, whatever the dimensions: `ceildiv(n, D)` of `n` (Rajbhandari et al. 2019, section 5).
    """

    dims: tuple[Expr, ...]
    axes: tuple[tuple[str, ...], ...]
    element: Expr | Type
    unreduced: tuple[str, ...] = ()
    shared: tuple[str, ...] = ()

    @property
    def element_bytes(self) -> Expr:
        """The bytes of one element (an exact fraction for types narrower than a byte)."""
        if isinstance(self.element, Expr):
            return self.element
        digits = re.search(r"\d+", self.element.text.removeprefix("bf").removeprefix("tf"))
        return constant({"tf32": 32}.get(self.element.text, int(digits.group()) if digits else 64)) / 8

    @property
    def is_index(self) -> bool:
        """Whether its elements are whole numbers, as the numbers of tokens: such values have no gradient."""
        return isinstance(self.element, IntegerType)

    @property
    def elements(self) -> Expr:
        """The number of elements of the whole tensor."""
        return _elements(self)

    def local_dims(self, mesh: Mapping[str, Expr]) -> tuple[Expr, ...]:
        """The dimensions of one rank's part on a mesh, given as axis sizes by name; one dimension of what is shared by elements."""
        dims = tuple(dim / product(mesh[axis] for axis in axes) if axes else dim for dim, axes in zip(self.dims, self.axes, strict=True))
        return (ceildiv(product(dims), product(mesh[axis] for axis in self.shared)),) if self.shared else dims

    def local(self, mesh: Mapping[str, Expr]) -> TensorType:
        """One rank's part as a tensor of its own."""
        return _local(self, tuple(mesh.items()))

    @property
    def bytes(self) -> Expr:
        """The bytes of the whole tensor."""
        return _bytes(self)

    @property
    def reduced(self) -> TensorType:
        """The same tensor with its partial sums summed."""
        return TensorType(self.dims, self.axes, self.element, ())

    @property
    def whole(self) -> TensorType:
        """The same tensor on every rank, without shards and partial sums."""
        return tensor(self.dims, self.element)

    def gathered(self, mesh_axis: str) -> TensorType:
        """The same tensor, whole over a mesh axis, and without partial sums."""
        axes = tuple(tuple(axis for axis in names if axis != mesh_axis) for names in self.axes)
        return TensorType(self.dims, axes, self.element, ())

    def partial(self, *mesh_axes: str) -> TensorType:
        """The same tensor, of which each rank of the mesh axes has a part of the sum."""
        return TensorType(self.dims, self.axes, self.element, mesh_axes)

    def share(self, *mesh_axes: str) -> TensorType:
        """The same tensor, summed, of whose elements each rank of the mesh axes has an equal share; whole where there are none."""
        return TensorType(self.dims, self.axes, self.element, (), mesh_axes)

    def of(self, element: Expr | Type) -> TensorType:
        """The same tensor with other elements."""
        return TensorType(self.dims, self.axes, element, self.unreduced, self.shared)

    def expressions(self) -> Iterable[Expr]:
        return (*self.dims, self.element) if isinstance(self.element, Expr) else self.dims

    def rewritten(self, rewrite: Rewriting) -> TensorType:
        element = rewrite(self.element) if isinstance(self.element, Expr) else self.element
        return TensorType(tuple(map(rewrite, self.dims)), self.axes, element, self.unreduced, self.shared)

    def body_text(self) -> str:
        element = self.element.text if isinstance(self.element, Type) else factor_text(self.element)
        marks = (("unreduced", self.unreduced), ("shared", self.shared))
        said = "".join(f", {mark}={{{', '.join(names)}}}" for mark, names in marks if names)
        return f"{shape_text(self.dims, self.axes)}, {element}{said}"

    def pieces(self) -> Iterable[str | Attribute]:
        return (f"!bp.tensor<{self.body_text()}>",)


# A plan names the same few types thousands of times: on 40 layers these three caches halve the time of the work rules.
@cache
def _elements(type: TensorType) -> Expr:
    return product(type.dims)


@cache
def _bytes(type: TensorType) -> Expr:
    return type.elements * type.element_bytes


@cache
def _local(type: TensorType, mesh: tuple[tuple[str, Expr], ...]) -> TensorType:
    return tensor(type.local_dims(dict(mesh)), type.element)


def tensor(dims: Iterable[Expr], element: Expr | Type) -> TensorType:
    """An unsharded tensor."""
    dims = tuple(dims)
    return TensorType(dims, ((),) * len(dims), element, ())


def product(factors: Iterable[Expr]) -> Expr:
    result = ONE
    for factor in factors:
        result = result * factor
    return result


def factor_text(expr: Expr) -> str:
    """The text of an expression as one dimension: in parentheses unless it is one symbol or number."""
    text = expr.text
    return text if re.fullmatch(r"\w+", text) else f"({text})"


def shape_text(dims: Iterable[Expr], axes: Iterable[tuple[str, ...]] = ()) -> str:
    sizes = [factor_text(dim) for dim in dims]
    marks = ["".join("@" + axis for axis in names) for names in axes] or [""] * len(sizes)
    return " x ".join(size + mark for size, mark in zip(sizes, marks, strict=True))


def rewrite_attribute(attribute: Attribute, rewrite: Rewriting) -> Attribute:
    """The attribute with every expression in it rewritten, inside arrays and dictionaries too."""
    if isinstance(attribute, Symbolic):
        return attribute.rewritten(rewrite)
    if isinstance(attribute, ArrayAttr):
        return ArrayAttr(tuple(rewrite_attribute(v, rewrite) for v in attribute.values))
    if isinstance(attribute, DictAttr):
        return DictAttr(tuple((k, rewrite_attribute(v, rewrite)) for k, v in attribute.entries))
    return attribute


def expressions_in(attribute: Attribute) -> Iterable[Expr]:
    """Every expression in the attribute, inside arrays and dictionaries too."""
    if isinstance(attribute, Symbolic):
        return attribute.expressions()
    if type(attribute) in PLAIN:
        return ()
    found: list[Expr] = []
    stack: list[Attribute] = [attribute]
    while stack:
        attribute = stack.pop()
        if isinstance(attribute, Symbolic):
            found.extend(attribute.expressions())
        elif isinstance(attribute, ArrayAttr):
            if not PLAIN.issuperset(map(type, attribute.values)):
                stack.extend(reversed(attribute.values))
        elif isinstance(attribute, DictAttr):
            stack.extend(value for _, value in reversed(attribute.entries))
    return found


PLAIN = frozenset((SymbolRefAttr, StringAttr, IntegerAttr, UnitAttr))
"""Attributes without expressions, by far the most."""
