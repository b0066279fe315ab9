"""Whether linear inequalities exclude each other, monomials counting as variables: complete for rational values of them.

Rows are multiplied by variables that are not negative where that brings no new kinds of monomials (a relaxation of the products).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from math import gcd, prod

from bpir.ir.effort import Effort
from bpir.ir.satisfiability.constraints import Constraint, Linear, Product
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
    """The constraints as polynomials: zero (True), or at least zero."""
    definitions = propagator.problem.definitions
    degrees = {v: _degree(c) for v, c in definitions.items()}
    for constraint in propagator.constraints:
        degree = sum(degrees.get(v, 1) for v in constraint.variables)
        if degree > _DEGREE * len(constraint.variables) or (isinstance(constraint, Product) and _degree(constraint) > _DEGREE):
            continue
        propagator.effort.spend(4 * degree)
        yield from _polynomials_of(constraint, definitions)


def _degree(product: Product) -> int:
    return sum(n for _, n in product.factors)


def _polynomials_of(constraint: Constraint, definitions: Mapping[int, Product]) -> Iterator[tuple[Polynomial, bool]]:
    """One constraint; nothing for a product that is a definition."""
    if isinstance(constraint, Linear):
        terms = [((), constraint.constant), *((_expanded(v, definitions), c) for c, v in constraint.terms)]
        yield _sum(terms), constraint.equality
    elif isinstance(constraint, Product):
        if definitions.get(constraint.result) is not constraint:
            yield _sum([(_expanded(constraint.result, definitions), 1), (_expanded_factors(constraint, definitions), -1)]), True
    else:
        sign = 1 if constraint.largest else -1
        for v in constraint.arguments:
            yield _sum([(_expanded(constraint.result, definitions), sign), (_expanded(v, definitions), -sign)]), False


def _expanded(v: int, definitions: Mapping[int, Product]) -> Monomial:
    """The product that a variable is defined as; else the variable."""
    return _expanded_factors(definitions[v], definitions) if v in definitions else (v,)


def _expanded_factors(product: Product, definitions: Mapping[int, Product]) -> Monomial:
    return tuple(sorted(w for v, n in product.factors for w in _expanded(v, definitions) * n))


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
    products = _Products(rows, domains)
    for _ in range(2):
        if not products.multiply(effort):
            break
    return products.new


class _Products:
    """Rows times monomials, as long as they are few."""

    def __init__(self, rows: list[tuple[Polynomial, bool]], domains: Domains) -> None:
        self._rows = rows
        self._known = dict.fromkeys(m for p, _ in rows for m in p if len(m) > 1)
        self._seen = {frozenset(p.items()) for p, _ in rows}
        self._signed = {v for p, _ in rows for m in p for v in m if domains.at_least_zero(v)}
        self.new: list[tuple[Polynomial, bool]] = []

    def multiply(self, effort: Effort) -> bool:
        """Multiply the rows by what the known monomials leave; whether that brought monomials that may be used in turn."""
        found: dict[Monomial, None] = {}
        for v, factor in (part for m in self._known for part in _parts(m)):
            for row in self._rows:
                if self._many(len(found)):
                    return False
                effort.spend(1)
                if self._helps(row, v, factor):
                    effort.spend(6 * len(row[0]))
                    found.update(dict.fromkeys(self._add(row, factor)))
        self._known.update(found)
        return bool(found)

    def _many(self, found: int) -> bool:
        return len(self.new) + len(self._rows) > _ROWS or len(self._known) + found > _MONOMIALS

    def _helps(self, row: tuple[Polynomial, bool], v: int, factor: Monomial) -> bool:
        """Whether a short row has the variable, and may be multiplied by the factor: an inequality by what is not negative."""
        polynomial, equality = row
        return (v,) in polynomial and len(polynomial) <= _TERMS and (equality or self._signed.issuperset(factor))

    def _add(self, row: tuple[Polynomial, bool], factor: Monomial) -> list[Monomial]:
        """The row times the factor, if that is new; the monomials of it that are not known."""
        product = {tuple(sorted(n + factor)): c for n, c in row[0].items()}
        key = frozenset(product.items())
        if key in self._seen:
            return []
        self._seen.add(key)
        self.new.append((product, row[1]))
        return [n for n in product if len(n) > 1 and n not in self._known]


def _parts(m: Monomial) -> Iterator[tuple[int, Monomial]]:
    """Each variable of a monomial, and what is left without it."""
    for index, v in enumerate(m):
        if not index or v != m[index - 1]:
            yield v, m[:index] + m[index + 1 :]


_Columns = dict[Monomial, tuple[int, int | None, int]]
"""Per monomial: its column, the column of its negative part, its least value."""


def _infeasible(rows: list[tuple[Polynomial, bool]], domains: Domains, effort: Effort) -> bool:
    """Whether no rational values of the monomials make every row zero, or at least zero."""
    columns, count = _columns(rows, domains)
    tableau: dict[int, tuple[int, dict[int, int]]] = {}  # basic variable: constant, coefficients
    for p, equality in rows:
        for sign in (1, -1) if equality else (1,):
            constant, row = _row(p, sign, columns)
            if row or constant < 0:
                tableau[count] = (constant, row)
                count += 1
    return _simplex(tableau, effort)


def _columns(rows: list[tuple[Polynomial, bool]], domains: Domains) -> tuple[_Columns, int]:
    """Columns for the monomials, and how many: two for one that may be negative."""
    columns: _Columns = {}
    count = 0
    for m in (m for p, _ in rows for m in p):
        if not m or m in columns:
            continue
        if all(domains.at_least_zero(v) for v in m):
            least = prod(domains.lower[v] or 0 for v in m)
            columns[m] = (count, None, least if least.bit_length() < BITS else 0)
            count += 1
        else:
            columns[m] = (count, count + 1, 0)
            count += 2
    return columns, count


def _row(polynomial: Polynomial, sign: int, columns: _Columns) -> tuple[int, dict[int, int]]:
    """The constant and the coefficients of the polynomial times the sign, over what each monomial has beyond its least value."""
    constant = sign * polynomial.get((), 0)
    row: dict[int, int] = {}
    for m, c in polynomial.items():
        if m:
            column, negative, least = columns[m]
            constant += sign * c * least
            row[column] = sign * c
            if negative is not None:
                row[negative] = -sign * c
    return constant, row


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
            if k is not None:
                effort.spend((2 + bits // 32) * (len(coefficients) + len(row)))
                tableau[i] = _scaled(other * scale - k * constant, _mixed(coefficients, scale, row, k, entering))
        tableau[entering] = _scaled(-constant, row)


def _mixed(a: dict[int, int], scale: int, b: dict[int, int], factor: int, without: int) -> dict[int, int]:
    """The coefficients of `scale*a + factor*b`, without one column."""
    mixed = {j: c * scale for j, c in a.items() if j != without}
    for j, c in b.items():
        mixed[j] = mixed.get(j, 0) + factor * c
    return {j: c for j, c in mixed.items() if c}


def _scaled(constant: int, row: dict[int, int]) -> tuple[int, dict[int, int]]:
    common = gcd(constant, *row.values())
    if common > 1:
        return constant // common, {j: c // common for j, c in row.items()}
    return constant, row
