"""The dimension factors of an operation: which dimensions of its operands, weights and results are the same, as in an einsum.

An equation lists the tensors, each as its dimensions: `b s K*; K* N* -> b s N*` says that a linear takes an operand, a weight and gives a
result; that batch and token axes are kept; that `K*` (any number of dimensions) is contracted; and that `N*` comes from the weight. An
operation with more operands or results than its equation has repeats the last one; what only weights and results have is then a factor of
its own for each result. Everything about axes follows from this: what a weight brings in, what is summed over, the shape of weights, and
where shards and partial sums are (`verifiers/typing.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import attrs

from bpir.dialects.bp import TensorType
from bpir.ir.attributes import Type
from bpir.ir.expression import Expr

Tensor = tuple[str, ...]
"""The factors of a tensor, one a dimension."""


@attrs.frozen
class Factors:
    """The factors of one operation with so many operands and results of such ranks.

    Attributes:
        operands, results: the factors of each.
        weights: the factors of the weights, for each result.
        whole: the factors that no mesh axis may split.
    """

    operands: tuple[Tensor, ...]
    weights: tuple[tuple[Tensor, ...], ...]
    results: tuple[Tensor, ...]
    whole: frozenset[str]

    def produced(self, result: int) -> Tensor:
        """The factors of a result that its weights bring in: no operand has them."""
        known = {factor for operand in self.operands for factor in operand}
        return tuple(factor for factor in self.results[result] if factor not in known)

    def contracted(self) -> Tensor:
        """The factors that are summed over: no result has them."""
        kept = {factor for result in self.results for factor in result}
        return tuple(dict.fromkeys(factor for tensor in (*self.operands, self.own) for factor in tensor if factor not in kept))

    @property
    def own(self) -> Tensor:
        """The factors that weights alone have: the rows of an embedding. They are summed over, as the rows that are not looked up are 0."""
        known = {factor for tensor in (*self.operands, *self.results) for factor in tensor}
        named = (factor for weights in self.weights for weight in weights for factor in weight)
        return tuple(dict.fromkeys(factor for factor in named if factor not in known))


@attrs.frozen
class Equation:
    """A parsed equation; `whole` lists the factors that an operation needs whole."""

    operands: tuple[Tensor, ...]
    weights: tuple[Tensor, ...]
    results: tuple[Tensor, ...]
    whole: Tensor

    def factors(self, operands: tuple[int, ...], results: tuple[int, ...]) -> Factors:
        """The factors of an operation whose operands and results have these ranks.

        Raises:
            ValueError: a rank does not fit the equation.
        """
        return _factors(self, operands, results)

    def _named(self, operands: tuple[int, ...], results: tuple[int, ...]) -> Factors:
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
            frozenset(_expand(self.whole, sizes, {})),
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
    """Parse `operands; weights -> results`; each list is separated by commas, the factors of a tensor by blanks."""
    inputs, _, results = text.partition("->")
    operands, _, weights = inputs.partition(";")
    return Equation(_tensors(operands), _tensors(weights), _tensors(results), tuple(whole.split()))


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
