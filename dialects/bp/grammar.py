"""The syntax of the bodies of our attributes and types."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from bpir.dialects.bp.attributes import (
    ELEMENT,
    ExprAttr,
    RelationAttr,
    TensorType,
    Vector,
    Work,
)
from bpir.ir.attributes import (
    FloatType,
    IntegerType,
    Type,
)
from bpir.ir.declaration import (
    ATTRIBUTE_BODIES,
    GRAMMARS,
    TYPE_BODIES,
    VECTORS,
    Action,
    Fragment,
    ParseContext,
)
from bpir.ir.diagnostic import Span, fail, suggestion
from bpir.ir.expressions.expression import ONE, ZERO, Expr
from bpir.ir.relations.relation import KINDS, RelationKind


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

    def of(found: Mapping[str, Expr]) -> Vector | None:
        names = cls.names()
        return cls(*(found.get(name, ZERO) for name in names)) if found.keys() <= set(names) else None

    VECTORS[cls.mnemonic] = of
    return action


MARKS = ("unreduced", "shared")
"""What a tensor says of mesh axes besides those that shard its dimensions."""


def _tensor_action(context: ParseContext, values: list[Any], span: Span) -> TensorType:
    dims, element, marks = values
    if not isinstance(element, Expr):
        raise AssertionError
    for dim, _ in dims:
        _require_size("dimension", dim, span)
    if element.constant is not None and element.constant <= 0:
        raise fail(f"the width of an element must be a positive number of bytes, not {element.text}", span)
    kind: Expr | Type = element
    if ELEMENT.fullmatch(element.text):
        kind = _builtin_element(element.text)
    said = _marks(marks, span)
    _require_distinct([axis for _, names in dims for axis in names] + [axis for names in said.values() for axis in names], span)
    return TensorType(tuple(d for d, _ in dims), tuple(tuple(names) for _, names in dims), kind, *(said.get(mark, ()) for mark in MARKS))


def _marks(marks: list[tuple[str, tuple[str, ...]]], span: Span) -> dict[str, tuple[str, ...]]:
    """The mesh axes of each mark; each is said once."""
    said: dict[str, tuple[str, ...]] = {}
    for mark, names in marks:
        if mark in said:
            raise fail(f"'{mark}' is said twice of one tensor", span)
        said[mark] = names
    return said


def _require_distinct(axes: list[str], span: Span) -> None:
    if len(set(axes)) != len(axes):
        twice = next(a for a in axes if axes.count(a) > 1)
        raise fail(f"mesh axis '{twice}' is used twice in one tensor", span)


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


def _relation_action(kind: RelationKind) -> Callable[[ParseContext, list[Any], Span], RelationAttr]:
    return lambda context, values, span: RelationAttr(kind, values[0], values[1])


def _named_relation(context: ParseContext, values: list[Any], span: Span) -> RelationAttr:
    kind, left, right = values
    if kind not in KINDS:
        raise fail(f"unknown relation '{kind}'{suggestion(kind, KINDS)}", span)
    return RelationAttr(kind, left, right)


GRAMMARS["bp"] = [
    Fragment(
        """
bp_expr_body: expr -> bp_expr_body
bp_work_body: (bp_work_item ("," bp_work_item)*)? -> bp_work_body
bp_work_item: word "=" expr -> bp_work_item
bp_tensor_body: bp_dims "," expr bp_marks -> bp_tensor_body
    | bp_dims -> bp_no_element
bp_dims: bp_dim ("x" bp_dim)* -> bp_list
bp_dim: expr bp_axes -> bp_dim
    | expr word -> bp_glued
bp_axes: symbol_name* -> bp_list
bp_marks: bp_mark* -> bp_list
bp_mark: "," "unreduced" "=" bp_names -> bp_unreduced
    | "," "shared" "=" bp_names -> bp_shared
bp_names: "{" word ("," word)* "}" -> bp_list
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
            "bp_unreduced": lambda c, v, s: ("unreduced", tuple(v[0])),
            "bp_shared": lambda c, v, s: ("shared", tuple(v[0])),
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
ATTRIBUTE_BODIES.update({"bp.expr": "bp_expr_body", "bp.work": "bp_work_body", "bp.relation": "bp_relation_body"})
TYPE_BODIES["bp.tensor"] = "bp_tensor_body"
