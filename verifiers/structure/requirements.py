"""The relations that the operations of a model demand of its sizes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache

from bpir.dialects.bp import shape_text, symbol_table
from bpir.dialects.levels import ModelIR
from bpir.dialects.model.rules.layers import layer_of, part_of, tied_to
from bpir.dialects.model.rules.local import settings_of
from bpir.dialects.model.rules.operation import ModelOperation
from bpir.ir.diagnostic import Diagnostic, error, note, suggestion
from bpir.ir.expressions.expression import Expr
from bpir.ir.operation import Operation
from bpir.ir.relations.facts import Facts, Relation
from bpir.verifiers.model_operations import rule_of, tensors_of
from bpir.verifiers.rulebooks import MODEL
from bpir.verifiers.statements import Statement


@MODEL.rule("R1", "what an operation needs of its sizes is declared, or true of the numbers")
def verify(module: Operation, operations: Sequence[Operation]) -> list[Diagnostic]:
    """Relations that an operation needs, and that do not follow from what the file declares and binds."""
    found = []
    facts = cache(lambda: symbol_table(module).facts)
    for operation in operations:
        rule = operation.declaration
        if isinstance(rule, ModelOperation):
            found += [wrong for relation in rule.requires(operation) for wrong in _unproved(facts(), operation, relation)]
            shape = rule.tied_shape(operation)
            found += _tie(module, operation, shape) if shape is not None else []
    return found


def _unproved(facts: Facts, operation: Operation, relation: Relation) -> Iterator[Diagnostic]:
    """Refuse a relation that an operation needs, unless it is proved."""
    verdict = Statement.of(relation).decide(facts)
    if not verdict.proved:
        help = note(f"declare the relation '{relation.text}', or bind both to numbers")
        message = f"'{layer_of(operation)}' needs '{relation.text}', which does not follow from what the file declares [model.R1]"
        yield error(message, operation.span, help, undecided=not verdict.refuted)


@MODEL.rule("R2", "a tied weight is the table of a layer, of its size")
def _tie(module: Operation, operation: Operation, shape: tuple[Expr, ...]) -> list[Diagnostic]:
    """The fault in the layer that an operation is tied to, which is looked for in the same block first, then in the others."""
    name, layers = tied_to(operation), _layers(module, operation)
    found = layers.get(name)
    if found is None:
        message = f"'{layer_of(operation)}' is tied to '{name}', which is no layer{suggestion(name, layers)} [model.R2]"
        return [error(message, operation.span)]
    if shape in _weights(found) and "tied" not in found.properties:
        return []
    sizes = ", ".join(f"[{shape_text(dims)}]" for dims in _weights(found)) or "none"
    here = note(f"'{name}' has the weights {sizes}", found.span)
    return [error(f"'{layer_of(operation)}' needs a table [{shape_text(shape)}] of '{name}' [model.R2]", operation.span, here)]


def _layers(module: Operation, operation: Operation) -> dict[str, Operation]:
    """The layers by name; of two with one name that of the operation's block, or of the first."""
    blocks = [block.operation for block in ModelIR(module).blocks]
    blocks.sort(key=lambda block: operation not in block.body)
    return {layer_of(o): o for block in reversed(blocks) for o in block.body if isinstance(o.declaration, ModelOperation)}


def _weights(operation: Operation) -> list[tuple[Expr, ...]]:
    """The dimensions of each weight of an operation of a model."""
    rule, operands, results = rule_of(operation), tensors_of(operation.operands), tensors_of(operation.results)
    if not operands:
        return []
    return [type.dims for type in rule.weight_types(part_of(rule, settings_of(operation), operands, results, [True] * len(operands)))]
