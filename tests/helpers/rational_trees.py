"""Random trees of rational arithmetic: what an expression and plain fractions are computed from."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import sympy
from hypothesis import strategies as st

from bpir.ir.expressions.expression import Expr, ExpressionError, constant, symbol

NAMES = ("B", "a", "b", "t")
SYMPY = {name: sympy.Symbol(name, integer=True, positive=True) for name in NAMES}


# A tree is ("number", Fraction) | ("symbol", name) | ("+", l, r) | ... : what both sides are computed from.
Tree = tuple[Any, ...]
leaves = st.one_of(
    st.tuples(st.just("symbol"), st.sampled_from(NAMES)),
    st.tuples(st.just("number"), st.integers(-6, 6).map(Fraction)),
    st.tuples(st.just("number"), st.fractions(min_value=-3, max_value=3, max_denominator=6)),
)


def _grow(children: st.SearchStrategy[Tree]) -> st.SearchStrategy[Tree]:
    return st.one_of(
        st.tuples(st.sampled_from("+-*/"), children, children),
        st.tuples(st.just("**"), children, st.integers(-2, 3)),
        st.tuples(st.just("neg"), children),
    )


trees = st.recursive(leaves, _grow, max_leaves=7)
polynomials = st.recursive(leaves, lambda c: st.one_of(st.tuples(st.sampled_from("+-*"), c, c), st.tuples(st.just("neg"), c)), max_leaves=8)


def build(tree: Tree) -> Expr:
    kind = tree[0]
    if kind == "symbol":
        return symbol(tree[1])
    if kind == "number":
        return constant(tree[1])
    if kind == "neg":
        return -build(tree[1])
    if kind == "**":
        return build(tree[1]) ** int(tree[2])
    left, right = build(tree[1]), build(tree[2])
    return left + right if kind == "+" else left - right if kind == "-" else left * right if kind == "*" else left / right


def value(tree: Tree, point: dict[str, int]) -> Fraction:
    kind = tree[0]
    if kind == "symbol":
        return Fraction(point[tree[1]])
    if kind == "number":
        return Fraction(tree[1])
    if kind == "neg":
        return -value(tree[1], point)
    if kind == "**":
        return value(tree[1], point) ** int(tree[2])
    left, right = value(tree[1], point), value(tree[2], point)
    if kind == "+":
        return left + right
    if kind == "-":
        return left - right
    return left * right if kind == "*" else left / right


def in_sympy(tree: Tree) -> Any:
    kind = tree[0]
    if kind == "symbol":
        return SYMPY[tree[1]]
    if kind == "number":
        return sympy.Rational(tree[1].numerator, tree[1].denominator)
    if kind == "neg":
        return -in_sympy(tree[1])
    if kind == "**":
        return in_sympy(tree[1]) ** tree[2]
    left, right = in_sympy(tree[1]), in_sympy(tree[2])
    return left + right if kind == "+" else left - right if kind == "-" else left * right if kind == "*" else left / right


def built(tree: Tree) -> Expr | None:
    """The expression; None where the tree divides by zero."""
    try:
        return build(tree)
    except ExpressionError as error:
        assert str(error) == "division by zero"
        return None
