"""Relations oriented into substitutions: a parametrisation that covers every admissible value of the symbols.

Proofs work on the parametrisation. It may cover more than the admissible values (what could not be oriented is left
out), so that what holds for all of its parameters holds for all admissible values; a witness is always checked
against the relations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from fractions import Fraction
from typing import TYPE_CHECKING

from bpir.ir.effort import EffortError, limited, spend
from bpir.ir.expressions.atoms import UNIT, Atom, Monomial, monomial, power, product, symbol_atom
from bpir.ir.expressions.bounds import integral, positive
from bpir.ir.expressions.expression import ZERO, Expr, ExpressionError, constant
from bpir.ir.expressions.fraction import rational_content
from bpir.ir.expressions.normal_form import atom_expression, intern
from bpir.ir.expressions.terms import Coefficient, Terms, multiply, normal
from bpir.ir.expressions.values import Substitution
from bpir.ir.records import Record

if TYPE_CHECKING:
    from bpir.ir.relations.facts import Relation

_STEPS = 200_000  # of arithmetic that orienting relations may take
_FACTORS = 20  # of a divisor that a symbol becomes a multiple of


class System(metaclass=Record):
    """The relations and bindings in a form that proofs and the search for witnesses can use."""

    values: Mapping[str, Expr]  # eliminated symbols, by parameters
    origins: Mapping[str, tuple[str, tuple[str, ...]]]  # of these: the relation's text, its symbols
    whole: Sequence[Expr]  # integers, by parameters: what a divisor fact leaves open
    lower: Mapping[Atom, int]  # parameters with a lower bound above 1
    larger: Mapping[str, Expr]  # parameter: it is greater than this expression
    bounds: Sequence[Expr]  # never negative, by parameters: what an order or a divisor leaves open
    contradiction: str | None  # why nothing is admissible
    decided: dict[Atom, Expr | None]  # what nodes are equal to, as far as that was asked for
    replacement: Substitution  # of the eliminated symbols; it remembers nodes, which come again in every difference with them

    def apply(self, expr: Expr) -> Expr:
        """The expression by parameters."""
        if not any(name in self.values for name in expr.symbols):
            return expr
        return self.replacement.apply(expr)

    def used(self, names: Sequence[str]) -> list[str]:
        """The texts of the relations that the values of the named symbols come from, in order of symbol."""
        found: dict[str, str] = {}
        pending = list(names)
        while pending:
            name = pending.pop()
            if name in self.origins and name not in found:
                found[name], mentioned = self.origins[name]
                pending.extend(mentioned)
        return list(dict.fromkeys(found[name] for name in sorted(found)))


def solve(relations: Sequence[Relation], bindings: Mapping[str, int]) -> System:
    """Orient the relations: bindings first, then equalities, then divisors, then bounds, each in the order declared."""
    return _Solver(relations, bindings).system


class _Contradiction(Exception):
    pass


@contextmanager
def _leaving_out() -> Iterator[None]:
    """The expressions that exceed a bound are not used; too much work ends the whole search."""
    try:
        yield
    except EffortError:
        raise
    except ExpressionError:
        pass


class _Solver:
    def __init__(self, relations: Sequence[Relation], bindings: Mapping[str, int]) -> None:
        self._values: dict[str, Expr] = {}
        self._origins: dict[str, tuple[str, tuple[str, ...]]] = {}
        self._mentioning: dict[str, dict[str, None]] = {}  # symbol: those whose values mention it
        self._whole: dict[Expr, bool] = {}  # and whether it is positive: `2 | c - S` says nothing of the sign
        self._lower: dict[Atom, int] = {}
        self._larger: dict[str, Expr] = {}
        self._bounds: dict[Expr, None] = {}
        contradiction = None
        try:
            # What is too large, or too much, is left out: the parametrisation then covers more.
            with suppress(ExpressionError), limited(_STEPS):
                self._orient(relations, bindings)
            with suppress(ExpressionError), limited(_STEPS):
                self._check_values()
        except _Contradiction as error:
            contradiction = str(error)
        bounds = [*self._bounds, *(fact - 1 for fact, is_positive in self._whole.items() if is_positive)]
        replacement = Substitution(self._values)
        whole = list(self._whole)
        self.system = System(self._values, self._origins, whole, self._lower, self._larger, bounds, contradiction, {}, replacement)

    def _orient(self, relations: Sequence[Relation], bindings: Mapping[str, int]) -> None:
        for name, number in bindings.items():
            self._values[name], self._origins[name] = constant(number), (f"{name} = {number}", ())
        self._equalities([r for r in relations if r.kind == "equal"])
        for kind, orient in (("divides", self._divides), ("greater", self._greater)):
            for relation in relations:
                if relation.kind == kind:
                    with _leaving_out():
                        spend(25)
                        orient(relation)

    def _apply(self, expr: Expr) -> Expr:
        return expr.substitute(self._values)

    def _eliminate(self, name: str, value: Expr, origin: str, mentioned: tuple[str, ...]) -> None:
        spend(2 * len(self._whole))
        step = Substitution({name: value})
        changed = {key: step.apply(self._values[key]) for key in self._mentioning.get(name, ())}
        facts = [(step.apply(fact) if name in fact.symbols else fact, is_positive) for fact, is_positive in self._whole.items()]
        self._whole = {}
        for fact, is_positive in facts:
            self._integer(fact, is_positive)
        for key, new in (*changed.items(), (name, value)):
            self._values[key] = new
            for other in new.symbols:
                self._mentioning.setdefault(other, {})[key] = None
        self._origins[name] = (origin, mentioned)

    def _integer(self, fact: Expr, is_positive: bool) -> None:
        self._whole[fact] = is_positive or self._whole.get(fact, False)

    def _equalities(self, relations: Sequence[Relation]) -> None:
        # A symbol alone on one side is solved for first; what is left is linear in some symbol, or only for witnesses.
        pending = list(relations)
        for lone in (True, False):
            rest = []
            for relation in pending:
                with _leaving_out():
                    spend(25)
                    if not self._equality(relation, lone):
                        rest.append(relation)
            pending = rest

    def _equality(self, relation: Relation, lone: bool) -> bool:
        """Whether the equality is used, or says nothing."""
        left, right = self._apply(relation.left), self._apply(relation.right)
        difference = left - right
        if difference is ZERO:
            return True
        if difference.constant is not None:
            raise _Contradiction(f"{relation.text} cannot hold")
        found = self._lone(left, right) if lone else _linear(difference)
        if found is None:
            return False
        name, value = found
        mentioned = tuple(s for s in (*relation.left.symbols, *relation.right.symbols) if s != name)
        self._eliminate(name, value, relation.text, mentioned)
        return True

    @staticmethod
    def _lone(left: Expr, right: Expr) -> tuple[str, Expr] | None:
        for side, other in ((left, right), (right, left)):
            name = _symbol_name(side)
            if name is not None and name not in other.symbols:
                return name, other
        return None

    def _divides(self, relation: Relation) -> None:
        divisor, multiple = self._apply(relation.left), self._apply(relation.right)
        quotient = multiple / divisor
        if _is_decided(quotient.constant, relation, lambda value: value.denominator == 1):
            return
        name = _symbol_name(multiple)
        # t | h is h = t*k for a positive integer k, whose name no text can spell.
        factor = atom_expression(symbol_atom(f"({relation.right.text})/({relation.left.text})", fresh=True))
        if name is not None and _can_replace(name, divisor) and factor.symbols[0] not in (name, *divisor.symbols):
            self._eliminate(name, divisor * factor, relation.text, (*relation.left.symbols,))
        elif not integral(quotient):
            self._integer(quotient, positive(multiple) and positive(divisor))

    def _greater(self, relation: Relation) -> None:
        left, right = self._apply(relation.left), self._apply(relation.right)
        difference = left - right
        if _is_decided(difference.constant, relation, lambda value: value > 0):
            return
        name, bound = _symbol_name(left), right.constant
        if name is not None and bound is not None:
            self._at_least(name, bound.__floor__() + 1)
        elif _grows(difference):
            self._at_least(difference.symbols[0], _least_positive(difference))
        elif name is not None and self._can_be_larger(name, right):
            self._larger[name] = right
        else:
            self._bound(relation, difference)

    def _at_least(self, name: str, least: int) -> None:
        """A symbol has no smaller value."""
        atom = symbol_atom(name)
        self._lower[atom] = max(self._lower.get(atom, 1), least)

    def _can_be_larger(self, name: str, right: Expr) -> bool:
        """Whether a symbol can be an integer that it does not occur in plus an excess; it is nothing else yet."""
        return name not in right.symbols and name not in self._larger and integral(right)

    def _bound(self, relation: Relation, difference: Expr) -> None:
        """Note the bound of a difference that is greater than zero: it is at least 1 where it, or a part of it, is an integer."""
        declared = relation.left - relation.right
        content = constant(Fraction(rational_content(declared.terms)))
        self._bounds[difference / content - 1 if integral(declared / content) else difference] = None

    def _check_values(self) -> None:
        for name, value in self._values.items():
            number = value.constant
            if number is not None and (number.denominator != 1 or number < 1):
                raise _Contradiction(f"{self._origins[name][0]} gives {name} = {number}")
            if number is None and not _is_positive_integer(value):
                self._integer(value, True)


def _is_decided(value: Fraction | None, relation: Relation, holds: Callable[[Fraction], bool]) -> bool:
    """Whether a relation says nothing more, because its sides are numbers, for which it holds.

    Raises:
        _Contradiction: it does not.
    """
    if value is not None and not holds(value):
        raise _Contradiction(f"{relation.text} cannot hold")
    return value is not None


def _is_positive_integer(value: Expr) -> bool:
    """Whether an expression is a positive integer by its form."""
    return integral(value) and positive(value)


def _can_replace(name: str, divisor: Expr) -> bool:
    """Whether a symbol can be a multiple of a divisor, which is not too large for that."""
    return divisor.size <= _FACTORS and name not in divisor.symbols and _is_positive_integer(divisor)


def _grows(expr: Expr) -> bool:
    """Whether it is a polynomial in one symbol that grows with it: `m**2 + 2*m - 5`."""
    if expr.denominator is not None or len(expr.symbols) != 1:
        return False
    return all(c > 0 and _is_power_of_symbol(m) for m, c in expr.terms.items() if m.factors)


def _is_power_of_symbol(m: Monomial) -> bool:
    """Whether a monomial is a symbol with a positive exponent."""
    return len(m.factors) == 1 and m.factors[0][0].kind == "symbol" and m.factors[0][1] > 0


def _least_positive(growing: Expr) -> int:
    """The smallest positive integer for which such a polynomial is positive."""
    name = growing.symbols[0]
    low, high = 0, 1
    while growing.evaluate({name: high}) <= 0:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if growing.evaluate({name: middle}) > 0 else (middle, high)
    return high


def _symbol_name(expr: Expr) -> str | None:
    """The name, if the expression is a symbol."""
    if len(expr.terms) == 1 and expr.denominator is None:
        ((m, c),) = expr.terms.items()
        if c == 1 and len(m.factors) == 1 and m.factors[0][1] == 1 and m.factors[0][0].kind == "symbol":
            return m.factors[0][0].text
    return None


def _linear(difference: Expr) -> tuple[str, Expr] | None:
    """A symbol in which `difference = 0` is linear, its coefficient a monomial, and the symbol's value."""
    if difference.denominator is not None:
        return None  # the numerator could be solved, but nothing declared looks like that
    solved = ((name, _solved_for(difference, name)) for name in difference.symbols)
    return next(((name, value) for name, value in solved if value is not None), None)


def _solved_for(difference: Expr, name: str) -> Expr | None:
    """The value of a symbol in which `difference = 0` is linear, its coefficient a positive monomial."""
    atom = symbol_atom(name, fresh=True)
    if any(name in other.symbols for other in difference.atoms() if other is not atom):
        return None
    m, c, n = _only_term(difference.terms, atom)
    if abs(n) != 1:
        return None
    without = product(m, power(monomial({atom: 1}), -n))
    if not all(a.positive for a, _ in without.factors):
        return None
    return _solved(without, c, n, {k: -d for k, d in difference.terms.items() if k is not m})


def _only_term(terms: Terms, atom: Atom) -> tuple[Monomial, Coefficient, int]:
    """The term that has an atom, and its exponent there; 0 if there is not exactly one."""
    holding = [(m, c, n) for m, c in terms.items() for a, n in m.factors if a is atom]
    return holding[0] if len(holding) == 1 else (UNIT, 0, 0)


def _solved(m: Monomial, c: Coefficient, n: int, rest: Terms) -> Expr | None:
    """The `s` of `c*m*s = rest`, or of `c*m/s = rest` where the rest is one term; `n` is the exponent of s."""
    if n == 1:
        return intern(multiply({power(m, -1): normal(Fraction(1, c))}, rest))
    return intern({m: c}) / intern(rest) if len(rest) == 1 else None


def with_fresh_excess(expr: Expr, larger: Mapping[str, Expr]) -> Expr:
    """The expression with each symbol that is greater than another expression as that expression plus a new symbol."""
    for name, bound in larger.items():
        if name in expr.symbols:
            excess = atom_expression(symbol_atom(f"({name}) - ({bound.text})", fresh=True))
            expr = expr.substitute({name: bound + excess})
    return expr


def parameters(system: System, names: Sequence[str]) -> list[str]:
    """The parameters that the named symbols depend on, and those of the system's own facts, sorted."""
    found = {p for name in names for p in (system.values[name].symbols if name in system.values else (name,))}
    found.update(p for value in system.values.values() for p in value.symbols)
    found.update(p for fact in system.whole for p in fact.symbols)
    return sorted(found)
