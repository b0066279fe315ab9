"""The canonical spelling of a normal form: the same bytes in every process, and readable back to the same object."""

from __future__ import annotations

from math import lcm
from typing import TYPE_CHECKING

from bpir.ir.effort import spend
from bpir.ir.expressions.atoms import SIZE, Atom, Monomial, monomial, product
from bpir.ir.expressions.error import refuse

if TYPE_CHECKING:
    from bpir.ir.expressions.normal_form import Expr
    from bpir.ir.expressions.terms import Coefficient, Terms


def render(expr: Expr) -> str:
    """The text of the expression.

    Raises:
        ExpressionError: shared nodes would print as a text far too long.
    """
    if expr.size > 10 * SIZE:
        refuse("the expression is too large to print", 10 * SIZE, "factors")
    spend(expr.size)
    if expr.denominator is None:
        return _sum(expr.terms)
    return _fraction(expr.terms, expr.denominator.terms)


def ordered(terms: Terms) -> list[tuple[Monomial, Coefficient]]:
    """The terms in the order of printing: total degree descending, then by their factors, a constant last."""
    return sorted(terms.items(), key=lambda term: term[0].key)


def _sum(terms: Terms) -> str:
    if not terms:
        return "0"
    out: list[str] = []
    for m, c in ordered(terms):
        if out:
            out.append(" - " if c < 0 else " + ")
        elif c < 0:
            out.append("-")
        out.append(_term(m, -c if c < 0 else c))
    return "".join(out)


def _power(text: str, n: int) -> str:
    return text if n == 1 else f"{text}**{n}"


def _term(m: Monomial, c: Coefficient) -> str:
    above = [_power(atom.text, n) for atom, n in m.factors if n > 0]
    below = [_power(atom.text, -n) for atom, n in m.factors if n < 0]
    if c.numerator != 1 or not above:
        above.insert(0, str(c.numerator))
    if c.denominator != 1:
        below.insert(0, str(c.denominator))
    text = "*".join(above)
    if not below:
        return text
    return f"{text}/{below[0]}" if len(below) == 1 else f"{text}/({'*'.join(below)})"


def _fraction(terms: Terms, denominator: Terms) -> str:
    # One fraction: negative powers and the denominators of coefficients go below, before the polynomial.
    scale = lcm(*(c.denominator for c in terms.values()))
    powers: dict[Atom, int] = {}
    for m in terms:
        for atom, n in m.factors:
            if n < powers.get(atom, 0):
                powers[atom] = n
    divisor = monomial({atom: -n for atom, n in powers.items()})
    above: Terms = {product(m, divisor): int(c * scale) for m, c in terms.items()}
    text = _sum(above)
    if len(above) > 1:
        text = f"({text})"
    below = f"({_sum(denominator)})"
    if scale != 1 or divisor.factors:
        return f"{text}/({_term(divisor, scale)}*{below})"
    return f"{text}/{below}"
