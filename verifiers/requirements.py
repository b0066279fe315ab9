"""What the operations of a model need of its sizes."""

from __future__ import annotations

from collections.abc import Sequence

from bpir.dialects.bp import symbol_table
from bpir.dialects.model.base import ModelOperation, layer_of
from bpir.ir.diagnostic import Diagnostic, error, note
from bpir.ir.operation import Operation
from bpir.verifiers.claims import Statement


def verify(module: Operation, operations: Sequence[Operation]) -> list[Diagnostic]:
    """Relations that an operation needs, and that do not follow from what the file declares and binds.

    R1 what an operation needs of its sizes is declared, or true of the numbers.
    """
    found = []
    facts = None
    for operation in operations:
        rule = operation.declaration
        for relation in rule.requires(operation) if isinstance(rule, ModelOperation) else ():
            facts = symbol_table(module).facts if facts is None else facts
            verdict = Statement(relation.left, "|", relation.right).decide(facts)
            if not verdict.proved:
                help = note(f"declare the relation '{relation.text}', or bind both to numbers")
                message = f"'{layer_of(operation)}' needs '{relation.text}', which does not follow from what the file declares [model.R1]"
                found.append(error(message, operation.span, help, undecided=not verdict.refuted))
    return found
