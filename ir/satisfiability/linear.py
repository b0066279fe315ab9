"""Whether linear inequalities exclude each other, monomials counting as variables: complete for rational values of them.

Rows are multiplied by variables that are not negative where that brings no new kinds of monomials (a relaxation of the products).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from math import gcd, prod

from bpir.ir.effort import Effort
from bpir.ir.satisfiability.constraints import Extreme, Linear, Product
from bpir.ir.satisfiability.domains import BITS, Domains
from bpir.ir.satisfiability.propagation import Propagator

_ROWS = 90  # rows that multiplying may lead to
_MONOMIALS = 45
_BITS = 1_000  # of coefficients: larger ones are not worth the effort
_DEGREE = 30  # of monomials, on average
_TERMS = 6  # terms of a row that is multiplied

Monomial = tuple[int, ...]  # variables, sorted, as often as they are a factor
Polynomial = dict[Monomial, int]


def polynomials(propagator: Propagator) -> Iterator[tuple[Polynomial, bool]]:
    """What the constraints say as polynomials: zero (True), or at least zero."""
    definitions = propagator.problem.definitions

    def expanded(v: int) -> Monomial:
        if v not in definitions:
            return (v,)
        return tuple(sorted(w for factor, n in definitions[v].factors for w in expanded(factor) * n))

    degrees = {v: sum(n for _, n in c.factors) for v, c in definitions.items()}
    for constraint in propagator.constraints:
        if sum(degrees.get(v, 1) for v in constraint.variables) > _DEGREE * len(constraint.variables):
            continue
        if isinstance(constraint, Product) and sum(n for _, n in constraint.factors) > _DEGREE:
            continue
        propagator.effort.spend(4 * sum(degrees.get(v, 1) for v in constraint.variables))
        if isinstance(constraint, Linear):
            yield _sum([((), constraint.constant), *((expanded(v), c) for c, v in constraint.terms)]), constraint.equality
        elif isinstance(constraint, Product):
            if definitions.get(constraint.result) is not constraint:
                factors = tuple(sorted(w for v, n in constraint.factors for w in expanded(v) * n))
                yield _sum([(expanded(constraint.result), 1), (factors, -1)]), True
        elif isinstance(constraint, Extreme):
            sign = 1 if constraint.largest else -1
            for v in constraint.arguments:
                yield _sum([(expanded(constraint.result), sign), (expanded(v), -sign)]), False


def _sum(terms: Iterable[tuple[Monomial, int]]) -> Polynomial:
    result: Polynomial = {}
    for m, c in terms:
        result[m] = result.get(m, 0) + c
    return {m: c for m, c in result.items() if c}


def reduced(polynomial: Mapping[Monomial, int], domains: Domains) -> Polynomial:
    """The polynomial with the numbers of variables that have one left."""
    parts = []
    for m, c in polynomial.items():
        kept = []
        for v in m:
            low = domains.lower[v]
            if low is not None and low == domains.upper[v] and low.bit_length() + c.bit_length() < BITS:
                c *= low
            else:
                kept.append(v)
        parts.append((tuple(kept), c))
    return _sum(parts)


def excluded(propagator: Propagator) -> bool:
    """Whether no values in the domains satisfy the constraints, as far as linear reasoning goes.

    Raises:
        Exhausted: the effort is spent.
    """
    domains = propagator.domains
    rows = [(reduced(p, domains), equality) for p, equality in polynomials(propagator)]
    rows = [row for row in rows if row[0]]
    rows += _bounds({v for p, _ in rows for m in p for v in m}, domains)
    rows += _multiplied(rows, domains, propagator.effort)
    return _infeasible(rows, domains, propagator.effort)


def _bounds(variables: Iterable[int], domains: Domains) -> Iterator[tuple[Polynomial, bool]]:
    for v in sorted(variables):
        low, high = domains.lower[v], domains.upper[v]
        if low is not None:
            yield ({(v,): 1, (): -low} if low else {(v,): 1}), False
        if high is not None:
            yield ({(v,): -1, (): high} if high else {(v,): -1}), False


def _multiplied(rows: list[tuple[Polynomial, bool]], domains: Domains, effort: Effort) -> list[tuple[Polynomial, bool]]:
    """Rows times what a monomial has besides one of their variables: `x - y - 1 >= 0` times x where x**2 occurs."""
    known = {m: None for p, _ in rows for m in p if len(m) > 1}
    if len(rows) > _ROWS or len(known) > _MONOMIALS:
        return []
    signed = {v for p, _ in rows for m in p for v in m if (low := domains.lower[v]) is not None and low >= 0}
    seen = {frozenset(p.items()) for p, _ in rows}
    new: list[tuple[Polynomial, bool]] = []
    for _ in range(2):
        found: dict[Monomial, None] = {}
        for m in known:
            for index in [i for i in range(len(m)) if not i or m[i] != m[i - 1]]:
                factor = m[:index] + m[index + 1 :]
                for polynomial, equality in rows:
                    if len(new) + len(rows) > _ROWS or len(known) + len(found) > _MONOMIALS:
                        return new
                    effort.spend(1)
                    if (m[index],) not in polynomial or len(polynomial) > _TERMS or not (equality or signed.issuperset(factor)):
                        continue
                    effort.spend(6 * len(polynomial))
                    row = {tuple(sorted(n + factor)): c for n, c in polynomial.items()}
                    key = frozenset(row.items())
                    if key not in seen:
                        seen.add(key)
                        new.append((row, equality))
                        found.update((n, None) for n in row if len(n) > 1 and n not in known)
        if not found:
            break
        known.update(found)
    return new


def _infeasible(rows: list[tuple[Polynomial, bool]], domains: Domains, effort: Effort) -> bool:
    columns: dict[Monomial, tuple[int, int | None, int]] = {}  # column, the column of its negative part, least value
    count = 0
    for p, _ in rows:
        for m in p:
            if m and m not in columns:
                lows = [domains.lower[v] for v in m]
                if all(low is not None and low >= 0 for low in lows):
                    least = prod(low for low in lows if low is not None)
                    columns[m] = (count, None, least if least.bit_length() < BITS else 0)
                    count += 1
                else:
                    columns[m] = (count, count + 1, 0)
                    count += 2
    tableau: dict[int, tuple[int, dict[int, int]]] = {}  # basic variable: constant, coefficients
    for p, equality in rows:
        for sign in (1, -1) if equality else (1,):
            constant = sign * p.get((), 0)
            row: dict[int, int] = {}
            for m, c in p.items():
                if m:
                    column, negative, least = columns[m]
                    constant += sign * c * least
                    row[column] = sign * c
                    if negative is not None:
                        row[negative] = -sign * c
            if row or constant < 0:
                tableau[count] = (constant, row)
                count += 1
    return _simplex(tableau, effort)


def _simplex(tableau: dict[int, tuple[int, dict[int, int]]], effort: Effort) -> bool:
    """Whether no values that are not negative make all basic variables so: Bland's rule, in integers (a row may be scaled)."""
    while True:
        leaving = min((i for i, (constant, _) in tableau.items() if constant < 0), default=None)
        if leaving is None:
            return False
        constant, row = tableau.pop(leaving)
        entering = min((j for j, c in row.items() if c > 0), default=None)
        if entering is None:
            return True
        scale = row.pop(entering)
        row = {j: -c for j, c in row.items()}
        row[leaving] = 1
        bits = scale.bit_length() + constant.bit_length()
        if bits > _BITS:
            return False
        effort.spend(20 + len(row) * (1 + bits // 32))
        # scale*entering = row - constant
        for i, (other, coefficients) in tableau.items():
            k = coefficients.get(entering)
            if k is None:
                continue
            effort.spend((2 + bits // 32) * (len(coefficients) + len(row)))
            mixed = {j: c * scale for j, c in coefficients.items() if j != entering}
            for j, c in row.items():
                mixed[j] = mixed.get(j, 0) + k * c
            tableau[i] = _scaled(other * scale - k * constant, {j: c for j, c in mixed.items() if c})
        tableau[entering] = _scaled(-constant, row)


def _scaled(constant: int, row: dict[int, int]) -> tuple[int, dict[int, int]]:
    common = gcd(constant, *row.values())
    if common > 1:
        return constant // common, {j: c // common for j, c in row.items()}
    return constant, row
