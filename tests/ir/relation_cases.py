"""Relations and symbols that several tests decide under."""

from __future__ import annotations

from fractions import Fraction

from integer_trees import Tree, value

from bpir.ir.expressions.expression import Expr, constant, symbol
from bpir.ir.relations.facts import Facts, Relation

B, S, H, h, d, t, F, e = (symbol(n) for n in ("B", "S", "H", "h", "d", "t", "F", "e"))
D, c, q, a, b, x, y, z = (symbol(n) for n in ("D", "c", "q", "a", "b", "x", "y", "z"))


def equal(left: Expr, right: Expr) -> Relation:
    return Relation("equal", left, right)


def divides(left: Expr, right: Expr | int) -> Relation:
    return Relation("divides", left, right if isinstance(right, Expr) else constant(right))


def greater(left: Expr, right: Expr | int) -> Relation:
    return Relation("greater", left, right if isinstance(right, Expr) else constant(right))


BLOCK = Facts((equal(H, h * d), divides(t, h), divides(t, F), divides(t, H)))


def at(tree: Tree, point: dict[str, int]) -> Fraction | None:
    try:
        return value(tree, point)
    except ZeroDivisionError:
        return None
