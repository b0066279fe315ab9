"""Relations as constraints over integers: linear forms, products, and the largest or smallest of some variables.

Each symbol is a variable, and so is each product of symbols and each `max`, `min`, `ceildiv`, `floordiv` node. The constraints
follow from the relations; they need not say all that the relations say. A witness is therefore checked against the relations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import lcm
from typing import TYPE_CHECKING

from bpir.ir.effort import Effort
from bpir.ir.expressions.atoms import Atom, Monomial, monomial
from bpir.ir.expressions.bounds import positive
from bpir.ir.expressions.expression import Expr, ExpressionError
from bpir.ir.expressions.normal_form import intern
from bpir.ir.expressions.terms import Terms, multiply
from bpir.ir.records import Interned

if TYPE_CHECKING:
    from bpir.ir.relations.facts import Relation


class Linear(metaclass=Interned):
    """The sum of `coefficient * variable` and a constant: zero, or at least zero."""

    terms: tuple[tuple[int, int], ...]  # coefficient, variable
    constant: int
    equality: bool

    @property
    def variables(self) -> tuple[int, ...]:
        return tuple(v for _, v in self.terms)


class Product(metaclass=Interned):
    """A variable that is a product of powers of others."""

    result: int
    factors: tuple[tuple[int, int], ...]  # variable, exponent

    @property
    def variables(self) -> tuple[int, ...]:
        return (self.result, *(v for v, _ in self.factors))


class Extreme(metaclass=Interned):
    """A variable that is the largest or smallest of others."""

    largest: bool
    result: int
    arguments: tuple[int, ...]

    @property
    def variables(self) -> tuple[int, ...]:
        return (self.result, *self.arguments)


Constraint = Linear | Product | Extreme


class _Opaque(Exception):
    """A relation that has no form here: it is only checked."""


class Problem:
    """The constraints that some relations put on their symbols.

    `symbols` are the names of the first variables. `never` is a relation that no numbers satisfy by its form alone.
    """

    def __init__(self, relations: Sequence[Relation], bindings: Mapping[str, int], effort: Effort) -> None:
        self.symbols = tuple(sorted({name for r in relations for name in r.symbols}))
        self.lower: list[int | None] = [bindings.get(name, 1) for name in self.symbols]
        self.upper: list[int | None] = [bindings.get(name) for name in self.symbols]
        self.constraints: list[Constraint] = []
        self.definitions: dict[int, Product] = {}  # variables that only represent a product
        self.quotients: list[int] = []  # of what divides by what it divides
        self.never: Relation | None = None
        self._effort = effort
        self._variables: dict[object, int] = {name: index for index, name in enumerate(self.symbols)}
        for relation in relations:
            effort.spend(2 * (relation.left.size + relation.right.size))
            try:
                self._add(relation)
            except (_Opaque, ExpressionError):
                continue

    def _add(self, relation: Relation) -> None:
        if relation.kind == "divides":
            return self._divides(relation)
        difference = relation.left - relation.right
        terms = self._cleared(difference, sign=relation.kind == "greater")
        constants, form = self._form(terms)
        equality = relation.kind == "equal"
        if not equality:
            constants -= 1
        if not form and (constants != 0 if equality else constants < 0):
            self.never = relation
        self._linear(form, constants, equality)

    def _divides(self, relation: Relation) -> None:
        if not relation.left.terms:
            self.never = relation
            return
        quotient = relation.right / relation.left
        above, below = _fraction(quotient)
        constant, form = self._form(above)
        divisor_constant, divisor = self._form(below)
        if not divisor:
            if not form and constant % divisor_constant:
                self.never = relation
            if form:
                factor = self._quotient()
                self._linear({**form, factor: -divisor_constant}, constant, True)
            return
        multiple = self._single(constant, form)
        factor = self._quotient()
        self._product(multiple, {self._single(divisor_constant, divisor): 1, factor: 1}, defines=False)

    def _cleared(self, expr: Expr, sign: bool) -> Terms:
        """The numerator with integer coefficients: zero where the expression is, and with `sign` positive where it is."""
        if expr.denominator is not None and sign and not positive(expr.denominator):
            raise _Opaque
        above, below = _fraction(intern(expr.terms))
        if sign and any(not (atom.positive or n % 2 == 0) for m in below for atom, n in m.factors):
            raise _Opaque
        return above

    def _form(self, terms: Terms) -> tuple[int, dict[int, int]]:
        constant = 0
        form: dict[int, int] = {}
        for m, c in terms.items():
            if type(c) is not int:
                raise _Opaque
            if not m.factors:
                constant = c
            else:
                v = self._monomial(m)
                form[v] = form.get(v, 0) + c
        return constant, {v: c for v, c in form.items() if c}

    def _monomial(self, m: Monomial) -> int:
        if len(m.factors) == 1 and m.factors[0][1] == 1:
            return self._atom(m.factors[0][0])
        found = self._variables.get(m)
        if found is None:
            factors: dict[int, int] = {}
            for atom, n in m.factors:
                if n < 0:
                    raise _Opaque
                v = self._atom(atom)
                factors[v] = factors.get(v, 0) + n
            found = self._variables[m] = self._variable(None, None)
            self._product(found, factors)
        return found

    def _atom(self, atom: Atom) -> int:
        if atom.kind == "symbol":
            return self._variables[atom.text]
        found = self._variables.get(atom)
        if found is None:
            self._effort.spend(atom.size)
            found = self._extreme(atom) if atom.kind in ("max", "min") else self._rounded(atom)
            self._variables[atom] = found
        return found

    def _extreme(self, atom: Atom) -> int:
        arguments = tuple(self._value(a) for a in atom.arguments)
        found = self._variable(None, None)
        self.constraints.append(Extreme(atom.kind == "max", found, arguments))
        return found

    def _rounded(self, atom: Atom) -> int:
        above, below = atom.arguments
        if above.denominator is not None or below.denominator is not None or not positive(below):
            raise _Opaque
        constant, form = self._form(above.terms)
        divisor_constant, divisor = self._form(below.terms)
        found = self._variable(None, None)
        if divisor:
            d = self._single(divisor_constant, divisor)
            multiple = self._variable(None, None)
            self._product(multiple, {d: 1, found: 1})
            scaled, slack, rest = {multiple: 1}, {d: 1}, -1
        else:
            scaled, slack, rest = {found: divisor_constant}, {}, divisor_constant - 1
        sign = 1 if atom.kind == "floordiv" else -1
        # floor: 0 <= p - q*f <= q - 1; ceil: 0 <= q*f - p <= q - 1
        gap: dict[int, int] = {}
        for part, factor in ((form, sign), (scaled, -sign)):
            for v, c in part.items():
                gap[v] = gap.get(v, 0) + factor * c
        self._linear(gap, sign * constant, False)
        left = dict(slack)
        for v, c in gap.items():
            left[v] = left.get(v, 0) - c
        self._linear(left, rest - sign * constant, False)
        return found

    def _value(self, expr: Expr) -> int:
        if expr.denominator is not None:
            raise _Opaque
        return self._single(*self._form(expr.terms))

    def _single(self, constant: int, form: Mapping[int, int]) -> int:
        """A variable of that value."""
        if not constant and len(form) == 1:
            ((v, c),) = form.items()
            if c == 1:
                return v
        if not form:
            return self._variable(constant, constant)
        v = self._variable(None, None)
        self._linear({**form, v: -1}, constant, True)
        return v

    def _variable(self, lower: int | None, upper: int | None) -> int:
        self.lower.append(lower)
        self.upper.append(upper)
        return len(self.lower) - 1

    def _quotient(self) -> int:
        self.quotients.append(self._variable(None, None))
        return self.quotients[-1]

    def _linear(self, form: Mapping[int, int], constant: int, equality: bool) -> None:
        terms = tuple((c, v) for v, c in sorted(form.items()) if c)
        if terms:
            self.constraints.append(Linear(terms, constant, equality))

    def _product(self, result: int, factors: Mapping[int, int], defines: bool = True) -> None:
        constraint = Product(result, tuple(sorted(factors.items())))
        self.constraints.append(constraint)
        if defines:
            self.definitions[result] = constraint


def _fraction(expr: Expr) -> tuple[Terms, Terms]:
    """Numerator and denominator with integer coefficients and without negative powers."""
    scale = lcm(*(c.denominator for c in expr.terms.values()))
    lowest: dict[Atom, int] = {}
    for m in expr.terms:
        for atom, n in m.factors:
            if n < lowest.get(atom, 0):
                lowest[atom] = n
    divisor: Terms = {monomial({atom: -n for atom, n in lowest.items()}): scale}
    below = divisor if expr.denominator is None else multiply(divisor, expr.denominator.terms)
    return multiply(divisor, expr.terms), below
