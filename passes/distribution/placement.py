"""Which axes of a model lie on the tensor-parallel mesh axis: decided here, once, and printed as `dist.placement`.

An axis may lie there if a weight brings it in and every operation can be computed with it in shares: of one operation a mesh axis splits
one dimension factor at most, none that is needed whole, and the boundary of a block is whole but for the last axis that it returns (the
vocabulary of a head). Axes of heads are tried first, then the others in order of appearance (Shoeybi et al. 2019; Narayanan et al. 2021,
figure 5).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache

from bpir.dialects.bp import TensorType
from bpir.dialects.dist.parts import mesh_attribute
from bpir.dialects.dist.placement import Group, Placement, groups_attribute
from bpir.dialects.model.rules.factors import Factors
from bpir.dialects.model.rules.local import settings_of
from bpir.dialects.model.rules.operation import ModelOperation, distinct
from bpir.dialects.model.rules.sizes import TOKEN_RANK
from bpir.ir.attributes import Attribute
from bpir.ir.diagnostic import Span
from bpir.ir.expressions.expression import ONE, Expr
from bpir.ir.operation import Operation
from bpir.ir.records import Record

TENSOR = "tensor"
"""The mesh axis of tensor parallelism."""

EXPERT = "expert"
"""The mesh axis of expert parallelism."""

HEADS = 2
"""The place of the heads among the dimensions of a tensor, for an operation that works head by head."""


@cache
def lone_symbol(dim: Expr) -> str | None:
    """The name of the symbol that the dimension is, or None for a number or a composite, which no placement can name."""
    return dim.text if dim.symbols == (dim.text,) else None


def shared_axes(blocks: Iterable[Operation], divided: Callable[[str], bool]) -> tuple[str, ...]:
    """The axes that tensor parallelism shards, in order of appearance.

    Args:
        divided: whether the ranks divide an axis; a last axis that a block returns stays whole where that is not known.
    """
    return _Placement(blocks, divided).axes()


def axes_in(block: Operation, axes: Iterable[str]) -> list[str]:
    """Those of the axes that a block has."""
    kinds = distinct(block.body)
    own = {name for operation in kinds for value in operation.results for name in _names(_dims(value.type))}
    own |= {name for operation in kinds for name in _own_axes(operation)}
    return [axis for axis in axes if axis in own]


def tables(blocks: Iterable[Operation]) -> set[str]:
    """The axes that are the rows of a table, and may be padded: a vocabulary (Shoeybi et al. 2019, section 3)."""
    return {name for block in blocks for operation in block.body for name in _own_axes(operation)}


def shared_heads(blocks: Iterable[Operation]) -> set[str]:
    """The axes of heads of which each serves as many heads of queries, and of which several ranks may hold a copy."""
    found: set[str] = set()
    for operation in (operation for block in blocks for operation in block.body):
        rule = operation.declaration
        for relation in rule.requires(operation) if isinstance(rule, ModelOperation) and rule.rank > HEADS else ():
            found.update(_names((relation.left,)) if relation.kind == "divides" else ())
    return found


def _own_axes(operation: Operation) -> list[str]:
    """The axes of weights alone that may be sharded."""
    rule = operation.declaration
    if not isinstance(rule, ModelOperation) or not rule.own_sizes:
        return []
    whole = whole_factors(rule, operation)
    return _names(dim for factor, dim in rule.own_dims(settings_of(operation)).items() if factor not in whole)


def whole_factors(rule: ModelOperation, operation: Operation) -> frozenset[str]:
    """The factors that tensor parallelism must not split: those that are needed whole, and experts, which another axis shards."""
    return rule.factors(operation).whole | {rule.expert_factor}


def placement(
    axes: Sequence[str],
    span: Span | None,
    between: Sequence[str] = (),
    resized: Mapping[str, Expr] | None = None,
    experts: tuple[Sequence[str], Sequence[str]] = ((), ()),
) -> list[Operation]:
    """The `dist.placement` that says what lies on which mesh axis, and with another size; none if nothing does.

    Args:
        axes, between: what tensor parallelism shards, everywhere and between its regions.
        experts: the axes of experts, and of batches, that expert parallelism shards.
    """
    groups = [Group(tuple(axes), TENSOR)] if axes else []
    groups += [Group(tuple(experts[0]), EXPERT)] if experts[0] else []
    groups += [Group(tuple(between), TENSOR, between=True)] if between else []
    groups += [Group(tuple(experts[1]), EXPERT, between=True)] if experts[1] else []
    properties: dict[str, Attribute] = {"groups": groups_attribute(groups)}
    if resized:
        properties["resized"] = mesh_attribute(resized)
    return [Placement.build(properties=properties, span=span)] if groups else []


class _Sizes(metaclass=Record):
    """An operation: its dimension factors, those that must stay whole, the symbols that are the size of each, and the factors with a size
    that no symbol names.
    """

    factors: Factors
    whole: frozenset[str]
    symbols: dict[str, set[str]]
    numbers: set[str]


class _Placement:
    def __init__(self, blocks: Iterable[Operation], divided: Callable[[str], bool]) -> None:
        self.divided = divided
        self.excluded: set[str] = set()
        self.candidates: dict[str, None] = {}
        self.heads: set[str] = set()
        self.users: dict[str, list[_Sizes]] = {}  # the operations that have an axis
        blocks = list(blocks)
        for block in blocks:
            self._boundary(block)
        for operation in distinct(operation for block in blocks for operation in block.body):
            if isinstance(operation.declaration, ModelOperation):
                self._operation(operation, operation.declaration)

    def axes(self) -> tuple[str, ...]:
        chosen: set[str] = set()
        for name in sorted(self.candidates, key=lambda name: name not in self.heads):
            together = self._together(name)
            users = {id(user): user for one in together for user in self.users[one]}.values()
            if together.isdisjoint(self.excluded) and all(self._fits(user, chosen | together) for user in users):
                chosen |= together
        return tuple(name for name in self.candidates if name in chosen)

    def _boundary(self, block: Operation) -> None:
        """The inputs of a block are whole, and its results, except for a last axis that did not come in."""
        arguments = {name for v in block.regions[0].blocks[0].arguments for name in _names(_dims(v.type))}
        self.excluded |= arguments
        for value in block.body[-1].operands if block.body else ():
            self.excluded.update(_names(_dims(value.type)[:-1]))
            self.excluded.update(name for name in _names(_dims(value.type)[-1:]) if not self.divided(name))

    def _operation(self, operation: Operation, rule: ModelOperation) -> None:
        factors, whole = rule.factors(operation), whole_factors(rule, operation)
        symbols: dict[str, set[str]] = {}
        numbers: set[str] = set()
        values = zip((*factors.operands, *factors.results), (*operation.operands, *operation.results), strict=True)
        for tensor, value in values:
            for factor, dim in zip(tensor, _dims(value.type), strict=False):
                symbols.setdefault(factor, set()).update(_names((dim,)))
                if lone_symbol(dim) is None and dim is not ONE:
                    numbers.add(factor)
        for factor, dim in rule.own_dims(settings_of(operation)).items():
            symbols.setdefault(factor, set()).update(_names((dim,)))
            if factor not in whole:
                self.candidates.update(dict.fromkeys(_names((dim,))))
        sizes = _Sizes(factors, whole, symbols, numbers)
        for name in dict.fromkeys(name for names in symbols.values() for name in names):
            self.users.setdefault(name, []).append(sizes)
        for index, result in enumerate(operation.results):
            dims = _dims(result.type)
            self.excluded.update(_names(dims[:TOKEN_RANK]))
            own = factors.produced(index) if rule.brings_axes else ()
            produced = [dim for factor, dim in zip(factors.results[index], dims, strict=False) if factor in own]
            self.candidates.update(dict.fromkeys(_names(produced)))
            if rule.rank > HEADS:
                self.heads.update(_names(dims[HEADS : HEADS + 1]))

    def _together(self, name: str) -> set[str]:
        """The axis, and those that are the same factor of an operation, as query heads and the KV heads that they share."""
        found, stack = {name}, [name]
        while stack:
            one = stack.pop()
            for names in (names for user in self.users[one] for names in user.symbols.values() if one in names):
                stack += names - found
                found |= names
        return found

    @staticmethod
    def _fits(user: _Sizes, chosen: set[str]) -> bool:
        """Whether an operation can be computed with the axes in shares."""
        split = {factor for factor, names in user.symbols.items() if names & chosen}
        if split & (user.whole | user.numbers):
            return False
        return all(len(split & user.factors.involved(index)) <= 1 for index in range(len(user.factors.results)))


def _dims(type: object) -> Sequence[Expr]:
    return type.dims if isinstance(type, TensorType) else ()


def _names(dims: Iterable[Expr]) -> list[str]:
    return [name for name in map(lone_symbol, dims) if name is not None]
