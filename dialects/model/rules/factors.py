"""The dimension factors of an operation: which dimensions of its operands, weights and results are the same, as in an einsum.

An equation lists the tensors, each as its dimensions: `b s K*; K* N* -> b s N*` says that a linear takes an operand, a weight and gives a
result; that batch and token axes are kept; that `K*` (any number of dimensions) is contracted; and that `N*` comes from the weight. An
operation with more operands or results than its equation has repeats the last one; what only weights and results have is then a factor of
its own for each result. Everything about axes follows from this: what a weight brings in, what is summed over, the shape of weights, and
where shards and partial sums are (`verifiers/distribution/typing_rule.py`).

An operation may do several things that have nothing to do with each other, as a rotary embedding turns Q and K: it has several *lanes*,
which `|` separates. `b s h* d -> b s h* d | ...` has as many as there are operands: each result depends on its own operand alone, and no
factor is common to two lanes, though they have the same name. So Q may be sharded by heads where the one head of K is whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from bpir.dialects.bp import TensorType
from bpir.ir.attributes import Type
from bpir.ir.expressions.expression import Expr
from bpir.ir.records import Interned

Tensor = tuple[str, ...]
"""The factors of a tensor, one a dimension."""

REPEATED = "..."
"""Behind the last `|` of an equation: the lane before it as often as there are operands."""


class Lane(metaclass=Interned):
    """The operands of an operation that some of its results depend on, and those results, by their places."""

    operands: tuple[int, ...]
    results: tuple[int, ...]


class Factors(metaclass=Interned):
    """The factors of one operation with so many operands and results of such ranks.

    Attributes:
        operands, results: the factors of each.
        weights: the factors of the weights, for each result.
        whole: the factors that no mesh axis may split.
        lanes: which results depend on which operands; nearly all operations have one lane.
    """

    operands: tuple[Tensor, ...]
    weights: tuple[tuple[Tensor, ...], ...]
    results: tuple[Tensor, ...]
    whole: frozenset[str]
    lanes: tuple[Lane, ...]

    def lane_of_result(self, result: int) -> Lane:
        return next(lane for lane in self.lanes if result in lane.results)

    def lane_of_operand(self, operand: int) -> Lane:
        return next(lane for lane in self.lanes if operand in lane.operands)

    def known(self, result: int) -> frozenset[str]:
        """The factors of the operands that a result depends on."""
        return frozenset(factor for index in self.lane_of_result(result).operands for factor in self.operands[index])

    def produced(self, result: int) -> Tensor:
        """The factors of a result that its weights bring in: no operand has them."""
        known = self.known(result)
        return tuple(factor for factor in self.results[result] if factor not in known)

    def contracted(self, result: int) -> Tensor:
        """The factors that are summed over for a result: its operands, or its weights alone, have them, and no result of its lane."""
        lane = self.lane_of_result(result)
        kept = {factor for index in lane.results for factor in self.results[index]}
        tensors = (*(self.operands[index] for index in lane.operands), self.own(result))
        return tuple(dict.fromkeys(factor for tensor in tensors for factor in tensor if factor not in kept))

    def own(self, result: int) -> Tensor:
        """The factors that the weights of a result alone have: the rows of an embedding. They are summed over, as the rows that are not
        looked up are 0.
        """
        known = self.known(result).union(self.results[result])
        return tuple(dict.fromkeys(factor for weight in self.weights[result] for factor in weight if factor not in known))

    def involved(self, result: int) -> frozenset[str]:
        """Every factor that a result has to do with: those of the operands that it depends on, of its weights, and its own."""
        return self.known(result).union(self.results[result], self.own(result))


for _name in ("lane_of_result", "lane_of_operand", "known", "produced", "contracted", "own", "involved"):
    setattr(Factors, _name, cache(getattr(Factors, _name)))  # each a function of interned factors alone, asked again and again


class Terms(metaclass=Interned):
    """The tensors of one lane of an equation."""

    operands: tuple[Tensor, ...]
    weights: tuple[Tensor, ...]
    results: tuple[Tensor, ...]

    @property
    def produces(self) -> bool:
        """Whether weights bring factors into the results."""
        known = {factor for operand in self.operands for factor in operand}
        given = {factor for result in self.results for factor in result}
        return any(factor in given and factor not in known for weight in self.weights for factor in weight)

    def factors(self, operands: tuple[int, ...], results: tuple[int, ...], whole: Tensor) -> Factors:
        """The factors of an operation of this lane alone."""
        sizes: dict[str, int] = {}
        listed = [*_as_many(self.operands, len(operands)), *_as_many(self.results, min(len(self.results), len(results)))]
        for tensor, rank in zip(listed, (*operands, *results), strict=False):
            _measure(tensor, rank, sizes)
        known = {name for operand in self.operands for name in operand}
        theirs, weights = [], []
        for index, (tensor, rank) in enumerate(zip(_as_many(self.results, len(results)), results, strict=True)):
            own = dict(sizes)
            mark = f".{index}" if len(results) > len(self.results) else ""
            for name in tensor:
                if mark and name not in known:
                    own.pop(name, None)
            _measure(tensor, rank, own)
            suffix = {name: "" if name in known else mark for name in own}
            theirs.append(_expand(tensor, own, suffix))
            weights.append(tuple(_expand(weight, own, suffix) for weight in self.weights))
        return Factors(
            tuple(_expand(tensor, sizes, {}) for tensor in _as_many(self.operands, len(operands))),
            tuple(weights),
            tuple(theirs),
            frozenset(_expand(whole, sizes, {})),
            (Lane(tuple(range(len(operands))), tuple(range(len(results)))),),
        )


class Equation(metaclass=Interned):
    """A parsed equation.

    Attributes:
        lanes: the tensors of each lane.
        repeated: whether the last lane stands for as many as there are operands.
        whole: the factors that an operation needs whole.
    """

    lanes: tuple[Terms, ...]
    repeated: bool
    whole: Tensor

    def __bool__(self) -> bool:
        """Whether it says anything."""
        return bool(self.lanes)

    @property
    def produces(self) -> bool:
        """Whether weights bring factors in."""
        return any(lane.produces for lane in self.lanes)

    @property
    def has_weights(self) -> bool:
        return any(lane.weights for lane in self.lanes)

    def factors(self, operands: tuple[int, ...], results: tuple[int, ...]) -> Factors:
        """The factors of an operation whose operands and results have these ranks.

        Raises:
            ValueError: a rank does not fit the equation, or it has other lanes than there are operands and results.
        """
        return _factors(self, operands, results)

    def places(self, operands: int, results: int) -> tuple[Lane, ...]:
        """Which results of an operation with so many operands and results depend on which operands."""
        lanes = self._repeated(operands)
        if len(lanes) == 1:
            return (Lane(tuple(range(operands)), tuple(range(results))),)
        found, operand, result = [], 0, 0
        for lane in lanes:
            ours, theirs = operand + len(lane.operands), result + len(lane.results)
            found.append(Lane(tuple(range(operand, ours)), tuple(range(result, theirs))))
            operand, result = ours, theirs
        if (operand, result) != (operands, results):
            raise ValueError(f"{operands} operands and {results} results are not {len(lanes)} lanes")
        return tuple(found)

    def _repeated(self, operands: int) -> list[Terms]:
        """Every lane of an operation with so many operands."""
        lanes = list(self.lanes)
        while self.repeated and sum(len(lane.operands) for lane in lanes) < operands:
            lanes.append(lanes[-1])
        return lanes

    def _named(self, operands: tuple[int, ...], results: tuple[int, ...]) -> Factors:
        lanes = self._repeated(len(operands))
        if len(lanes) == 1:
            return lanes[0].factors(operands, results, self.whole)
        places = self.places(len(operands), len(results))
        return _side_by_side(
            [self._lane(lane, number, place, operands, results) for number, (lane, place) in enumerate(zip(lanes, places, strict=True))]
        )

    def _lane(self, lane: Terms, number: int, place: Lane, operands: tuple[int, ...], results: tuple[int, ...]) -> Factors:
        """The factors of one of several lanes, each with the number of the lane behind its name."""
        found = lane.factors(tuple(operands[i] for i in place.operands), tuple(results[i] for i in place.results), self.whole)

        def numbered(tensors: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
            return tuple(tuple(f"{factor}|{number}" for factor in tensor) for tensor in tensors)

        (whole,) = numbered((tuple(found.whole),))
        return Factors(numbered(found.operands), tuple(map(numbered, found.weights)), numbered(found.results), frozenset(whole), (place,))


def _side_by_side(lanes: Sequence[Factors]) -> Factors:
    return Factors(
        tuple(tensor for lane in lanes for tensor in lane.operands),
        tuple(weights for lane in lanes for weights in lane.weights),
        tuple(tensor for lane in lanes for tensor in lane.results),
        frozenset().union(*(lane.whole for lane in lanes)),
        tuple(place for lane in lanes for place in lane.lanes),
    )


@cache
def _factors(equation: Equation, operands: tuple[int, ...], results: tuple[int, ...]) -> Factors:
    return equation._named(operands, results)


def _as_many(tensors: tuple[Tensor, ...], count: int) -> tuple[Tensor, ...]:
    """So many tensors: the last one again where there are more than the equation lists."""
    return (*tensors, *tensors[-1:] * (count - len(tensors)))[:count]


def _measure(tensor: Tensor, rank: int, sizes: dict[str, int]) -> None:
    """Find how many dimensions each `K*` of a tensor stands for, or check it."""
    fixed = sum(sizes.get(name, 1) for name in tensor if name in sizes or not name.endswith("*"))
    open_names = [name for name in tensor if name.endswith("*") and name not in sizes]
    if open_names:
        sizes[open_names[0]] = rank - fixed
    elif fixed != rank:
        raise ValueError(f"a tensor of {rank} dimensions is not '{' '.join(tensor)}'")
    if open_names and rank < fixed:
        raise ValueError(f"a tensor of {rank} dimensions is not '{' '.join(tensor)}'")


def _expand(tensor: Tensor, sizes: dict[str, int], suffix: dict[str, str]) -> Tensor:
    found: list[str] = []
    for name in tensor:
        mark = suffix.get(name, "")
        found += [f"{name[:-1]}{i}{mark}" for i in range(sizes.get(name, 0))] if name.endswith("*") else [name + mark]
    return tuple(found)


@cache
def equation(text: str, whole: str = "") -> Equation:
    """Parse `operands; weights -> results | ...`; each list is separated by commas, the factors of a tensor by blanks."""
    lanes = [lane.strip() for lane in text.split("|") if lane.strip()]
    repeated = lanes[-1:] == [REPEATED]
    return Equation(tuple(map(_terms, lanes[:-1] if repeated else lanes)), repeated, tuple(whole.split()))


def _terms(text: str) -> Terms:
    inputs, _, results = text.partition("->")
    operands, _, weights = inputs.partition(";")
    return Terms(_tensors(operands), _tensors(weights), _tensors(results))


def _tensors(text: str) -> tuple[Tensor, ...]:
    return tuple(tuple(tensor.split()) for tensor in text.split(",") if tensor.strip())


Own = tuple[tuple[str, Expr, tuple[str, ...]], ...]
"""The factors that weights alone have: each with its size and the mesh axes that shard it."""


def weight_type(
    weight: Tensor, factors: Factors, operands: Sequence[TensorType], results: Sequence[TensorType], own: Own, element: Expr | Type
) -> TensorType:
    """A weight as a tensor: each dimension as large as its factor, and sharded as the operand or result that has the factor.

    Args:
        own: the factors that neither operands nor results have.
        element: the width in bytes or the type of an element.
    """
    dims, axes = [], []
    pairs = [*zip(factors.operands, operands, strict=True), *zip(factors.results, results, strict=True)]
    alone = {name: (size, mesh_axes) for name, size, mesh_axes in own}
    for factor in weight:
        if factor in alone:
            size, mesh_axes = alone[factor]
            dims.append(size)
            axes.append(mesh_axes)
            continue
        type, index = next((type, tensor.index(factor)) for tensor, type in pairs if factor in tensor)
        dims.append(type.dims[index])
        axes.append(type.axes[index])
    return TensorType(tuple(dims), tuple(axes), element, ())
