"""The `bp` dialect: symbols with relations, numeric bindings, and the types and attributes that every level shares."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import attrs

from bpir.ir.attributes import (
    I64,
    ArrayAttr,
    Attribute,
    DictAttr,
    FloatType,
    IntegerAttr,
    IntegerType,
    StringAttr,
    Type,
)
from bpir.ir.declaration import (
    ATTRIBUTE_BODIES,
    GRAMMARS,
    TYPE_BODIES,
    Action,
    Fragment,
    OperationDeclaration,
    ParseContext,
    Piece,
    Report,
)
from bpir.ir.diagnostic import Span, fail, suggestion
from bpir.ir.expression import ONE, ZERO, Expr, constant
from bpir.ir.operation import Operation
from bpir.ir.relations import Facts, Relation
from bpir.ir.syntax import Clause, Property, alternative, strings

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
        """What stands between `<` and `>`."""
        raise NotImplementedError


@attrs.frozen(eq=False)
class ExprAttr(Symbolic):
    """`#bp.expr<2*h*d>`: one exact expression of positive integer symbols."""

    expr: Expr

    def expressions(self) -> Iterable[Expr]:
        return (self.expr,)

    def rewritten(self, rewrite: Rewriting) -> Attribute:
        return ExprAttr(rewrite(self.expr))

    def body_text(self) -> str:
        return self.expr.text

    def pieces(self) -> Iterable[str | Attribute]:
        return (f"#bp.expr<{self.expr.text}>",)


COMPONENTS = ("ops", "read", "write", "msg")


class Vector(Symbolic):
    """An attribute of named expressions in a fixed order; one that is zero is left out of the text."""

    __slots__ = ()

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """The names of the components, in order."""
        return tuple(field.name for field in cls.__attrs_attrs__)  # type: ignore[attr-defined]

    @property
    def components(self) -> tuple[Expr, ...]:
        return tuple(getattr(self, name) for name in self.names())

    def items(self) -> list[tuple[str, Expr]]:
        """The names and values of the components that are not zero."""
        return [(name, value) for name, value in zip(self.names(), self.components, strict=True) if value is not ZERO]

    def expressions(self) -> Iterable[Expr]:
        return self.components

    def rewritten(self, rewrite: Rewriting) -> Attribute:
        return type(self)(*map(rewrite, self.components))

    def body_text(self) -> str:
        return ", ".join(f"{name} = {value.text}" for name, value in self.items())


@attrs.frozen(eq=False)
class Work(Vector):
    """`#bp.work<ops = ..., read = ..., write = ..., msg = ...>`: exact work of one task on one rank.

    `ops` counts arithmetic operations (a multiply-add is 2), `read` and `write` bytes moved, `msg` the logical bytes of a
    collective.
    """

    ops: Expr
    read: Expr
    write: Expr
    msg: Expr

    def pieces(self) -> Iterable[str | Attribute]:
        return (f"#bp.work<{self.body_text()}>",)


NO_WORK = Work(ZERO, ZERO, ZERO, ZERO)


def work(ops: Expr = ZERO, read: Expr = ZERO, write: Expr = ZERO, msg: Expr = ZERO) -> Work:
    return Work(ops, read, write, msg)


@attrs.frozen(eq=False)
class RelationAttr(Symbolic):
    """`#bp.relation<divides t, h>`, `<equal H, h*d>`, `<greater t, 1>`"""

    kind: str
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

    def pieces(self) -> Iterable[str | Attribute]:
        return (f"#bp.relation<{self.body_text()}>",)


_IDENTIFIER = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_ELEMENT = re.compile(r"bf16|tf32|f(?:16|32|64|80|128)|f8E\d+M\d+\w*|[su]?i[1-9]\d*")


@attrs.frozen(eq=False)
class TensorType(Type, Symbolic):
    """`!bp.tensor<B x S@tensor x H, e, unreduced={tensor}>`: a tensor with symbolic dimensions.

    `dims` are global sizes; `axes` names the mesh axes that shard each of them; `element` is the width of an element
    in bytes, or
    a builtin type; `unreduced` names the mesh axes over which the value is still a partial sum.
    """

    dims: tuple[Expr, ...]
    axes: tuple[tuple[str, ...], ...]
    element: Expr | Type
    unreduced: tuple[str, ...] = ()

    @property
    def element_bytes(self) -> Expr:
        """The bytes of one element (an exact fraction for types narrower than a byte)."""
        if isinstance(self.element, Expr):
            return self.element
        digits = re.search(r"\d+", self.element.text.removeprefix("bf").removeprefix("tf"))
        return constant({"tf32": 32}.get(self.element.text, int(digits.group()) if digits else 64)) / 8

    @property
    def elements(self) -> Expr:
        """The number of elements of the whole tensor."""
        return product(self.dims)

    def local_dims(self, mesh: Mapping[str, Expr]) -> tuple[Expr, ...]:
        """The dimensions of one rank's part on a mesh, given as axis sizes by name."""
        return tuple(dim / product(mesh[axis] for axis in axes) if axes else dim for dim, axes in zip(self.dims, self.axes, strict=True))

    def local(self, mesh: Mapping[str, Expr]) -> TensorType:
        """One rank's part as a tensor of its own."""
        return tensor(self.local_dims(mesh), self.element)

    @property
    def bytes(self) -> Expr:
        """The bytes of the whole tensor."""
        return self.elements * self.element_bytes

    def expressions(self) -> Iterable[Expr]:
        return (*self.dims, self.element) if isinstance(self.element, Expr) else self.dims

    def rewritten(self, rewrite: Rewriting) -> TensorType:
        element = rewrite(self.element) if isinstance(self.element, Expr) else self.element
        return TensorType(tuple(map(rewrite, self.dims)), self.axes, element, self.unreduced)

    def body_text(self) -> str:
        element = self.element.text if isinstance(self.element, Type) else factor_text(self.element)
        unreduced = f", unreduced={{{', '.join(self.unreduced)}}}" if self.unreduced else ""
        return f"{shape_text(self.dims, self.axes)}, {element}{unreduced}"

    def pieces(self) -> Iterable[str | Attribute]:
        return (f"!bp.tensor<{self.body_text()}>",)


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
        yield from attribute.expressions()
    elif isinstance(attribute, ArrayAttr):
        for value in attribute.values:
            yield from expressions_in(value)
    elif isinstance(attribute, DictAttr):
        for _, value in attribute.entries:
            yield from expressions_in(value)


# --- the syntax of the bodies
# ------------------------------------------------------------------------------------------------


def vector_action(cls: type[Vector], what: str) -> Action:
    """The action of a body `name = expression, ...` that makes a vector; absent components are zero."""

    def action(context: ParseContext, values: list[Any], span: Span) -> Any:
        names = cls.names()
        found: dict[str, Expr] = {}
        for name, value, place in values:
            if name not in names:
                raise fail(f"unknown {what} '{name}'{suggestion(name, names)}", place)
            if name in found:
                raise fail(f"{what} '{name}' is given twice", place)
            found[name] = value
        return cls(*(found.get(name, ZERO) for name in names))

    return action


def _tensor_action(context: ParseContext, values: list[Any], span: Span) -> TensorType:
    dims, element, unreduced = values
    if not isinstance(element, Expr):
        raise AssertionError
    for dim, _ in dims:
        _require_size("dimension", dim, span)
    if element.constant is not None and element.constant <= 0:
        raise fail(f"the width of an element must be a positive number of bytes, not {element.text}", span)
    kind: Expr | Type = element
    if _ELEMENT.fullmatch(element.text):
        kind = _builtin_element(element.text)
    axes = [axis for _, names in dims for axis in names] + list(unreduced)
    if len(set(axes)) != len(axes):
        twice = next(a for a in axes if axes.count(a) > 1)
        raise fail(f"mesh axis '{twice}' is used twice in one tensor", span)
    return TensorType(tuple(d for d, _ in dims), tuple(tuple(names) for _, names in dims), kind, tuple(unreduced))


def _builtin_element(text: str) -> Type:
    match = re.fullmatch(r"([su]?)i(\d+)", text)
    return IntegerType(int(match[2]), match[1]) if match else FloatType(text)


def _require_size(what: str, expr: Expr, span: Span) -> None:
    if expr.constant is not None and (expr.integer is None or expr.integer <= 0):
        raise fail(f"a {what} must be a positive integer, not {expr.text}", span)


def _shape_action(context: ParseContext, values: list[Any], span: Span) -> list[Expr]:
    for dim in values:
        _require_size("dimension", dim, span)
    return list(values)


def _glued(context: ParseContext, values: list[Any], span: Span) -> Any:
    size, word = values[0].text, values[1]
    if word.startswith("x"):
        raise fail(f"the 'x' between dimensions needs blanks: write '{size} {re.sub('x', ' x ', word).strip()}'", span)
    raise fail(f"expected 'x' or ',' after the dimension {size}, found '{word}': write '{size} x {word}' or '{size}*{word}'", span)


def _no_element(context: ParseContext, values: list[Any], span: Span) -> Any:
    raise fail("a !bp.tensor needs its element after the dimensions: a width in bytes (', e' or ', 2') or a type (', bf16')", span)


def _no_relation(advice: str) -> Callable[[ParseContext, list[Any], Span], Any]:
    def action(context: ParseContext, values: list[Any], span: Span) -> Any:
        left, right = values
        text = advice.format(left=left.text, right=right.text, below=(right - ONE).text)
        raise fail(f"a relation is 'a = b', 'a | b' (a divides b) or 'a > b': write '{text}'", span)

    return action


def _relation_action(kind: str, swap: bool = False) -> Callable[[ParseContext, list[Any], Span], RelationAttr]:
    return lambda context, values, span: RelationAttr(kind, values[0], values[1])


def _named_relation(context: ParseContext, values: list[Any], span: Span) -> RelationAttr:
    kind, left, right = values
    if kind not in ("equal", "divides", "greater"):
        raise fail(f"unknown relation '{kind}'{suggestion(kind, ('equal', 'divides', 'greater'))}", span)
    return RelationAttr(kind, left, right)


GRAMMARS["bp"] = [
    Fragment(
        """
bp_expr_body: expr -> bp_expr_body
bp_work_body: (bp_work_item ("," bp_work_item)*)? -> bp_work_body
bp_work_item: word "=" expr -> bp_work_item
bp_tensor_body: bp_dims "," expr bp_unreduced -> bp_tensor_body
    | bp_dims -> bp_no_element
bp_dims: bp_dim ("x" bp_dim)* -> bp_list
bp_dim: expr bp_axes -> bp_dim
    | expr word -> bp_glued
bp_axes: symbol_name* -> bp_list
bp_unreduced: "," "unreduced" "=" "{" word ("," word)* "}" -> bp_list
    | -> bp_list
bp_shape_body: expr ("x" expr)* -> bp_shape
    | expr word -> bp_glued
bp_relation_body: word expr "," expr -> bp_named_relation
bp_relation: expr "=" expr -> bp_equal
    | expr "|" expr -> bp_divides
    | expr ">" expr -> bp_greater
    | expr "<" expr -> bp_less
    | expr ">" "=" expr -> bp_at_least
    | expr "=" "=" expr -> bp_twice_equal
bp_relations: bp_relation ("," bp_relation)* -> bp_list
""",
        {
            "bp_expr_body": lambda c, v, s: ExprAttr(v[0]),
            "bp_work_body": vector_action(Work, "work component"),
            "bp_work_item": lambda c, v, s: (v[0], v[1], s),
            "bp_tensor_body": _tensor_action,
            "bp_list": lambda c, v, s: list(v),
            "bp_dim": lambda c, v, s: (v[0], v[1]),
            "bp_shape": _shape_action,
            "bp_glued": _glued,
            "bp_no_element": _no_element,
            "bp_named_relation": _named_relation,
            "bp_equal": _relation_action("equal"),
            "bp_divides": _relation_action("divides"),
            "bp_greater": _relation_action("greater"),
            "bp_less": _no_relation("{right} > {left}"),
            "bp_at_least": _no_relation("{left} > {below}"),
            "bp_twice_equal": _no_relation("{left} = {right}"),
        },
    )
]
STARTS = ("bp_shape_body",)
ATTRIBUTE_BODIES.update({"bp.expr": "bp_expr_body", "bp.work": "bp_work_body", "bp.relation": "bp_relation_body"})
TYPE_BODIES["bp.tensor"] = "bp_tensor_body"


@attrs.frozen(eq=False)
class Relations(Property):
    """`H = h * d, t | h, t > 1`: an array of relations."""

    name: str = "relations"

    def fragment(self, rule: str) -> Fragment:
        return alternative(rule, "bp_relations", lambda c, v, s: ArrayAttr(tuple(v[0])))

    def spelling(self, attribute: Attribute) -> Iterable[Piece]:
        assert isinstance(attribute, ArrayAttr)
        yield ", ".join(v.relation.text for v in attribute.values if isinstance(v, RelationAttr))


@attrs.frozen(eq=False)
class Names(Property):
    """`B, S, H`: an array of symbol names."""

    name: str = "symbols"

    def fragment(self, rule: str) -> Fragment:
        return Fragment(
            f'{rule}: word ("," word)* -> {rule}_is\n',
            {rule + "_is": lambda c, v, s: ArrayAttr(tuple(StringAttr(name) for name in v))},
        )

    def spelling(self, attribute: Attribute) -> Iterable[Piece]:
        yield ", ".join(strings(attribute))


@attrs.frozen(eq=False)
class Bindings(Property):
    """`H = 12288, F = 49152`: names with positive integers."""

    name: str = "bindings"

    def fragment(self, rule: str) -> Fragment:
        return Fragment(
            f'{rule}: {rule}_item ("," {rule}_item)* -> {rule}_is\n{rule}_item: word "=" integer -> {rule}_item\n',
            {rule + "_is": _bindings_action, rule + "_item": lambda c, v, s: (v[0], v[1], s)},
        )

    def spelling(self, attribute: Attribute) -> Iterable[Piece]:
        assert isinstance(attribute, DictAttr)
        yield ", ".join(f"{k} = {v.value}" for k, v in attribute.entries if isinstance(v, IntegerAttr))


def _bindings_action(context: ParseContext, values: list[Any], span: Span) -> DictAttr:
    found: dict[str, Attribute] = {}
    for name, value, place in values:
        if name in found:
            raise fail(f"symbol '{name}' is bound twice", place)
        if not 0 < value < 2**63:
            raise fail(f"symbol '{name}' must be bound to a positive 64-bit integer, not {str(value)[:40]}", place)
        found[name] = IntegerAttr(value, I64)
    return bindings_attribute({k: v.value for k, v in found.items() if isinstance(v, IntegerAttr)})


def bindings_attribute(numbers: Mapping[str, int]) -> DictAttr:
    return DictAttr(tuple((name, IntegerAttr(numbers[name], I64)) for name in sorted(numbers)))


class Symbols(OperationDeclaration):
    """Declares symbols, each a positive integer, and relations between them: `bp.symbols H, h, d where H = h * d`.

    Relations are `a = b`, `a | b` (a divides b) and `a > b`. Proofs use them; only `canonicalize` rewrites by them.
    """

    name = "bp.symbols"
    syntax = (Names(), Clause("where", (Relations(),), line=False))
    required = ("symbols",)

    def verify(self, operation: Operation, report: Report) -> None:
        seen = set()
        names = operation.properties.get("symbols")
        if not isinstance(names, ArrayAttr) or len(strings(names)) != len(names.values):
            report.error(operation, "'symbols' must be an array of strings")
        _check_relations(operation, report)
        for name in strings(names):
            if not _IDENTIFIER.fullmatch(name):
                report.error(operation, f"'{name}' can't be a symbol: a symbol is a word of letters, digits and underscores")
            if name in seen:
                report.error(operation, f"symbol '{name}' is declared twice")
            seen.add(name)


def _check_relations(operation: Operation, report: Report) -> None:
    relations = operation.properties.get("relations", ArrayAttr(()))
    if not isinstance(relations, ArrayAttr) or not all(isinstance(v, RelationAttr) for v in relations.values):
        report.error(operation, "'relations' must be an array of #bp.relation<...>")


class Assume(OperationDeclaration):
    """Records what a derivation assumed and no declaration says: `bp.assume t > 1, 8 | h`; checked when numbers are bound."""

    name = "bp.assume"
    syntax = (Relations(),)
    required = ("relations",)

    def verify(self, operation: Operation, report: Report) -> None:
        _check_relations(operation, report)


class Bind(OperationDeclaration):
    """Gives symbols numbers: `bp.bind H = 12288, h = 96`. `bind-symbols` puts them in; until then texts stay symbolic."""

    name = "bp.bind"
    syntax = (Bindings(),)
    required = ("bindings",)

    def verify(self, operation: Operation, report: Report) -> None:
        bindings = operation.properties.get("bindings")
        if not isinstance(bindings, DictAttr) or not all(isinstance(v, IntegerAttr) and v.value > 0 for _, v in bindings.entries):
            report.error(operation, "bindings must be positive integers")


# --- what a module declares about its symbols
# --------------------------------------------------------------------------------


@attrs.frozen(eq=False)
class SymbolTable:
    """What the `bp` operations of a module say: the declared names, the relations, the bound numbers."""

    names: tuple[str, ...]
    relations: tuple[Relation, ...]
    bindings: Mapping[str, int]
    assumptions: tuple[Relation, ...]

    @property
    def facts(self) -> Facts:
        """Everything: relations, assumptions and numbers."""
        return Facts((*self.relations, *self.assumptions), dict(self.bindings))

    @property
    def declared_facts(self) -> Facts:
        """The declared relations alone."""
        return Facts(self.relations, {})


def symbol_table(module: Operation) -> SymbolTable:
    names: dict[str, None] = {}
    relations: list[Relation] = []
    assumptions: list[Relation] = []
    bindings: dict[str, int] = {}
    for operation in module.body:
        if operation.name == "bp.symbols":
            names.update(dict.fromkeys(strings(operation.properties.get("symbols"))))
            relations.extend(relations_of(operation))
        elif operation.name == "bp.assume":
            assumptions.extend(relations_of(operation))
        elif operation.name == "bp.bind":
            bindings.update(bindings_of(operation))
    return SymbolTable(tuple(names), tuple(relations), bindings, tuple(assumptions))


def relations_of(operation: Operation) -> list[Relation]:
    attribute = operation.properties.get("relations")
    if not isinstance(attribute, ArrayAttr):
        return []
    return [v.relation for v in attribute.values if isinstance(v, RelationAttr)]


def bindings_of(operation: Operation) -> dict[str, int]:
    attribute = operation.properties.get("bindings")
    if not isinstance(attribute, DictAttr):
        return {}
    return {k: v.value for k, v in attribute.entries if isinstance(v, IntegerAttr)}


def relations_attribute(relations: Iterable[Relation]) -> ArrayAttr:
    return ArrayAttr(tuple(RelationAttr(r.kind, r.left, r.right) for r in relations))
