"""The normal form: a sparse Laurent polynomial over atoms, or a fraction with one polynomial denominator.

`Expr` is interned: equal normal forms are the same object, so that equality is `is`. Pools hold their members for the
life of the process.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import NoReturn

from bpir.ir.effort import spend
from bpir.ir.expressions.atoms import (
    EXPONENT,
    TERMS,
    UNIT,
    Atom,
    Monomial,
    monomial,
    power,
    product,
    products,
    symbol_atom,
)
from bpir.ir.expressions.error import ExpressionError, refuse
from bpir.ir.expressions.late_operators import ABOVE
from bpir.ir.expressions.terms import Coefficient, Terms, _check_coefficients, _power, clean, multiply, normal


class Expr:
    """An exact expression in positive integer symbols, in normal form. Create one with `symbol`, `constant` and
    operators.

    `terms` maps each monomial to its coefficient, not zero, and is never changed. `denominator` is None, or a
    polynomial of two or more terms that has no factor in common with the numerator `terms`: primitive over the
    integers, without a monomial factor, its leading coefficient positive.
    """

    __slots__ = ("_depth", "_size", "_symbols", "_text", "denominator", "terms")

    terms: Terms
    denominator: Expr | None
    _text: str | None
    _symbols: tuple[str, ...] | None
    _depth: int
    _size: int

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError("an expression is immutable")

    def __reduce__(self) -> NoReturn:
        raise TypeError("an expression is interned and cannot be pickled; use its text")

    def __copy__(self) -> Expr:
        return self

    def __deepcopy__(self, memo: object) -> Expr:
        return self

    # Properties

    @property
    def text(self) -> str:
        """The canonical spelling; it parses back to the same object."""
        if self._text is None:
            from bpir.ir.expressions.text import render

            _set_text(self, render(self))
        assert self._text is not None
        return self._text

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"Expr({self.text!r})"

    @property
    def constant(self) -> Fraction | None:
        """The value, if no symbol occurs."""
        terms = self.terms
        if not terms:
            return Fraction(0)
        if len(terms) == 1 and self.denominator is None and UNIT in terms:
            return Fraction(terms[UNIT])
        return None

    @property
    def integer(self) -> int | None:
        """The value, if no symbol occurs and it is an integer."""
        terms = self.terms
        if not terms:
            return 0
        if len(terms) == 1 and self.denominator is None:
            value = terms.get(UNIT)
            if type(value) is int:
                return value
        return None

    @property
    def symbols(self) -> tuple[str, ...]:
        """The names of the symbols that occur, sorted."""
        if self._symbols is None:
            names = {name for atom in self.atoms() for name in atom.symbols}
            _set_symbols(self, tuple(sorted(names)))
        assert self._symbols is not None
        return self._symbols

    def atoms(self) -> list[Atom]:
        """The atoms that are factors of a term of the numerator or denominator (not those inside nodes), each once."""
        found = {atom: None for m in self.terms for atom, _ in m.factors}
        if self.denominator is not None:
            found.update((atom, None) for m in self.denominator.terms for atom, _ in m.factors)
        return list(found)

    @property
    def depth(self) -> int:
        """The depth to which max, min, ceildiv and floordiv nodes are nested."""
        if self._depth < 0:
            _set_depth(self, max((atom.depth for atom in self.atoms()), default=0))
        return self._depth

    @property
    def size(self) -> int:
        """The number of factors and terms, those inside nodes included: what the text's length is proportional to."""
        if self._size < 0:
            count = len(self.terms) + sum(atom.size for m in self.terms for atom, _ in m.factors)
            _set_size(self, count + (self.denominator.size if self.denominator is not None else 0))
        return self._size

    # Operators

    def __add__(self, other: Expr | Coefficient) -> Expr:
        if type(other) is not Expr:
            converted = _operand(other)
            if converted is None:
                return NotImplemented
            other = converted
        if self.denominator is not None or other.denominator is not None:
            return total((self, other))
        small, large = self.terms, other.terms
        if len(small) > len(large):
            small, large = large, small
        terms = large.copy()
        for m, c in small.items():
            if m in terms:
                c += terms[m]
                if c:
                    terms[m] = c if type(c) is int else normal(c)
                else:
                    del terms[m]
            else:
                terms[m] = c
        return intern(terms)

    __radd__ = __add__

    def __neg__(self) -> Expr:
        return intern({m: -c for m, c in self.terms.items()}, self.denominator)

    def __sub__(self, other: Expr | Coefficient) -> Expr:
        if type(other) is not Expr:
            converted = _operand(other)
            if converted is None:
                return NotImplemented
            other = converted
        if self is other:
            return ZERO
        if self.denominator is not None or other.denominator is not None:
            return total((self, -other))
        terms = self.terms.copy()
        for m, c in other.terms.items():
            if m in terms:
                c = terms[m] - c
                if c:
                    terms[m] = c if type(c) is int else normal(c)
                else:
                    del terms[m]
            else:
                terms[m] = -c
        return intern(terms)

    def __rsub__(self, other: Coefficient) -> Expr:
        return (-self).__add__(other)

    def __mul__(self, other: Expr | Coefficient) -> Expr:
        if type(other) is not Expr:
            converted = _operand(other)
            if converted is None:
                return NotImplemented
            other = converted
        if self.denominator is not None or other.denominator is not None:
            return ABOVE.multiply_fractions(self, other)
        a, b = self.terms, other.terms
        if len(a) == len(b) == 1:  # most products by far: no dict is built where the result is known
            ((m, c),) = a.items()
            ((n, d),) = b.items()
            mn, cd = products((m, n)) or product(m, n), c * d
            if type(cd) is not int and cd.denominator == 1:
                cd = cd.numerator
            return _SINGLES.get((mn, cd)) or intern({mn: cd})
        return intern(multiply(a, b))

    __rmul__ = __mul__

    def __truediv__(self, other: Expr | Coefficient) -> Expr:
        if type(other) is not Expr:
            converted = _operand(other)
            if converted is None:
                return NotImplemented
            other = converted
        return self * inverse(other)

    def __rtruediv__(self, other: Coefficient) -> Expr:
        converted = _operand(other)
        if converted is None:
            return NotImplemented
        return converted * inverse(self)

    def __pow__(self, exponent: int | Expr) -> Expr:
        known = _POWERS.get((self, exponent))
        if known is not None:
            return known
        n = exponent.integer if isinstance(exponent, Expr) else exponent
        if type(n) is not int:
            raise ExpressionError("an exponent must be an integer")
        if len(self.terms) == 1 and self.denominator is None and -EXPONENT <= n <= EXPONENT:  # `H**2` and `t**-1` come again and again
            if len(_POWERS) > _REMEMBERED_POWERS:
                _POWERS.clear()
            known = _POWERS[self, exponent] = intern(_power(self.terms, n)) if n >= 0 else intern(_power(inverse(self).terms, -n))
            return known
        if not -EXPONENT <= n <= EXPONENT:
            refuse("an exponent is too large", EXPONENT, "in absolute value")
        if n < 0:
            return inverse(self) ** -n
        if self.denominator is not None and n:
            return intern(_power(self.terms, n), self.denominator**n)  # powers of coprime polynomials are coprime
        return intern(_power(self.terms, n))

    # Values

    def substitute(self, replacements: Mapping[str, Expr]) -> Expr:
        """The expression with each named symbol replaced, all at once.

        Raises:
            ExpressionError: a denominator becomes zero, or a bound is exceeded.
        """
        if not any(name in replacements for name in self.symbols):
            return self
        return ABOVE.substitute(self, replacements)

    def evaluate(self, values: Mapping[str, int]) -> Fraction:
        """The exact value where each symbol has the value given.

        Raises:
            ExpressionError: a symbol has no value, a denominator is zero, or a number grows out of bounds.
        """
        return ABOVE.evaluate(self, values)


_set_terms = Expr.__dict__["terms"].__set__
_set_denominator = Expr.__dict__["denominator"].__set__
_set_text = Expr.__dict__["_text"].__set__
_set_symbols = Expr.__dict__["_symbols"].__set__
_set_depth = Expr.__dict__["_depth"].__set__
_set_size = Expr.__dict__["_size"].__set__

_POWERS: dict[tuple[Expr, int | Expr], Expr] = {}
_REMEMBERED_POWERS = 10_000
_SINGLES: dict[tuple[Monomial, Coefficient], Expr] = {}
_SUMS: dict[int, Expr] = {}  # by the sum of the hashes of their terms; one whose place is taken has the next one
_FRACTIONS: dict[tuple[Expr, Expr], Expr] = {}
_new = Expr.__new__


def _create(terms: Terms, denominator: Expr | None) -> Expr:
    result = _new(Expr)
    _set_terms(result, terms)
    _set_denominator(result, denominator)
    _set_text(result, None)
    _set_symbols(result, None)
    _set_depth(result, -1)
    _set_size(result, -1)
    return result


def intern(terms: Terms, denominator: Expr | None = None) -> Expr:
    """The one object of a normal form; `terms` is handed over. The denominator must be canonical already."""
    if denominator is not None and terms:
        numerator = intern(terms)
        pair = (numerator, denominator)
        found = _FRACTIONS.get(pair)
        if found is None:
            found = _FRACTIONS.setdefault(pair, _create(terms, denominator))
        return found
    if len(terms) == 1:
        for single in terms.items():
            found = _SINGLES.get(single)
            if found is None:
                _check_coefficients(terms)
                found = _SINGLES.setdefault(single, _create(terms, None))
            return found
    spend(len(terms))
    key = sum(map(hash, terms.items()))
    while (found := _SUMS.get(key)) is not None:
        if found.terms == terms:
            return found
        key += 1
    if len(terms) > TERMS:
        refuse("a sum has too many terms", TERMS, "terms")
    _check_coefficients(terms)
    found = _SUMS[key] = _create(terms, None)
    return found


def _operand(value: object) -> Expr | None:
    if type(value) is int or type(value) is Fraction:
        return constant(value)
    return None


def inverse(value: Expr) -> Expr:
    """One divided by the expression.

    Raises:
        ExpressionError: the expression is zero.
    """
    terms = value.terms
    if not terms:
        raise ExpressionError("division by zero")
    if len(terms) == 1 and value.denominator is None:
        ((m, c),) = terms.items()
        return intern({power(m, -1): normal(Fraction(1, c))})
    return ABOVE.fraction(value.denominator or ONE, intern(terms))


def symbol(name: str) -> Expr:
    """The symbol of that name, a positive integer.

    Raises:
        ExpressionError: the name is not an identifier.
    """
    found = _SYMBOL_EXPRESSIONS.get(name)
    if found is None:
        found = _SYMBOL_EXPRESSIONS.setdefault(name, atom_expression(symbol_atom(name)))
    return found


_SYMBOL_EXPRESSIONS: dict[str, Expr] = {}


def atom_expression(atom: Atom) -> Expr:
    """The expression that is one atom."""
    return intern({monomial({atom: 1}): 1})


def constant(value: int | Fraction) -> Expr:
    """A number.

    Raises:
        ExpressionError: it has too many digits, or is neither an int nor a Fraction.
    """
    if type(value) is Fraction:
        value = normal(value)
    elif type(value) is not int:
        raise ExpressionError(f"{value!r} is not an exact number")
    return _SINGLES.get((UNIT, value)) or intern({UNIT: value} if value else {})


ZERO = intern({})
ONE = intern({UNIT: 1})


def combination(items: Sequence[tuple[int, Expr]]) -> Expr:
    """The sum of multiples of expressions, without the products."""
    terms: Terms = {}
    for factor, item in items:
        if item.denominator is not None:
            return total([factor * item for factor, item in items])
        for m, c in item.terms.items():
            terms[m] = terms.get(m, 0) + factor * c
    return intern(clean(terms))


def total(items: Iterable[Expr]) -> Expr:
    """The sum of the expressions, in time linear in the number of their terms."""
    terms: Terms = {}
    fractions: dict[Expr, Terms] = {}
    for item in items:
        into = terms if item.denominator is None else fractions.setdefault(item.denominator, {})
        for m, c in item.terms.items():
            into[m] = into.get(m, 0) + c
    result = intern(clean(terms))
    if fractions:
        for denominator in sorted(fractions, key=lambda d: d.text):
            result = ABOVE.add_fraction(result, intern(clean(fractions[denominator])), denominator)
    return result
