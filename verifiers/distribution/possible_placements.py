"""Which placements of axes are possible: those under which the typing rule gives each operation of a model its shards."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from bpir.dialects.model.rules.factors import Factors
from bpir.dialects.model.rules.layers import layer_of
from bpir.dialects.model.rules.local import settings_of
from bpir.dialects.model.rules.operation import ModelOperation, distinct
from bpir.ir.expressions.expression import Expr
from bpir.ir.operation import Operation, Value
from bpir.verifiers.distribution.typing_rule import Placed, Untypable, sizes_of, symbol_name, typing_of
from bpir.verifiers.model_operations import rule_of, tensor_of, tensors_of


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
    users = Users(blocks)
    whole = {symbol_name(dim) for block in blocks for dim in _boundary(block)}
    groups = {name: users.same_factor(name) for name in users.of_weights if name not in placed.axes}
    inner = {name: group for name, group in groups.items() if whole.isdisjoint(group)}
    return [name for name, group in inner.items() if users.typable(group, _with(placed, group, mesh_axis))]


def _with(placed: Placed, axes: Iterable[str], mesh_axis: str) -> Placed:
    """The placement with more axes on a mesh axis."""
    return Placed({**placed.axes, **dict.fromkeys(axes, mesh_axis)}, placed.between)


def largest_placement(blocks: Sequence[Operation]) -> list[str]:
    """Axes of weights that several ranks could share: of what excludes each other, the first."""
    found: list[str] = []
    users = Users(blocks)
    for name in could_be_placed(blocks, Placed({}), ""):
        group = users.same_factor(name)
        if name not in found and users.typable(group, Placed(dict.fromkeys([*found, *group], ""))):
            found += sorted(group)
    return found


class Users:
    """The operations of blocks that have each axis.

    Attributes:
        of: by axis, of the operations that are alike the first.
        of_weights: the axes that weights have.
    """

    def __init__(self, blocks: Sequence[Operation]) -> None:
        self.of: dict[str, list[Operation]] = {}
        self.of_weights: dict[str, None] = {}
        for operation, _ in _rules(blocks):
            for name, of_weight in axes_of(operation).items():
                self.of.setdefault(name, []).append(operation)
                if of_weight:
                    self.of_weights[name] = None

    def same_factor(self, name: str) -> set[str]:
        """The axes that can only be placed together: those that are the same factor of an operation."""
        found, stack = {name}, [name]
        while stack:
            for names in self._factors(stack.pop()):
                if not names.isdisjoint(found):
                    stack += names - found
                    found |= names
        return found

    def _factors(self, name: str) -> Iterator[set[str]]:
        """The axes of each factor of the operations that have an axis."""
        for operation in self.of[name]:
            for dims in sizes_of(rule_of(operation).factors(operation), operation).values():
                yield _names(dims)

    def typable(self, names: Iterable[str], placed: Placed) -> bool:
        """Whether all operations that have one of the axes have shards under a placement."""
        return not any(_untypable(user, placed) for name in names for user in self.of[name])


def _rules(blocks: Iterable[Operation]) -> Iterator[tuple[Operation, ModelOperation]]:
    """The operations of blocks, of those that are alike the first, each with its declaration."""
    for operation in distinct(operation for block in blocks for operation in block.body):
        if isinstance(operation.declaration, ModelOperation):
            yield operation, operation.declaration


def _names(dims: Iterable[Expr]) -> set[str]:
    """The symbols that are dimensions; a placement can't name another one."""
    return {name for name in map(symbol_name, dims) if name is not None}


def table_axes(blocks: Iterable[Operation]) -> set[str]:
    """The axes that only a weight has, which may be padded: what is not looked up is in no result."""
    found: set[str] = set()
    for operation, rule in _rules(blocks):
        whole = {*rule.factors(operation).whole, rule.expert_factor}
        own = rule.own_dims(settings_of(operation)).items()
        found |= _names(dim for factor, dim in own if factor not in whole)
    return found


def copied_axes(blocks: Iterable[Operation]) -> set[str]:
    """The axes of heads that serve several heads each: a rank may hold a copy of one."""
    found: set[str] = set()
    for operation, rule in _rules(blocks):
        served = [relation.left for relation in rule.requires(operation) if relation.kind == "divides"]
        for tensor, value in zip(rule.factors(operation).operands, operation.operands, strict=True):
            dims = dict(zip(tensor, tensor_of(value).dims, strict=True))
            found |= _names(dim for dim in dims.values() if dim in served)
    return found


def returned_axes(block: Operation) -> set[str]:
    """The last axes of what a block returns."""
    return _names(type.dims[-1] for type in tensors_of(_returned(block)))


def _returned(block: Operation) -> Sequence[Value]:
    return block.body[-1].operands if block.body else ()


def _untypable(operation: Operation, placed: Placed) -> str:
    """Why an operation has no shards under a placement; empty if it has."""
    try:
        if isinstance(operation.declaration, ModelOperation):
            typing_of(operation, placed)
    except Untypable as why:
        return f"'{layer_of(operation) or operation.name}' {why}"
    return ""


def _boundary(block: Operation) -> Iterator[Expr]:
    """The dimensions that lie whole where a block begins and ends."""
    for type in tensors_of(block.arguments):
        yield from type.dims
    for type in tensors_of(_returned(block)):
        yield from type.dims[:-1]


def axes_of(operation: Operation) -> dict[str, bool]:
    """The axes of an operation that a placement could name, and whether a weight has them."""
    rule = operation.declaration
    if not isinstance(rule, ModelOperation):
        return {}
    factors = rule.factors(operation)
    of_weights = _weight_factors(factors)
    found: dict[str, bool] = {}
    for factor, dims in sizes_of(factors, operation).items():
        for name in filter(None, map(symbol_name, dims)):
            found[name] = found.get(name, False) or factor in of_weights
    return found


def weight_symbols(operation: Operation) -> set[str]:
    """The symbols in the dimensions of an operation's weights."""
    rule = operation.declaration
    if not isinstance(rule, ModelOperation):
        return set()
    factors = rule.factors(operation)
    sizes = sizes_of(factors, operation)
    return {name for factor in _weight_factors(factors) for dim in sizes.get(factor, ()) for name in dim.symbols}


def _weight_factors(factors: Factors) -> set[str]:
    """The factors of all weights."""
    return {factor for weights in factors.weights for weight in weights for factor in weight}
