"""Random trees with max, min, ceildiv and floordiv: what an expression and Python's integers are computed from."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import ceil, floor
from typing import Any

from hypothesis import strategies as st

from bpir.ir.expressions.expression import (
    Expr,
    ceildiv,
    constant,
    floordiv,
    maximum,
    minimum,
    symbol,
)

NAMES = ("a", "b", "t")
Tree = tuple[Any, ...]
leaves = st.one_of(st.tuples(st.just("symbol"), st.sampled_from(NAMES)), st.tuples(st.just("number"), st.integers(-4, 6)))


def _grow(children: st.SearchStrategy[Tree]) -> st.SearchStrategy[Tree]:
    return st.one_of(
        st.tuples(st.sampled_from("+-*/"), children, children),
        st.tuples(st.sampled_from(["max", "min", "ceildiv", "floordiv"]), children, children),
        st.tuples(st.sampled_from(["max", "min"]), children, children, children),
    )


trees = st.recursive(leaves, _grow, max_leaves=9)


def build(tree: Tree) -> Expr:
    kind = tree[0]
    if kind == "symbol":
        return symbol(tree[1])
    if kind == "number":
        return constant(tree[1])
    arguments = [build(argument) for argument in tree[1:]]
    if kind == "max":
        return maximum(*arguments)
    if kind == "min":
        return minimum(*arguments)
    left, right = arguments
    if kind == "ceildiv":
        return ceildiv(left, right)
    if kind == "floordiv":
        return floordiv(left, right)
    return left + right if kind == "+" else left - right if kind == "-" else left * right if kind == "*" else left / right


def value(tree: Tree, point: dict[str, int]) -> Fraction:
    kind = tree[0]
    if kind == "symbol":
        return Fraction(point[tree[1]])
    if kind == "number":
        return Fraction(tree[1])
    arguments = [value(argument, point) for argument in tree[1:]]
    if kind == "max":
        return max(arguments)
    if kind == "min":
        return min(arguments)
    left, right = arguments
    if kind == "ceildiv":
        return Fraction(ceil(left / right))
    if kind == "floordiv":
        return Fraction(floor(left / right))
    return left + right if kind == "+" else left - right if kind == "-" else left * right if kind == "*" else left / right


GRID = [dict(zip(NAMES, p, strict=True)) for p in product((1, 2, 3, 7), repeat=len(NAMES))]
