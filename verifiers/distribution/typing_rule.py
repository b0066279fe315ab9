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
from bpir.dialects.model.rules.operation import ModelOperation, distinct, layer_of, settings_of
from bpir.ir.attributes import Type
from bpir.ir.expressions.expression import ONE, Expr
from bpir.ir.operation import Operation, types_of
from bpir.ir.records import Record

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
    rule = operation.declaration
    own = rule.own_dims(settings_of(operation)) if isinstance(rule, ModelOperation) else {}
    return _sizes(factors, types_of((*operation.operands, *operation.results)), tuple(own.items()))


@cache
def _sizes(factors: Factors, types: tuple[Type, ...], own: tuple[tuple[str, Expr], ...]) -> Sizes:
    """The dimensions of each factor, from the types of operands and results; layers repeat."""
    found: dict[str, list[Expr]] = {}
    for tensor, type in zip((*factors.operands, *factors.results), types, strict=True):
        for factor, dim in zip(tensor, type.dims if isinstance(type, TensorType) else (), strict=False):
            dims = found.setdefault(factor, [])
            if dim not in dims:
                dims.append(dim)
    found.update((factor, [dim]) for factor, dim in own)
    return found


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
    rule = operation.declaration
    assert isinstance(rule, ModelOperation)
    factors = rule.factors(operation)
    own = rule.own_dims(settings_of(operation))
    types = types_of((*operation.operands, *operation.results))
    whole = factors.whole | {rule.expert_factor}  # experts lie on an axis of their own
    return _typing(factors, whole, types, tuple(own.items()), tuple(placed.axes.items()), tuple(placed.between.items()))


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
        for name in map(symbol_name, dims):
            if factor not in among or name is None or name not in axes:
                continue
            if factor in whole:
                raise Untypable(f"needs the axis {_spelled(dims)} whole")
            left = [dim for dim in dims if dim is not ONE and symbol_name(dim) not in axes]
            if left:
                raise Untypable(f"shares the axis {name} with {_spelled(left)}, which is not placed")
            other = found.setdefault(axes[name], factor)
            if other != factor:
                raise Untypable(f"has two axes on '{axes[name]}': {_spelled(sizes[other])} and {_spelled(dims)}")
    return found


def _spelled(dims: Iterable[Expr]) -> str:
    return " or ".join(dim.text for dim in dims)


def wrong_placement(block: Operation, placed: Placed) -> str:
    """Why a block can't be typed under a placement; empty if it can.

    What comes in lies whole over the mesh axes of `axes`, and what goes out, but for its last axis (the vocabulary of a head).
    """
    for dim in _boundary(block):
        if symbol_name(dim) in placed.axes:
            return f"the axis {dim.text} is on the boundary of the block, where it lies whole"
    return next(filter(None, (_untypable(operation, placed) for operation in distinct(block.body))), "")


def could_be_placed(blocks: Sequence[Operation], placed: Placed, mesh_axis: str) -> list[str]:
    """The axes of weights that could be placed on a mesh axis, too, in all blocks alike: none if the placement is maximal."""
    whole = {symbol_name(dim) for block in blocks for dim in _boundary(block)}
    users, weights = _users(blocks)
    found = []
    for name in (name for name in weights if name not in placed.axes):
        group = _same_factor(name, users)
        more = Placed({**placed.axes, **dict.fromkeys(group, mesh_axis)}, placed.between)
        if whole.isdisjoint(group) and not any(_untypable(user, more) for one in group for user in users[one]):
            found.append(name)
    return found


def _users(blocks: Sequence[Operation]) -> tuple[dict[str, list[Operation]], list[str]]:
    """The operations that have each axis, of those that are alike the first, and the axes that weights have."""
    users: dict[str, list[Operation]] = {}
    weights: dict[str, None] = {}
    for operation in distinct(operation for block in blocks for operation in block.body):
        for name, of_weight in axes_of(operation).items():
            users.setdefault(name, []).append(operation)
            if of_weight:
                weights[name] = None
    return users, list(weights)


def _same_factor(name: str, users: Mapping[str, Sequence[Operation]]) -> set[str]:
    """The axes that can only be placed together: those that are the same factor of an operation."""
    found, stack = {name}, [name]
    while stack:
        for operation in users[stack.pop()]:
            rule = operation.declaration
            assert isinstance(rule, ModelOperation)
            for dims in sizes_of(rule.factors(operation), operation).values():
                names = {other for other in map(symbol_name, dims) if other is not None}
                if not names.isdisjoint(found) and not names <= found:
                    stack += names - found
                    found |= names
    return found


def largest_placement(blocks: Sequence[Operation]) -> list[str]:
    """Axes of weights that several ranks could share: of what excludes each other, the first."""
    found: list[str] = []
    users, _ = _users(blocks)
    for name in could_be_placed(blocks, Placed({}), ""):
        if name not in found:
            group = _same_factor(name, users)
            placed = Placed(dict.fromkeys([*found, *group], ""))
            if not any(_untypable(user, placed) for one in group for user in users[one]):
                found += sorted(group)
    return found


def table_axes(blocks: Iterable[Operation]) -> set[str]:
    """The axes that only a weight has, which may be padded: what is not looked up is in no result."""
    found: set[str] = set()
    for operation in distinct(operation for block in blocks for operation in block.body):
        rule = operation.declaration
        if isinstance(rule, ModelOperation):
            sizes = rule.own_dims(settings_of(operation))
            whole = {*rule.factors(operation).whole, rule.expert_factor}
            found.update(name for factor, dim in sizes.items() if factor not in whole and (name := symbol_name(dim)) is not None)
    return found


def copied_axes(blocks: Iterable[Operation]) -> set[str]:
    """The axes of heads that serve several heads each: a rank may hold a copy of one."""
    found: set[str] = set()
    for operation in distinct(operation for block in blocks for operation in block.body):
        rule = operation.declaration
        if isinstance(rule, ModelOperation):
            for tensor, value in zip(rule.factors(operation).operands, operation.operands, strict=True):
                assert isinstance(value.type, TensorType)
                dims = dict(zip(tensor, value.type.dims, strict=True))
                served = [r.left for r in rule.requires(operation) if r.kind == "divides"]
                found.update(name for dim in dims.values() if dim in served and (name := symbol_name(dim)) is not None)
    return found


def returned_axes(block: Operation) -> set[str]:
    """The last axes of what a block returns."""
    last = (v.type.dims[-1] for v in (block.body[-1].operands if block.body else ()) if isinstance(v.type, TensorType))
    return {name for name in map(symbol_name, last) if name is not None}


def _untypable(operation: Operation, placed: Placed) -> str:
    if isinstance(operation.declaration, ModelOperation):
        try:
            typing_of(operation, placed)
        except Untypable as why:
            return f"'{layer_of(operation) or operation.name}' {why}"
    return ""


def _boundary(block: Operation) -> Iterable[Expr]:
    for value in block.regions[0].blocks[0].arguments:
        yield from value.type.dims if isinstance(value.type, TensorType) else ()
    for value in block.body[-1].operands if block.body else ():
        yield from value.type.dims[:-1] if isinstance(value.type, TensorType) else ()


def axes_of(operation: Operation) -> dict[str, bool]:
    """The axes of an operation that a placement could name, and whether a weight has them."""
    rule = operation.declaration
    if not isinstance(rule, ModelOperation):
        return {}
    factors = rule.factors(operation)
    of_weights = {factor for weights in factors.weights for weight in weights for factor in weight}
    found: dict[str, bool] = {}
    for factor, dims in sizes_of(factors, operation).items():
        for name in map(symbol_name, dims):
            if name is not None:
                found[name] = found.get(name, False) or factor in of_weights
    return found


def weight_symbols(operation: Operation) -> set[str]:
    """The symbols in the dimensions of an operation's weights."""
    rule = operation.declaration
    if not isinstance(rule, ModelOperation):
        return set()
    factors = rule.factors(operation)
    of_weights = {factor for weights in factors.weights for weight in weights for factor in weight}
    sizes = sizes_of(factors, operation)
    return {name for factor in of_weights for dim in sizes.get(factor, ()) for name in dim.symbols}
