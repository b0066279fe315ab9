"""The nodes `max`, `min`, `ceildiv` and `floordiv`: rules that give many equal ones one form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cache
from math import gcd, lcm

from bpir.ir.expressions.atoms import Atom, Extremum, Rounding, monomial, node_atom, power
from bpir.ir.expressions.bounds import integral, lower_bound, nonnegative, positive, whole
from bpir.ir.expressions.error import ExpressionError, refuse
from bpir.ir.expressions.fraction import common_monomial, divide, rational_content
from bpir.ir.expressions.normal_form import ONE, ZERO, Expr, atom_expression, intern
from bpir.ir.expressions.terms import Coefficient, Terms, clean, multiply, normal

ARGUMENTS = 100  # arguments of one max or min

OPPOSITE: Mapping[Extremum, Extremum] = {"max": "min", "min": "max"}


def extremum(kind: Extremum, arguments: Sequence[Expr]) -> Expr:
    """The `max` or `min` of the arguments."""
    if not arguments:
        raise ExpressionError(f"{kind} needs an argument")
    factor = ONE
    arguments = list(arguments)
    while True:
        arguments = _flatten(kind, arguments)
        if len(arguments) > ARGUMENTS:
            refuse(f"{kind} has too many arguments", ARGUMENTS, "arguments")
        arguments = _undominated(kind, arguments)
        if len(arguments) == 1:
            return factor * arguments[0]
        content = _content(arguments)
        if content is ONE:
            break
        # max(e*x, e*y) = e*max(x, y) for e > 0; what is left may flatten and dominate anew.
        factor = factor * content
        arguments = [a / content for a in arguments]
    if all(c < 0 for a in arguments for c in a.terms.values()):
        return -factor * extremum(OPPOSITE[kind], [-a for a in arguments])
    arguments.sort(key=lambda a: a.text)
    return factor * atom_expression(_extremum_atom(kind, tuple(arguments)))


def _extremum_atom(kind: Extremum, arguments: tuple[Expr, ...]) -> Atom:
    bounds = [lower_bound(a) for a in arguments]
    if kind == "max":
        known = [b for b in bounds if b is not None]
        lower = normal(max(known)) if known else None
        is_positive = any(positive(a) for a in arguments)
    else:
        lower = None if None in bounds else normal(min(b for b in bounds if b is not None))
        is_positive = all(positive(a) for a in arguments)
    return node_atom(kind, arguments, all(integral(a) for a in arguments), is_positive, lower)


def _flatten(kind: str, arguments: Sequence[Expr]) -> list[Expr]:
    """The arguments, each `c*max(x, y)` with c >= 0 as `c*x, c*y`."""
    flat: list[Expr] = []
    pending = list(reversed(arguments))
    while pending:
        argument = pending.pop()
        inner = _scaled_node(kind, argument)
        if inner is None:
            flat.append(argument)
        else:
            pending.extend(reversed(inner))
    return flat


def _scaled_node(kind: str, argument: Expr) -> list[Expr] | None:
    if len(argument.terms) != 1 or (argument.denominator is not None and not positive(argument.denominator)):
        return None
    ((m, c),) = argument.terms.items()
    if c < 0:
        return None
    nodes = [(atom, n) for atom, n in m.factors if atom.kind == kind]
    if len(nodes) != 1 or nodes[0][1] != 1:
        return None  # of a product of two nodes neither is the one to take apart
    node = nodes[0][0]
    rest = {atom: n for atom, n in m.factors if atom is not node}
    if not all(atom.lower is not None and atom.lower >= 0 for atom in rest):
        return None
    factor = intern({monomial(rest): c}, argument.denominator)
    return [factor * a for a in node.arguments]


def _undominated(kind: str, arguments: Sequence[Expr]) -> list[Expr]:
    """The arguments without those that another is seen never to be on the wrong side of."""
    kept: list[Expr] = []
    for argument in dict.fromkeys(arguments):
        if any(_exceeds(kind, k, argument) for k in kept):
            continue
        kept = [k for k in kept if not _exceeds(kind, argument, k)]
        kept.append(argument)
    return kept


def _exceeds(kind: str, a: Expr, b: Expr) -> bool:
    return nonnegative(a - b) if kind == "max" else nonnegative(b - a)


def _content(arguments: Sequence[Expr]) -> Expr:
    """The positive factor that the arguments of a max or min give up: a number, a monomial, and positive
    denominators.
    """
    denominators = dict.fromkeys(a.denominator for a in arguments if a.denominator is not None)
    below = ONE
    for denominator in sorted(denominators, key=lambda d: d.text):
        if positive(denominator):
            quotient = below / denominator  # in lowest terms, its denominator is what the common multiple lacks
            below = below * (quotient.denominator or ONE)
    if below is not ONE:
        arguments = [a * below for a in arguments]
    terms: Terms = {}
    for a in arguments:
        for m, c in a.terms.items():
            terms[m] = _common(terms[m], c) if m in terms else c
    common = common_monomial(terms)
    powers = {atom: n for atom, n in common.factors if atom.lower is not None and atom.lower >= 0}
    content = intern({monomial(powers): rational_content(terms)})
    return content if below is ONE else content / below


def _common(a: Coefficient, b: Coefficient) -> Coefficient:
    """The largest number of which both are integral multiples."""
    scale = lcm(a.denominator, b.denominator)
    return normal(Fraction(gcd((a * scale).numerator, (b * scale).numerator), scale))


OTHER_WAY = {"ceildiv": "floordiv", "floordiv": "ceildiv"}


@cache
def rounded(kind: Rounding, quotient: Expr) -> Expr:
    """The quotient rounded up (`ceildiv`) or down (`floordiv`); remembered, since layers that repeat round the same sizes."""
    outside = ZERO
    while True:
        above, below = _integer_fraction(quotient)
        moved = _integral_part(above.terms, below.terms)
        outside = outside + moved
        quotient = quotient - moved
        value = quotient.constant
        if value is not None:
            return outside + (value.__ceil__() if kind == "ceildiv" else value.__floor__())
        if moved is not ZERO:
            above, below = _integer_fraction(quotient)
        if integral(above) and integral(below) and positive(below):
            inner = _single_node(kind, above)
            if inner is not None:
                # ceil((p + ceil(x)) / n) = ceil((p + x) / n) for integral p and a positive integer n, and so is
                # ceil((p - floor(x)) / n) = ceil((p - x) / n); the same with floor and ceil exchanged.
                sign = 1 if inner.kind == kind else -1
                quotient = (above - sign * (atom_expression(inner) - inner.arguments[0] / inner.arguments[1])) / below
                continue
            near = _near_zero(kind, above, below)
            if near is not None:
                return outside + near if near else outside
        return outside + atom_expression(_rounded_atom(kind, quotient, above, below))


def _near_zero(kind: Rounding, above: Expr, below: Expr) -> int | None:
    """A quotient of integers, the second of them positive, that is seen to be rounded to 1, 0 or -1."""
    if kind == "ceildiv":
        if positive(above) and nonnegative(below - above):
            return 1
        if nonnegative(-above) and nonnegative(above + below - 1):
            return 0
    else:
        if nonnegative(above) and nonnegative(below - above - 1):
            return 0
        if positive(-above) and nonnegative(above + below):
            return -1
    return None


def _rounded_atom(kind: Rounding, quotient: Expr, above: Expr, below: Expr) -> Atom:
    least = lower_bound(quotient)
    lower = None
    if kind == "ceildiv":
        is_positive = positive(quotient)
        if least is not None:
            lower = max(least.__ceil__(), 1 if is_positive else least.__ceil__())
    else:
        lower = least.__floor__() if least is not None else None
        is_positive = lower is not None and lower > 0
    return node_atom(kind, (above, below), True, is_positive, lower)


def _integer_fraction(quotient: Expr) -> tuple[Expr, Expr]:
    """Numerator and denominator with integer coefficients and without negative powers."""
    scale = lcm(*(c.denominator for c in quotient.terms.values()))
    common = common_monomial(quotient.terms)
    divisor: Terms = {monomial({atom: -n for atom, n in common.factors if n < 0}): scale}
    above = intern(multiply(divisor, quotient.terms))
    below = intern(divisor)
    return above, below if quotient.denominator is None else below * quotient.denominator


def _integral_part(above: Terms, below: Terms) -> Expr:
    """The part of the quotient that is an integer whatever the symbols are; what is left has coefficients in [0, 1)."""
    if len(below) == 1:
        ((m, c),) = below.items()
        inverted = power(m, -1)
        quotient = multiply({inverted: normal(Fraction(1, c))}, above)
    else:
        quotient, _ = divide(above, below)
    kept: Terms = {m: c.__floor__() for m, c in quotient.items() if whole(m)}
    return intern(clean(kept))


def _single_node(kind: str, above: Expr) -> Atom | None:
    """The only node of that kind which is a term by itself with coefficient 1, or of the other kind with -1, if it is the
    only one.
    """
    found = None
    for m, c in above.terms.items():
        if (
            len(m.factors) == 1
            and m.factors[0][1] == 1
            and m.factors[0][0].kind == (kind if c == 1 else OTHER_WAY[kind] if c == -1 else "")
        ):
            if found is not None:
                return None
            found = m.factors[0][0]
    return found
