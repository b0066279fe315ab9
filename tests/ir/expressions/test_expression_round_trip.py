"""The text of an expression reads back as the same object."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from integer_trees import build, trees
from rational_trees import Tree, built
from rational_trees import trees as rational_trees
from tiers import examples

from bpir.ir.expressions.expression import ExpressionError, constant, symbol
from bpir.parser import parse_expression

pytestmark = pytest.mark.slow


@settings(max_examples=examples(200), deadline=None)
@given(rational_trees)
def test_rational_functions(tree: Tree) -> None:
    expr = built(tree)
    if expr is not None:
        assert parse_expression(expr.text) is expr


@settings(max_examples=examples(200), deadline=None)
@given(trees)
def test_nodes(tree: Tree) -> None:
    try:
        expr = build(tree)
    except ExpressionError:
        return
    assert parse_expression(expr.text) is expr


def test_signs_and_powers() -> None:
    assert parse_expression("-2**2") is constant(-4)
    assert parse_expression("-x**2/3 + -1") is -(symbol("x") ** 2) / 3 - 1
    assert parse_expression("2 - 3 - 4") is constant(-5)
    assert parse_expression("12/2/3") is constant(2)
