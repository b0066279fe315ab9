"""Every corruption of a module: those that any can have, those of what it is derived under, and those of its level."""

from __future__ import annotations

from collections.abc import Iterator

from corruptions.any_level import GENERAL
from corruptions.concrete import concrete
from corruptions.corruption import Change, Corruption, Found, at, copy_of, name_of, place_of, put
from corruptions.dist import distributed, operands
from corruptions.model import others
from corruptions.network import networks, sections
from corruptions.placement import caches, meshes, placements, sums
from corruptions.plan import planned

from bpir.dialects.bind import Binding
from bpir.dialects.bp import ExprAttr, RelationAttr, relations_attribute
from bpir.ir.attributes import ArrayAttr, Attribute, DictAttr, StringAttr, dictionary
from bpir.ir.declaration import DECLARATIONS
from bpir.ir.expressions.expression import ONE, constant, symbol
from bpir.ir.operation import Operation
from bpir.ir.relations.facts import Relation
from bpir.verifiers.structure.levels import level_of

OF_LEVEL = {
    "model": (operands, others, networks),
    "dist": (operands, distributed, placements, sums, caches, networks),
    "plan": (planned, meshes, sections),
    "concrete": (concrete, sections),
}


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
                yield from _fields(index, operation, dict(fields.entries))
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


def _fields(index: int, operation: Operation, fields: dict[str, Attribute]) -> Found:
    """Each field that options give in vain, by default, or with another word."""
    assert isinstance(operation.declaration, Binding)
    for field in operation.declaration.table:
        words = [StringAttr(word) for word in field.choices] or [ExprAttr(constant(number)) for number in (1, 2)]
        kind = "field with another word" if field.name in fields and field.choices else "field added" if field.name not in fields else ""
        for word in words if kind else ():
            if word is not fields.get(field.name):
                said = dictionary({**fields, field.name: word}.items())
                yield Corruption(f"{kind}: {field.name}", f"{name_of(operation)} {word.text}", put(index, "fields", said))


def _again(binding: Operation) -> None:
    assert binding.parent is not None
    binding.parent.operations.insert(place_of(binding), copy_of(binding, ""))


def _relations(index: int, operation: Operation, relations: ArrayAttr) -> Found:
    yield Corruption("relations in another order", operation.name, put(index, "relations", ArrayAttr(relations.values[::-1])))
    for place, relation in enumerate(relations.values):
        assert isinstance(relation, RelationAttr)
        where = f"{operation.name} {relation.text}"
        kept = (*relations.values[:place], *relations.values[place + 1 :])
        yield Corruption("relation dropped", where, put(index, "relations", ArrayAttr(kept) if kept else None))
        swapped = (*kept, RelationAttr(relation.kind, relation.right, relation.left))
        yield Corruption("relation turned round", where, put(index, "relations", ArrayAttr(swapped)))
        left, right = relation.left, relation.right
        others = [("spelled otherwise", 2 * left, 2 * right)]
        if relation.kind != "equal":
            more = (2 * left, right) if relation.kind == "divides" else (left, right + 1)
            less = (left, 2 * right) if relation.kind == "divides" else (left + 1, right)
            others += [("stronger", *more), ("weaker", *less)]
        for what, one, other in others:
            new = (*relations.values[:place], RelationAttr(relation.kind, one, other), *relations.values[place + 1 :])
            yield Corruption(f"relation {what}", where, put(index, "relations", ArrayAttr(new)))
