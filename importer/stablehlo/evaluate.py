"""The value of one element of a node, computed from the elements that it needs: what recognition looks at.

Nodes may be cut: their elements are given. What is left must be arithmetic on them, on constants and on weights; each weight is a number
made from its place, the same in every run.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from bpir.importer.stablehlo.graph import Node

Index = tuple[int, ...]
Given = Callable[[Index], float]
_MOST_STEPS = 3_000_000  # elements that one question may compute


class NotArithmetic(Exception):
    """A node needs something that is neither given nor arithmetic."""


def pseudo_random(*key: int) -> float:
    """A number from 0 to 1 that looks like chance, and is the same for the same key."""
    state = 0x9E3779B97F4A7C15
    for part in key:
        state = (state ^ (part + 0x632BE59BD9B4E019)) * 0xBF58476D1CE4E5B9 % 2**64
        state = (state ^ (state >> 27)) * 0x94D049BB133111EB % 2**64
    return ((state ^ (state >> 31)) % 2**53) / 2**53


class Evaluation:
    """Elements of nodes under one set of given ones.

    Args:
        given: the elements of the nodes that are cut.
        seed: makes weights other numbers.

    Attributes:
        touched: the elements of cut nodes that were used, since it was last emptied.
    """

    def __init__(self, given: Mapping[Node, Given], seed: int = 0) -> None:
        self.given, self.seed = given, seed
        self.known: dict[tuple[Node, Index], float] = {}
        self.touched: set[tuple[Node, Index]] = set()
        self.steps = 0

    def at(self, node: Node, index: Index) -> float:
        """One element.

        Raises:
            NotArithmetic: it needs what is not given.
        """
        if node in self.given:
            self.touched.add((node, index))
            return self.given[node](index)
        key = (node, index)
        if key not in self.known:
            self.steps += 1
            if self.steps > _MOST_STEPS:
                raise NotArithmetic
            self.known[key] = self._computed(node, index)
        return self.known[key]

    def _computed(self, node: Node, index: Index) -> float:
        kind = node.kind
        if kind in _SHAPES:
            return _SHAPES[kind](self, node, index)
        if kind in _FUNCTIONS:
            arguments = [self.at(x, index if x.shape else ()) for x in node.operands]  # a scalar goes to all
            try:
                return _FUNCTIONS[kind](*arguments)
            except OverflowError:
                return math.inf
            except (ValueError, ZeroDivisionError, TypeError):
                return math.nan
        raise NotArithmetic

    def _argument(self, node: Node, index: Index) -> float:
        return 0.5 + pseudo_random(self.seed, node.says["index"], *index)


def _constant(run: Evaluation, node: Node, index: Index) -> float:
    values = node.says["values"]
    found: float = values[0] if len(values) == 1 else values[flat(index, node.shape)]
    return found


def _reduce(run: Evaluation, node: Node, index: Index) -> float:
    operand, start = node.operands
    dimensions = node.says["dimensions"]
    function = _FUNCTIONS[node.says["by"]]
    found = run.at(start, ())
    kept = [d for d in range(len(operand.shape)) if d not in dimensions]
    places = [0] * len(operand.shape)
    for d, place in zip(kept, index, strict=True):
        places[d] = place
    count = math.prod(operand.shape[d] for d in dimensions)
    for number in range(count):
        rest = number
        for d in reversed(dimensions):
            rest, places[d] = divmod(rest, operand.shape[d])
        found = function(found, run.at(operand, tuple(places)))
    return found


def _concatenate(run: Evaluation, node: Node, index: Index) -> float:
    d = node.says["dimension"]
    place = index[d]
    for operand in node.operands:
        if place < operand.shape[d]:
            return run.at(operand, (*index[:d], place, *index[d + 1 :]))
        place -= operand.shape[d]
    raise NotArithmetic


def _broadcast(run: Evaluation, node: Node, index: Index) -> float:
    (operand,) = node.operands
    places = (index[d] if size > 1 else 0 for d, size in zip(node.says["dimensions"], operand.shape, strict=True))
    return run.at(operand, tuple(places))


def _slice(run: Evaluation, node: Node, index: Index) -> float:
    says = node.says
    places = (first + place * step for first, place, step in zip(says["start"], index, says["strides"], strict=True))
    return run.at(node.operands[0], tuple(places))


def _transpose(run: Evaluation, node: Node, index: Index) -> float:
    places = [0] * len(index)
    for place, d in zip(index, node.says["permutation"], strict=True):
        places[d] = place
    return run.at(node.operands[0], tuple(places))


def _reverse(run: Evaluation, node: Node, index: Index) -> float:
    turned = node.says["dimensions"]
    places = (size - 1 - place if d in turned else place for d, (place, size) in enumerate(zip(index, node.shape, strict=True)))
    return run.at(node.operands[0], tuple(places))


def flat(index: Index, shape: Index) -> int:
    """The place of an element when the last dimension is the fastest."""
    found = 0
    for place, size in zip(index, shape, strict=True):
        found = found * size + place
    return found


def unflat(number: int, shape: Index) -> Index:
    """The element at a place."""
    found = []
    for size in reversed(shape):
        number, place = divmod(number, size)
        found.append(place)
    return tuple(reversed(found))


def _convert(run: Evaluation, node: Node, index: Index) -> float:
    value = run.at(node.operands[0], index)
    if node.element == "i1":
        return float(value != 0)
    return float(math.trunc(value)) if node.element.startswith(("i", "ui", "si")) and math.isfinite(value) else value


_SHAPES: dict[str, Callable[[Evaluation, Node, Index], float]] = {
    "argument": lambda run, node, index: run._argument(node, index),
    "constant": _constant,
    "iota": lambda run, node, index: float(index[node.says["dimension"]]),
    "reduce": _reduce,
    "concatenate": _concatenate,
    "broadcast_in_dim": _broadcast,
    "slice": _slice,
    "transpose": _transpose,
    "reverse": _reverse,
    "reshape": lambda run, node, index: run.at(node.operands[0], unflat(flat(index, node.shape), node.operands[0].shape)),
    "convert": _convert,
    "reduce_precision": lambda run, node, index: run.at(node.operands[0], index),
    "compare": lambda run, node, index: float(_COMPARED[node.says["direction"]](*(run.at(x, index) for x in node.operands))),
}
_COMPARED: dict[str, Callable[[float, float], bool]] = {
    "EQ": lambda a, b: a == b,
    "NE": lambda a, b: a != b,
    "GE": lambda a, b: a >= b,
    "GT": lambda a, b: a > b,
    "LE": lambda a, b: a <= b,
    "LT": lambda a, b: a < b,
}
_FUNCTIONS: dict[str, Callable[..., float]] = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "divide": lambda a, b: a / b if b else math.copysign(math.inf, a) if a else math.nan,
    "maximum": max,
    "minimum": min,
    "power": lambda a, b: float(a**b) if not isinstance(a**b, complex) else math.nan,
    "remainder": math.fmod,
    "and": lambda a, b: float(int(a) & int(b)),
    "or": lambda a, b: float(int(a) | int(b)),
    "xor": lambda a, b: float(int(a) ^ int(b)),
    "not": lambda a: float(not a),
    "select": lambda which, a, b: a if which else b,
    "clamp": lambda low, a, high: min(max(a, low), high),
    "negate": lambda a: -a,
    "abs": abs,
    "sign": lambda a: math.copysign(1.0, a) if a else 0.0,
    "floor": math.floor,
    "ceil": math.ceil,
    "square": lambda a: a * a,
    "sqrt": math.sqrt,
    "rsqrt": lambda a: 1 / math.sqrt(a),
    "exponential": math.exp,
    "exponential_minus_one": math.expm1,
    "log": math.log,
    "log_plus_one": math.log1p,
    "logistic": lambda a: 1 / (1 + math.exp(-a)) if a > -700 else 0.0,
    "tanh": math.tanh,
    "sine": math.sin,
    "cosine": math.cos,
    "erf": math.erf,
    "erfc": math.erfc,
    "is_finite": lambda a: float(math.isfinite(a)),
}
ARITHMETIC = frozenset({*_SHAPES, *_FUNCTIONS}) - {"argument"}
"""The kinds of nodes whose elements can be computed from those of their operands."""
ON_ELEMENTS = frozenset(_FUNCTIONS)
"""Those that are functions of single elements."""
