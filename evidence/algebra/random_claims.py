"""Random claims about pairs of expressions under random relations, and what is true of them by plain arithmetic.

An expression is a tree of tuples here: `("n", number)`, `("s", name)`, or an operator and its arguments. `value` evaluates it with
Python's integers and Fractions alone, so that a wrong normal form is noticed like a wrong proof. Half of the pairs are the same
value in disguise: one side is the other after true rewrites (`rewrites`). The relations are some of `RULES`, each of which says beside
it in Python what it means, or a random set that holds at a known point (`relation_sets`). `judge` asks our code and compares.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from algebra import relation_sets
from algebra.claim_trees import (
    NAMES,
    RULES,
    VALUES,
    A,
    B,
    C,
    Pair,
    T,
    Tree,
    admissible,
    number,
    positive_integer,
)
from hypothesis import strategies as st

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
    if len(rest) != 2:
        return
    x, y = rest
    if kind in ("+", "*", "max", "min") and x[0] == kind and len(x) == 3:
        yield f"{kind} associates", (kind, x[1], (kind, x[2], y))
    if kind in ("+", "-", "*", "/"):
        yield from _rewrites_of_arithmetic(kind, x, y, k)
    elif kind in ("max", "min"):
        yield from _rewrites_of_extremes(kind, x, y, k)
    elif kind in ("ceildiv", "floordiv"):
        yield from _rewrites_of_rounding(kind, x, y, k)


def _rewrites_of_arithmetic(kind: str, x: Tree, y: Tree, k: Tree) -> Iterator[tuple[str, Tree]]:
    if kind in "*/" and x[0] in ("+", "-"):
        yield "distributivity", (x[0], (kind, x[1], y), (kind, x[2], y))
    if kind == "/":
        yield "x/y = k*x/(k*y)", ("/", ("*", k, x), ("*", y, k))
        yield "x/y = x*(1/y)", ("*", x, ("/", number(1), y))
    if kind == "-":
        yield "x - y = -(y - x)", ("-", number(0), ("-", y, x))


def _rewrites_of_extremes(kind: str, x: Tree, y: Tree, k: Tree) -> Iterator[tuple[str, Tree]]:
    other = "min" if kind == "max" else "max"
    yield "max = -min", ("*", number(-1), (other, ("*", number(-1), x), ("*", number(-1), y)))
    yield "max + min = x + y", ("-", ("+", y, x), (other, x, y))
    yield "max(x, y) = x + max(0, y - x)", ("+", x, (kind, number(0), ("-", y, x)))
    yield "max(x, y) + k", ("-", (kind, ("+", x, k), ("+", k, y)), k)
    yield "k*max(x, y)", ("/", (kind, ("*", k, x), ("*", k, y)), k)
    if x[0] == other and len(x) == 3:
        yield "max over min", (other, (kind, x[1], y), (kind, x[2], y))


def _rewrites_of_rounding(kind: str, x: Tree, y: Tree, k: Tree) -> Iterator[tuple[str, Tree]]:
    other = "floordiv" if kind == "ceildiv" else "ceildiv"
    yield "ceildiv = -floordiv", ("*", number(-1), (other, ("*", number(-1), x), y))
    yield "ceildiv(k*x, k*y)", (kind, ("*", x, k), ("*", k, y))
    yield "ceildiv(x + k*y, y)", ("-", (kind, ("+", x, ("*", k, y)), y), k)
    if not positive_integer(y):
        return
    if positive_integer(x):
        if kind == "ceildiv":
            yield "ceildiv = floordiv(x + y - 1, y)", ("floordiv", ("-", ("+", x, y), number(1)), y)
        else:
            yield "floordiv = ceildiv(x - y + 1, y)", ("ceildiv", ("+", ("-", x, y), number(1)), y)
    yield "ceildiv(x, y*k)", (kind, (kind, ("*", k, x), k), y)
    if x[0] == kind and positive_integer(x[2]):
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


@st.composite
def _conditions(draw: st.DrawFn) -> tuple[tuple[int, ...], tuple[tuple[str, int], ...], relation_sets.RelationSet | None]:
    """Rules, bindings, and perhaps random relations in place of the rules; some numbers satisfy all of them."""
    bindings: tuple[tuple[str, int], ...] = ()
    chosen: tuple[int, ...] = ()
    if draw(st.integers(0, 2)) == 0:
        drawn = relation_sets.satisfiable_set(Random(draw(st.integers(0, 2**32 - 1))), NAMES, draw(st.integers(1, 4)))
        if draw(st.integers(0, 3)) == 0:
            bindings = (draw(st.sampled_from(sorted((drawn.witness or {}).items()))),)
        return chosen, bindings, drawn
    if draw(st.integers(0, 3)) == 0:
        bindings = ((draw(st.sampled_from(NAMES)), draw(st.sampled_from(VALUES))),)
    for index in draw(st.lists(st.integers(0, len(RULES) - 1), max_size=3, unique=True)):
        if admissible((*chosen, index), bindings):
            chosen = (*chosen, index)
    return chosen, bindings, None


@st.composite
def _rewritten(draw: st.DrawFn, tree: Tree, chosen: tuple[int, ...]) -> tuple[str, Tree]:
    """The tree after one law, or one of the chosen rules, at one place."""
    everywhere = list(places(tree))
    inner = [place for place in everywhere if place[1][0] not in "sn"] if draw(st.integers(0, 3)) else []
    at, part = draw(st.sampled_from(inner or everywhere))
    of_rules = [(p, new) for p, sub in everywhere for i in chosen for old, new in RULES[i].same if sub == old]
    if of_rules and draw(st.booleans()):
        at, new = draw(st.sampled_from(of_rules))
        return "a relation", replaced(tree, at, new)
    known = list(rewrites(part, draw(positives())))
    special = [step for step in known if not step[0].startswith("x = ")] if draw(st.integers(0, 3)) else []
    law, new = draw(st.sampled_from(special or known))
    return law, replaced(tree, at, new)


@st.composite
def pairs(draw: st.DrawFn) -> Pair:
    """Two trees: of the same value, of ordered values, of a value that is off by little, or of nothing in common."""
    chosen, bindings, drawn = draw(_conditions())
    left = draw(trees())
    relation = draw(st.sampled_from(("=", "=", ">=", "off", "?")))
    if relation == "?":
        return Pair(left, draw(trees()), chosen, bindings, (), "?", drawn)
    right, laws = left, []
    for _ in range(draw(st.integers(1, 3))):
        law, right = draw(_rewritten(right, chosen))
        laws.append(law)
    if relation == ">=":
        law, left = draw(st.sampled_from(list(larger(left, draw(positives())))))
        laws.append(law)
    elif relation == "off":
        at, part = draw(st.sampled_from(list(places(right))))
        right = replaced(right, at, (draw(st.sampled_from("+-*")), part, draw(st.sampled_from((number(2), number(1), T, A)))))
        relation = "?"
    return Pair(left, right, chosen, bindings, tuple(laws), relation, drawn)


# --- judging
