"""The outcome for a corrupted module: refused (by which rules), proved equivalent, accepted wrongly, or undecided.

Equivalence is defined here, and not by the verifiers. Two distributed modules are equivalent if they place the same axes and each
operation of one has a partner that says the same (properties equal as expressions under the declared relations) about values that are
computed in the same way; two plans, if that holds for tasks and buffers under a renaming of both; two concrete plans, if their operations
say the same, commands are in an order that their dependencies allow, which queues and cycles follow, and buffers are large enough,
aligned and apart; two models, if their operations say the same (dropout says nothing in inference). The order of the text, names of
values, those of a plan's tasks and buffers, and attributes that any operation may have are left out, and so are dependencies that others
imply. Relations may be spelled otherwise, if they hold for the same numbers of a grid. A plan's buffers may be larger (a whole number of
bytes), live longer and be aligned to a multiple, its workspace may be smaller if it still holds what is in use at any task on all
admissible numbers of a grid (`workspace_peak.py`), users of the workspace may be left out or said, groups may be others, as long as no
group races and the order is one in which every task runs after those that it needs, and no weight is read after its optimizer has written
it.

A target that was made under other fields than the source says is right if the answer names all of them, and the pass derives the same
under these options.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

import attrs
from corruptions.derivation_inputs import inputs_of, properties, reduced, unordered
from corruptions.network import network_form
from corruptions.plan_equivalence import Plan, ancestors
from raw import expr_of, is_command, names_of, number_of, reference_of, symbol_of, text_of
from support import run

from bpir.dialects.bp import ExprAttr, TensorType, rewrite_attribute, symbol_table
from bpir.dialects.dist.placement import Placement
from bpir.ir.attributes import Attribute
from bpir.ir.diagnostic import Diagnostic, DiagnosticError
from bpir.ir.expressions.expression import ONE, ZERO, ceildiv, constant, symbol
from bpir.ir.operation import Operation, Value, top_level
from bpir.ir.relations.facts import Facts, Relation
from bpir.verifiers import derivation
from bpir.verifiers.structure import module as structure
from bpir.verifiers.structure.levels import level_of

REFUSED, EQUIVALENT, WRONG, UNKNOWN, SILENT = "refused", "equivalent", "accepted wrongly", "unknown", "refused, but equivalent"
_LABEL = re.compile(r"\[([a-z-]+\.[A-Z]\d+)\]")


@attrs.frozen
class Verdict:
    """The outcome, and the labels of the rules that fired (`structure` for those of operations by themselves)."""

    outcome: str
    labels: frozenset[str] = frozenset()
    first: str = ""


def judge(source: Operation, target: Operation, corrupted: Operation, side: str = "target") -> Verdict:
    """Verify a corrupted target of a source, or a target of a corrupted source, as `bp-verify` does; if that passes, demand a proof that
    the corrupted module is the valid one, or what the pass derives under the fields that the answer names.
    """
    pair = (source, corrupted) if side == "target" else (corrupted, target)
    named: list[str] = []
    try:
        found = structure.verify(corrupted)
        if not found:
            check = derivation.verifier(*pair)
            found = check.verify()
            named = check.findings.overridden
    except DiagnosticError as refusal:
        found = list(refusal.diagnostics)
    if not found:
        valid, erased, assumed = _meant(source, target, side, named)
        return Verdict(EQUIVALENT if equivalent(valid, corrupted, erased, assumed, source) else WRONG, first=f"under {', '.join(named)}")
    labels = frozenset(label for d in found for label in _LABEL.findall(d.message) or ["structure"])
    return Verdict(UNKNOWN if all(d.undecided for d in found) else REFUSED, labels, found[0].message)


def _meant(source: Operation, target: Operation, side: str, named: list[str]) -> tuple[Operation, tuple[str, ...], tuple[Relation, ...]]:
    """The module that an accepted one must be equivalent to, the operations in it that say nothing, and the relations to assume."""
    level, kind = level_of(target), "training" if _trains(target) else "inference"
    erased = ("model.dropout", "dropout") if level == "dist" and kind == "inference" else ()
    if side == "source":
        return source, erased, symbol_table(target).assumptions
    if level == "dist":
        return _derived(source, [*_chosen(target), *named], f"distribute-{kind}"), erased, ()
    if level == "concrete" and named:
        return _derived(source, named, f"bind-{_kind_of_target(target)}"), erased, ()
    return target, erased, ()


def _derived(source: Operation, named: list[str], verb: str) -> Operation:
    """The module that a pass derives under the fields that an answer names."""
    return _run(source, f"{verb}{{{' '.join(field.replace(' ', '') for field in named)}}}")


def _kind_of_target(module: Operation) -> str:
    plan = next(o for o in top_level(module) if o.name == "concrete.plan")
    return next(text_of(o, "kind") for o in top_level(module) if o.name == "bind.target" and symbol_of(o) == reference_of(plan, "target"))


def _chosen(target: Operation) -> list[str]:
    """The workload and the strategy that a block names."""
    block = next(o for o in top_level(target) if o.name == "dist.block")
    return [f"{name}={block.properties[name].text}" for name in ("workload", "strategy") if name in block.properties]


_run = cache(run)


def _trains(module: Operation) -> bool:
    return any(o.name == "dist.activations" for o in module.walk())


def located(found: Iterable[Diagnostic]) -> bool:
    return all(d.span is not None for d in found)


def equivalent(
    valid: Operation,
    corrupted: Operation,
    erased: tuple[str, ...] = (),
    assumed: tuple[Relation, ...] = (),
    source: Operation | None = None,
) -> bool:
    """Whether the two say the same; the definition is above. Operations that are `erased` are their operands, properties nothing.

    Of plans `source` is the distributed module: without it no smaller workspace is large enough.
    Where a target assumes more than its model does, the models are the same under what it assumes.
    """
    facts = symbol_table(valid).facts
    level = level_of(valid)
    if network_form(valid, facts) != network_form(corrupted, facts):
        return False
    if level == "plan":
        return Plan(valid, facts).same(Plan(corrupted, facts), source)
    if level == "concrete":
        return bool(_bound(valid, facts) == _bound(corrupted, facts)) and _laid_out(valid, corrupted, facts) and _in_order(corrupted)
    if level == "model":
        return bool(_modelled(valid, facts, erased, assumed) == _modelled(corrupted, facts, erased, assumed))
    return bool(_distributed(valid, facts) == _distributed(corrupted, facts))


# --- models


def _modelled(module: Operation, facts: Facts, erased: tuple[str, ...], assumed: tuple[Relation, ...]) -> Any:
    """A form that does not depend on the order of operations, on names of values and on that of the context, which a workload replaces.

    Workload and strategy are not in it: the target says under which it was derived.
    """
    blocks = Counter(_model_block(o, facts, erased) for o in top_level(module) if o.name == "model.block")
    return inputs_of(module, facts, "bind.workload", "bind.strategy", assumed=assumed), blocks


def _model_block(block: Operation, facts: Facts, erased: tuple[str, ...]) -> Any:
    body = block.regions[0].blocks[0]
    rename = _renaming(body.operations, facts)
    known: dict[Value, Any] = {a: (i, rename(a.type)) for i, a in enumerate(body.arguments)}
    said = Counter[Any]()
    for operation in body.operations:
        if operation.name in erased:
            known[operation.results[0]] = known[operation.operands[0]]
            continue
        layer = operation.properties.get("layer", operation.name)
        said_of = ((k, rename(v)) for k, v in operation.properties.items() if k not in erased)
        own = tuple(sorted((k, v) for k, v in said_of if (k, v) != ("context", ExprAttr(symbol("context")))))
        said[operation.name, own, tuple(known.get(v) for v in operation.operands)] += 1
        known |= {v: (layer, i, rename(v.type)) for i, v in enumerate(operation.results)}
    return properties(block, facts), tuple(known[a] for a in body.arguments), frozenset(said.items())


def _renaming(operations: Iterable[Operation], facts: Facts) -> Callable[[Attribute], Attribute]:
    """Brings expressions into one form, in which the symbol of the one context that operations name is `context`."""
    named = {v.expr for o in operations if isinstance(v := o.properties.get("context"), ExprAttr)}
    one = {name: symbol("context") for expr in named for name in expr.symbols if expr is symbol(name) and len(named) == 1}
    return cache(lambda attribute: rewrite_attribute(attribute, lambda e: facts.reduce(e).substitute(one)))


# --- distributed modules


def _distributed(module: Operation, facts: Facts) -> Any:
    """A form that does not depend on order, names and repeated spelling."""
    blocks = Counter(_distributed_block(o, facts) for o in top_level(module) if o.name == "dist.block")
    meshes = Counter((properties(o, facts)) for o in top_level(module) if o.name == "dist.mesh")
    groups = [group for o in top_level(module) if o.name == "dist.placement" for group in list(Placement(o).groups)]
    placed = Counter((axis, group.mesh_axis, group.between) for group in groups for axis in group.axes)
    return inputs_of(module, facts), meshes, placed, blocks


def _distributed_block(block: Operation, facts: Facts) -> Any:
    known: dict[Value, Any] = {}
    for index, argument in enumerate(block.regions[0].blocks[0].arguments):
        known[argument] = ("argument", index, _type(argument, facts))
    said = Counter[Any]()
    for operation in block.body:
        operands = tuple(known.get(v) for v in operation.operands)
        description = (
            operation.name,
            properties(operation, facts),
            frozenset(Counter(operands).items()) if text_of(operation, "kind") == "fork" else operands,  # a sum
            tuple(_type(v, facts) for v in operation.results),
        )
        said[description] += 1
        for index, value in enumerate(operation.results):
            known[value] = (_Once(description), index)
    first = tuple(known[a] for a in block.regions[0].blocks[0].arguments)
    return properties(block, facts, "sym_name"), first, frozenset(said.items())


def _type(value: Value, facts: Facts) -> Attribute:
    return reduced(value.type, facts) if isinstance(value.type, TensorType) else value.type


class _Once:
    """A description whose hash is computed once, and whose equality ends at the first difference: descriptions nest deeply."""

    __slots__ = ("hash", "said")

    def __init__(self, said: Any) -> None:
        self.said = said
        self.hash = hash(said)

    def __hash__(self) -> int:
        return self.hash

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, _Once) and self.hash == other.hash and bool(self.said == other.said))


# --- concrete plans


def _bound(module: Operation, facts: Facts) -> Any:
    """The properties of each operation but for places: of buffers, of commands in their order, in queues and in cycles."""
    said = Counter[Any]()
    before = ancestors({symbol_of(o): names_of(o, "after") for o in top_level(module) if is_command(o)})
    lists = ("reads", "writes", "issue")
    for operation in top_level(module):
        if operation.name.partition(".")[0] not in ("bp", "bind"):
            places = ("size", "offset", "cycle") if operation.name in ("concrete.buffer", "slot.issue") else ()
            lists_said = tuple(unordered(operation.properties.get(name)) for name in lists)
            places += ("sym_name",) if operation.name == "queue.queue" else ()
            places += ("times",) if operation.name in ("concrete.buffer", "concrete.section") else ()  # in the form of the network
            needed = before.get(symbol_of(operation)) if is_command(operation) else None
            said[operation.name, properties(operation, facts, "after", *lists, *places), lists_said, needed] += 1
    return inputs_of(module, facts), said


def _laid_out(valid: Operation, other: Operation, facts: Facts) -> bool:
    """Whether each buffer of the other is large enough, begins at a multiple of its alignment, and ends before the next begins."""
    needed = {symbol_of(o): expr_of(o, "size") for o in top_level(valid) if o.name == "concrete.buffer"}
    end = ZERO
    for buffer in top_level(other):
        if buffer.name == "concrete.buffer":
            size, offset = expr_of(buffer, "size"), expr_of(buffer, "offset")
            large = size is needed[symbol_of(buffer)] or (
                facts.at_least(size, needed[symbol_of(buffer)]).proved and facts.integral(size).proved
            )
            aligned = facts.divides(constant(number_of(buffer, "alignment")), offset).proved
            if not (large and aligned and facts.at_least(offset, end).proved):
                return False
            stride = ceildiv(size, number_of(buffer, "alignment")) * number_of(buffer, "alignment")
            times = expr_of(buffer, "times") if "times" in buffer.properties else ONE
            end = offset + (times - 1) * stride + size
    return True


def _in_order(module: Operation) -> bool:
    """Whether commands are behind those that they need, and queues and cycles follow the order of the commands."""
    place = {symbol_of(o): i for i, o in enumerate(o for o in top_level(module) if is_command(o))}
    for operation in (o for o in top_level(module) if not o.name.endswith(".section")):
        here = place.get(symbol_of(operation), len(place))
        issued = [place[name] for name in names_of(operation, "issue")]
        needed = names_of(operation, "after") if is_command(operation) else ()
        if any(place[name] >= here for name in needed) or issued != sorted(issued):
            return False
        if operation.name == "slot.issue" and number_of(operation, "cycle") != place[reference_of(operation, "command")]:
            return False
    return True
