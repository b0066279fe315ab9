"""Every corruption of a module: those that any can have, those of what it is derived under, and those of its level."""

from __future__ import annotations

from collections.abc import Iterator

from corruption import Change, Corruption, Found, at, copy_of, name_of, place_of, put
from corruption_concrete import concrete
from corruption_dist import distributed, operands
from corruption_general import GENERAL
from corruption_model import others
from corruption_plan import planned

from bpir.dialects.bp import RelationAttr, relations_attribute
from bpir.ir.attributes import ArrayAttr, DictAttr
from bpir.ir.declaration import DECLARATIONS
from bpir.ir.expression import ONE, symbol
from bpir.ir.operation import Operation
from bpir.ir.relations import Relation
from bpir.verifiers.levels import level_of

OF_LEVEL = {"model": (operands, others), "dist": (operands, distributed), "plan": (planned,), "concrete": (concrete,)}


def corruptions(module: Operation) -> Iterator[Corruption]:
    """Every corruption of a module, in a fixed order."""
    operations = list(module.walk())
    for maker in (*GENERAL, inputs, *OF_LEVEL[level_of(module)]):
        yield from maker(operations)


# --- what the derivation is given


def inputs(operations: list[Operation]) -> Found:
    """Leave out a field or a relation, turn a relation round; bind a symbol once more, add an assumption."""
    for index, operation in enumerate(operations):
        if operation.name.startswith("bind."):
            fields = operation.properties.get("fields")
            if isinstance(fields, DictAttr):
                for place, (name, _) in enumerate(fields.entries):
                    kept = (*fields.entries[:place], *fields.entries[place + 1 :])
                    yield Corruption("field dropped", f"{name_of(operation)} {name}", put(index, "fields", DictAttr(kept)))
        if operation.name in ("bp.symbols", "bp.assume"):
            relations = operation.properties.get("relations")
            if isinstance(relations, ArrayAttr):
                yield from _relations(index, operation, relations)
        if operation.name == "bp.bind":
            yield Corruption("symbols bound once more", "bp.bind", at(index, _again))
    module = operations[0]

    def assume(relation: Relation) -> Change:
        def change(ops: list[Operation]) -> None:
            new = Operation("bp.assume", declaration=DECLARATIONS["bp.assume"], span=module.span)
            new.properties["relations"] = relations_attribute([relation])
            ops[0].body.insert(1, new)

        return change

    for relation in (
        Relation("greater", symbol("H"), ONE),
        Relation("divides", symbol("S"), symbol("H")),
        Relation("equal", symbol("F"), symbol("H")),
    ):
        yield Corruption("assumption added", relation.text, assume(relation))


def _again(binding: Operation) -> None:
    assert binding.parent is not None
    binding.parent.operations.insert(place_of(binding), copy_of(binding, ""))


def _relations(index: int, operation: Operation, relations: ArrayAttr) -> Found:
    for place, relation in enumerate(relations.values):
        assert isinstance(relation, RelationAttr)
        where = f"{operation.name} {relation.text}"
        kept = (*relations.values[:place], *relations.values[place + 1 :])
        yield Corruption("relation dropped", where, put(index, "relations", ArrayAttr(kept) if kept else None))
        swapped = (*kept, RelationAttr(relation.kind, relation.right, relation.left))
        yield Corruption("relation turned round", where, put(index, "relations", ArrayAttr(swapped)))
