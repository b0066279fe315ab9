"""Whether an expression is an integer: by its form, by divisor facts, and by sums of multiples of such facts."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import chain, combinations_with_replacement
from itertools import product as grid
from math import lcm, prod

from bpir.ir.expressions.atoms import UNIT, Atom, Monomial, monomial, power, product
from bpir.ir.expressions.bounds import integral, whole
from bpir.ir.expressions.expression import Expr
from bpir.ir.expressions.fraction import divide
from bpir.ir.expressions.normal_form import intern
from bpir.ir.relations.system import System

_INTEGER_POINTS = 2_000  # points at which a polynomial with fractional coefficients is tried
_FACT_FACTORS = 4  # divisor facts that one term may use
_FACTS = 8  # divisor facts whose products are used, too
_MULTIPLES = 40  # multiples of divisor facts in one sum
_TERMS = 40  # of an expression that such a sum may be

Key = tuple[Monomial, Expr | None]  # a monomial over a denominator
Vector = dict[Key, int]


def is_integral(system: System, expr: Expr) -> bool:
    """Whether every value is an integer."""
    if integral(expr):
        return True
    if expr.denominator is None and _is_sum_of_integers(system, expr):
        return True
    return _is_sum_of_multiples(system.whole, expr)


def _is_sum_of_integers(system: System, expr: Expr) -> bool:
    """Whether each term of a polynomial is an integer, or those that are not are together."""
    rest = {m: c for m, c in expr.terms.items() if not is_term_integral(system, m, c)}
    return not rest or _integer_valued(intern(rest))


def is_term_integral(system: System, m: Monomial, c: int | Fraction) -> bool:
    """Whether one term is an integer, by the divisor facts: `B*h*d/t` where `h*d/t` is one.

    A multiple of a `max` or a `min` is one if that multiple of each argument is: its value is that of an argument.
    """
    if _matches(system, m, c, _FACT_FACTORS):
        return True
    node = next((atom for atom, n in m.factors if n == 1 and atom.kind in ("max", "min")), None)
    if node is None:
        return False
    rest = intern({product(m, monomial({node: -1})): c})
    return all(is_integral(system, argument * rest) for argument in node.arguments)


def _matches(system: System, m: Monomial, c: int | Fraction, left: int) -> bool:
    """Whether a term is an integer times a product of so many divisor facts."""
    if c.denominator == 1 and whole(m):
        return True
    return bool(left) and any(_matches(system, n, d, left - 1) for n, d in _without_facts(system, m, c))


def _without_facts(system: System, m: Monomial, c: int | Fraction) -> Iterator[tuple[Monomial, Fraction]]:
    """The term divided by each divisor fact of one term that takes a divisor of it away."""
    lacking = {atom for atom, n in m.factors if n < 0}
    for fact in system.whole:
        if len(fact.terms) == 1 and fact.denominator is None:
            ((n, d),) = fact.terms.items()
            if _takes_away(n, lacking) or (d.denominator != 1 and c.denominator != 1):
                yield product(m, power(n, -1)), Fraction(c) / d


def _takes_away(m: Monomial, lacking: Collection[Atom]) -> bool:
    """Whether a monomial is divided by one of the atoms."""
    return any(n < 0 and atom in lacking for atom, n in m.factors)


def _integer_valued(expr: Expr) -> bool:
    """Whether a polynomial with fractional coefficients has integer values only (`x*(x + 1)/2`): complete for symbols.

    It has if it has on the grid of 0..degree in each atom (Newton's interpolation has integer coefficients there).
    """
    degrees = _degrees(expr)
    if degrees is None or prod(n + 1 for n in degrees.values()) * len(expr.terms) > _INTEGER_POINTS:
        return False
    points = grid(*(range(n + 1) for n in degrees.values()))
    return all(_value(expr, dict(zip(degrees, point, strict=True))).denominator == 1 for point in points)


def _degrees(expr: Expr) -> dict[Atom, int] | None:
    """The degree in each atom; None unless it is a polynomial in atoms that are integers."""
    degrees: dict[Atom, int] = {}
    for atom, n in (factor for m in expr.terms for factor in m.factors):
        if n < 0 or not atom.integral:
            return None
        degrees[atom] = max(degrees.get(atom, 0), n)
    return degrees


def _value(expr: Expr, values: Mapping[Atom, int]) -> Fraction:
    """The value of a polynomial where its atoms have these values."""
    return sum((c * prod(values[a] ** n for a, n in m.factors) for m, c in expr.terms.items()), Fraction(0))


# Sums of multiples: `c | b` where `c | a` and `c | a + b`


def _is_sum_of_multiples(facts: Sequence[Expr], expr: Expr) -> bool:
    """Whether the expression is an integer plus a sum of integral multiples of integers, and of products of two of them."""
    target = _open(expr)
    if not facts or len(target) > _TERMS:
        return False
    symbols = set(expr.symbols)
    known = [fact for fact in facts if not symbols.isdisjoint(fact.symbols)][:_FACTS]
    products = [a * b for a, b in combinations_with_replacement(known, 2)]
    multiples = [_open(fact * intern({w: 1})) for fact, w in _multiples([*known, *products], target)]
    return _in_lattice(*_scaled(target, multiples))


def _scaled(target: dict[Key, int | Fraction], multiples: list[dict[Key, int | Fraction]]) -> tuple[Vector, list[Vector], list[Key]]:
    """The target and the multiples as vectors of integers, with those of integral monomials; and all keys."""
    every = (target, *multiples)
    keys = list(dict.fromkeys(chain.from_iterable(every)))
    scale = lcm(*(c.denominator for terms in every for c in terms.values()))
    vectors = [_times(terms, scale) for terms in multiples]
    vectors += [{key: scale} for key in keys if key[1] is None and whole(key[0])]
    return _times(target, scale), vectors, keys


def _times(terms: Mapping[Key, int | Fraction], scale: int) -> Vector:
    return {key: int(c * scale) for key, c in terms.items()}


def _open(expr: Expr) -> dict[Key, int | Fraction]:
    """The terms of the expression that its form does not show to be integers, by their monomials and denominators."""
    below = expr.denominator
    if below is not None and all(n > 0 for m in expr.terms for _, n in m.factors):
        quotient, _ = divide(expr.terms, below.terms)
        expr = expr - intern({m: c for m, c in quotient.items() if _is_whole_term(m, c)})
        below = expr.denominator
    return {(m, below): c for m, c in expr.terms.items() if below is not None or not _is_whole_term(m, c)}


def _is_whole_term(m: Monomial, c: int | Fraction) -> bool:
    return type(c) is int and whole(m)


def _multiples(facts: Sequence[Expr], target: dict[Key, int | Fraction]) -> Iterator[tuple[Expr, Monomial]]:
    """Facts, and integral monomials that make a term of the fact one of the target."""
    seen: set[tuple[Expr, Monomial]] = set()
    for fact in facts:
        for factor in filter(whole, (UNIT, *_factors(fact, target))):
            if (fact, factor) not in seen and len(seen) < _MULTIPLES:
                seen.add((fact, factor))
                yield fact, factor


def _factors(fact: Expr, target: Iterable[Key]) -> list[Monomial]:
    """The monomials that make a term of the fact one of the target."""
    return [product(m, power(n, -1)) for m, below in target for n in fact.terms if below is fact.denominator]


def _in_lattice(target: Vector, vectors: list[Vector], keys: Sequence[Key]) -> bool:
    """Whether the target is a sum of integral multiples of the vectors: one key after the other is eliminated."""
    for key in keys:
        holding = [v for v in vectors if key in v]
        vectors = [v for v in vectors if key not in v]
        least, freed = _reduced(holding, key) if holding else ({}, [])
        vectors += freed
        if key in target:
            if not least or target[key] % least[key]:
                return False
            target = _less(target, least, target[key] // least[key])
    return not target


def _reduced(holding: list[Vector], key: Key) -> tuple[Vector, list[Vector]]:
    """Vectors with a key, by Euclid's algorithm: one whose coefficient is their common divisor, and what is left of the others."""
    freed: list[Vector] = []
    while len(holding) > 1:
        holding.sort(key=lambda v: abs(v[key]))
        least, *others = holding
        others = [_less(v, least, v[key] // least[key]) for v in others]
        freed += [v for v in others if v and key not in v]
        holding = [least, *(v for v in others if key in v)]
    return holding[0], freed


def _less(a: Vector, b: Vector, times: int) -> Vector:
    result = dict(a)
    for key, c in b.items():
        value = result.get(key, 0) - times * c
        if value:
            result[key] = value
        else:
            result.pop(key, None)
    return result
