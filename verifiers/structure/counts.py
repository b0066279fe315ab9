"""Counts: dimensions, ranks, sequences, devices, bytes: whole numbers for every admissible binding, and not negative."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from bpir.dialects.bp import TensorType, expressions_in, symbol_table
from bpir.ir.attributes import Attribute
from bpir.ir.diagnostic import Diagnostic, error, note
from bpir.ir.expressions.bounds import integral, positive
from bpir.ir.expressions.expression import ONE, ZERO, Expr
from bpir.ir.operation import Operation
from bpir.ir.relations.facts import Facts
from bpir.ir.relations.verdict import Verdict
from bpir.verifiers.rulebooks import BP
from bpir.verifiers.ssa.distinct_properties import DistinctProperty
from bpir.verifiers.statements import Statement

_COUNTS = {
    ("dist.mesh", "axes"): "the size of a mesh axis",
    ("dist.repeat", "times"): "how often blocks are repeated",
    ("plan.section", "times"): "how often a section runs",
    ("plan.buffer", "times"): "how often there is a buffer",
    ("concrete.section", "times"): "how often a section runs",
    ("concrete.buffer", "times"): "how often there is a buffer",
    ("plan.buffer", "size"): "the size of a buffer",
    ("concrete.buffer", "size"): "the size of a buffer",
    ("concrete.devices", "count"): "the number of devices",
    ("concrete.region", "size"): "the memory of a device",
}
"""The properties that count, besides the fields of bindings and all that a model operation says."""
_BUFFERS = frozenset(("plan.buffer", "concrete.buffer"))  # may be empty, and under Calculon's convention a fraction


@BP.rule(
    "R5",
    "a count is a positive integer for every admissible binding, the width of an element positive, the size of a buffer not negative",
)
def verify(module: Operation, operations: Sequence[Operation], properties: Iterable[DistinctProperty]) -> list[Diagnostic]:
    """Counts that may be negative, zero or a fraction, each once, where it is first. All symbols are declared."""
    facts = symbol_table(module).facts
    found: list[Diagnostic] = []
    seen: set[tuple[Expr, Expr]] = set()
    elements: set[Expr] = set()
    for operation, what, attribute, least in (*_said(properties), *_dimensions(operations)):
        if isinstance(attribute, TensorType):
            found.extend(_element(facts, operation, attribute, elements))
        for expr in attribute.dims if isinstance(attribute, TensorType) else expressions_in(attribute):
            if (expr, least) not in seen:
                seen.add((expr, least))
                if positive(expr) and (integral(expr) or least is ZERO):  # as good as always: seen from the form
                    continue
                for statement, verdict in _wrong(facts, expr, least):
                    number = "be a positive integer" if least is ONE else "not be negative"
                    message = f"{what} must {number} for every admissible binding: {expr.text} [bp.R5]"
                    why = note(f"that {statement.text} is {verdict.text}")
                    found.append(error(message, operation.span, why, undecided=not verdict.refuted))
    return found


def _element(facts: Facts, operation: Operation, type: TensorType, seen: set[Expr]) -> Iterator[Diagnostic]:
    """The width of an element, which may be a fraction of a byte."""
    width = type.element_bytes
    if width not in seen:
        seen.add(width)
        verdict = facts.greater(width, ZERO)
        if not verdict.proved:
            why = note(f"that {width.text} > 0 is {verdict.text}")
            message = f"the width of an element must be positive for every admissible binding: {width.text} [bp.R5]"
            yield error(message, operation.span, why, undecided=not verdict.refuted)


def _wrong(facts: Facts, expr: Expr, least: Expr) -> list[tuple[Statement, Verdict]]:
    """Why the expression is no count: the first statement that is not proved; none if it is one."""
    statements = (Statement(expr, ">=", least), *((Statement(ONE, "|", expr),) if least is ONE else ()))
    return [(s, v) for s, v in ((s, s.decide(facts)) for s in statements) if not v.proved][:1]


def _said(properties: Iterable[DistinctProperty]) -> Iterator[tuple[Operation, str, Attribute, Expr]]:
    for operation, name, attribute in properties:
        dialect = operation.dialect
        if dialect == "bind" and name == "fields":
            yield operation, f"a field of '{operation.name}'", attribute, ONE
        elif dialect == "model":
            yield operation, f"'{name}' of '{operation.name}'", attribute, ONE
        elif (operation.name, name) in _COUNTS:
            yield operation, _COUNTS[operation.name, name], attribute, ZERO if operation.name in _BUFFERS and name == "size" else ONE


def _dimensions(operations: Sequence[Operation]) -> Iterator[tuple[Operation, str, Attribute, Expr]]:
    """Each type of a value once, with the first operation that has it."""
    first: dict[Attribute, Operation] = {}
    for operation in operations:
        for value in operation.results:
            first.setdefault(value.type, operation)
        for region in operation.regions:
            for block in region.blocks:
                for argument in block.arguments:
                    first.setdefault(argument.type, operation)
    for type, operation in first.items():
        if isinstance(type, TensorType):
            yield operation, f"a dimension of {type.text}", type, ONE
