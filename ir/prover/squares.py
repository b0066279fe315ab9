"""Signs by completing squares: `4*c*(c*u**2 + b*u + d)` is `(2*c*u + b)**2 + 4*c*d - b**2`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from bpir.ir.effort import Effort
from bpir.ir.expressions.atoms import Atom, monomial, power, product
from bpir.ir.expressions.bounds import nonnegative
from bpir.ir.expressions.expression import ZERO, Expr
from bpir.ir.expressions.normal_form import intern
from bpir.ir.expressions.terms import Terms
from bpir.ir.prover.refutation import without_divisors

_TERMS = 40  # of a sum that is completed
_DEPTH = 4  # squares that are completed one after the other


def shown_by_squares(expr: Expr, lower: Mapping[Atom, int], strict: bool, effort: Effort, depth: int = _DEPTH) -> bool:
    """Whether no value is negative (with `strict`, nor zero), seen by completing squares.

    Raises:
        Exhausted: it takes more steps than may be spent.
    """
    expr = without_divisors(expr)
    if nonnegative(expr, lower, strict):
        return True
    if not depth or len(expr.terms) > _TERMS:
        return False
    for left in _completed(expr, lower, effort):
        if (left is ZERO and not strict) or shown_by_squares(left, lower, strict, effort, depth - 1):
            return True
    return False


def _completed(expr: Expr, lower: Mapping[Atom, int], effort: Effort) -> Iterator[Expr]:
    """The rest of a positive multiple of the expression besides a square, for each atom in which it is quadratic."""
    for parts in filter(None, (_quadratic(expr, atom) for atom in expr.atoms())):
        square, linear, rest = parts
        effort.spend((len(linear.terms) + 1) ** 2 + len(square.terms) * len(rest.terms))
        if nonnegative(square, lower, strict=True):
            yield 4 * square * rest - linear * linear


def _quadratic(expr: Expr, atom: Atom) -> tuple[Expr, Expr, Expr] | None:
    """The coefficients of `u**2`, `u` and 1, where u is a power of the atom; None if there are other powers of it."""
    parts: dict[int, Terms] = {}
    for m, c in expr.terms.items():
        n = next((k for a, k in m.factors if a is atom), 0)
        parts.setdefault(n, {})[product(m, power(monomial({atom: 1}), -n))] = c
    most = max(parts)
    if most % 2 or not most or not parts.keys() <= {0, most // 2, most}:
        return None
    square, linear, rest = (intern(parts.get(n, {})) for n in (most, most // 2, 0))
    return square, linear, rest
