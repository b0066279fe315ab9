"""Layers: the names and settings of operations of a model, and the part of one on a rank."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache

from bpir.dialects.bp import TensorType, product
from bpir.dialects.bp.parts import Expression as Expression
from bpir.dialects.model.rules.local import Local, summed_alone
from bpir.dialects.model.rules.operation import ModelOperation
from bpir.dialects.model.rules.sizes import TOKEN_RANK
from bpir.ir.attributes import Attribute, StringAttr
from bpir.ir.expressions.expression import Expr
from bpir.ir.operation import Operation


def layer_of(operation: Operation) -> str:
    """The layer name that the file gave; empty for operations without one."""
    attribute = operation.properties.get(ModelOperation.layer.name)
    return attribute.value if isinstance(attribute, StringAttr) else ""


def tied_to(operation: Operation) -> str:
    """The layer whose table a model operation reads as its weight; empty if it has its own, or none."""
    attribute = operation.properties.get("tied")
    return attribute.value if isinstance(attribute, StringAttr) else ""


def has_effect(operation: Operation) -> bool:
    """Whether a model operation does something besides its results, as an append to the KV cache does."""
    return isinstance(operation.declaration, ModelOperation) and operation.declaration.effect


def origin_of(operation: Operation) -> str:
    """The layer of the file that an operation stands for, or is a part of."""
    source = operation.attributes.get("source")
    return source.value if isinstance(source, StringAttr) else layer_of(operation)


def part_of(
    rule: ModelOperation | None,
    settings: tuple[tuple[str, Attribute], ...],
    operands: Sequence[TensorType],
    results: Sequence[TensorType],
    first_use: Iterable[bool],
    mesh: Mapping[str, Expr] | None = None,
    sizes: Mapping[str, Expr] | None = None,
) -> Local:
    """The view of a task that the work rules read, from its types.

    A dimension that weights alone have is shared by the mesh axes over which the result is a partial sum and no operand says why; that of
    experts by those that share the rows.

    Args:
        mesh: with it, one rank's part of each tensor; without it the whole tensors with their shards.
        sizes: what stands for the symbols in the settings.
    """
    used, on = tuple(first_use), None if mesh is None else tuple(mesh.items())
    return _part_of(rule, settings, tuple(operands), tuple(results), used, on, tuple(sizes.items()) if sizes else ())


@cache
def _part_of(
    rule: ModelOperation | None,
    settings: tuple[tuple[str, Attribute], ...],
    operands: tuple[TensorType, ...],
    results: tuple[TensorType, ...],
    first_use: tuple[bool, ...],
    on: tuple[tuple[str, Expr], ...] | None,
    numbers: tuple[tuple[str, Expr], ...],
) -> Local:
    mesh, sizes = None if on is None else dict(on), dict(numbers)
    alone = summed_alone(operands, results)
    own = []
    for factor, dim in (rule.own_dims(settings) if rule is not None else {}).items():
        size = dim.substitute(sizes) if sizes else dim
        shared = operands[0].axes[TOKEN_RANK] if rule is not None and factor == rule.expert_factor else alone
        own.append((factor, size, shared) if mesh is None else (factor, _share(size, shared, mesh), ()))
    local = [type if mesh is None else type.local(mesh) for type in (*operands, *results)]
    return Local(settings, tuple(local[: len(operands)]), tuple(local[len(operands) :]), first_use, tuple(own))


def _share(size: Expr, axes: Iterable[str], mesh: Mapping[str, Expr]) -> Expr:
    """What one rank has of a size that the mesh axes share."""
    return size / product(mesh[axis] for axis in axes)


def group_of(layer: str) -> str:
    """The name up to its last dot: `attention` of `attention.core`."""
    return layer.rpartition(".")[0] or layer


def free_name(name: str, layer: str, taken: set[str]) -> str:
    """The derived name, or one made from the layer's own where the file, or an earlier derivation, has taken it; taken from now on."""
    part = name.rpartition(".")[2]
    while name in taken:
        name = layer = f"{layer}.{part}"
    taken.add(name)
    return name
