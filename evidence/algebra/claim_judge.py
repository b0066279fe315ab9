"""Whether an answer about a pair of expressions is right, by plain arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import attrs
from algebra.claim_trees import (
    NAMES,
    Number,
    Pair,
    Point,
    Tree,
    build,
    text,
    value_or_none,
)

from bpir.ir.expressions.expression import Expr, ExpressionError
from bpir.ir.relations.facts import Facts
from bpir.ir.relations.verdict import Answer, Verdict


class Fooled(AssertionError):
    """An answer that arithmetic contradicts."""


@attrs.frozen
class Outcome:
    """The answer to one claim, and whether the claim is true on the whole grid."""

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
    built = [_built(tree, values) for tree, values in ((pair.left, lefts), (pair.right, rights))]
    both = [(point, u, v) for point, u, v in zip(points, lefts, rights, strict=True) if u is not None and v is not None]
    if pair.relation == "=" and any(u != v for _, u, v in both):
        raise Fooled(f"the laws of this test are wrong: {pair}")
    p, r = built
    if p is None or r is None:
        return []
    if pair.facts.contradiction is not None:
        raise Fooled(f"{pair}: {pair.facts.contradiction}, but {points[0]} is admissible")
    _compare_values(pair, p, points, lefts)
    _compare_values(pair, r, points, rights)
    return [outcome for name in CLAIMS if (outcome := _judged(pair, name, p, r, both)) is not None]


def _built(tree: Tree, values: list[Number | None]) -> Expr | None:
    """The tree as our expression; None if it is refused, and rightly: it has a value nowhere."""
    try:
        return build(tree)
    except ExpressionError as error:
        if any(v is not None for v in values):
            raise Fooled(f"{text(tree)} cannot be built: {error}") from None
        return None


def _judged(pair: Pair, name: str, p: Expr, r: Expr, both: list[tuple[Point, Number, Number]]) -> Outcome | None:
    """The answer to one claim; None if there is none, because it divides by zero. `both` are the points where both trees have a value."""
    ask, holds = CLAIMS[name]
    try:
        verdict = ask(pair.facts, p, r)
    except ExpressionError:
        return None
    defined = [(point, u, v) for point, u, v in both if v] if name == "divides" else both
    failing = next((point for point, u, v in defined if not holds(u, v)), None)
    if verdict.proved and failing is not None:
        raise Fooled(f"{name} is {verdict.text}, but not at {failing}: {pair}")
    undefined = verdict.refuted and not _refutes(pair, name, verdict.witness or {})
    return Outcome(name, verdict.answer, failing is None, undefined)


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
