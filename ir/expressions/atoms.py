"""Atoms and monomials, the leaves of the normal form of an expression, and the bounds that every expression keeps.

Both are interned: an atom by what it says, a monomial by its factors, so that they compare by identity and the
product of two monomials is one look-up. The classes here and `Expr` are written by hand rather than with attrs: they
are created through their pools alone, and a generated `__init__` with `object.__setattr__` doubles the cost of the
hot path.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

from bpir.ir.effort import spend
from bpir.ir.expressions.error import ExpressionError, refuse

if TYPE_CHECKING:
    from fractions import Fraction

    from bpir.ir.expressions.normal_form import Expr

DIGITS = 4_000  # decimal digits of an integer or of either part of a rational coefficient
EXPONENT = 1_000  # absolute value of an exponent
TERMS = 10_000  # terms of a sum
DEPTH = 100  # max, min, ceildiv and floordiv inside each other
SIZE = 100_000  # factors of one max, min, ceildiv or floordiv, everything inside it counted
LARGE = 10**DIGITS
_FEW = 4  # factors, up to which those of a monomial are not counted as steps of their own
_CACHED_PRODUCTS = 200_000  # entries, after which the cache of products starts afresh


Extremum = Literal["max", "min"]
Rounding = Literal["ceildiv", "floordiv"]
NodeKind = Literal[Extremum, Rounding]
AtomKind = Literal["symbol", NodeKind]


class Atom:
    """A symbol (a positive integer), or a `max`, `min`, `ceildiv` or `floordiv` node over normal forms.

    `lower` is a number that no value of the atom is below (None if none is known); `integral` and `positive` are True
    where every value of the symbols gives a positive or integral value, and False where that is not known.
    """

    __slots__ = ("arguments", "depth", "integral", "kind", "lower", "positive", "size", "symbols", "text")

    kind: AtomKind
    text: str
    arguments: tuple[Expr, ...]
    symbols: tuple[str, ...]
    depth: int
    size: int
    integral: bool
    positive: bool
    lower: int | Fraction | None

    def __repr__(self) -> str:
        return f"Atom({self.text!r})"


class Monomial:
    """A product of powers of atoms; factors in the order of the atoms' text, exponents not zero."""

    __slots__ = ("degree", "factors", "key")

    factors: tuple[tuple[Atom, int], ...]
    degree: int  # sum of the exponents
    key: tuple[object, ...]  # sorts terms: degree descending, then by factors, numerator first; a constant last

    def __repr__(self) -> str:
        return f"Monomial({self.factors!r})"


_SYMBOLS: dict[str, Atom] = {}
_NODES: dict[tuple[str, tuple[Expr, ...]], Atom] = {}
_MONOMIALS: dict[tuple[tuple[Atom, int], ...], Monomial] = {}
_PRODUCTS: dict[tuple[Monomial, Monomial], Monomial] = {}
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


def symbol_atom(name: str, fresh: bool = False) -> Atom:
    """The atom of a symbol. A fresh one has a name that no text can spell (proofs use them).

    Raises:
        ExpressionError: the name is not an identifier.
    """
    atom = _SYMBOLS.get(name)
    if atom is None:
        if not fresh and not _NAME.match(name):
            raise ExpressionError(f"'{name}' is not the name of a symbol")
        atom = Atom()
        atom.kind, atom.text, atom.arguments, atom.symbols = "symbol", name, (), (name,)
        atom.depth, atom.size, atom.integral, atom.positive, atom.lower = 0, 1, True, True, 1
        atom = _SYMBOLS.setdefault(name, atom)
    return atom


def node_atom(kind: NodeKind, arguments: tuple[Expr, ...], integral: bool, positive: bool, lower: int | Fraction | None) -> Atom:
    """The atom of a node whose arguments are already in the order and form that is canonical for its kind.

    Raises:
        ExpressionError: nodes nest too deep, or the node is too large to print.
    """
    key = (kind, arguments)
    atom = _NODES.get(key)
    if atom is None:
        depth = 1 + max(a.depth for a in arguments)
        size = 1 + sum(a.size for a in arguments)
        if depth > DEPTH:
            refuse(f"{kind} nests too deep", DEPTH, "levels")
        if size > SIZE:
            refuse(f"the arguments of {kind} are too large", SIZE, "factors")
        atom = Atom()
        atom.kind, atom.arguments = kind, arguments
        atom.text = f"{kind}({', '.join(a.text for a in arguments)})"
        atom.symbols = tuple(sorted({name for a in arguments for name in a.symbols}))
        atom.depth, atom.size, atom.integral, atom.positive, atom.lower = depth, size, integral, positive, lower
        atom = _NODES.setdefault(key, atom)
    return atom


def monomial(powers: dict[Atom, int]) -> Monomial:
    """The monomial of the powers; exponents may be zero.

    Raises:
        ExpressionError: an exponent is out of bounds.
    """
    factors = tuple(sorted([(a, n) for a, n in powers.items() if n], key=lambda factor: factor[0].text))
    if len(factors) > _FEW:
        spend(len(factors))
    found = _MONOMIALS.get(factors)
    if found is None:
        for _, n in factors:
            if not -EXPONENT <= n <= EXPONENT:
                refuse("an exponent is too large", EXPONENT, "in absolute value")
        found = Monomial()
        found.factors = factors
        found.degree = sum([n for _, n in factors])
        above = tuple([(a.text, -n) for a, n in factors if n > 0])
        below = tuple([(a.text, n) for a, n in factors if n < 0])
        found.key = (-found.degree, not factors, above, below)
        found = _MONOMIALS.setdefault(factors, found)
    return found


def product(a: Monomial, b: Monomial) -> Monomial:
    """The product of two monomials, remembered."""
    powers = dict(a.factors)
    for atom, n in b.factors:
        powers[atom] = powers.get(atom, 0) + n
    result = monomial(powers)
    if len(_PRODUCTS) > _CACHED_PRODUCTS:
        _PRODUCTS.clear()
    _PRODUCTS[a, b] = result
    return result


products = _PRODUCTS.get  # products((a, b)) or product(a, b): the look-up without a call


def power(base: Monomial, n: int) -> Monomial:
    """The monomial to an integer power."""
    return monomial({atom: e * n for atom, e in base.factors})


UNIT = monomial({})
