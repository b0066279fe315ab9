"""Expressions of the language on a grid: compiled once, evaluated with arrays, exactly.

An expression is a polynomial in one of its atoms, with coefficients that are expressions in the others. The atom is the one that depends
on the most points of the grid, so that the coefficients are computed on what is left of it: of `a(t, B)*D + b(t, B)` only one product and
one sum are done for each of all points. Equal expressions are one object, and are computed once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from math import prod

import numpy as np

from bpir.ir.expressions.atoms import Atom, monomial
from bpir.ir.expressions.error import ExpressionError
from bpir.ir.expressions.normal_form import Expr, intern
from bpir.ir.expressions.terms import Coefficient, Terms
from bpir.sweep.arithmetic.ratio import NOUGHT, UNIT, Ratio
from bpir.sweep.arithmetic.whole import Whole, scalar, whole

Powers = list[tuple[int, Expr]]
"""Exponents of an atom, the largest first, and the expression that each power has as a factor."""


class Evaluator:
    """Evaluates expressions in the symbols that are the axes of a grid.

    What it learns of an expression serves every part of the grid that is evaluated.

    Args:
        sizes: how many values each axis has, in the order of the axes.
    """

    def __init__(self, sizes: Mapping[str, int]) -> None:
        self.sizes = dict(sizes)
        self._forms: dict[Expr, tuple[Atom, Powers]] = {}

    def on(self, axes: Mapping[str, Sequence[int]], supplied: Mapping[str, Callable[[Values], Ratio]] | None = None) -> Values:
        """The values of expressions where the axes have these numbers.

        Args:
            supplied: what gives the values of symbols that are no axes.
        """
        return Values(self, axes, supplied or {})

    def form(self, expr: Expr) -> tuple[Atom, Powers]:
        """The expression, which has no denominator and is no number, as a polynomial in one atom."""
        found = self._forms.get(expr)
        if found is None:
            main = max(expr.atoms(), key=lambda atom: (self._points(atom), atom.text))
            found = self._forms[expr] = (main, _powers(expr.terms, main))
        return found

    def _points(self, atom: Atom) -> int:
        return prod(self.sizes.get(name, 1) for name in atom.symbols)


def _powers(terms: Terms, main: Atom) -> Powers:
    groups: dict[int, Terms] = {}
    for m, c in terms.items():
        exponent = next((n for atom, n in m.factors if atom is main), 0)
        groups.setdefault(exponent, {})[monomial({atom: n for atom, n in m.factors if atom is not main})] = c
    return [(exponent, intern(groups[exponent])) for exponent in sorted(groups, reverse=True)]


class Values:
    """The values of expressions on one part of a grid."""

    def __init__(self, evaluator: Evaluator, axes: Mapping[str, Sequence[int]], supplied: Mapping[str, Callable[[Values], Ratio]]) -> None:
        self._evaluator, self._supplied = evaluator, supplied
        self.shape = tuple(len(values) for values in axes.values())
        self._axes: dict[str, Ratio] = {}
        for place, (name, numbers) in enumerate(axes.items()):
            array = whole(list(numbers))
            shape = [1] * len(axes)
            shape[place] = len(numbers)
            self._axes[name] = Ratio(Whole(array.values.reshape(shape), array.low, array.high))
        self._known: dict[Expr, Ratio] = {}
        self._powers: dict[tuple[Atom, int], Ratio] = {}

    def of(self, expr: Expr) -> Ratio:
        """The values of an expression; an axis of length 1 is one that they do not depend on.

        Raises:
            ExpressionError: it has a symbol that is no axis.
        """
        found = self._known.get(expr)
        if found is None:
            found = self._known[expr] = self._value(expr)
        return found

    def _value(self, expr: Expr) -> Ratio:
        number = expr.constant
        if number is not None:
            return _number(number)
        if expr.denominator is not None:
            return (self.of(intern(expr.terms)) / self.of(expr.denominator)).settled()
        main, powers = self._evaluator.form(expr)
        (exponent, first), *others = powers
        found = self.of(first)
        for lower, coefficient in others:
            found = found * self._power(main, exponent - lower) + self.of(coefficient)
            exponent = lower
        if exponent > 0:
            found = found * self._power(main, exponent)
        elif exponent < 0:
            found = found / self._power(main, -exponent)
        return found.settled()

    def _power(self, atom: Atom, n: int) -> Ratio:
        """A positive power of an atom."""
        key = (atom, n)
        found = self._powers.get(key)
        if found is None:
            found = self._atom(atom) if n == 1 else self._power(atom, n // 2) * self._power(atom, n - n // 2)
            self._powers[key] = found
        return found

    def _atom(self, atom: Atom) -> Ratio:
        if atom.kind == "symbol":
            if atom.text in self._supplied:
                return self._supplied[atom.text](self)
            if atom.text not in self._axes:
                raise ExpressionError(f"the symbol '{atom.text}' has no value")
            return self._axes[atom.text]
        first, *others = (self.of(argument) for argument in atom.arguments)
        if atom.kind == "max":
            for other in others:
                first = first.larger(other)
            return first
        if atom.kind == "min":
            for other in others:
                first = first.smaller(other)
            return first
        quotient = first / others[0]
        return quotient.rounded_up() if atom.kind == "ceildiv" else quotient.rounded_down()


def _number(value: Coefficient) -> Ratio:
    exact = Fraction(value)
    if exact.denominator == 1:
        return NOUGHT if not exact else UNIT if exact == 1 else Ratio(scalar(exact.numerator))
    return Ratio(scalar(exact.numerator), scalar(exact.denominator))


def fractions_at(found: Ratio, shape: tuple[int, ...]) -> list[Fraction | None]:
    """Every value as a Python fraction, in the order of the points; None where there is none. Slow: for tests and messages."""
    above, below = (np.broadcast_to(part.values, shape).ravel() for part in (found.above, found.below))
    undefined = np.zeros(shape, bool) if found.undefined is None else np.broadcast_to(found.undefined, shape)
    return [None if no else Fraction(int(a), int(b)) for a, b, no in zip(above, below, undefined.ravel(), strict=True)]
