"""Trees and points of random claims."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any

import attrs
from algebra import relation_sets

from bpir.ir.expressions.expression import Expr, ceildiv, constant, floordiv, maximum, minimum, symbol
from bpir.ir.relations.facts import Facts, Relation

NAMES = ("a", "b", "c", "t")
Tree = tuple[Any, ...]
Point = dict[str, int]
Number = int | Fraction


def build(tree: Tree) -> Expr:
    """The tree as our expression."""
    kind, *rest = tree
    if kind == "s":
        return symbol(rest[0])
    if kind == "n":
        return constant(rest[0])
    parts = [build(part) for part in rest]
    if kind in ("max", "min"):
        return maximum(*parts) if kind == "max" else minimum(*parts)
    left, right = parts
    if kind in ("ceildiv", "floordiv"):
        return ceildiv(left, right) if kind == "ceildiv" else floordiv(left, right)
    if kind in "+-":
        return left + right if kind == "+" else left - right
    return left * right if kind == "*" else left / right


def value(tree: Tree, point: Point) -> Number:
    """The value of the tree; most are integers, whose arithmetic is faster than that of fractions.

    Raises:
        ZeroDivisionError: it has none there.
    """
    kind, *rest = tree
    if kind == "s":
        return point[rest[0]]
    if kind == "n":
        return rest[0]
    parts = [value(part, point) for part in rest]
    if kind in ("max", "min"):
        return max(parts) if kind == "max" else min(parts)
    left, right = parts
    if kind == "ceildiv":
        return -(-left // right)
    if kind == "floordiv":
        return left // right
    if kind in "+-":
        return left + right if kind == "+" else left - right
    if kind == "*":
        return left * right
    quotient = Fraction(left) / right
    return quotient.numerator if quotient.denominator == 1 else quotient


def value_or_none(tree: Tree, point: Point) -> Number | None:
    try:
        return value(tree, point)
    except ZeroDivisionError:
        return None


def text(tree: Tree) -> str:
    """The tree as written, for messages."""
    kind, *rest = tree
    if kind in "sn":
        return str(rest[0])
    parts = [text(part) for part in rest]
    return f"({parts[0]} {kind} {parts[1]})" if kind in "+-*/" else f"{kind}({', '.join(parts)})"


def positive_integer(tree: Tree) -> bool:
    """Whether the tree is built of positive integers by what keeps them so."""
    kind, *rest = tree
    if kind == "s":
        return True
    if kind == "n":
        return bool(rest[0] > 0 and Fraction(rest[0]).denominator == 1)
    return kind in ("+", "*", "max", "min", "ceildiv") and all(positive_integer(part) for part in rest)


A, B, C, T = (("s", name) for name in NAMES)


def number(n: int | Fraction) -> Tree:
    return ("n", n)


@attrs.frozen
class Rule:
    """A relation for our code, what it says in Python, and trees that are the same under it (`same`)."""

    relation: Relation
    says: Callable[[int, int, int, int], bool]
    same: tuple[tuple[Tree, Tree], ...] = ()


def _rule(kind: str, left: Tree, right: Tree, says: Callable[[int, int, int, int], bool], *same: tuple[Tree, Tree]) -> Rule:
    if kind == "equal":
        same = ((left, right), (right, left))
    elif kind == "divides":
        quotient = ("/", right, left)
        rounded = [(name, right, left) for name in ("ceildiv", "floordiv")]
        same = (*((quotient, r) for r in rounded), *((r, quotient) for r in rounded))
    if kind == "greater" or (kind == "divides" and positive_integer(right)):  # a difference may be 0 or negative, and still a multiple
        small, large = (left, right) if kind == "divides" else (right, left)
        most, least = ("max", left, right), ("min", left, right)
        same = (*same, (large, most), (small, least), (most, large), (least, small))
    return Rule(Relation(kind, build(left), build(right)), says, same)


RULES = (
    _rule("divides", T, A, lambda a, b, c, t: a % t == 0),
    _rule("divides", T, B, lambda a, b, c, t: b % t == 0),
    _rule("divides", B, A, lambda a, b, c, t: a % b == 0),
    _rule("divides", ("*", T, B), A, lambda a, b, c, t: a % (t * b) == 0),
    _rule("divides", T, ("*", A, B), lambda a, b, c, t: a * b % t == 0),
    _rule("divides", T, ("+", A, B), lambda a, b, c, t: (a + b) % t == 0),
    _rule("divides", T, number(12), lambda a, b, c, t: 12 % t == 0),
    _rule("divides", number(2), B, lambda a, b, c, t: b % 2 == 0),
    _rule("divides", number(4), C, lambda a, b, c, t: c % 4 == 0),
    _rule("divides", number(2), ("-", C, A), lambda a, b, c, t: (c - a) % 2 == 0),
    _rule("divides", T, ("-", A, number(1)), lambda a, b, c, t: (a - 1) % t == 0),
    _rule("divides", ("-", B, C), A, lambda a, b, c, t: b != c and a % (b - c) == 0),
    _rule("greater", T, number(1), lambda a, b, c, t: t > 1),
    _rule("greater", A, B, lambda a, b, c, t: a > b),
    _rule("greater", B, C, lambda a, b, c, t: b > c),
    _rule("greater", ("+", C, number(1)), A, lambda a, b, c, t: a <= c),
    _rule("greater", number(40), C, lambda a, b, c, t: c < 40),
    _rule("greater", A, ("*", number(2), T), lambda a, b, c, t: a > 2 * t),
    _rule("greater", B, ("-", A, C), lambda a, b, c, t: b > a - c),
    _rule("equal", A, ("-", B, C), lambda a, b, c, t: a == b - c),
    _rule("equal", A, ("*", B, T), lambda a, b, c, t: a == b * t),
    _rule("equal", A, ("*", C, B), lambda a, b, c, t: a == c * b),
    _rule("equal", A, B, lambda a, b, c, t: a == b),
    _rule("equal", B, ("+", A, number(1)), lambda a, b, c, t: b == a + 1),
    _rule("equal", ("*", A, B), number(12), lambda a, b, c, t: a * b == 12),
    _rule("equal", ("*", A, C), ("*", B, T), lambda a, b, c, t: a * c == b * t),
    _rule("equal", C, ("ceildiv", A, B), lambda a, b, c, t: c == -(-a // b)),
    _rule("equal", C, ("max", A, B), lambda a, b, c, t: c == max(a, b)),
)


VALUES = (1, 2, 3, 4, 6, 12)
GRID = tuple(p for values in (VALUES, (1, 5, 7, 10, 35), (1, 2, 41, 1500, 3000)) for p in product(values, repeat=len(NAMES)))
POINTS = 300  # of the admissible points of the grid, evenly spaced


@cache
def admissible(chosen: tuple[int, ...], bindings: tuple[tuple[str, int], ...]) -> tuple[Point, ...]:
    """Points of the grid at which the rules (indices into `RULES`) and bindings hold."""
    found = [dict(zip(NAMES, point, strict=True)) for point in dict.fromkeys(GRID) if all(RULES[i].says(*point) for i in chosen)]
    found = [point for point in found if all(point[name] == n for name, n in bindings)]
    return tuple(found[index * len(found) // POINTS] for index in range(POINTS)) if len(found) > POINTS else tuple(found)


@attrs.frozen
class Pair:
    """Two trees under rules, bindings and a drawn set, and how the second came from the first: laws, or nothing."""

    left: Tree
    right: Tree
    rules: tuple[int, ...]
    bindings: tuple[tuple[str, int], ...]
    laws: tuple[str, ...]
    relation: str  # "=", ">=", or "?" where nothing is known beforehand
    drawn: relation_sets.RelationSet | None = attrs.field(default=None, hash=False)

    @property
    def facts(self) -> Facts:
        drawn = self.drawn.built if self.drawn else []
        return Facts([*(RULES[i].relation for i in self.rules), *drawn], dict(self.bindings))

    @property
    def points(self) -> tuple[Point, ...]:
        """Points at which all that is known holds: of the grid, and the point at which a set was drawn."""
        points = admissible(self.rules, self.bindings)
        if self.drawn is None:
            return points
        known = self.drawn.witness
        assert known is not None
        return known, *(point for point in points if self.admits(point))

    def admits(self, point: Point) -> bool:
        """Whether all that is known holds at the point."""
        return (
            all(RULES[i].says(*(point[n] for n in NAMES)) for i in self.rules)
            and all(point[n] == k for n, k in self.bindings)
            and all(relation_sets.holds(r, point) for r in (self.drawn.relations if self.drawn else ()))
        )

    def __str__(self) -> str:
        under = [RULES[i].relation.text for i in self.rules] + [f"{name} = {n}" for name, n in self.bindings]
        under += [str(self.drawn)] if self.drawn else []
        return f"{text(self.left)} {self.relation} {text(self.right)} under {', '.join(under) or 'nothing'}; {' then '.join(self.laws)}"
