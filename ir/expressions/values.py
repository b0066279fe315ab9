"""Values for the symbols of an expression: numbers (evaluation) or expressions (substitution)."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from bpir.ir.effort import spend
from bpir.ir.expressions.atoms import Atom, monomial
from bpir.ir.expressions.error import ExpressionError, refuse
from bpir.ir.expressions.nodes import extremum, rounded
from bpir.ir.expressions.normal_form import Expr, intern, total
from bpir.ir.expressions.terms import Coefficient, Terms, clean, multiply, normal

_VALUE_BITS = 2_000_000  # bits of a number that evaluation may meet


def evaluate(expr: Expr, values: Mapping[str, int], known: dict[Atom, Coefficient]) -> Coefficient:
    """The value of the expression; `known` keeps the values of atoms.

    Raises:
        ExpressionError: a symbol has no value, a denominator is zero, or a number grows out of bounds.
    """
    value = _evaluate_terms(expr.terms, values, known)
    if expr.denominator is None:
        return value
    below = _evaluate_terms(expr.denominator.terms, values, known)
    if not below:
        raise ExpressionError("division by zero")
    return Fraction(value) / below


def _evaluate_terms(terms: Terms, values: Mapping[str, int], known: dict[Atom, Coefficient]) -> Coefficient:
    # Terms with the same denominator are added as integers; a Fraction is built once a denominator.
    spend(2 + len(terms))
    sums: dict[Coefficient, Coefficient] = {}
    for m, above in terms.items():
        below: Coefficient = 1
        for atom, n in m.factors:
            value = known.get(atom)
            if value is None:
                value = known[atom] = _evaluate_atom(atom, values, known)
            if n == 1:
                above *= value
            elif n == -1:
                below *= value
            else:
                _check_power(value, n)
                if n > 0:
                    above *= value**n
                else:
                    below *= value**-n
        sums[below] = sums.get(below, 0) + above
    result: Coefficient = 0
    for below, above in sums.items():
        if below == 1:
            result += above
        elif not below:
            raise ExpressionError("division by zero")
        else:
            result += Fraction(above) / below
    return result


def _check_power(value: Coefficient, n: int) -> None:
    if max(value.numerator.bit_length(), value.denominator.bit_length()) * abs(n) > _VALUE_BITS:
        refuse("a value is too large", _VALUE_BITS, "bits")


def _evaluate_atom(atom: Atom, values: Mapping[str, int], known: dict[Atom, Coefficient]) -> Coefficient:
    if atom.kind == "symbol":
        value = values.get(atom.text)
        if value is None:
            raise ExpressionError(f"the symbol '{atom.text}' has no value")
        return value
    arguments = [evaluate(a, values, known) for a in atom.arguments]
    if atom.kind == "max":
        return max(arguments)
    if atom.kind == "min":
        return min(arguments)
    if not arguments[1]:
        raise ExpressionError("division by zero")
    quotient = Fraction(arguments[0]) / arguments[1]
    return quotient.__floor__() if atom.kind == "floordiv" else quotient.__ceil__()


class Substitution:
    """Replaces symbols by expressions, all at once; nodes are built anew. One object may serve many expressions.

    Args:
        replacements: what a symbol becomes, by name.
        nodes: what a max, min, ceildiv or floordiv node becomes as a whole.
    """

    def __init__(self, replacements: Mapping[str, Expr], nodes: Mapping[Atom, Expr] | None = None) -> None:
        self._replacements = replacements
        self._everywhere = bool(nodes)
        self._atoms: dict[Atom, Expr | None] = dict(nodes or {})
        self._powers: dict[tuple[Atom, int], Expr] = {}

    def apply(self, expr: Expr) -> Expr:
        """The expression with the replacements made.

        Raises:
            ExpressionError: a denominator becomes zero, or a bound is exceeded.
        """
        result = self._polynomial(expr.terms)
        if expr.denominator is not None:
            return result / self._polynomial(expr.denominator.terms)
        return result

    def _polynomial(self, terms: Terms) -> Expr:
        spend(2 + sum([1 + len(m.factors) for m in terms]))
        sums: Terms = {}
        fractions: list[Expr] = []
        for m, c in terms.items():
            kept: dict[Atom, int] = {}
            changed: list[Expr] = []
            for atom, n in m.factors:
                value = self._power(atom, n)
                if value is None:
                    kept[atom] = kept.get(atom, 0) + n
                elif value.denominator is None and len(value.terms) == 1:  # nearly always: a number, or a product
                    ((inner, d),) = value.terms.items()
                    c *= d
                    for factor, k in inner.factors:
                        kept[factor] = kept.get(factor, 0) + k
                else:
                    changed.append(value)
            base = monomial(kept)
            if not changed:
                sums[base] = sums.get(base, 0) + c
                continue
            part: Terms = {base: normal(c)}
            below: list[Expr] = []
            for value in changed:
                if value.denominator is None:
                    part = multiply(part, value.terms)
                else:
                    below.append(value)
            if below:
                whole = intern(part)
                for value in below:
                    whole = whole * value
                fractions.append(whole)
            else:
                for rest, d in part.items():
                    sums[rest] = sums.get(rest, 0) + d
        result = intern(clean(sums))
        return total([result, *fractions]) if fractions else result

    def _power(self, atom: Atom, n: int) -> Expr | None:
        """The new value of a power; None if it stays."""
        value = self._atoms[atom] if atom in self._atoms else self._atom(atom)
        if value is None or n == 1:
            return value
        key = (atom, n)
        found = self._powers.get(key)
        if found is None:
            found = self._powers[key] = value**n
        return found

    def _atom(self, atom: Atom) -> Expr | None:
        if atom.kind == "symbol":
            value = self._replacements.get(atom.text)
        elif not self._everywhere and not any(name in self._replacements for name in atom.symbols):
            value = None
        else:
            arguments = tuple(self.apply(a) for a in atom.arguments)
            value = None if arguments == atom.arguments else self.rebuild(atom, arguments)
        self._atoms[atom] = value
        return value

    def rebuild(self, atom: Atom, arguments: tuple[Expr, ...]) -> Expr:
        """The node with other arguments."""
        if atom.kind == "max" or atom.kind == "min":
            return extremum(atom.kind, arguments)
        if atom.kind == "symbol":
            raise TypeError(f"{atom.text} is a symbol, which has no arguments")
        return rounded(atom.kind, arguments[0] / arguments[1])


def nodes_of(*exprs: Expr) -> list[Atom]:
    """The nodes in the expressions, inner ones first, each once."""
    found: dict[Atom, None] = {}
    stack = [(atom, False) for expr in reversed(exprs) for atom in reversed(expr.atoms()) if atom.kind != "symbol"]
    while stack:
        atom, ready = stack.pop()
        if atom in found:
            continue
        if ready:
            found[atom] = None
            continue
        stack.append((atom, True))
        stack.extend((inner, False) for a in atom.arguments for inner in a.atoms() if inner.kind != "symbol")
    return list(found)
