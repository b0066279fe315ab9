"""The search for admissible values of the symbols at which a claim is false: deterministic, small values first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import islice, product
from math import gcd
from operator import add
from typing import TYPE_CHECKING

from bpir.ir.expressions.atoms import UNIT, symbol_atom
from bpir.ir.expressions.error import refuse
from bpir.ir.expressions.expression import Expr, ExpressionError
from bpir.ir.expressions.values import nodes_of
from bpir.ir.relations.system import System, parameters

if TYPE_CHECKING:
    from bpir.ir.relations.facts import Relation

_GRID_POINTS = 256  # points of the small grid, after which values are mixed
_MIXED_POINTS = 300
_SYMBOLS = 200  # symbols, above which the search gives up
_STEPS = 12  # numbers at which nodes change, the largest: the others are soon met
_LARGE = 1_000  # numbers in a sum, above which its sign is not seen at small values
_BITS = 2_000  # of a number of a candidate
_REPAIRS = 8  # rounds of making the values fit the divisors and bounds


def find_witness(points: Iterable[Mapping[str, int]], false_at: Callable[[Mapping[str, int]], bool]) -> dict[str, int] | None:
    """Values of the symbols at the first of the points that makes `false_at` true; a point at which an expression has no value is passed
    over.
    """
    point = find_point(points, false_at)
    return None if point is None else {name: value for name, value in point.items() if name.isidentifier()}


def find_point(points: Iterable[Mapping[str, int]], false_at: Callable[[Mapping[str, int]], bool]) -> Mapping[str, int] | None:
    """The same, with the values of the parameters, whose names are no identifiers."""
    for values in points:
        try:
            if false_at(values):
                return values
        except ExpressionError:
            continue
    return None


def wanted_symbols(system: System, relations: Sequence[Relation], names: Sequence[str]) -> list[str]:
    """The named symbols and all that the relations speak of, sorted: what a candidate gives values to."""
    return sorted(name for name in {*names, *(s for r in relations for s in r.symbols), *system.values} if name.isidentifier())


def rounding_steps(exprs: Iterable[Expr]) -> list[int]:
    """Numbers at which nodes of the expressions change: divisors, to whose multiples they round, and thresholds; large ones of the
    expressions themselves.

    Where `256*ceildiv(n, 256) >= n + 1` is false, 256 divides n; where `max(0, n - 1000) = 0` is false, n is 1001 or more.
    """
    exprs = list(exprs)
    found = {n for atom in nodes_of(*exprs) for argument in atom.arguments for n in _thresholds(argument) if n > 1}
    found.update(n for expr in exprs for n in _thresholds(expr) if n > _LARGE)
    return sorted(found)[-_STEPS:]


def _thresholds(expr: Expr) -> set[int]:
    """Coefficients, and by how much they fit into the constant, each rounded down and up."""
    constant = abs(Fraction(expr.terms.get(UNIT, 0)))
    coefficients = {abs(Fraction(c)) for m, c in expr.terms.items() if m is not UNIT}
    below = {number.__floor__() for number in (constant, *(constant / c for c in coefficients), *coefficients)}
    return below | {number + 1 for number in below}


def candidates(system: System, relations: Sequence[Relation], wanted: Sequence[str], steps: Sequence[int] = ()) -> Iterator[dict[str, int]]:
    """Admissible values of the wanted symbols, each once, in a fixed order.

    Each is built to satisfy the relations and then checked against them. Multiples of `steps` are tried, too (see `rounding_steps`).
    """
    free = parameters(system, wanted)
    if system.contradiction is not None or len(free) > _SYMBOLS:
        return
    seen: set[tuple[int, ...]] = set()
    for point in _points([_least(system, name) for name in free], steps):
        values = _admissible(system, relations, dict(zip(free, point, strict=True)))
        key = tuple(values[name] for name in wanted) if values is not None else None
        if values is not None and key is not None and key not in seen:
            seen.add(key)
            yield values


def _least(system: System, name: str) -> int:
    """The least value of a parameter."""
    return system.lower.get(symbol_atom(name, fresh=True), 1)


def _points(lower: Sequence[int], steps: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Points at or above the least ones, many of them small; others near the steps, or far away; the same in every process."""
    if not lower:
        yield ()
        return
    yield from _small_points(lower)
    for large in (6, 60, 1000, 10**6):
        for index in range(len(lower)):  # one symbol large, or all but one: where signs change
            yield tuple(a + large * (i == index) for i, a in enumerate(lower))
            yield tuple(a + large * (i != index) for i, a in enumerate(lower))
    for step in steps:
        yield from _multiples(lower, step)
    yield from _mixed_points(lower, steps)


def _small_points(lower: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """A grid, where its points are not too many; else the least point, and those beside it."""
    count = len(lower)
    width = max(2, int(_GRID_POINTS ** (1 / count)))
    offsets: Iterable[tuple[int, ...]] = ((0,) * count, *_units(count))
    if 2**count <= _GRID_POINTS or count == 1:
        # sorted by the sum, so that small witnesses come first
        offsets = sorted(islice(product(range(width), repeat=count), _GRID_POINTS), key=lambda o: (sum(o), o))
    return (tuple(map(add, lower, offset)) for offset in offsets)


def _units(count: int) -> list[tuple[int, ...]]:
    """The vectors of which one element is 1, and the others 0."""
    return [tuple(int(i == index) for i in range(count)) for index in range(count)]


def _multiples(lower: Sequence[int], step: int) -> Iterator[tuple[int, ...]]:
    """One symbol a multiple of the step, or all, or all but one."""
    multiples = tuple(step * -(-a // step) for a in lower)
    for index in range(len(lower)):
        yield tuple(multiples[i] if i == index else a for i, a in enumerate(lower))
        yield tuple(a if i == index else multiples[i] for i, a in enumerate(lower))
    yield multiples


def _mixed_points(lower: Sequence[int], steps: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Symbols of all sizes, in an order that looks random."""
    states = _states()
    for index in range(_MIXED_POINTS):
        spread = (4, 12, 64, 1024)[index % 4]
        point = [a + (next(states) >> 33) % spread for a in lower]
        yield tuple(point)
        if steps:  # some symbols small, some multiples of the steps and a little more
            yield tuple(value + _steps_more(next(states), steps) for value in point)


def _states() -> Iterator[int]:
    """A linear congruential sequence, the same in every process."""
    state = 12345
    while True:
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        yield state


def _steps_more(state: int, steps: Sequence[int]) -> int:
    """One to three times one of the steps, or 0."""
    return steps[(state >> 33) % len(steps)] * (1 + (state >> 50) % 3) if (state >> 48) % 2 else 0


def _admissible(system: System, relations: Sequence[Relation], point: dict[str, int]) -> dict[str, int] | None:
    """The values of the symbols at the parameters' point, the point repaired where it can be; None if they are not admissible."""
    try:
        for round_ in range(_REPAIRS):
            if not _repair(system, point, round_):
                break
        values = _values_at(system, point)
        return values if values is not None and all(relation.holds(values) for relation in relations) else None
    except ExpressionError:
        return None


def _values_at(system: System, point: Mapping[str, int]) -> dict[str, int] | None:
    """The values of the symbols at a point; None if one is no positive integer."""
    values = dict(point)
    for name, value in system.values.items():
        number = value.evaluate(point)
        if number.denominator != 1 or number < 1:
            return None
        values[name] = number.numerator
    return values


def _repair(system: System, point: dict[str, int], round_: int) -> bool:
    """Change parameters so that what must be an integer is one, and what must be larger is; whether any changed."""
    changed = False
    for name, bound in system.larger.items():
        least = bound.evaluate(point)
        if name in point and point[name] <= least:
            point[name] += least.__floor__()
            changed = True
    for fact in system.whole:
        missing = fact.evaluate(point).denominator
        changed = (missing != 1 and _make_whole(system, point, fact, missing, round_)) or changed
    return changed


def _make_whole(system: System, point: dict[str, int], fact: Expr, missing: int, round_: int) -> bool:
    """Change a parameter so that a fraction with this denominator is nearer to an integer; whether one could be changed.

    Early rounds enlarge the multiple, later ones shrink a divisor to what it has in common with the rest.
    """
    above = _powers(fact, 1)
    shrinkable = [n for n in _powers(fact, -1) if gcd(point[n], missing) > 1]
    if shrinkable and (round_ >= _REPAIRS // 2 or not above):
        name = shrinkable[0]
        point[name] = max(point[name] // gcd(point[name], missing), _least(system, name))
    elif above:
        name = above[round_ % len(above)]
        point[name] *= missing
        if point[name].bit_length() > _BITS:
            refuse("a value is too large", _BITS, "bits")
    return bool(shrinkable or above)


def _powers(fact: Expr, sign: int) -> list[str]:
    """The symbols that are a factor of every term, of the numerator (1) or the denominator (-1)."""
    names = [{a.text for a, n in m.factors if a.kind == "symbol" and n * sign > 0} for m in fact.terms]
    return sorted(set.intersection(*names)) if names else []
