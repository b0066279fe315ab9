"""Proofs that no numbers satisfy the constraints: linear reasoning, remainders, powers, and cases of these."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import combinations, product
from math import gcd, prod

from bpir.ir.satisfiability.constraints import Extreme, Linear
from bpir.ir.satisfiability.domains import Empty
from bpir.ir.satisfiability.linear import Monomial, Polynomial, excluded, polynomials, reduced
from bpir.ir.satisfiability.propagation import Propagator, root_down

_MODULI = (2, 3, 4, 5, 7, 8, 9, 16)
_PRIMES = (2, 3, 5, 7)
_SYMBOLS = 8  # symbols of a problem whose orders and remainders are tried

Split = Sequence[Linear]
"""Constraints of which one holds."""


def refuted(propagator: Propagator) -> bool:
    """Whether it is proved that no numbers are left.

    Raises:
        Exhausted: the effort is spent.
    """
    if excluded(propagator) or _powers_differ(propagator) or _descends(propagator):
        return True
    if len(propagator.problem.symbols) > _SYMBOLS:
        return False
    return any(_no_remainders(propagator, m) for m in _MODULI) or _by_cases(propagator)


# Powers


def _powers_differ(propagator: Propagator) -> bool:
    """Whether an equation says that a number is a power that it is not: `a**2 = 2*b**2`."""
    return any(len(terms) == 2 and _differ(*terms.items()) for terms in _equations_of_positive(propagator))


def _differ(left: tuple[Monomial, int], right: tuple[Monomial, int]) -> bool:
    """Whether two terms of positive variables can't add up to zero: by their signs, or since a quotient would be no power."""
    (m, c), (n, d) = left, right
    if c * d > 0:
        return True
    exponents: dict[int, int] = {}
    for v in m:
        exponents[v] = exponents.get(v, 0) + 1
    for v in n:
        exponents[v] = exponents.get(v, 0) - 1
    common = gcd(*exponents.values())
    # m/n = -d/c, and m/n is a power of the common exponent
    if common == 0:
        return c != -d
    shared = gcd(c, d)
    return common > 1 and not all(_is_power(abs(x) // shared, common) for x in (c, d))


def _descends(propagator: Propagator) -> bool:
    """Whether an equation of terms of one degree makes all its symbols multiples of a prime: so are the quotients by it, without end."""
    for terms in _equations_of_positive(propagator):
        symbols = sorted({v for m in terms for v in m})
        if len({len(m) for m in terms}) != 1 or not 1 < len(symbols) <= 3:
            continue
        for prime in _PRIMES:
            propagator.effort.spend(prime ** len(symbols) * 2 * sum(map(len, terms)))
            if _only_zeros(terms, symbols, prime):
                return True
    return False


def _equations_of_positive(propagator: Propagator) -> Iterator[Polynomial]:
    """The polynomials of positive variables that are zero."""
    domains = propagator.domains
    for polynomial, equality in polynomials(propagator):
        terms = reduced(polynomial, domains)
        if equality and all((low := domains.lower[v]) is not None and low >= 1 for m in terms for v in m):
            yield terms


def _only_zeros(terms: Polynomial, symbols: Sequence[int], prime: int) -> bool:
    """Whether the polynomial is zero modulo a prime for zeros only."""
    for values in product(range(prime), repeat=len(symbols)):
        point = dict(zip(symbols, values, strict=True))
        if any(values) and sum(c * prod(point[v] for v in m) for m, c in terms.items()) % prime == 0:
            return False
    return True


def _is_power(value: int, n: int) -> bool:
    root: int = root_down(value, n) ** n
    return root == value


# Remainders


def _no_remainders(propagator: Propagator, modulus: int) -> bool:
    """Whether no remainders of the symbols by the modulus are possible; the first that are end the search."""
    domains = propagator.domains
    symbols = [v for v in range(len(propagator.problem.symbols)) if not domains.fixed(v)]

    def none(index: int) -> bool:
        if index == len(symbols):
            return False
        mark = domains.mark()
        for remainder in range(modulus):
            try:
                domains.congruent(symbols[index], modulus, remainder)
                propagator.run()
                if not none(index + 1):
                    return False
            except Empty:
                pass
            finally:
                domains.undo(mark)
        return True

    return none(0)


# Cases


def _by_cases(propagator: Propagator) -> bool:
    """Whether each case of splits is refuted. One split is tried after the other, then those together that refuted some cases."""
    helpful = []
    for split in _splits(propagator):
        left = [part for part in split if not _refuted_with(propagator, part)]
        if not left:
            return True
        if len(left) < len(split):
            helpful.append(split)
    return _all_refuted(propagator, helpful)


def _all_refuted(propagator: Propagator, splits: Sequence[Split]) -> bool:
    if not splits:
        return False
    for part in splits[0]:
        with _assuming(propagator, part) as possible:
            if possible and not excluded(propagator) and not _all_refuted(propagator, splits[1:]):
                return False
    return True


def _refuted_with(propagator: Propagator, part: Linear) -> bool:
    with _assuming(propagator, part) as possible:
        return not possible or excluded(propagator)


@contextmanager
def _assuming(propagator: Propagator, part: Linear) -> Iterator[bool]:
    """With one more constraint; whether numbers are left."""
    mark = propagator.domains.mark()
    propagator.push(part)
    try:
        possible = True
        try:
            propagator.run(everything=True)
        except Empty:
            possible = False
        yield possible
    finally:
        propagator.pop()
        propagator.domains.undo(mark)


def _splits(propagator: Propagator) -> Iterator[Split]:
    domains = propagator.domains
    for constraint in propagator.problem.constraints:
        if isinstance(constraint, Extreme) and len(constraint.arguments) <= 4:
            yield [Linear(((1, constraint.result), (-1, a)), 0, True) for a in constraint.arguments]
    symbols = range(len(propagator.problem.symbols))
    free = [v for v in (*symbols, *propagator.problem.quotients) if not domains.fixed(v)]
    for a, b in combinations(free[:_SYMBOLS], 2):
        yield [
            Linear(((1, a), (-1, b)), -1, False),
            Linear(((1, a), (-1, b)), 0, True),
            Linear(((-1, a), (1, b)), -1, False),
        ]
    for v in free:
        low = domains.lower[v]
        if low is not None:
            yield [Linear(((1, v),), -low, True), Linear(((1, v),), -low - 1, False)]
