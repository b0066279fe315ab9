"""Statements on rounding, max and min, squares and divisors that must be proved; each is also true at all small numbers.

A statement that is proved is beside one that is a little too strong: false somewhere, so that it must not be proved.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import pytest

from bpir.ir.effort import Effort
from bpir.ir.expressions.expression import ZERO, Expr, ceildiv, constant, floordiv, maximum, minimum, symbol
from bpir.ir.prover.cone import Inequality, contradict
from bpir.ir.relations.facts import Facts, Relation
from bpir.ir.relations.verdict import Verdict
from bpir.parser import parse_expression

Claim = tuple[str, str, str]
"""Left, how they compare, right."""

PROVED: tuple[tuple[Claim, tuple[str, ...]], ...] = (
    # small numerators
    (("ceildiv(g, t)", "=", "1"), ("t > g",)),
    (("floordiv(g, t)", "=", "0"), ("t > g",)),
    (("ceildiv(g, t)", "=", "2"), ("2*t > g", "g > t")),
    (("floordiv(g + t, t)", "=", "1"), ("t > g",)),
    (("ceildiv(g, t*a)", "=", "1"), ("t > g",)),
    (("3*ceildiv(g, t)*a**2", "=", "3*a**2"), ("t > g",)),
    (("1 - a*floordiv(1, a)", "=", "1 - floordiv(1, a)"), ()),
    (("floordiv(1, a)**2", "=", "floordiv(1, a)"), ()),
    (("2*floordiv(2, a)*(a - 1)*(a - 2)", "=", "0"), ()),
    (("ceildiv(2, a + 1)*b", "=", "b"), ()),
    # order of rounding up and down
    (("floordiv(a, b) + 1", ">=", "ceildiv(a, b)"), ()),
    (("ceildiv(a, b)", ">=", "floordiv(a, b)"), ()),
    (("ceildiv(a, b)", ">=", "a/b"), ()),
    (("b*floordiv(a, b) + b", ">", "a"), ()),
    (("b", ">", "a - b*floordiv(a, b)"), ()),
    (("c*t*floordiv(a, b) + c*t", ">=", "c*t*ceildiv(a, b)"), ()),
    (("floordiv(a - b, c) + 1", ">=", "ceildiv(a - b, c)"), ()),
    (("ceildiv(a, b)", ">=", "floordiv(a - 1, b) + 1"), ()),
    # monotonicity, and sums
    (("ceildiv(a + b, 4)", ">=", "ceildiv(a, 4)"), ()),
    (("floordiv(a + b, 4)", ">=", "floordiv(a, 4)"), ()),
    (("ceildiv(a, b)", ">=", "ceildiv(a, b + c)"), ()),
    (("floordiv(a, b)", ">=", "floordiv(a, b + c)"), ()),
    (("floordiv(a, b)", ">=", "floordiv(c, b)"), ("a > c",)),
    (("ceildiv(a, c) + ceildiv(b, c)", ">=", "ceildiv(a + b, c)"), ()),
    (("floordiv(a + b, c)", ">=", "floordiv(a, c) + floordiv(b, c)"), ()),
    (("2*ceildiv(a, b)", ">=", "ceildiv(2*a, b)"), ()),
    (("a", ">=", "ceildiv(a, b)"), ()),
    (("ceildiv(max(a, b), c)", "=", "max(ceildiv(a, c), ceildiv(b, c))"), ()),
    (("floordiv(min(a, b), c)", "=", "min(floordiv(a, c), floordiv(b, c))"), ()),
    (("ceildiv(ceildiv(a + b, 4), 3)", ">=", "ceildiv(ceildiv(a, 4), 3)"), ()),
    (("ceildiv(max(a, b), 4)", ">=", "ceildiv(a, 4)"), ()),
    # divisors
    (("a", "=", "b"), ("a | b", "b | a")),
    (("a", "=", "c"), ("a | b", "b | c", "c | a")),
    (("2*a", ">=", "a + b"), ("b | a",)),
    (("c", "|", "b"), ("c | a", "c | a + b")),
    (("c", "|", "b"), ("c | a", "c | a - b")),
    (("c", "|", "a - b"), ("c | a + t", "c | b + t")),
    (("c", "|", "5*a"), ("c | 2*a + b", "c | b - 3*a")),
    (("c", "|", "a**2 - b**2"), ("c | a + b",)),
    (("c*t", "|", "a*(a + b)"), ("c | a", "t | a + b")),
    (("g + 1", "|", "a*c"), ("g + 1 | a*c",)),
    (("g + 1", "|", "a*b*c + g + 1"), ("g + 1 | a*c",)),
    (("g + t", "|", "3*a + 3*b"), ("g + t | a + b",)),
    # squares
    (("(a - b)**2", ">=", "0"), ()),
    (("(a + b - 2*c)**2", ">=", "0"), ()),
    (("a/b + b/a", ">=", "2"), ()),
    (("(a + b)**2", ">=", "4*a*b"), ()),
    (("(a + b + c)**2", ">=", "3*(a*b + b*c + c*a)"), ()),
    (("4*a**2 + 9*b**2", ">=", "12*a*b"), ()),
    (("a**4 + b**4", ">=", "2*a**2*b**2"), ()),
    (("a**3 + b**3 + c**3", ">=", "3*a*b*c"), ()),
    (("t*(a - b)**2 + 1", ">", "0"), ()),
    (("(a - max(b, c))**2", ">=", "0"), ()),
    # between max and min
    (("max(a, b)", ">=", "(a + b)/2"), ()),
    (("(a + b)/2", ">=", "min(a, b)"), ()),
    (("max(a, b, c)", ">=", "(a + 2*b + 3*c)/6"), ()),
    (("(a + 2*b + 3*c)/6", ">=", "min(a, b, c)"), ()),
    (("max(a, b, c)", ">=", "(max(a, b) + c)/2"), ()),
    (("max(a*t, b)", ">=", "(a*t + b)/2"), ()),
    (("max(a, b)*t/c", ">=", "(a + b)*t/(2*c)"), ()),
    (("max(a, b)**2", ">=", "a*b"), ()),
    (("a*b", ">=", "min(a, b)**2"), ()),
    (("max(a, b) + max(b, c)", ">=", "max(a + b, b + c)"), ()),
    (("max(min(a, b), min(a, c))", "=", "min(max(b, c), a)"), ()),
    (("max(a, b)", ">", "b"), ("a > b",)),
    (("max(0, a - b) + b", "=", "max(a, b)"), ()),
)  # fmt: skip

FALSE: tuple[tuple[Claim, tuple[str, ...]], ...] = (
    (("ceildiv(g, t)", "=", "1"), ("t + 2 > g",)),
    (("floordiv(g, t)", "=", "0"), ("t + 1 > g",)),
    (("floordiv(a, b)", ">=", "ceildiv(a, b)"), ()),
    (("floordiv(a, b) + 1", ">", "ceildiv(a, b)"), ()),
    (("floordiv(a/b, 1) + 1/2", ">=", "ceildiv(a/b, 1)"), ()),
    (("ceildiv(a, 4)", ">=", "ceildiv(a + b, 4)"), ()),
    (("ceildiv(a - b, c)", ">=", "ceildiv(a - b, c + 1)"), ()),  # a negative number grows when it is divided by more
    (("ceildiv(a + b, c)", ">=", "ceildiv(a, c) + ceildiv(b, c)"), ()),
    (("1 - a*floordiv(2, a)", "=", "1 - 2*floordiv(1, a)"), ()),
    (("a", "=", "b"), ("a | b",)),
    (("a", "=", "b"), ("a | b", "b | 2*a")),
    (("c", "|", "b"), ("c | a", "c | a + 2*b")),
    (("c", "|", "a - b"), ("c | a + b",)),
    (("c**2", "|", "a*b"), ("c | a*b",)),
    (("g + 1", "|", "a"), ("g + 1 | a*c",)),
    (("(a - b)**2", ">", "0"), ()),
    (("(a - b)**2", ">=", "1"), ()),
    (("4*a**2 + 9*b**2", ">=", "13*a*b"), ()),
    (("a*b*(a - b)**2", ">", "0"), ()),
    (("max(a, b)", ">", "(a + b)/2"), ()),
    (("max(a, b)", ">=", "(a + b)/2 + 1/2"), ()),
    (("min(a, b)", ">=", "(a + b)/2"), ()),
    (("max(a, b)*(a - t)", ">=", "(a + b)/2*(a - t)"), ()),  # the factor may be negative
    (("max(a + b, b + c)", ">=", "max(a, b) + max(b, c)"), ()),
    (("max(1/a, 1/b) - 1/(a*b)", ">", "0"), ()),
    (("max(0, b - 40)*(a - b)", ">=", "0"), ()),
)  # fmt: skip


def relation(text: str) -> Relation:
    for sign, kind in (("|", "divides"), (">", "greater"), ("=", "equal")):
        if sign in text:
            left, right = text.split(sign)
            return Relation(kind, parse_expression(left.strip()), parse_expression(right.strip()))
    raise ValueError(text)


def sides(claim: Claim) -> tuple[Expr, Expr]:
    return parse_expression(claim[0]), parse_expression(claim[2])


def ask(facts: Facts, claim: Claim) -> Verdict:
    left, right = sides(claim)
    asked: dict[str, Callable[[Expr, Expr], Verdict]] = {
        "=": facts.equal, ">=": facts.at_least, ">": facts.greater, "|": facts.divides,
    }  # fmt: skip
    return asked[claim[1]](left, right)


def holds(claim: Claim, values: dict[str, int]) -> bool:
    left, right = (side.evaluate(values) for side in sides(claim))
    if claim[1] == "|":
        return (right / left).denominator == 1
    return left == right if claim[1] == "=" else left > right if claim[1] == ">" else left >= right


def points(claim: Claim, relations: list[Relation], most: int) -> list[dict[str, int]]:
    names = sorted({name for e in (*sides(claim), *(s for r in relations for s in (r.left, r.right))) for name in e.symbols})
    found = [dict(zip(names, point, strict=True)) for point in product(range(1, most + 1), repeat=len(names))]
    return [values for values in found if all(r.holds(values) for r in relations)]


def _id(case: object) -> str:
    return " ".join(case) if isinstance(case, tuple) else str(case)


@pytest.mark.campaign(keep=22)
@pytest.mark.parametrize(("claim", "under"), PROVED, ids=_id)
def test_proved_and_true(claim: Claim, under: tuple[str, ...]) -> None:
    relations = [relation(text) for text in under]
    verdict = ask(Facts(relations, searching=False), claim)
    assert verdict.proved, verdict.text
    admissible = points(claim, relations, 9 if len(claim[0] + claim[2]) < 40 else 6)
    assert len(admissible) > 3
    assert all(holds(claim, values) for values in admissible)


@pytest.mark.parametrize(("claim", "under"), FALSE, ids=_id)
def test_false_and_not_proved(claim: Claim, under: tuple[str, ...]) -> None:
    relations = [relation(text) for text in under]
    assert not all(holds(claim, values) for values in points(claim, relations, 7 if "40" not in claim[0] else 45))
    assert not ask(Facts(relations, searching=False), claim).proved


def test_a_factor_that_may_be_negative_or_a_fraction() -> None:
    """Divisors and factors whose sign nothing shows."""
    a, b, c, t = (symbol(name) for name in "abct")
    facts = Facts(searching=False)
    assert not facts.at_least(floordiv(c, a - b) * (a - b), c - (a - b)).proved
    assert not facts.at_least(ceildiv(c, a - b) * (a - b), c).proved  # the divisor may be negative
    assert facts.at_least(ceildiv(c, a - b) * (a - b) ** 2, c * (a - b)).proved
    assert not facts.at_least(maximum(a - b, c - t) * (a - t), (a - b) * (a - t)).proved
    assert not facts.at_least(floordiv(a, constant(2) * b / 3) + 1, ceildiv(a * 3, 2 * b) + 1).proved
    assert not facts.at_least(a / (b - c), ZERO).proved
    assert facts.at_least(minimum(1 / a, 1 / b), 1 / (a * b)).proved
    assert not facts.greater(minimum(1 / a, 1 / b), 1 / (a * b)).proved


def test_the_cone() -> None:
    """By hand: `x - y - 1 >= 0, y - x >= 0` is a contradiction; with `x - y` in place of the first it is none, unless one is strict."""
    x, y, one = (0,), (1,), ()
    more, less = Inequality({x: 1, y: -1, one: -1}), Inequality({x: -1, y: 1})
    unsigned: frozenset[int] = frozenset()
    assert contradict([more, less], unsigned, Effort(1000))
    equal = Inequality({x: 1, y: -1})
    assert not contradict([equal, less], unsigned, Effort(1000))
    assert contradict([equal, Inequality(less.terms, True)], unsigned, Effort(1000))
    # -x - 1 >= 0 contradicts x >= 0, and nothing where x may be negative
    negative = Inequality({x: -1, one: -1})
    assert contradict([negative], unsigned, Effort(1000))
    assert not contradict([negative], frozenset([0]), Effort(1000))
    assert contradict([negative, Inequality({x: 1})], frozenset([0]), Effort(1000))


def test_effort_is_bounded() -> None:
    """Many nodes in a sum: an answer, by steps that are counted, and the same each time."""
    nodes = [ceildiv(symbol(f"w{i}"), symbol(f"v{i}") + i) for i in range(40)]
    left = sum(nodes, ZERO) * sum(nodes[:5], ZERO)
    answers = {Facts(searching=False).at_least(left, nodes[0] * nodes[1] * 50).answer for _ in range(2)}
    assert len(answers) == 1


def test_a_multiple_of_a_maximum_is_an_integer_where_that_of_each_argument_is() -> None:
    """`16*max(4481*t + 256, 4033*t + 2304)/t` with `t | 128`: 16*256 and 16*2304 are multiples of 128, 256/t alone may be none of `t`.

    The normal form takes 16 out of the maximum, so the factor must be put back before its arguments are looked at.
    """
    t = symbol("t")
    size = maximum(71696 * t + 4096, 64528 * t + 36864) / t
    assert Facts([Relation("divides", t, constant(128))]).integral(size).proved
    assert Facts([Relation("divides", t, constant(128))]).integral(5 * minimum(t + 256, 3 * t + 384, 128 * t) / t).proved
    assert Facts([Relation("divides", t, constant(128))]).integral(maximum(t + 64, t + 32) / t).refuted
