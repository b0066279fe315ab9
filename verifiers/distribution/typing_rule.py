"""The typing rule: where shards and partial sums of an operation's tensors are, given which axes are placed on the mesh.

Of an operation, or of a lane of one that has several, each mesh axis splits at most one dimension factor. A tensor that has the factor is
sharded there. A tensor that the operation makes and that lacks the factor is a partial sum over that mesh axis: a result in forward, the
gradient of an operand or of a weight in backward. A tensor that the operation reads and that lacks the factor lies whole on every rank of
that axis.

From that follow Megatron's reductions (Shoeybi et al. 2019), the gathers and scatters of sequence parallelism (Korthikanti et al. 2022),
and the sums of gradients; nothing here knows them.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from functools import cache, lru_cache
from types import MappingProxyType

from bpir.dialects.bp import TensorType
from bpir.dialects.model.rules.factors import Factors, Tensor
from bpir.dialects.model.rules.local import settings_of
from bpir.dialects.model.rules.operation import ModelOperation
from bpir.ir.attributes import Type
from bpir.ir.expressions.expression import ONE, Expr
from bpir.ir.operation import Operation, types_of
from bpir.ir.records import Record
from bpir.verifiers.model_operations import rule_of

_REMEMBERED = 4096
"""Typings that are kept: of the operations of a model under the placements that are tried."""


class Untypable(Exception):
    """No typing exists: a mesh axis would split two factors of one operation, or one that it needs whole."""


class Placed(metaclass=Record):
    """Which axes of a model lie on which mesh axes.

    Attributes:
        axes: mesh axis by dimension symbol; such a dimension is sharded wherever it is.
        between: mesh axis by dimension symbol: sharded in operations of which that mesh axis splits nothing else.
        resized: the size that an axis has instead of its own, so that the ranks divide it.
        experts, batches: the axes that expert parallelism shards: experts, and batches between them.
    """

    axes: Mapping[str, str]
    between: Mapping[str, str] = MappingProxyType({})
    resized: Mapping[str, Expr] = MappingProxyType({})
    experts: tuple[str, ...] = ()
    batches: tuple[str, ...] = ()


@cache
def symbol_name(dim: Expr) -> str | None:
    """The name of the symbol that a dimension is; None for a number or a composite, which no placement can name."""
    return dim.text if dim.symbols == (dim.text,) else None


Sizes = Mapping[str, Sequence[Expr]]
"""The dimensions of each factor in a model: several where one factor has them, as the query heads and the KV heads that share it."""


def sizes_of(factors: Factors, operation: Operation) -> Sizes:
    """The dimensions of each factor of an operation of a model."""
    return _sizes(factors, types_of((*operation.operands, *operation.results)), _own_dims(operation))


def _own_dims(operation: Operation) -> tuple[tuple[str, Expr], ...]:
    """The dimensions of the factors that only an operation itself has, as the rows of a table."""
    rule = operation.declaration
    return tuple(rule.own_dims(settings_of(operation)).items()) if isinstance(rule, ModelOperation) else ()


@cache
def _sizes(factors: Factors, types: tuple[Type, ...], own: tuple[tuple[str, Expr], ...]) -> Sizes:
    """The dimensions of each factor, from the types of operands and results; layers repeat."""
    found: dict[str, dict[Expr, None]] = {}
    for tensor, type in zip((*factors.operands, *factors.results), types, strict=True):
        for factor, dim in zip(tensor, type.dims if isinstance(type, TensorType) else (), strict=False):
            found.setdefault(factor, {})[dim] = None
    return {factor: list(dims) for factor, dims in found.items()} | {factor: [dim] for factor, dim in own}


Split = Mapping[str, str]
"""The factor that each mesh axis splits."""


class Typing(metaclass=Record):
    """How the tensors of one operation lie on the mesh.

    Attributes:
        factors: of the operation.
        splits: for each result; a linear with several results is one product for each.
    """

    factors: Factors
    splits: tuple[Split, ...]

    def _splits(self, operand: int) -> list[Split]:
        """The splits of the results that depend on an operand."""
        return [self.splits[result] for result in self.factors.lane_of_operand(operand).results]

    def operand(self, index: int, model: TensorType, image: TensorType) -> TensorType:
        """The type of an operand as the operation reads it: whole over each mesh axis whose factor it lacks.

        Args:
            model: its type in the model, whose axes the placement names.
            image: its sizes and element in the distributed block.
        """
        split = {mesh_axis: factor for split in self._splits(index) for mesh_axis, factor in split.items()}
        return TensorType(image.dims, shards(self.factors.operands[index], split, model), image.element, ())

    def missing(self, index: int, model: TensorType) -> bool:
        """Whether an operand lacks a split factor: it is read whole, and its gradient is a partial sum."""
        read = {axis for names in self.operand(index, model, model).axes for axis in names}
        return any(axis not in read for split in self._splits(index) for axis in split)

    def result(self, index: int, model: TensorType, image: TensorType) -> TensorType:
        """The type of a result: a partial sum over each mesh axis whose factor it lacks."""
        return made(self.factors.results[index], self.splits[index], model, image)


def made(tensor: Tensor, split: Split, model: TensorType, image: TensorType) -> TensorType:
    """The type of a tensor that an operation makes: sharded where it has a split factor, else a partial sum."""
    marks = shards(tensor, split, model)
    present = {mesh_axis for names in marks for mesh_axis in names}
    return TensorType(image.dims, marks, image.element, tuple(axis for axis in split if axis not in present))


def shards(tensor: Tensor, split: Split, model: TensorType) -> tuple[tuple[str, ...], ...]:
    """For each dimension the mesh axes that shard it; one of size 1 (the one KV head of multi-query attention) has no shares."""
    return tuple(
        tuple(mesh_axis for mesh_axis, factor in split.items() if factor == name and dim is not ONE)
        for name, dim in zip(tensor, model.dims, strict=True)
    )


def typing_of(operation: Operation, placed: Placed) -> Typing:
    """The typing of an operation of a model under a placement.

    Raises:
        Untypable: a mesh axis would split two factors, or one that the operation needs whole; the text says which.
    """
    rule = rule_of(operation)
    factors = rule.factors(operation)
    types = types_of((*operation.operands, *operation.results))
    whole = factors.whole | {rule.expert_factor}  # experts lie on an axis of their own
    return _typing(factors, whole, types, _own_dims(operation), tuple(placed.axes.items()), tuple(placed.between.items()))


@lru_cache(maxsize=_REMEMBERED)
def _typing(
    factors: Factors,
    whole: frozenset[str],
    types: tuple[Type, ...],
    own: tuple[tuple[str, Expr], ...],
    axes: tuple[tuple[str, str], ...],
    between: tuple[tuple[str, str], ...],
) -> Typing:
    """The typing of all operations that are alike, under one placement.

    Raises:
        Untypable: see `typing_of`.
    """
    sizes, everywhere = _sizes(factors, types, own), dict(axes)
    among = [factors.involved(index) for index in range(len(factors.results))]
    splits = [_split(whole, sizes, involved, everywhere) for involved in among]
    for lane in factors.lanes:
        taken = {mesh_axis for index in lane.results for mesh_axis in splits[index]}
        free = {name: mesh_axis for name, mesh_axis in between if mesh_axis not in taken}
        for index in lane.results:
            splits[index].update(_split(whole, sizes, among[index], free))
    return Typing(factors, tuple(splits))


def _split(whole: Container[str], sizes: Sizes, among: Container[str], axes: Mapping[str, str]) -> dict[str, str]:
    """The placed factors by mesh axis.

    Raises:
        Untypable: a mesh axis would split two, or one that is needed whole.
    """
    found: dict[str, str] = {}
    for factor, dims in sizes.items():
        for name in _placed(dims, axes) if factor in among else ():
            if factor in whole:
                raise Untypable(f"needs the axis {_spelled(dims)} whole")
            _all_placed(name, dims, axes)
            other = found.setdefault(axes[name], factor)
            if other != factor:
                raise Untypable(f"has two axes on '{axes[name]}': {_spelled(sizes[other])} and {_spelled(dims)}")
    return found


def _placed(dims: Iterable[Expr], axes: Container[str]) -> list[str]:
    """The names of those dimensions that are placed."""
    return [name for name in map(symbol_name, dims) if name is not None and name in axes]


def _all_placed(name: str, dims: Iterable[Expr], axes: Container[str]) -> None:
    """All dimensions of the factor that an axis shares are placed; one of size 1 needs no place.

    Raises:
        Untypable: one is not.
    """
    left = [dim for dim in dims if dim is not ONE and symbol_name(dim) not in axes]
    if left:
        raise Untypable(f"shares the axis {name} with {_spelled(left)}, which is not placed")


def _spelled(dims: Iterable[Expr]) -> str:
    return " or ".join(dim.text for dim in dims)
