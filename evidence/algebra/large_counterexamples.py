"""Random false claims that hold for all small numbers: `max(0, B - 10**9)*c = 0`. No search over small numbers refutes them.

A claim is drawn as trees, one of which is the other with one constant, node or name changed, at or under a threshold: a part
that is zero, or the same, until a symbol exceeds a number from 10**3 to 10**12. It is kept where plain arithmetic finds no point among
small numbers at which it is false, but one near the thresholds: so that the truth is known, and shared with no proof.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from itertools import product
from random import Random

import attrs
from algebra.claim_judge import CLAIMS, Fooled
from algebra.claim_trees import NAMES, RULES, Point, Tree, build, number, text, value_or_none
from algebra.random_claims import places, replaced

from bpir.ir.expressions.expression import Expr, ExpressionError
from bpir.ir.relations.facts import Facts
from bpir.ir.relations.verdict import Answer

DEPTH = 4
SMALL = tuple(dict(zip(NAMES, point, strict=True)) for point in product((1, 2, 3, 4, 12, 60), repeat=len(NAMES)))
"""Points at which a claim that is kept is true, or without a value."""
SYMBOLS: tuple[Tree, ...] = tuple(("s", name) for name in NAMES)
ZERO, ONE = number(0), number(1)


@attrs.frozen
class Claim:
    """A claim about two trees under rules (indices into `RULES`), which is false at the point."""

    kind: str
    left: Tree
    right: Tree
    rules: tuple[int, ...]
    point: Point = attrs.field(hash=False)

    def __str__(self) -> str:
        under = ", ".join(RULES[i].relation.text for i in self.rules) or "nothing"
        return f"{self.kind}: {text(self.left)} and {text(self.right)} under {under}; false at {self.point}"


# --- thresholds


def thresholds(s: Tree, k: int) -> tuple[Tree, ...]:
    """Trees that are zero until the symbol exceeds the number, then positive."""
    above, most, least = ("-", s, number(k)), ("max", s, number(k)), ("min", s, number(k))
    return (
        ("max", ZERO, above),
        ("floordiv", s, number(k + 1)),
        ("-", most, number(k)),
        ("-", s, least),
        ("-", ("ceildiv", ("+", s, number(k)), number(k)), number(2)) if k > 60 else ("max", ZERO, above),
        ("min", ONE, ("max", ZERO, above)),
        ("-", ONE, ("floordiv", number(k), most)),
        ("ceildiv", ("max", ZERO, above), most),
        ("max", ZERO, ("-", ("/", s, number(k)), ONE)),
        ("-", ("/", s, least), ONE),
    )


def _threshold(random: Random) -> Tree:
    k = 10 ** random.randint(3, 12) if random.random() < 0.4 else int(10 ** random.uniform(3, 12))
    s = random.choice(SYMBOLS)
    other = random.choice(SYMBOLS)
    s = random.choice((s, s, ("min", s, other), ("*", s, other), ("max", s, other), ("+", s, other)))
    return random.choice(thresholds(s, k))


def _tree(random: Random, depth: int) -> Tree:
    if not depth or random.random() < 0.2:
        return random.choice((*SYMBOLS, *SYMBOLS, number(random.randint(-3, 6)), number(Fraction(random.randint(1, 7), 4))))
    kind = random.choice(("max", "min", "ceildiv", "floordiv", "+", "-", "*", "/"))
    right = _positive(random, depth - 1) if kind in ("ceildiv", "floordiv", "/") else _tree(random, depth - 1)
    return (kind, _tree(random, depth - 1), right)


def _positive(random: Random, depth: int) -> Tree:
    if not depth or random.random() < 0.4:
        return random.choice((*SYMBOLS, *SYMBOLS, number(random.randint(1, 6))))
    kind = random.choice(("max", "min", "ceildiv", "+", "*"))
    return (kind, _positive(random, depth - 1), _positive(random, depth - 1))


def _gated(random: Random) -> tuple[Tree, tuple[int, ...]]:
    """A tree in which a threshold stands, and where: what is changed is there or beside it."""
    part: Tree = _threshold(random)
    at: tuple[int, ...] = ()
    if random.random() < 0.6:
        part = ("*", part, _tree(random, 2))
    for _ in range(random.randint(0, 2)):
        other = _tree(random, 1)
        kind = random.choice(("+", "+", "-", "*", "max", "min", "ceildiv", "floordiv", "/"))
        if kind in ("ceildiv", "floordiv", "/"):
            part, at = (kind, part, _positive(random, 1)), (1, *at)
        elif random.random() < 0.5:
            part, at = (kind, part, other), (1, *at)
        else:
            part, at = (kind, other, part), (2, *at)
    return part, at


def _changed(random: Random, tree: Tree) -> Tree:
    """The tree with one constant, node or name changed."""
    at, part = random.choice(list(places(tree)))
    kind, *rest = part
    new: Tree
    if kind == "n":
        new = number(rest[0] + random.choice((1, -1, 2, Fraction(1, 2), rest[0])))
    elif kind == "s":
        new = random.choice([s for s in SYMBOLS if s != part])
    elif kind in ("max", "min"):
        new = random.choice((("min" if kind == "max" else "max", *rest), rest[0], rest[1]))
    elif kind in ("ceildiv", "floordiv"):
        new = random.choice((("floordiv" if kind == "ceildiv" else "ceildiv", *rest), ("/", *rest)))
    else:
        new = (random.choice([k for k in "+-*" if k != kind]), *rest)
    return replaced(tree, at, new)


# --- claims


def claims(random: Random) -> Iterator[Claim]:
    """Without end: false claims that hold at all admissible small points."""
    while True:
        yield from _drawn(random)


def _drawn(random: Random) -> Iterator[Claim]:
    left, right = _two_trees(random)
    chosen = tuple(random.sample(range(len(RULES)), random.choice((0, 0, 0, 1, 1, 2))))
    if depth(left) > DEPTH + 2 or depth(right) > DEPTH + 2 or not _nested(left):
        return
    false_at: dict[str, Point] = {}
    for point in _admitted(chosen, _large_points(random, left, right)):
        for kind in false_kinds(left, right, point):
            false_at.setdefault(kind, point)
    small = list(_admitted(chosen, SMALL))
    for point in small:
        if not false_at:
            return
        for kind in false_kinds(left, right, point):
            false_at.pop(kind, None)
    if small:
        yield from (Claim(kind, left, right, chosen, point) for kind, point in false_at.items())


def _two_trees(random: Random) -> tuple[Tree, Tree]:
    """A tree, and the same with one change at or under a threshold."""
    left, at = _gated(random)
    inner = left
    for index in at:
        inner = inner[index]
    right = replaced(left, at, random.choice((_changed(random, inner), _changed(random, inner), ZERO)))
    if random.random() < 0.5:
        left, right = right, left
    if random.random() < 0.3:  # the change makes an order wrong
        left = ("+", left, random.choice((ONE, *SYMBOLS)))
    return left, right


def _admitted(chosen: tuple[int, ...], points: Iterable[Point]) -> Iterator[Point]:
    """The points at which the chosen rules hold."""
    says = [RULES[i].says for i in chosen]
    return (point for point in points if all(rule(*(point[n] for n in NAMES)) for rule in says))


def depth(tree: Tree) -> int:
    return 0 if tree[0] in "sn" else 1 + max(depth(part) for part in tree[1:])


def _nested(tree: Tree) -> bool:
    """Whether nodes are in each other at most four deep."""

    def nodes(part: Tree) -> int:
        inner = 0 if part[0] in "sn" else max(nodes(p) for p in part[1:])
        return inner + (part[0] in ("max", "min", "ceildiv", "floordiv"))

    return 1 <= nodes(tree) <= DEPTH


def false_kinds(left: Tree, right: Tree, point: Point) -> list[str]:
    """The claims about the trees that are false at the point; none where one has no value."""
    u, v = value_or_none(left, point), value_or_none(right, point)
    if u is None or v is None:
        return []
    return [kind for kind, (_, holds) in CLAIMS.items() if not (kind == "divides" and not v) and not holds(u, v)]


def _large_points(random: Random, *trees: Tree) -> list[Point]:
    """Points near the thresholds: some symbols at, below, or above the constants of the trees."""
    constants = {int(part[1]) for tree in trees for _, part in places(tree) if part[0] == "n" and part[1] >= 500}
    near = sorted({n for k in constants for n in (k - 1, k, k + 1, 2 * k, 2 * k + 1, 3 * k + 2, 12 * k)})
    found = []
    for _ in range(60):
        point = {name: random.choice((1, 2, 3, 4, 6, 12)) for name in NAMES}
        for name in random.sample(NAMES, random.randint(1, len(NAMES))):
            point[name] = random.choice(near or [1000])
        if random.random() < 0.3:  # so that divisors, products and equal symbols of the rules have a chance
            one, other = random.sample(NAMES, 2)
            point[one] = random.choice((point[other], point[other] * random.choice((2, 4, 12)), point[other] + 1))
        found.append(point)
    return found


# --- judging


def judge(claim: Claim) -> Answer:
    """Ask our code, with and without a search for witnesses, which would hide a false proof.

    Raises:
        Fooled: it is proved, or refuted by a witness that does not refute it.
    """
    try:
        left, right = build(claim.left), build(claim.right)
    except ExpressionError:
        return Answer.UNKNOWN
    relations = [RULES[i].relation for i in claim.rules]
    answers = [_answer(claim, Facts(relations, searching=searching), left, right) for searching in (False, True)]
    return answers[-1]


def _answer(claim: Claim, facts: Facts, left: Expr, right: Expr) -> Answer:
    try:
        verdict = CLAIMS[claim.kind][0](facts, left, right)
    except ExpressionError:  # `divides` by what is zero
        return Answer.UNKNOWN
    if verdict.proved:
        raise Fooled(f"{verdict.text}, but {claim}")
    if verdict.refuted:
        point = dict.fromkeys(NAMES, 1) | (verdict.witness or {})
        admissible = all(RULES[i].says(*(point[n] for n in NAMES)) for i in claim.rules)
        u, v = value_or_none(claim.left, point), value_or_none(claim.right, point)
        undefined = u is None or v is None or (claim.kind == "divides" and not v)
        if not admissible or not (undefined or claim.kind in false_kinds(claim.left, claim.right, point)):
            raise Fooled(f"{verdict.text}, but it holds there: {claim}")
    return verdict.answer
