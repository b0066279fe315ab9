"""The declared relations between symbols, and what follows: equality, order, integrality, each proved, refuted or unknown.

    H = h*d     equal     both sides have the same value
    t | h       divides   the right side is an integral multiple of the left
    t > 1       greater   the left side is larger

Equality of rational functions under equalities is decided completely. A proof holds for every admissible value of the
symbols (positive integers that satisfy all relations and bindings); a refutation shows one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from functools import cached_property, partial
from itertools import islice, tee
from operator import ge, gt
from typing import TYPE_CHECKING, Any

from bpir.ir.effort import EffortError, limited
from bpir.ir.expressions.atoms import UNIT, Atom, Monomial, power, product
from bpir.ir.expressions.bounds import integral
from bpir.ir.expressions.expression import ONE, Expr, ExpressionError, constant, maximum
from bpir.ir.expressions.normal_form import atom_expression, intern
from bpir.ir.expressions.terms import Coefficient, Terms, clean, normal
from bpir.ir.expressions.values import Substitution
from bpir.ir.prover.integers import is_integral
from bpir.ir.relations.proof import by_floors, equal_by_cases, has_nodes, is_nonnegative, is_nonnegative_by_signs, simplify
from bpir.ir.relations.relation import Relation
from bpir.ir.relations.remainders import equal_by_remainders, has_quotients
from bpir.ir.relations.system import System, solve
from bpir.ir.relations.verdict import Verdict, proved, refuted, unknown
from bpir.ir.relations.witness import candidates, find_point, find_witness, rounding_steps, wanted_symbols
from bpir.ir.satisfiability import Answer, decide

if TYPE_CHECKING:
    from bpir.ir.relations.smallest import Witness


def is_nonnegative_by_refutation(system: System, expr: Expr, strict: bool = False) -> bool:
    """Whether the prover of orders shows it; loaded by the first claim that nothing simpler decides."""
    from bpir.ir.prover.order import is_nonnegative as by_refutation

    return by_refutation(system, expr, strict)


_PROOF = 400_000  # steps of arithmetic that one proof, or one search for a witness, may take
_QUICK = 20  # admissible values tried before a proof by cases, which costs more
__all__ = ["Facts", "Relation"]


def _sorted_bindings(bindings: Mapping[str, int]) -> dict[str, int]:
    for name, value in bindings.items():
        if type(value) is not int or value < 1:
            raise ExpressionError(f"{name} = {value!r}: the value of a symbol must be a positive integer")
    return dict(sorted(bindings.items()))


class Facts:
    """Relations and numeric bindings: everything that is declared about the symbols. Nothing of it changes.

    Attributes:
        searching: whether witnesses are looked for far; without it what is neither proved nor refuted by the first candidates is unknown.

    Raises:
        ExpressionError: a binding is not a positive integer.
    """

    def __init__(self, relations: Iterable[Relation] = (), bindings: Mapping[str, int] | None = None, searching: bool = True) -> None:
        self.relations, self.bindings, self.searching = tuple(relations), _sorted_bindings(bindings or {}), searching

    @cached_property
    def _system(self) -> System:
        return solve(self.relations, self.bindings)

    @property
    def contradiction(self) -> str | None:
        """Why no value of the symbols is admissible, as far as that is seen; nothing is proved then."""
        return self._system.contradiction

    def bind(self, bindings: Mapping[str, int]) -> Facts:
        """The same relations with further bindings; a new value replaces an old one."""
        return Facts(self.relations, {**self.bindings, **bindings})

    def violations(self) -> list[Relation]:
        """The relations whose symbols are all bound, and that are false for the numbers."""
        return [r for r in self.relations if all(name in self.bindings for name in r.symbols) and not self._holds(r)]

    def _holds(self, relation: Relation) -> bool:
        try:
            return relation.holds(self.bindings)
        except ExpressionError:
            return False

    @property
    def satisfied(self) -> Answer:
        """Whether some numbers satisfy all of this: numbers that do, a proof that none do, or neither within the effort."""
        return decide(self.relations, self.bindings)

    # Claims

    def equal(self, a: Expr, b: Expr) -> Verdict:
        """Whether both have the same value."""
        if a is b:
            return proved("normal form")
        by_system = self._enter(a, b)
        if isinstance(by_system, Verdict):
            return by_system
        left, right, under = by_system
        if left is right:
            return proved("normal form", under)
        if has_nodes(left, right):
            left, right = self._simplified(left), self._simplified(right)
            if left is right or _if_possible(by_floors, left) is _if_possible(by_floors, right):
                return proved("normal form", under)
        false_at: Callable[[Mapping[str, int]], bool] = lambda values: a.evaluate(values) != b.evaluate(values)  # noqa: E731
        witness = self._near_witness(false_at, a, b)
        method = self._equal_in_cases(left, right) if witness is None else ""
        if method:
            return proved(method, under)
        witness = witness or self._witness(false_at, a, b)
        if witness is not None:
            return refuted(witness, self._values_text(a, b, witness))
        cases = {"cases of max and min": has_nodes, "cases of a remainder": has_quotients}
        tried = [method for method, fits in cases.items() if fits(left, right)]
        return unknown("the normal forms differ, and no witness was found", "normal form", *tried, "signs")

    def _equal_in_cases(self, left: Expr, right: Expr) -> str:
        """The method that shows both sides to be equal in each case; empty if none does."""
        if has_nodes(left, right) and _shows(lambda: equal_by_cases(left, right)):
            return "cases of max and min"
        if has_quotients(left, right) and _shows(lambda: equal_by_remainders(left, right)):
            return "cases of a remainder"
        return "signs" if self._never_differ(left, right) else ""

    def _never_differ(self, left: Expr, right: Expr) -> bool:
        """Whether neither side is seen to be ever less than the other."""
        differences = (left - right, right - left)
        return all(_shows(partial(is_nonnegative_by_refutation, self._system, difference)) for difference in differences)

    def greater(self, a: Expr, b: Expr) -> Verdict:
        """Whether `a > b`."""
        return self._order(a, b, strict=True)

    def at_least(self, a: Expr, b: Expr) -> Verdict:
        """Whether `a >= b`."""
        return self._order(a, b, strict=False)

    def some_at_least(self, bounds: Sequence[Expr], a: Expr) -> bool:
        """Whether one of the bounds is proved to be at least `a`; those are tried first of which signs show it."""
        return any(self._shows_at_sight(bound, a) for bound in bounds) or any(self.at_least(bound, a).proved for bound in bounds)

    def _shows_at_sight(self, a: Expr, b: Expr) -> bool:
        by_system = self._enter(a - b)
        return not isinstance(by_system, Verdict) and _shows(lambda: is_nonnegative_by_signs(self._system, by_system[0]))

    def nonnegative(self, a: Expr) -> Verdict:
        """Whether `a >= 0`."""
        return self._order(a, a - a, strict=False)

    def integral(self, a: Expr) -> Verdict:
        """Whether the value is an integer."""
        if integral(a) and self._system.contradiction is None:
            return proved("divisors")
        by_system = self._enter(a)
        if isinstance(by_system, Verdict):
            return by_system
        value, under = self._simplified(by_system[0]), by_system[2]
        if _shows(lambda: is_integral(self._system, value)) or any(self._is_multiple(a, r) for r in self.relations):
            return proved("divisors", under)
        witness = self._witness(lambda values: a.evaluate(values).denominator != 1, a)
        if witness is not None:
            return refuted(witness, f"the value is {a.evaluate(witness)}")
        return unknown("no declared relation shows that it is an integer, and no witness was found", "divisors")

    def divides(self, a: Expr, b: Expr) -> Verdict:
        """Whether `b` is an integral multiple of `a`.

        Raises:
            ExpressionError: `a` is zero.
        """
        divisor = a.integer
        if divisor and integral(b, divisor) and self._system.contradiction is None:
            return proved("divisors")
        return self.integral(b / a)

    def _order(self, a: Expr, b: Expr, strict: bool) -> Verdict:
        try:
            by_system = self._enter(a - b)
        except ExpressionError as error:
            return unknown(f"the difference is too large: {error}")
        if isinstance(by_system, Verdict):
            return by_system
        difference, _, under = by_system
        if any(r.kind == "greater" and r.left - r.right is a - b for r in self.relations):
            return proved("declared")
        if _shows(lambda: is_nonnegative_by_signs(self._system, difference, strict)):
            return proved("signs", under)
        if not strict and has_nodes(a) and _shows(lambda: maximum(a, b) is a):  # b is one of its arguments
            return proved("normal form")
        holds = gt if strict else ge
        false_at: Callable[[Mapping[str, int]], bool] = lambda v: not holds(a.evaluate(v), b.evaluate(v))  # noqa: E731
        witness = self._near_witness(false_at, a, b)
        if witness is None and self._never_negative(difference, strict):
            return proved("signs", under)
        witness = witness or self._witness(false_at, a, b)
        if witness is not None:
            return refuted(witness, self._values_text(a, b, witness))
        return unknown("the signs of the coefficients do not show it, and no witness was found", "signs")

    def _never_negative(self, difference: Expr, strict: bool) -> bool:
        """Whether the proofs of an order that are more work than signs show it."""
        difference = self._simplified(difference)
        by_bounds = dict.fromkeys((difference, _if_possible(by_floors, difference)))
        by_refutation = dict.fromkeys((_without_excess(difference), difference))
        with limited(_PROOF // 2):  # so that one order that is not decided leaves steps for the others
            if any(_shows(partial(is_nonnegative, self._system, form, strict)) for form in by_bounds):
                return True
        with limited(_PROOF // 2):
            return any(_shows(partial(is_nonnegative_by_refutation, self._system, form, strict)) for form in by_refutation)

    def _is_multiple(self, a: Expr, relation: Relation) -> bool:
        """Whether the value is an integral multiple of a quotient whose dividend is a sum: `(12 + e)*(F*H + F)/D` where `D | F*H + F`."""
        if relation.kind != "divides" or len(relation.right.terms) == 1:
            return False
        return _shows(lambda: is_integral(self._system, self._simplified(self._system.apply(a * relation.left / relation.right))))

    def _enter(self, a: Expr, b: Expr = ONE) -> tuple[Expr, Expr, Sequence[str]] | Verdict:
        """Both by parameters, and the relations that their symbols are eliminated by; a verdict where nothing can be decided."""
        system = self._system
        if system.contradiction is not None:
            return unknown(f"the relations contradict each other: {system.contradiction}")
        try:
            left, right = system.apply(a), system.apply(b)
        except ExpressionError as error:
            return unknown(f"the relations cannot be applied: {error}")
        return left, right, system.used([*a.symbols, *b.symbols])

    def _simplified(self, expr: Expr) -> Expr:
        return _if_possible(partial(simplify, self._system), expr)

    def _near_witness(self, false_at: Callable[[Mapping[str, int]], bool], *exprs: Expr) -> dict[str, int] | None:
        """A witness among the first candidates, which claims about the same symbols share. Where there is one no proof is tried in vain."""
        key = tuple(self._wanted(*exprs)), tuple(self._steps(*exprs))
        with suppress(EffortError), limited(_PROOF):
            self._near[key], points = tee(self._near.get(key) or islice(candidates(self._system, self.relations, *key), _QUICK))
            return find_witness(points, false_at)  # those that are asked for are made
        return None

    @cached_property
    def _near(self) -> dict[tuple[tuple[str, ...], tuple[int, ...]], Iterator[dict[str, int]]]:
        return {}

    def _witness(self, false_at: Callable[[Mapping[str, int]], bool], *exprs: Expr) -> dict[str, int] | None:
        with suppress(EffortError), limited(_PROOF):
            return find_witness(self._candidates(*exprs), false_at) if self.searching else None
        return None

    def _candidates(self, *exprs: Expr) -> Iterator[dict[str, int]]:
        """The admissible bindings that a search for a witness of a claim about the expressions goes through."""
        return candidates(self._system, self.relations, self._wanted(*exprs), self._steps(*exprs))

    def _wanted(self, *exprs: Expr) -> list[str]:
        """The symbols that a candidate gives values to."""
        return wanted_symbols(self._system, self.relations, [name for expr in exprs for name in expr.symbols])

    def smallest_witness(self, false_at: Callable[[Mapping[str, int]], bool], *exprs: Expr) -> Witness | None:
        """The smallest admissible values at which `false_at` is true of the expressions; None where the search finds none."""
        names = sorted({name for expr in exprs for name in expr.symbols})
        from bpir.ir.relations.smallest import smallest

        known = find_point(self._candidates(*exprs), false_at)
        return None if known is None else smallest(self._system, self.relations, names, false_at, known)

    def count_candidates(self, *exprs: Expr) -> int:
        """The number of admissible bindings that the search for a witness tries."""
        return sum(1 for _ in self._candidates(*exprs))

    def _steps(self, *exprs: Expr) -> list[int]:
        """The numbers that the expressions round to, under the bound numbers."""
        try:
            return rounding_steps(self._system.apply(expr) for expr in exprs)
        except ExpressionError:
            return rounding_steps(exprs)

    @staticmethod
    def _values_text(a: Expr, b: Expr, witness: Mapping[str, int]) -> str:
        return f"the values are {a.evaluate(witness)} and {b.evaluate(witness)}"

    # Rewriting

    def reduce(self, expr: Expr) -> Expr:
        """The expression with products replaced by the symbols declared equal to them: `B*h*d` is `B*H` under `H =
        h*d`.

        Idempotent; terminates because each replacement makes a monomial shorter.
        """
        rules = self._rules
        return _reduce(expr, rules) if rules else expr

    @cached_property
    def _rules(self) -> list[tuple[Monomial, Coefficient, Atom]]:
        sides = [side for r in self.relations if r.kind == "equal" for side in ((r.left, r.right), (r.right, r.left))]
        rules = [rule for name, value in sides if (rule := _rule(name, value)) is not None]
        # the longest product first, so that a part of it is not taken away before
        return sorted(rules, key=lambda rule: (-_length(rule[0]), rule[0].key, rule[2].text))


def _without_excess(expr: Expr) -> Expr:
    """The expression without a positive constant that is added to it: it is at least as large as that."""
    excess = expr.terms.get(UNIT, 0) if expr.denominator is None else 0
    return expr - constant(excess) if excess > 0 else expr


def _if_possible(step: Callable[[Expr], Expr], expr: Expr) -> Expr:
    """The expression after the step; as it is where that exceeds a bound, or is too much work."""
    try:
        with limited(_PROOF):
            return step(expr)
    except ExpressionError:
        return expr


def _shows(proof: Callable[[], bool]) -> bool:
    """Whether the proof succeeds; a case that divides by zero, exceeds a bound or is too much work proves nothing."""
    try:
        with limited(_PROOF):
            return proof()
    except ExpressionError:
        return False


def _rule(name: Expr, value: Expr) -> tuple[Monomial, Coefficient, Atom] | None:
    if len(name.terms) != 1 or len(value.terms) != 1 or name.denominator is not None or value.denominator is not None:
        return None
    ((m, c),) = name.terms.items()
    ((n, d),) = value.terms.items()
    if c != 1 or len(m.factors) != 1 or m.factors[0][1] != 1 or m.factors[0][0].kind != "symbol" or d <= 0:
        return None
    atom = m.factors[0][0]
    if _length(n) < 2 or any(atom.text in a.symbols for a, _ in n.factors):
        return None
    return n, d, atom


def _length(m: Monomial) -> int:
    return sum(abs(n) for _, n in m.factors)


def _reduce(expr: Expr, rules: list[tuple[Monomial, Coefficient, Atom]]) -> Expr:
    nodes: dict[Atom, Expr] = {}
    for atom in expr.atoms():
        if atom.arguments:
            arguments = tuple(_reduce(a, rules) for a in atom.arguments)
            if arguments != atom.arguments:
                nodes[atom] = Substitution({}).rebuild(atom, arguments)
    if nodes:
        return _reduce(Substitution({}, nodes).apply(expr), rules)
    above = _reduce_terms(expr.terms, rules)
    if expr.denominator is None:
        return above
    return above / _reduce_terms(expr.denominator.terms, rules)


def _reduce_terms(terms: Terms, rules: list[tuple[Monomial, Coefficient, Atom]]) -> Expr:
    sums: Terms = {}
    for m, c in terms.items():
        changed = True
        while changed:
            changed = False
            for value, d, atom in rules:
                for sign in (1, -1):
                    step = normal(Fraction(c) / d if sign == 1 else c * d) if d != 1 else c
                    if _contains(m, value, sign) and (d == 1 or type(step) is int or type(c) is not int):
                        m = product(product(m, power(value, -sign)), power(_symbol(atom), sign))
                        c, changed = step, True
        sums[m] = sums.get(m, 0) + c
    return intern(clean(sums))


def _symbol(atom: Atom) -> Monomial:
    return next(iter(atom_expression(atom).terms))


def _contains(m: Monomial, value: Monomial, sign: int) -> bool:
    """Whether the monomial has all factors of the value (`sign` 1) or of its inverse (-1)."""
    powers: dict[Any, int] = dict(m.factors)
    for atom, n in value.factors:
        k = powers.get(atom, 0) * sign
        if (k < n) if n > 0 else (k > n):
            return False
    return True
