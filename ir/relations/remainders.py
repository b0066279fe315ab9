"""Proofs of equality by cases of a remainder: `ceildiv(L, 4) + ceildiv(L - 1, 4) + ceildiv(L - 2, 4) + ceildiv(L - 3, 4) = L`."""

from __future__ import annotations

from math import lcm

from bpir.ir.expressions.atoms import monomial, symbol_atom
from bpir.ir.expressions.expression import ZERO, Expr, constant
from bpir.ir.expressions.normal_form import intern
from bpir.ir.expressions.values import Substitution, nodes_of

_QUOTIENTS = ("ceildiv", "floordiv")
_CASES = 1024  # remainders of one proof


def has_quotients(*exprs: Expr) -> bool:
    """Whether a quotient is rounded in one of them."""
    return any(atom.kind in _QUOTIENTS for atom in nodes_of(*exprs))


def equal_by_remainders(a: Expr, b: Expr) -> bool:
    """Whether both are the same whatever remainder a symbol leaves when it is divided by the number `m`.

    Every positive integer is one of 1 to m, or `m*k + r` with a positive integer `k` and `r` from 1 to m: in each of these cases the
    quotients by divisors of `m` are whole, or numbers, and what is left must be one form.
    """
    difference = a - b
    quotients = [atom for atom in nodes_of(difference) if atom.kind in _QUOTIENTS]
    divisors = [atom.arguments[1].integer for atom in quotients]
    if not quotients or not all(divisors):
        return False
    modulus = lcm(*(abs(divisor) for divisor in divisors if divisor))
    names = sorted({name for atom in quotients for name in atom.arguments[0].symbols})
    return modulus <= _CASES and any(_in_all_cases(difference, name, modulus) for name in names)


def _in_all_cases(difference: Expr, name: str, modulus: int) -> bool:
    multiple = modulus * intern({monomial({symbol_atom("remainder.multiple", fresh=True): 1}): 1})
    return all(
        Substitution({name: value}).apply(difference) is ZERO
        for remainder in range(1, modulus + 1)
        for value in (multiple + remainder, constant(remainder))
    )
