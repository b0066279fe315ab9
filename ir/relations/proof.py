"""Proofs about expressions by parameters (`relations_system`): sound, and complete only where it is said."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction

from bpir.ir.expressions.atoms import Atom, Monomial, power, product
from bpir.ir.expressions.bounds import integral, nonnegative, positive
from bpir.ir.expressions.expression import ONE, ZERO, Expr, maximum, minimum
from bpir.ir.expressions.fraction import divide, leading, primitive
from bpir.ir.expressions.nodes import rounded
from bpir.ir.expressions.normal_form import intern
from bpir.ir.expressions.terms import Coefficient, normal
from bpir.ir.expressions.values import Substitution, nodes_of
from bpir.ir.prover.integers import is_integral, is_term_integral
from bpir.ir.relations.system import System, with_fresh_excess

_BRANCHES = 64  # cases of one case split
_BOUND_STEPS = 2  # multiples of bounds that are taken away one after the other
_BOUND_TERMS = 20  # terms of what they are taken away from


def has_nodes(*exprs: Expr) -> bool:
    return any(expr.depth for expr in exprs)


# Nodes


def simplify(system: System, expr: Expr) -> Expr:
    """The expression with nodes that the facts decide taken away: `ceildiv(h, t)` is `h/t` where t divides h."""
    for _ in range(4):
        nodes = {atom: value for atom in nodes_of(expr) if (value := _known_value(system, atom)) is not None}
        if not nodes:
            break
        expr = Substitution({}, nodes).apply(expr)
    return expr


def _known_value(system: System, atom: Atom) -> Expr | None:
    """An equal expression of a node under the facts; each node is decided once."""
    if atom not in system.decided:
        system.decided[atom] = None  # if that is too much work: it is not tried again
        system.decided[atom] = _decided(system, atom)
    return system.decided[atom]


def _decided(system: System, atom: Atom) -> Expr | None:
    """An equal expression of a node under the facts, if they say more than its form."""
    return _decided_extremum(system, atom) if atom.kind in ("max", "min") else _decided_quotient(system, atom)


def _decided_extremum(system: System, atom: Atom) -> Expr | None:
    """A max or min without the arguments that others beat."""
    kept: list[Expr] = []
    for a in atom.arguments:
        if not any(_beats(system, atom.kind, k, a) for k in kept):
            kept = [*(k for k in kept if not _beats(system, atom.kind, a, k)), a]
    return _extremum(atom, kept) if len(kept) < len(atom.arguments) else None


def _extremum(atom: Atom, arguments: Sequence[Expr]) -> Expr:
    """The max or min, as the node is, of other arguments."""
    return maximum(*arguments) if atom.kind == "max" else minimum(*arguments)


def _decided_quotient(system: System, atom: Atom) -> Expr | None:
    """A rounded quotient, or a part of it, that is an integer without rounding."""
    quotient = atom.arguments[0] / atom.arguments[1]
    if is_integral(system, quotient):
        return quotient
    if quotient.denominator is not None:
        return None
    whole = intern({m: c for m, c in quotient.terms.items() if is_term_integral(system, m, c)})
    return whole + Substitution({}).rebuild(atom, (quotient - whole, ONE)) if whole is not ZERO else None


def _beats(system: System, kind: str, a: Expr, b: Expr) -> bool:
    return is_nonnegative(system, a - b if kind == "max" else b - a, budget=4)


def by_floors(expr: Expr) -> Expr:
    """The expression with each rounded quotient in one form: `ceildiv(a, b)` is `-floordiv(-a, b)`, and for integers
    `floordiv(a + b - 1, b)`.
    """
    return _Floors({}).apply(expr)


class _Floors(Substitution):
    def _atom(self, atom: Atom) -> Expr | None:
        value = None
        if atom.kind != "symbol":
            arguments = tuple(self.apply(a) for a in atom.arguments)
            if atom.kind in ("ceildiv", "floordiv"):
                value = _as_floor(atom.kind, arguments[0] / arguments[1])
            elif arguments != atom.arguments:
                value = self.rebuild(atom, arguments)
        self._atoms[atom] = value
        return value


def _as_floor(kind: str, quotient: Expr) -> Expr:
    """A quotient that is rounded up or down, by one that is rounded down."""
    sign = -1 if kind == "ceildiv" else 1
    return sign * _one_floor(rounded("floordiv", sign * quotient))


def _one_floor(expr: Expr) -> Expr:
    """An expression whose quotient was rounded down, with that or the other quotient of which it is a multiple plus an integer."""
    floors = _floors_in(expr)
    if len(floors) != 1 or not _of_integers(*floors[0].arguments):
        return expr
    above, below = floors[0].arguments
    # floor(p/n) = -1 - floor((-p - 1)/n) for integers: of the two, the one of a positive p, then the one whose text comes first
    other = -1 - rounded("floordiv", (-above - 1) / below)
    others = _floors_in(other)
    if len(others) != 1 or _rank(floors[0]) <= _rank(others[0]):
        return expr
    return Substitution({}, {floors[0]: other}).apply(expr)


def _floors_in(expr: Expr) -> list[Atom]:
    return [atom for atom in expr.atoms() if atom.kind == "floordiv"]


def _of_integers(above: Expr, below: Expr) -> bool:
    """Whether a quotient is of integers, the divisor positive."""
    return integral(above) and integral(below) and positive(below)


def _rank(atom: Atom) -> tuple[bool, str]:
    terms = atom.arguments[0].terms
    return not terms or terms[leading(terms)] < 0, atom.text


def equal_by_cases(a: Expr, b: Expr) -> bool:
    """Whether both are the same whichever argument each max and min attains.

    Each case assumes the sign of one difference of two arguments, drops the argument that loses, and must end with
    one form.
    """
    return _cases(a, b, {}, [_BRANCHES])


def _cases(a: Expr, b: Expr, known: Mapping[Expr, bool], budget: list[int]) -> bool:
    if a is b:
        return True
    budget[0] -= 1
    node = next((atom for atom in nodes_of(a, b) if atom.kind in ("max", "min")), None)
    if node is None:
        return by_floors(a) is by_floors(b)
    if budget[0] < 0:
        return False
    first, second, *others = node.arguments
    difference = first - second
    decided = _sign(difference, known)
    for first_is_larger in (True, False) if decided is None else (decided,):
        kept = first if first_is_larger == (node.kind == "max") else second
        step = Substitution({}, {node: _extremum(node, [kept, *others])})
        if not _cases(step.apply(a), step.apply(b), {**known, difference: first_is_larger}, budget):
            return False
    return True


def _sign(difference: Expr, known: Mapping[Expr, bool]) -> bool | None:
    """Whether the difference is not negative (True) or not positive (False), by the known signs of others."""
    for other, sign in known.items():
        same = _same_sign(difference, other)
        if same is not None:
            return sign == same
    return None


def _same_sign(a: Expr, b: Expr) -> bool | None:
    """Whether one is a positive (True) or negative (False) multiple of the other; None where that is not seen."""
    if a.denominator is not b.denominator and not (_positive_denominator(a) and _positive_denominator(b)):
        return None
    first, first_monomial, first_content = primitive(a.terms)
    second, second_monomial, second_content = primitive(b.terms)
    if not _is_positive(product(first_monomial, power(second_monomial, -1))):
        return None
    for above, below in ((first, second), (second, first)):
        terms, rest = divide(above, below, exact=True)
        factor = intern(terms)
        if not rest and (positive(factor) or positive(-factor)):
            return positive(factor) == (first_content * second_content > 0)
    return None


def _positive_denominator(expr: Expr) -> bool:
    return expr.denominator is None or positive(expr.denominator)


def _is_positive(m: Monomial) -> bool:
    """Whether all factors of a monomial are positive."""
    return all(atom.positive for atom, _ in m.factors)


# Signs


def is_nonnegative(system: System, expr: Expr, strict: bool = False, budget: int = _BRANCHES) -> bool:
    """Whether no value is negative (with `strict`, nor zero); without the bounds first, which are most of the work."""
    expr = with_fresh_excess(expr, system.larger)
    return any(
        _shown(system, expr, strict, bounded) or _nonnegative_by_cases(system, expr, strict, bounded, [budget])
        for bounded in ((False, True) if system.bounds else (False,))
    )


def is_nonnegative_by_signs(system: System, expr: Expr, strict: bool = False) -> bool:
    """The cheap part of `is_nonnegative`: signs and cases alone, no bounds."""
    expr = with_fresh_excess(expr, system.larger)
    return _shown(system, expr, strict, False) or _nonnegative_by_cases(system, expr, strict, False, [_BRANCHES])


def _shown(system: System, expr: Expr, strict: bool, bounded: bool) -> bool:
    """Whether the coefficients show it, those of a lower estimate, or, if `bounded`, those of what bounds leave over."""
    if any(nonnegative(e, system.lower, strict) for e in _lower_estimates(expr)):
        return True
    if not bounded:
        return False
    bounds = [with_fresh_excess(bound, system.larger) for bound in system.bounds]
    return any(_above_bounds(e, bounds, system.lower, strict, _BOUND_STEPS) for e in _lower_estimates(expr))


def _above_bounds(expr: Expr, bounds: list[Expr], lower: Mapping[Atom, int], strict: bool, left: int) -> bool:
    """Whether the expression less positive multiples of bounds is not negative: `B*c - B*S` less `B*(c - S)`.

    Each multiple takes a negative term away.
    """
    if expr.denominator is not None:
        return positive(expr.denominator) and _above_bounds(intern(expr.terms), bounds, lower, strict, left)
    if len(expr.terms) > _BOUND_TERMS:
        return False
    for m, c in sorted(expr.terms.items(), key=lambda term: term[0].key):
        for rest in _less_multiples(expr, m, c, bounds) if c < 0 else ():
            if nonnegative(rest, lower, strict) or (left > 1 and _above_bounds(rest, bounds, lower, strict, left - 1)):
                return True
    return False


def _less_multiples(expr: Expr, m: Monomial, c: Coefficient, bounds: Iterable[Expr]) -> Iterator[Expr]:
    """The expression less each positive multiple of a bound that takes its term away."""
    for bound in bounds:
        for n, d in bound.terms.items():
            factor = product(m, power(n, -1))
            if d < 0 and bound.denominator is None and _is_positive(factor):
                yield expr - intern({factor: normal(Fraction(c) / d)}) * bound


def _lower_estimates(expr: Expr) -> Iterator[Expr]:
    """The expression, and expressions that are never above it: one rounded quotient after the other as what bounds it."""
    yield expr
    for atom in expr.atoms():
        if atom.kind in ("ceildiv", "floordiv"):
            bounded = _rounding_bound(expr, atom)
            if bounded is not None:
                expr = bounded
                yield expr


def _rounding_bound(expr: Expr, atom: Atom) -> Expr | None:
    """A lower bound of the expression in which the rounded quotient is linear: q <= ceil(q) <= q + 1, and q + 1 - 1/b for
    integers; floor alike.
    """
    grows = _grows(expr, atom) if expr.denominator is None else None
    if grows is None:
        return None
    above, below = atom.arguments
    value = above / below
    if grows != (atom.kind == "ceildiv"):  # it is not the quotient itself that bounds
        slack = (below - 1) / below if _of_integers(above, below) else ONE
        value += -slack if grows else slack
    return Substitution({}, {atom: value}).apply(expr)


def _grows(expr: Expr, atom: Atom) -> bool | None:
    """Whether the expression grows with an atom in which it is linear, or falls; None if neither is seen."""
    signs = set()
    for m, c in expr.terms.items():
        for other, n in m.factors:
            if other is atom:
                if n != 1 or not all(_is_nonnegative(a) for a, _ in m.factors if a is not atom):
                    return None
                signs.add(c > 0)
    return signs.pop() if len(signs) == 1 else None


def _is_nonnegative(atom: Atom) -> bool:
    return atom.lower is not None and atom.lower >= 0


def _nonnegative_by_cases(system: System, expr: Expr, strict: bool, bounded: bool, budget: list[int]) -> bool:
    """A max or min is one of its arguments: all of them must do, or any where that bounds the expression from below."""
    nodes = [atom for atom in nodes_of(expr) if atom.kind in ("max", "min")]
    if not nodes:
        return False
    budget[0] -= 1
    if budget[0] < 0:
        return False
    # cases that all must do come first: which argument is enough may depend on them
    bounding = [node for node in nodes if _direction(expr, node) == (1 if node.kind == "max" else -1)]
    node = next((node for node in nodes if node not in bounding), nodes[0])
    enough = any if node in bounding else all
    return enough(
        _shown(system, case, strict, bounded) or _nonnegative_by_cases(system, case, strict, bounded, budget)
        for case in (Substitution({}, {node: argument}).apply(expr) for argument in node.arguments)
    )


def _direction(expr: Expr, node: Atom) -> int:
    """1 if the expression grows with the node wherever it occurs, -1 if it falls, 0 if that is not seen.

    A max or min grows with each of its arguments, in which the node may be.
    """
    if expr.denominator is not None:
        return 0
    ways = [(1 if c > 0 else -1) * way for m, c in expr.terms.items() for way in _ways(m, node)]
    return ways[0] if len(set(ways)) == 1 else 0


def _ways(m: Monomial, node: Atom) -> list[int]:
    """How the monomial changes with the node, once for each place in which that is: 1, -1, or 0 if it is not seen."""
    ways: list[int] = []
    for atom, n in m.factors:
        inside = [a for a in atom.arguments if node in nodes_of(a)]
        if atom is node or inside:
            seen = n == 1 and (not inside or atom.kind in ("max", "min"))
            if not seen or not all(a.positive for a, _ in m.factors if a is not atom):
                return [0]
            ways += [_direction(a, node) for a in inside] or [1]
    return ways
