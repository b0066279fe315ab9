"""Whether claims about expressions can be true at once: they are refuted by a sum of products of them (`cone`).

Every claim becomes a polynomial in variables that are not negative: an atom less its lower bound. The negation of what is to
be proved is one of the claims. A product of a claim with a monomial is a claim, too; those are made whose negative terms
cancel positive terms of others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from math import comb, gcd, lcm

from bpir.ir.effort import Effort
from bpir.ir.expressions.atoms import Atom, Monomial, monomial
from bpir.ir.expressions.bounds import positive
from bpir.ir.expressions.expression import Expr
from bpir.ir.expressions.fraction import common_monomial
from bpir.ir.expressions.normal_form import intern
from bpir.ir.expressions.terms import Terms, multiply
from bpir.ir.prover.cone import CONSTANT, Inequality, Polynomial, Powers, contradict
from bpir.ir.records import Interned

DEGREE = 8  # of a polynomial; larger ones are left out
TERMS = 120  # of a polynomial in variables that are not negative
PRODUCTS = 90  # polynomials whose sum is sought
ROUNDS = 4  # times that products are added


class Fact(metaclass=Interned):
    """An expression that is not negative; a strict one is not zero either."""

    expr: Expr
    strict: bool = False


def impossible(negation: Fact, facts: Sequence[Fact], lower: Mapping[Atom, int], factors: Iterable[Expr], effort: Effort) -> bool:
    """Whether the negation of a claim and the facts are seen not to be true at once.

    Args:
        negation: the negated claim.
        facts: what is known.
        lower: better lower bounds of atoms than their own.
        factors: expressions by whose terms the negation is multiplied, too: the divisors of the quotients that it rounds.
        effort: what may be spent.
    """
    variables = _Variables(lower)
    first = variables.inequality(negation)
    if first is None:
        return False
    known = [i for fact in facts if (i := variables.inequality(fact)) is not None]
    products = _Products(variables, known, effort)
    products.add(first)
    for powers in _monomials([p for factor in factors if (p := variables.polynomial(factor)) is not None]):
        products.add_product(first, powers)
    for inequality in known:
        products.add(inequality)
    for _ in range(ROUNDS):
        if contradict(products.found, frozenset(variables.signed), effort):
            return True
        if not products.grow():
            break
    return False


def _monomials(polynomials: Sequence[Polynomial]) -> Iterator[Powers]:
    """The monomials of the polynomials, and then those of their products in pairs, each once."""
    yield from dict.fromkeys(p for terms in polynomials for p in terms)
    yield from dict.fromkeys(_sorted(p + q) for a, b in combinations(polynomials, 2) for p in a for q in b)


class _Variables:
    """The variables that represent atoms, numbered as they are met."""

    def __init__(self, lower: Mapping[Atom, int]) -> None:
        self._lower = lower
        self._numbers: dict[Atom, int] = {}
        self._fractions: set[int] = set()  # variables that may be fractions
        self.signed: set[int] = set()

    def _number(self, atom: Atom) -> tuple[int, int | Fraction]:
        """The atom's variable, and what the atom is more than it."""
        bound = self._lower.get(atom, atom.lower)
        if atom not in self._numbers:
            self._numbers[atom] = len(self._numbers)
            if not atom.integral or (bound is not None and bound.denominator != 1):
                self._fractions.add(self._numbers[atom])
            if bound is None or bound < 0:
                self.signed.add(self._numbers[atom])
        return self._numbers[atom], bound if bound is not None and bound > 0 else 0

    def inequality(self, fact: Fact) -> Inequality | None:
        """The fact as a polynomial; None if it is too large."""
        terms = self.polynomial(without_divisors(fact.expr))
        if terms is None:
            return None
        if self._fractions.isdisjoint(number for powers in terms for number in powers):
            return Inequality(_tightened(terms, fact.strict))
        return Inequality(terms, fact.strict)

    def polynomial(self, expr: Expr) -> Polynomial | None:
        """A positive multiple of the expression, which has no divisors, by variables; None if it is too large."""
        if expr.denominator is not None or any(n < 0 for m in expr.terms for _, n in m.factors):
            return None
        sums: dict[Powers, int | Fraction] = {}
        for m, c in expr.terms.items():
            parts = self._shifted(m, c)
            if parts is None:
                return None
            for at, v in parts:
                at = _sorted(at)
                sums[at] = sums.get(at, 0) + v
        if len(sums) > TERMS:
            return None
        scale = lcm(*(v.denominator for v in sums.values()))
        return _primitive({at: int(v * scale) for at, v in sums.items() if v})

    def _shifted(self, m: Monomial, c: int | Fraction) -> list[tuple[Powers, int | Fraction]] | None:
        """The terms of a monomial by variables; None if they are too many, or the degree is too high."""
        if sum(n for _, n in m.factors) > DEGREE:
            return None
        parts: list[tuple[Powers, int | Fraction]] = [(CONSTANT, c)]
        for atom, n in m.factors:
            number, base = self._number(atom)
            # (base + v)**n, its terms by the power of v
            powers = [(k, comb(n, k) * base ** (n - k)) for k in range(n + 1)] if base else [(n, 1)]
            parts = [(at + (number,) * k, v * w) for at, v in parts for k, w in powers]
            if len(parts) > TERMS:
                return None
        return parts


def _tightened(terms: Polynomial, strict: bool) -> Polynomial:
    """The inequality among integers: `2*x - 3 >= 0` is `x - 2 >= 0`, and so is `2*x - 2 > 0`."""
    least = -terms.get(CONSTANT, 0) + strict  # the rest is at least this, and a multiple of the common factor
    rest = {powers: c for powers, c in terms.items() if powers}
    common = gcd(*rest.values()) or 1
    return {powers: c // common for powers, c in rest.items()} | ({CONSTANT: least // -common} if least else {})


def without_divisors(expr: Expr) -> Expr:
    """A polynomial of the same sign wherever the expression has a value."""
    below = expr.denominator
    terms: Terms = expr.terms
    if below is not None and not positive(below):
        terms = multiply(terms, below.terms)
    least = common_monomial(terms)
    # an atom that may be negative is multiplied by its square: the sign stays
    raised = {atom: -n + (0 if atom.positive else n % 2) for atom, n in least.factors if n < 0}
    return intern(multiply({monomial(raised): 1}, terms)) if raised else intern(terms)


class _Products:
    """Inequalities and products of them with monomials, each once."""

    def __init__(self, variables: _Variables, known: Sequence[Inequality], effort: Effort) -> None:
        self.found: list[Inequality] = []
        self._variables = variables
        self._known = known
        self._effort = effort
        self._seen: set[tuple[frozenset[tuple[Powers, int]], bool]] = set()
        self._met: set[Powers] = set()
        self._grown = 0

    def add(self, inequality: Inequality) -> None:
        key = (frozenset(inequality.terms.items()), inequality.strict)
        if key not in self._seen and len(self.found) < PRODUCTS:
            self._seen.add(key)
            self.found.append(inequality)
            self._effort.spend(len(inequality.terms))

    def add_product(self, inequality: Inequality, powers: Powers) -> None:
        """The product with a monomial, which is not negative; it may be zero, so that the product may be."""
        if not powers:
            self.add(inequality)
        elif len(powers) <= DEGREE and not self._variables.signed.intersection(powers):
            terms = {_sorted(at + powers): c for at, c in inequality.terms.items()}
            self.add(Inequality(terms, False))

    def grow(self) -> bool:
        """Add products with a negative term where the latest inequalities have a positive one; whether there are any."""
        latest = self.found[self._grown :]
        self._grown = before = len(self.found)
        for powers in [p for i in latest for p, c in i.terms.items() if c > 0 or self._variables.signed.intersection(p)]:
            if powers not in self._met:
                self._met.add(powers)
                self._cancel(powers)
        return len(self.found) > before

    def _cancel(self, powers: Powers) -> None:
        for inequality in self._known:
            for at, c in inequality.terms.items():
                if c < 0 or self._variables.signed.intersection(at):
                    rest = _divided(powers, at)
                    if rest is not None:
                        self.add_product(inequality, rest)
        for square in self._squares(powers):
            self.add(square)

    def _squares(self, powers: Powers) -> Iterator[Inequality]:
        """`w*(u - v)**2` for the monomial `w*u*v`, which is negative in it; w is not negative."""
        for u, v in dict.fromkeys(combinations(powers, 2)):
            rest = _divided(powers, (u, v))
            if u != v and rest is not None and not self._variables.signed.intersection(rest):
                yield Inequality({_sorted((*rest, u, u)): 1, powers: -2, _sorted((*rest, v, v)): 1})


def _divided(powers: Powers, by: Powers) -> Powers | None:
    rest = list(powers)
    for number in by:
        if number not in rest:
            return None
        rest.remove(number)
    return tuple(rest)


def _sorted(powers: Powers) -> Powers:
    return tuple(sorted(powers))


def _primitive(terms: Polynomial) -> Polynomial:
    common = gcd(*terms.values())
    return {at: c // common for at, c in terms.items()} if common > 1 else terms
