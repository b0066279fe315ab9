"""Which operation of a model a part of a graph is, as a function of one of its nodes: decided by its values.

A part is recognised if it has the values of a function of the table at many arguments; how it is written does not matter. That it is the
same function everywhere follows from what it is made of: operations on single elements and uniform constants, and for norms weights that
are the same for all tokens. Activations differ by at least `5e-4` somewhere between -6 and 6; of those that are near the nearest is taken.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

import attrs

from bpir.importer.stablehlo.evaluate import Evaluation, Index, NotArithmetic, pseudo_random
from bpir.importer.stablehlo.graph import Node
from bpir.importer.stablehlo.region import POINTWISE, ROWWISE, Part, part_between

TOLERANCE = 1e-4
_ROUGH = 4e-3  # of constants and powers in bf16
_MOST_FEATURES, _MOST_TURNED = 200_000, 4096  # elements of a row that is looked at
_POINTS = [n / 4 for n in range(-24, 25)]


def _logistic(x: float) -> float:
    return 1 / (1 + math.exp(-x))


ACTIVATIONS: dict[str, Callable[[float], float]] = {
    "gelu": lambda x: 0.5 * x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    "gelu_erf": lambda x: 0.5 * x * math.erfc(-x / math.sqrt(2)),
    "quick_gelu": lambda x: x * _logistic(1.702 * x),
    "silu": lambda x: x * _logistic(x),
    "relu": lambda x: max(x, 0.0),
    "relu2": lambda x: max(x, 0.0) ** 2,
    "sigmoid": _logistic,
    "tanh": math.tanh,
}
"""Functions of one number, by the operation that they are."""


@attrs.frozen
class Found:
    """The operation that a node is of another one.

    Attributes:
        kind: `gelu`, `layer_norm`, `softmax`, `rope`, `scale`, ...
        of: the node that it is a function of.
        number: what `scale` multiplies with; how many elements `rope` turns.
        lacks: the weight that a norm would have and this one has not.
    """

    kind: str
    of: Node
    number: float = 1.0
    lacks: str = ""


def recognised(node: Node, candidates: Sequence[Node], moving: set[Node]) -> Found | None:
    """The operation that a node is of the first candidate of which it is one.

    Args:
        moving: the nodes that depend on activations.
    """
    for other in candidates:
        part = part_between(node, other, moving)
        for question in (_pointwise, _row, _rope):
            try:
                found = question(node, other, part)
            except (NotArithmetic, RecursionError):
                found = None
            if found is not None:
                return found
    return None


def _samples(node: Node, count: int) -> Iterator[Index]:
    for number in range(count):
        yield tuple(int(pseudo_random(number, d, 7) * size) for d, size in enumerate(node.shape))


def _pointwise(node: Node, other: Node, part: Part) -> Found | None:
    """A function of one number."""
    if not part.kinds <= POINTWISE or not part.uniform or part.weights:
        return None
    index = next(_samples(node, 1))
    values = []
    for point in _POINTS:
        run = Evaluation({other: lambda _, point=point: point})  # type: ignore[misc]
        values.append(run.at(node, index))
        if run.touched != {(other, index)}:
            return None
    return _named(values, other) if all(map(math.isfinite, values)) else None


def _named(values: Sequence[float], other: Node) -> Found | None:
    """The function that has the values at the points: the nearest activation, a factor, or a softcap."""
    best, distance = "", _ROUGH
    for name, function in ACTIVATIONS.items():
        apart = max(abs(value - function(x)) / (1 + abs(x)) for x, value in zip(_POINTS, values, strict=True))
        if apart < distance:
            best, distance = name, apart
    if best:
        return Found(best, other)
    factor = values[-1] / _POINTS[-1]
    if all(abs(value - factor * x) <= TOLERANCE * abs(factor) for x, value in zip(_POINTS, values, strict=True)) and factor:
        return Found("scale", other, factor)
    return Found("softcap", other) if _is_softcap(values) else None


def _is_softcap(values: Sequence[float]) -> bool:
    """Whether it is `c*tanh(x/c)`: odd, with slope 1, bounded by c, for the c that fits at the last point."""
    low, high = 0.1, 1e4
    for _ in range(100):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if middle * math.tanh(_POINTS[-1] / middle) > values[-1] else (middle, high)
    return high < 9e3 and all(abs(v - high * math.tanh(x / high)) < TOLERANCE * (1 + abs(x)) for x, v in zip(_POINTS, values, strict=True))


def _row(node: Node, other: Node, part: Part) -> Found | None:
    """A function of the last dimension: softmax, or a norm with its weights."""
    size = node.shape[-1] if node.shape else 1
    if not 1 < size <= _MOST_FEATURES or "reduce" not in part.kinds or not part.kinds <= ROWWISE or not part.uniform:
        return None
    if any(_differs(weight, node.shape) for weight in part.weights):
        return None
    *front, last = next(_samples(node, 1))
    rows = [[8 * pseudo_random(seed, place) - 3 for place in range(size)] for seed in (1, 2, 3)]
    values = []
    for row in rows:
        run = Evaluation({other: lambda index, row=row: row[index[-1]]})  # type: ignore[misc]
        values.append(run.at(node, (*front, last)))
        if {index[:-1] for _, index in run.touched} != {tuple(front)} or len(run.touched) != size:
            return None
    return _named_of_rows(values, rows, last, other) if all(map(math.isfinite, values)) else None


def _named_of_rows(values: Sequence[float], rows: Sequence[Sequence[float]], last: int, other: Node) -> Found | None:
    """The function of a row that has the values at its place `last`: softmax, or a norm."""
    exponentials = [math.exp(row[last]) / sum(map(math.exp, row)) for row in rows]
    if all(abs(a - b) < TOLERANCE for a, b in zip(values, exponentials, strict=True)):
        return Found("softmax", other)
    return _norm(other, values, [_normal(row, last) for row in rows], "layer_norm") or _norm(
        other, values, [row[last] / math.sqrt(sum(x * x for x in row) / len(row)) for row in rows], "rms_norm"
    )


def _differs(weight: Node, shape: Sequence[int]) -> bool:
    """Whether a weight that has the shape of the values differs from token to token."""
    if len(weight.shape) < len(shape):
        return False
    front = [0] * (len(shape) - 1)
    run = Evaluation({})
    here = run.at(weight, (*front, 0))
    for dimension, size in enumerate(weight.shape[:-1]):
        there = [*front]
        there[dimension] = size - 1
        if run.at(weight, (*there, 0)) != here:
            return True
    return False


def _normal(row: Sequence[float], last: int) -> float:
    mean = sum(row) / len(row)
    return (row[last] - mean) / math.sqrt(sum((x - mean) ** 2 for x in row) / len(row))


def _norm(other: Node, values: Sequence[float], normal: Sequence[float], kind: str) -> Found | None:
    """Whether the values are one line of the normalised ones: its slope is a weight, and so is what it adds."""
    slope = (values[1] - values[0]) / (normal[1] - normal[0])
    shift = values[0] - slope * normal[0]
    if abs(values[2] - slope * normal[2] - shift) > _ROUGH * (abs(slope) + abs(shift)) or not slope:
        return None
    shifted, scaled = abs(shift) > _ROUGH, abs(slope - 1) > _ROUGH
    if kind == "rms_norm" and shifted:
        return None
    lacks = "a weight" if not scaled else "a bias" if kind == "layer_norm" and not shifted else ""
    return Found(kind, other, lacks=lacks)


def _rope(node: Node, other: Node, part: Part) -> Found | None:
    """A rotation of pairs of the last dimension by an angle of its own for each token and pair; what is not turned is copied."""
    size = node.shape[-1] if len(node.shape) > 2 else 0
    if not 1 < size <= _MOST_TURNED or "concatenate" not in part.kinds:
        return None
    front = tuple(max(0, extent - 1) for extent in node.shape[:-1])  # the last token is turned
    partners, turns = [], []
    for place in range(size):
        turn = _turn(node, other, front, place)
        if turn is None:
            return None
        partner, *factors = turn
        partners.append(partner)
        turns.append((factors[0], factors[1]))
    turned = [place for place in range(size) if partners[place] != place]
    alike = _is_turn if not part.weights else _is_turn_by_tables
    return Found("rope", other, float(len(turned))) if _are_pairs(partners, turned) and _are_turns(turns, partners, alike) else None


def _are_pairs(partners: Sequence[int], turned: Sequence[int]) -> bool:
    """Whether the first places are turned, two with each other."""
    return bool(turned) and list(turned) == list(range(len(turned))) and all(partners[partners[p]] == p for p in turned)


_Turn = tuple[float, float]


def _are_turns(turns: Sequence[_Turn], partners: Sequence[int], alike: Callable[[_Turn, _Turn], bool]) -> bool:
    """Whether each place is turned with its partner, or copied if it has none."""
    return all(
        turn == (1.0, 0.0) if partner == place else alike(turn, turns[partner])
        for place, (turn, partner) in enumerate(zip(turns, partners, strict=True))
    )


def _turn(node: Node, other: Node, front: Index, place: int) -> tuple[int, float, float] | None:
    """Of the value at a place the other place that it reads (its own, if it reads none), and the factors of both.

    None if it is no sum of multiples of its own place and at most one other.
    """
    index = (*front, place)
    zero = Evaluation({other: lambda _: 0.0})
    if zero.at(node, index):
        return None
    used = sorted(i[-1] for _, i in zero.touched if i[:-1] == front)
    if len(used) != len(zero.touched) or place not in used or len(used) > 2:
        return None
    pair = [Evaluation({other: lambda i, at=at: float(i[-1] == at)}).at(node, index) for at in used]  # type: ignore[misc]
    own = used.index(place)
    return (used[1 - own], pair[own], pair[1 - own]) if len(used) == 2 else (place, pair[own], 0.0)


def _is_turn(one: tuple[float, float], two: tuple[float, float]) -> bool:
    (cos, sin), (cos2, sin2) = one, two
    return abs(cos - cos2) < TOLERANCE and abs(sin + sin2) < TOLERANCE and abs(cos * cos + sin * sin - 1) < _ROUGH


def _is_turn_by_tables(one: tuple[float, float], two: tuple[float, float]) -> bool:
    """Whether it is one where sines and cosines are arguments, all of which are positive here: one of the sines is subtracted."""
    return one[0] > 0 and two[0] > 0 and one[1] * two[1] < 0
