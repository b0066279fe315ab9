"""The relations that the operations of a model demand of its sizes."""

from __future__ import annotations

from collections.abc import Sequence

from bpir.dialects.bp import TensorType, shape_text, symbol_table
from bpir.dialects.levels import ModelIR
from bpir.dialects.model.linear import Linear
from bpir.dialects.model.rules.operation import ModelOperation, layer_of, part_of, settings_of
from bpir.ir.attributes import StringAttr
from bpir.ir.diagnostic import Diagnostic, error, note, suggestion
from bpir.ir.expressions.expression import Expr
from bpir.ir.operation import Operation
from bpir.verifiers.rulebooks import MODEL
from bpir.verifiers.statements import Statement

_SIGN = {"divides": "|", "equal": "=", "greater": ">"}


@MODEL.rule("R1", "what an operation needs of its sizes is declared, or true of the numbers")
def verify(module: Operation, operations: Sequence[Operation]) -> list[Diagnostic]:
    """Relations that an operation needs, and that do not follow from what the file declares and binds."""
    found = []
    facts = None
    for operation in operations:
        rule = operation.declaration
        for relation in rule.requires(operation) if isinstance(rule, ModelOperation) else ():
            facts = symbol_table(module).facts if facts is None else facts
            verdict = Statement(relation.left, _SIGN[relation.kind], relation.right).decide(facts)
            if not verdict.proved:
                help = note(f"declare the relation '{relation.text}', or bind both to numbers")
                message = f"'{layer_of(operation)}' needs '{relation.text}', which does not follow from what the file declares [model.R1]"
                found.append(error(message, operation.span, help, undecided=not verdict.refuted))
        shape = rule.tied_shape(operation) if isinstance(rule, ModelOperation) else None
        if shape is not None:
            found += _tie(module, operation, shape)
    return found


@MODEL.rule("R2", "a tied weight is the table of a layer, of its size")
def _tie(module: Operation, operation: Operation, shape: tuple[Expr, ...]) -> list[Diagnostic]:
    """The fault in the layer that an operation is tied to, which is looked for in the same block first, then in the others."""
    name = operation.properties[Linear.tied.name]
    assert isinstance(name, StringAttr)
    blocks = [block.operation for block in ModelIR(module).blocks]
    blocks.sort(key=lambda block: operation not in block.body)
    layers = {layer_of(o): o for block in reversed(blocks) for o in block.body if isinstance(o.declaration, ModelOperation)}
    found = layers.get(name.value)
    if found is None:
        message = f"'{layer_of(operation)}' is tied to '{name.value}', which is no layer{suggestion(name.value, layers)} [model.R2]"
        return [error(message, operation.span)]
    own = [dims for dims in _weights(found) if dims == shape]
    if own and "tied" not in found.properties:
        return []
    sizes = ", ".join(f"[{shape_text(dims)}]" for dims in _weights(found)) or "none"
    here = note(f"'{name.value}' has the weights {sizes}", found.span)
    return [error(f"'{layer_of(operation)}' needs a table [{shape_text(shape)}] of '{name.value}' [model.R2]", operation.span, here)]


def _weights(operation: Operation) -> list[tuple[Expr, ...]]:
    """The dimensions of each weight of an operation of a model."""
    rule = operation.declaration
    operands, results = ([v.type for v in values if isinstance(v.type, TensorType)] for values in (operation.operands, operation.results))
    if not isinstance(rule, ModelOperation) or not operands:
        return []
    return [type.dims for type in rule.weight_types(part_of(rule, settings_of(operation), operands, results, [True] * len(operands)))]
