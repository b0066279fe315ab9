"""Normal forms of what a module is derived under, and of properties: equal for the same meaning. Asks no verifier."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

import attrs
from raw import fields_of, symbol_of

from bpir.dialects.bind import field_text
from bpir.dialects.bp import expressions_in, rewrite_attribute, symbol_table
from bpir.ir.attributes import ArrayAttr, Attribute
from bpir.ir.operation import Operation, top_level
from bpir.ir.relations.facts import Facts, Relation


def unordered(attribute: Attribute | None) -> frozenset[Any]:
    return frozenset(Counter(attribute.values).items()) if isinstance(attribute, ArrayAttr) else frozenset()


def reduced(attribute: Attribute, facts: Facts) -> Attribute:
    """The attribute with expressions in one form under the declared relations."""
    return rewrite_attribute(attribute, facts.reduce) if any(expressions_in(attribute)) else attribute


def properties(operation: Operation, facts: Facts, *without: str) -> tuple[tuple[str, Any], ...]:
    said = ((k, unordered(v) if k == "dropped" else reduced(v, facts)) for k, v in operation.properties.items() if k not in without)
    return tuple(sorted(said, key=lambda item: item[0]))


DEFAULTS = {
    "communication": "all_reduce", "recompute": "none", "convention": "standard",
    **dict.fromkeys(("pipeline", "interleaving", "microbatches", "expert", "data"), "1"),
    "causal": "dense", "head": "last", "zero": "0", "gradients": "weights",
    **dict.fromkeys(("all_gather_redo", "fused_activation", "optimizer_sharding"), "false"),
}  # fmt: skip


def inputs_of(module: Operation, facts: Facts, *without: str, assumed: tuple[Relation, ...] = ()) -> Any:
    """The inputs of the derivation. An assumption may be said twice, or not at all if the declarations prove it; a default, too."""
    table = symbol_table(module)
    found = Counter[Any]()
    for operation in top_level(module):
        if operation.name in without:
            continue
        if operation.name in ("bind.strategy", "bind.workload"):
            fields = {k: v for k, v in fields_of(operation).items() if field_text(v) != DEFAULTS.get(k)}
            found[operation.name, symbol_of(operation), operation.properties.get("kind"), frozenset(fields.items())] += 1
        elif operation.name.partition(".")[0] == "bind":
            found[operation.name, properties(operation, facts, "links"), unordered(operation.properties.get("links"))] += 1
    names, numbers = frozenset(table.names), tuple(sorted(table.bindings.items()))
    relations = (frozenset(table.relations), frozenset((*table.relations, *table.assumptions, *assumed)))
    return names, numbers, *(_Admitted(r, numbers) for r in relations), found


@attrs.frozen
class _Admitted:
    """The numbers of a grid for which relations hold: equal if they are the same."""

    relations: frozenset[Relation] = attrs.field(eq=False)
    numbers: tuple[tuple[str, int], ...]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Admitted) and self.numbers == other.numbers and _alike(self.relations, other.relations, self.numbers)

    def __hash__(self) -> int:
        return hash(self.numbers)


@cache
def _alike(one: frozenset[Relation], other: frozenset[Relation], numbers: tuple[tuple[str, int], ...]) -> bool:
    if one == other:
        return True
    ours, theirs, common = one - other, other - one, one & other  # what both say they say of the same numbers
    for values in grid({name for r in one | other for name in r.symbols}, numbers):
        if all(r.holds(values) for r in ours) != all(r.holds(values) for r in theirs) and all(r.holds(values) for r in common):
            return False
    return True


def grid(names: Iterable[str], numbers: Iterable[tuple[str, int]]) -> Iterator[dict[str, int]]:
    """Numbers for all names: those that are bound, and at most about 20,000 combinations of small ones."""
    bound = dict(numbers)
    free = sorted({*names} - bound.keys())
    small = (1, 2, 3, 4, 6, 8, 16)[: max(2, int(20_000 ** (1 / max(len(free), 1))))]
    for point in itertools.product(small, repeat=len(free)):
        yield {**bound, **dict(zip(free, point, strict=True))}
