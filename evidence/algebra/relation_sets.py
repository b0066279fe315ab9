"""Random sets of relations of which it is known whether positive integers satisfy them.

A set is drawn as trees (`claim_trees.py` evaluates them with plain integers and fractions). Truth is known in three ways: numbers that
satisfy it are found among 1 to 12; or none are, and bounds keep every symbol there; or the set contains relations that no numbers
satisfy for a reason that is its own proof: parity, a cycle, bounds that leave nothing, a square between squares, ...
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from random import Random
from typing import Any

import attrs

from bpir.ir.expressions.expression import Expr, ceildiv, constant, floordiv, maximum, minimum, symbol
from bpir.ir.relations.facts import Relation

Tree = tuple[Any, ...]
Declared = tuple[str, Tree, Tree]  # kind, left, right
LIMIT = 12
NAMES = ("a", "b", "c", "d", "e")


@attrs.frozen
class RelationSet:
    """Relations, and what is known of them: a witness, that there is none (`impossible`), or neither."""

    relations: tuple[Declared, ...]
    witness: dict[str, int] | None
    impossible: bool
    reason: str

    @property
    def built(self) -> list[Relation]:
        """The relations for our code."""
        return [Relation(kind, build(left), build(right)) for kind, left, right in self.relations]

    def __str__(self) -> str:
        signs = {"equal": "=", "divides": "|", "greater": ">"}
        return ", ".join(f"{text(left)} {signs[kind]} {text(right)}" for kind, left, right in self.relations)


# --- trees: ("s", name), ("n", number), or an operator and its arguments


def build(tree: Tree) -> Expr:
    kind, *rest = tree
    if kind == "s":
        return symbol(rest[0])
    if kind == "n":
        return constant(rest[0])
    parts = [rest[1] if kind == "**" and part is rest[1] else build(part) for part in rest]
    made: dict[str, Callable[..., Expr]] = {
        "+": lambda x, y: x + y,
        "-": lambda x, y: x - y,
        "*": lambda x, y: x * y,
        "/": lambda x, y: x / y,
        "**": lambda x, n: x**n,
        "max": maximum,
        "min": minimum,
        "ceildiv": ceildiv,
        "floordiv": floordiv,
    }
    return made[kind](*parts)


def value(tree: Tree, point: dict[str, int]) -> Fraction | int:
    """The value by Python's integers and fractions.

    Raises:
        ZeroDivisionError: there is none.
    """
    kind, *rest = tree
    if kind == "s":
        return point[rest[0]]
    if kind == "n":
        return int(rest[0])
    if kind == "**":
        return value(rest[0], point) ** int(rest[1])
    parts = [value(part, point) for part in rest]
    if kind in ("max", "min"):
        return max(parts) if kind == "max" else min(parts)
    x, y = parts
    if kind == "/":
        return Fraction(x) / y
    if kind in ("ceildiv", "floordiv"):
        return -(-x // y) if kind == "ceildiv" else x // y
    return x + y if kind == "+" else x - y if kind == "-" else x * y


def text(tree: Tree) -> str:
    kind, *rest = tree
    if kind in "sn":
        return str(rest[0])
    if kind == "**":
        return f"({text(rest[0])})**{rest[1]}"
    parts = [text(part) for part in rest]
    return f"({parts[0]} {kind} {parts[1]})" if kind in "+-*/" else f"{kind}({', '.join(parts)})"


def names_in(tree: Tree) -> set[str]:
    if tree[0] == "s":
        return {tree[1]}
    return {name for part in tree[1:] if isinstance(part, tuple) for name in names_in(part)}


def holds(relation: Declared, point: dict[str, int]) -> bool:
    """Whether the relation is true at the point; it is not where a side has no value."""
    kind, left, right = relation
    try:
        x, y = value(left, point), value(right, point)
        if kind == "divides":
            return (Fraction(y) / x).denominator == 1
    except ZeroDivisionError:
        return False
    return x == y if kind == "equal" else x > y


def satisfied(relations: tuple[Declared, ...], names: tuple[str, ...]) -> dict[str, int] | None:
    """The first point among 1 to 12 at which all hold."""
    ordered = sorted(names)

    def ready(count: int) -> list[Declared]:
        known = set(ordered[:count])
        return [r for r in relations if (used := names_in(r[1]) | names_in(r[2])) <= known and (not count or ordered[count - 1] in used)]

    levels = [ready(count) for count in range(1, len(ordered) + 1)]
    if not all(holds(r, {}) for r in relations if not names_in(r[1]) | names_in(r[2])):
        return None

    def extend(point: dict[str, int], count: int) -> dict[str, int] | None:
        if count == len(ordered):
            return point
        for n in range(1, LIMIT + 1):
            further = {**point, ordered[count]: n}
            if all(holds(r, further) for r in levels[count]):
                found = extend(further, count + 1)
                if found is not None:
                    return found
        return None

    return extend({}, 0)


# --- drawing


def _tree(random: Random, names: tuple[str, ...], size: int) -> Tree:
    if size == 1:
        return ("n", random.choice((1, 2, 2, 3, 4, 5, 6, 8, 12))) if random.random() < 0.25 else ("s", random.choice(names))
    kind = random.choice(("+", "+", "-", "*", "*", "**", "max", "min", "ceildiv", "floordiv", "/"))
    if kind == "**":
        return ("**", _tree(random, names, size - 1), random.choice((2, 2, 3)))
    first = random.randint(1, size - 1)
    left = _tree(random, names, first)
    # a divisor is positive: what has a value nowhere as written may have one in its normal form
    right = (_positive if kind in ("ceildiv", "floordiv", "/") else _tree)(random, names, size - first)
    if kind == "/" and random.random() < 0.6:
        kind = "ceildiv"
    return (kind, left, right)


def _positive(random: Random, names: tuple[str, ...], size: int) -> Tree:
    if size == 1:
        return _tree(random, names, 1)
    first = random.randint(1, size - 1)
    return (random.choice(("+", "*", "max", "min", "ceildiv")), _positive(random, names, first), _positive(random, names, size - first))


def _relation(random: Random, names: tuple[str, ...]) -> Declared:
    kind = random.choice(("equal", "divides", "greater", "greater", "equal", "divides"))
    left = _tree(random, names, random.choice((1, 1, 1, 2, 2, 3)))
    right = _tree(random, names, random.choice((1, 2, 2, 3, 3, 4)))
    return (kind, left, right)


def _buildable(relations: list[Declared]) -> list[Declared]:
    kept = []
    for kind, left, right in relations:
        try:
            Relation(kind, build(left), build(right))
        except (ValueError, ZeroDivisionError):
            continue
        kept.append((kind, left, right))
    return kept


def free_set(random: Random) -> RelationSet:
    """1 to 6 relations of every kind over 2 to 5 symbols; half of the sets bound every symbol by 12."""
    names = NAMES[: random.randint(2, 5)]
    relations = _buildable([_relation(random, names) for _ in range(random.randint(1, 6))])
    bounded = random.random() < 0.5
    if bounded:
        relations += [("greater", ("n", random.randint(2, LIMIT + 1)), ("s", name)) for name in names]
    random.shuffle(relations)
    point = satisfied(tuple(relations), names)
    return RelationSet(tuple(relations), point, point is None and bounded, "enumeration")


def satisfiable_set(random: Random, names: tuple[str, ...] = NAMES[:4], count: int = 3) -> RelationSet:
    """Relations that hold at a witness among 1 to 12, as many as the count."""
    point = {name: random.randint(1, LIMIT) for name in names}
    relations: list[Declared] = []
    while len(relations) < count:
        kind, left, right = _relation(random, names)
        for candidate in ((kind, left, right), (kind, right, left)):
            if holds(candidate, point) and _buildable([candidate]) and names_in(left) | names_in(right):
                relations.append(candidate)
                break
    return RelationSet(tuple(relations), point, False, "drawn at a witness")


def _s(name: str) -> Tree:
    return ("s", name)


def _n(number: int) -> Tree:
    return ("n", number)


def _impossible(random: Random, names: tuple[str, ...]) -> Iterator[tuple[str, list[Declared]]]:
    """Relations that no positive integers satisfy, by kinds of reasons."""
    x, y, z = (_s(name) for name in random.sample(names, 3))
    k, m = random.randint(2, 9), random.randint(1, 40)
    big = random.choice((5, 100, 4096, 12288, 10**6))
    yield "parity", [("equal", ("*", _n(2 * m), x), ("+", ("*", _n(2 * k), y), _n(2 * m * k + 1)))]
    yield "parity of a product", [("equal", ("*", x, ("+", x, _n(1))), ("+", ("*", _n(2), y), _n(1)))]
    yield "residues", [("divides", _n(k), x), ("divides", _n(k), ("+", x, _n(random.randint(1, k - 1))))]
    yield "cycle", [("greater", x, y), ("greater", y, z), ("greater", z, x)]
    yield "cycle of sums", [("equal", x, ("+", y, z)), ("equal", y, ("+", x, _n(m)))]
    yield "cycle of products", [("equal", x, ("*", _n(k), y)), ("equal", y, ("*", z, x))]
    yield "cycle of divisors", [("divides", x, y), ("divides", y, z), ("divides", z, x), ("greater", x, z)]
    yield "bounds", [("greater", x, _n(big)), ("greater", _n(big + 1), x)]
    yield "bounds of a sum", [("equal", ("+", x, y), _n(m)), ("greater", x, _n(m - 1))]
    yield "bounds and a divisor", [("greater", x, _n(big * k)), ("greater", _n(big * k + k), x), ("divides", _n(k), x)]
    yield "sum of positive numbers", [("equal", x, ("-", ("-", y, z), ("+", y, _n(m))))]
    yield "squares modulo 4", [("equal", ("**", x, 2), ("+", ("*", _n(4), y), _n(random.choice((2, 3)))))]
    yield "sum of squares modulo 4", [("equal", ("+", ("**", x, 2), ("**", y, 2)), ("+", ("*", _n(4), z), _n(3)))]
    yield "square between squares", [("equal", ("**", x, 2), ("+", ("**", y, 2), random.choice((y, _n(1), ("*", _n(2), y)))))]
    yield "twice a square", [("equal", ("**", x, 2), ("*", _n(random.choice((2, 3, 5, 6, 8, 12))), ("**", y, 2)))]
    yield "no root", [("equal", ("**", x, random.choice((2, 3))), _n(random.choice((2, 3, 12, 99, 4097, 10**6 + 10))))]
    prime = _n(random.choice((7, 13, 101, 12289)))
    yield "a prime's factors", [("equal", ("*", x, y), prime), ("greater", x, _n(1)), ("greater", y, _n(1))]
    yield "largest", [("equal", ("max", x, y), _n(k)), ("greater", x, _n(k))]
    yield "smallest", [("equal", ("min", x, y), _n(k)), ("greater", _n(k), x)]
    yield "largest below a sum", [("greater", ("max", x, y), ("+", x, y))]
    yield "rounded up", [("equal", ("ceildiv", x, _n(k)), _n(m)), ("greater", x, _n(k * m))]
    yield "rounded down", [("equal", ("floordiv", x, _n(k)), _n(m)), ("greater", _n(k * m), x)]
    yield "rounded by a symbol", [("greater", ("*", ("ceildiv", x, y), y), ("+", x, y))]
    yield "a quotient above its dividend", [("greater", ("floordiv", x, y), x)]
    yield "divisor above", [("divides", x, y), ("greater", x, y)]
    yield "divisor of neighbours", [("divides", x, y), ("divides", x, ("+", y, _n(1))), ("greater", x, _n(1))]


def impossible_set(random: Random) -> RelationSet:
    """Relations that no numbers satisfy, often among others."""
    names = NAMES[: random.randint(3, 5)]
    reason, relations = random.choice(list(_impossible(random, names)))
    others = _buildable([_relation(random, names) for _ in range(random.choice((0, 0, 1, 2, 3)))])
    relations = [*relations, *others][:6]
    random.shuffle(relations)
    return RelationSet(tuple(relations), None, True, reason)


def draw(random: Random) -> RelationSet:
    """A set of any kind."""
    kind = random.choice(("free", "free", "satisfiable", "impossible", "impossible"))
    if kind == "free":
        return free_set(random)
    if kind == "satisfiable":
        return satisfiable_set(random, NAMES[: random.randint(2, 5)], random.randint(1, 6))
    return impossible_set(random)
