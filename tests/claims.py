"""Random claims about pairs of expressions under random relations, and what is true of them by plain arithmetic.

An expression is a tree of tuples here: `("n", number)`, `("s", name)`, or an operator and its arguments. `value` evaluates it with
Python's integers and Fractions alone, so that a wrong normal form is noticed like a wrong proof. Half of the pairs are the same
value in disguise: one side is the other after true rewrites (`rewrites`). The relations are some of `RULES`, each of which says beside
it in Python what it means, or a random set that holds at a known point (`relation_sets`). `judge` asks our code and compares.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from itertools import product
from random import Random
from typing import Any

import attrs
import relation_sets
from hypothesis import strategies as st

from bpir.ir.expression import Expr, ExpressionError, ceildiv, constant, floordiv, maximum, minimum, symbol
from bpir.ir.relations import Facts, Relation
from bpir.ir.verdict import Answer, Verdict

NAMES = ("a", "b", "c", "t")
Tree = tuple[Any, ...]
Point = dict[str, int]
Number = int | Fraction


# --- what a tree is


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


# --- relations


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


# --- random trees


symbols = st.sampled_from((A, B, C, T))
numbers = st.one_of(st.integers(-4, 6), st.fractions(-3, 3, max_denominator=4), st.sampled_from((40, 1000, 2000))).map(number)
sizes = st.sampled_from((4, 3, 2, 5, 1, 6))


@st.composite
def positives(draw: st.DrawFn, size: int = 0) -> Tree:
    """A tree of a positive integer."""
    size = size or draw(st.integers(1, 3))
    if size == 1:
        return draw(st.one_of(symbols, symbols, st.integers(1, 6).map(number)))
    kind = draw(st.sampled_from(("+", "*", "max", "min", "ceildiv")))
    return (kind, draw(positives(size - 1)), draw(positives(1)))


@st.composite
def trees(draw: st.DrawFn, size: int = 0) -> Tree:
    """A tree with that many leaves; most divisors are positive."""
    size = size or draw(sizes)
    if size == 1:
        return draw(st.one_of(symbols, symbols, numbers))
    first = draw(st.integers(1, size - 1))
    kind = draw(st.sampled_from(("max", "min", "ceildiv", "floordiv", "/", "+", "-", "*")))
    if kind in ("/", "ceildiv", "floordiv") and draw(st.integers(0, 7)):
        return (kind, draw(trees(first)), draw(positives(min(size - first, 2))))
    if kind in ("max", "min") and size - first > 1 and draw(st.booleans()):
        return (kind, draw(trees(first)), draw(trees(1)), draw(trees(size - first - 1)))
    return (kind, draw(trees(first)), draw(trees(size - first)))


# --- true rewrites


def rewrites(tree: Tree, k: Tree) -> Iterator[tuple[str, Tree]]:
    """Trees of the same value wherever the tree has one, by the name of the law; `k` is any tree of a positive integer."""
    yield "x = x*k/k", ("/", ("*", tree, k), k)
    yield "x = x + k - k", ("-", ("+", tree, k), k)
    yield "x = max(x, x)", ("max", tree, tree)
    yield "x = max(x, min(k, x))", ("max", tree, ("min", k, tree))
    if positive_integer(tree):
        yield "x = ceildiv(x*k, k)", ("ceildiv", ("*", tree, k), k)
        yield "x = max(x, 0)", ("max", number(0), tree)
    kind, *rest = tree
    if kind in ("+", "*", "max", "min"):
        yield f"{kind} commutes", (kind, *reversed(rest))
        first = rest[0]
        if first[0] == kind and len(rest) == 2 and len(first) == 3:
            yield f"{kind} associates", (kind, first[1], (kind, first[2], rest[1]))
    if len(rest) != 2:
        return
    x, y = rest
    if kind in "*/" and x[0] in ("+", "-"):
        yield "distributivity", (x[0], (kind, x[1], y), (kind, x[2], y))
    if kind == "/":
        yield "x/y = k*x/(k*y)", ("/", ("*", k, x), ("*", y, k))
        yield "x/y = x*(1/y)", ("*", x, ("/", number(1), y))
    if kind == "-":
        yield "x - y = -(y - x)", ("-", number(0), ("-", y, x))
    if kind in ("max", "min"):
        other = "min" if kind == "max" else "max"
        yield "max = -min", ("*", number(-1), (other, ("*", number(-1), x), ("*", number(-1), y)))
        yield "max + min = x + y", ("-", ("+", y, x), (other, x, y))
        yield "max(x, y) = x + max(0, y - x)", ("+", x, (kind, number(0), ("-", y, x)))
        yield "max(x, y) + k", ("-", (kind, ("+", x, k), ("+", k, y)), k)
        yield "k*max(x, y)", ("/", (kind, ("*", k, x), ("*", k, y)), k)
        if x[0] == other and len(x) == 3:
            yield "max over min", (other, (kind, x[1], y), (kind, x[2], y))
    if kind in ("ceildiv", "floordiv"):
        other = "floordiv" if kind == "ceildiv" else "ceildiv"
        yield "ceildiv = -floordiv", ("*", number(-1), (other, ("*", number(-1), x), y))
        yield "ceildiv(k*x, k*y)", (kind, ("*", x, k), ("*", k, y))
        yield "ceildiv(x + k*y, y)", ("-", (kind, ("+", x, ("*", k, y)), y), k)
        if positive_integer(x) and positive_integer(y):
            if kind == "ceildiv":
                yield "ceildiv = floordiv(x + y - 1, y)", ("floordiv", ("-", ("+", x, y), number(1)), y)
            else:
                yield "floordiv = ceildiv(x - y + 1, y)", ("ceildiv", ("+", ("-", x, y), number(1)), y)
        if positive_integer(y):
            yield "ceildiv(x, y*k)", (kind, (kind, ("*", k, x), k), y)
        if positive_integer(y) and x[0] == kind and positive_integer(x[2]):
            yield "ceildiv(ceildiv(x, y), z)", (kind, x[1], ("*", x[2], y))


def larger(tree: Tree, k: Tree) -> Iterator[tuple[str, Tree]]:
    """Trees that are at least as large wherever both have a value."""
    yield "x + k", ("+", tree, k)
    yield "max(x, k)", ("max", k, tree)
    yield "ceildiv(x*k, k)", ("ceildiv", ("*", k, tree), k)
    yield "floordiv(x, k) + 1", ("*", ("+", ("floordiv", tree, k), number(1)), k)
    yield "k*ceildiv(x, k)", ("*", ("ceildiv", tree, k), k)
    if positive_integer(tree):
        yield "k*x", ("*", k, tree)
        yield "k*x + x", ("+", tree, ("*", k, tree))
    if tree[0] == "min":
        yield "min without an argument", tree[1]


def places(tree: Tree, at: tuple[int, ...] = ()) -> Iterator[tuple[tuple[int, ...], Tree]]:
    """The subtrees and where they are."""
    yield at, tree
    if tree[0] not in "sn":
        for index, part in enumerate(tree[1:], 1):
            yield from places(part, (*at, index))


def replaced(tree: Tree, at: tuple[int, ...], new: Tree) -> Tree:
    if not at:
        return new
    return (*tree[: at[0]], replaced(tree[at[0]], at[1:], new), *tree[at[0] + 1 :])


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


@st.composite
def pairs(draw: st.DrawFn) -> Pair:
    """Two trees: of the same value, of ordered values, of a value that is off by little, or of nothing in common."""
    bindings: tuple[tuple[str, int], ...] = ()
    chosen: tuple[int, ...] = ()
    drawn = None
    if draw(st.integers(0, 2)) == 0:
        drawn = relation_sets.satisfiable_set(Random(draw(st.integers(0, 2**32 - 1))), NAMES, draw(st.integers(1, 4)))
        if draw(st.integers(0, 3)) == 0:
            bindings = (draw(st.sampled_from(sorted((drawn.witness or {}).items()))),)
    else:
        if draw(st.integers(0, 3)) == 0:
            bindings = ((draw(st.sampled_from(NAMES)), draw(st.sampled_from(VALUES))),)
        for index in draw(st.lists(st.integers(0, len(RULES) - 1), max_size=3, unique=True)):
            if admissible((*chosen, index), bindings):
                chosen = (*chosen, index)
    left = draw(trees())
    relation = draw(st.sampled_from(("=", "=", ">=", "off", "?")))
    if relation == "?":
        return Pair(left, draw(trees()), chosen, bindings, (), "?", drawn)
    rules = tuple(RULES[i] for i in chosen)
    right, laws = left, []
    for _ in range(draw(st.integers(1, 3))):
        everywhere = list(places(right))
        inner = [place for place in everywhere if place[1][0] not in "sn"] if draw(st.integers(0, 3)) else []
        at, part = draw(st.sampled_from(inner or everywhere))
        of_rules = [(p, new) for p, sub in everywhere for rule in rules for old, new in rule.same if sub == old]
        if of_rules and draw(st.booleans()):
            at, new = draw(st.sampled_from(of_rules))
            law = "a relation"
        else:
            known = list(rewrites(part, draw(positives())))
            special = [step for step in known if not step[0].startswith("x = ")] if draw(st.integers(0, 3)) else []
            law, new = draw(st.sampled_from(special or known))
        right, laws = replaced(right, at, new), [*laws, law]
    if relation == ">=":
        law, left = draw(st.sampled_from(list(larger(left, draw(positives())))))
        laws.append(law)
    elif relation == "off":
        at, part = draw(st.sampled_from(list(places(right))))
        right = replaced(right, at, (draw(st.sampled_from("+-*")), part, draw(st.sampled_from((number(2), number(1), T, A)))))
        relation = "?"
    return Pair(left, right, chosen, bindings, tuple(laws), relation, drawn)


# --- judging


class Fooled(AssertionError):
    """An answer that arithmetic contradicts."""


@attrs.frozen
class Outcome:
    """What was answered to one claim, and whether it is true on the whole grid."""

    claim: str
    answer: Answer
    true: bool
    undefined: bool  # the witness is one where a tree, as written, has no value


CLAIMS: dict[str, tuple[Callable[[Facts, Expr, Expr], Verdict], Callable[[Number, Number], bool]]] = {
    "equal": (lambda f, p, r: f.equal(p, r), lambda u, v: u == v),
    "at least": (lambda f, p, r: f.at_least(p, r), lambda u, v: u >= v),
    "greater": (lambda f, p, r: f.greater(p, r), lambda u, v: u > v),
    "integral": (lambda f, p, r: f.integral(p), lambda u, v: u.denominator == 1),
    "divides": (lambda f, p, r: f.divides(r, p), lambda u, v: (Fraction(u) / v).denominator == 1),
}


def judge(pair: Pair) -> list[Outcome]:
    """Ask every claim of the pair.

    Raises:
        Fooled: an expression has a value that its tree has not, or a proof or refutation is false.
    """
    points = pair.points
    lefts, rights = ([value_or_none(tree, point) for point in points] for tree in (pair.left, pair.right))
    built = []
    for tree, values in ((pair.left, lefts), (pair.right, rights)):
        try:
            built.append(build(tree))
        except ExpressionError as error:
            if any(v is not None for v in values):
                raise Fooled(f"{text(tree)} cannot be built: {error}") from None
            return []
    if pair.relation == "=" and any(u is not None and v is not None and u != v for u, v in zip(lefts, rights, strict=True)):
        raise Fooled(f"the laws of this test are wrong: {pair}")
    p, r = built
    facts = pair.facts
    if facts.contradiction is not None:
        raise Fooled(f"{pair}: {facts.contradiction}, but {points[0]} is admissible")
    _compare_values(pair, p, points, lefts)
    _compare_values(pair, r, points, rights)
    found = []
    for name, (ask, holds) in CLAIMS.items():
        try:
            verdict = ask(facts, p, r)
        except ExpressionError:
            continue  # `divides` by what is zero
        both = [(point, u, v) for point, u, v in zip(points, lefts, rights, strict=True) if u is not None and v is not None]
        if name == "divides":
            both = [(point, u, v) for point, u, v in both if v]
        failing = next((point for point, u, v in both if not holds(u, v)), None)
        if verdict.proved and failing is not None:
            raise Fooled(f"{name} is {verdict.text}, but not at {failing}: {pair}")
        undefined = verdict.refuted and not _refutes(pair, name, verdict.witness or {})
        found.append(Outcome(name, verdict.answer, failing is None, undefined))
    return found


def _compare_values(pair: Pair, expr: Expr, points: tuple[Point, ...], values: list[Number | None]) -> None:
    reduced = pair.facts.reduce(expr)
    for point, expected in list(zip(points, values, strict=True))[:: max(1, len(points) // 8)]:
        if expected is not None and not (expr.evaluate(point) == reduced.evaluate(point) == expected):
            raise Fooled(f"{expr.text} is {expr.evaluate(point)} at {point} and not {expected}: {pair}")


def _refutes(pair: Pair, name: str, witness: Point) -> bool:
    """Whether the witness makes the claim false; False where a tree has no value there."""
    point = dict.fromkeys(NAMES, 1) | witness
    if list(witness) != sorted(witness) or not all(type(n) is int and n >= 1 for n in witness.values()):
        raise Fooled(f"{witness} is no witness: {pair}")
    if not pair.admits(point):
        raise Fooled(f"{witness} is not admissible: {pair}")
    u, v = value_or_none(pair.left, point), value_or_none(pair.right, point)
    if u is None or v is None or (name == "divides" and not v):
        return False
    if CLAIMS[name][1](u, v):
        raise Fooled(f"{name} holds at the witness {witness}: {pair}")
    return True
