"""Counts: dimensions, ranks, sequences, devices, bytes: whole numbers for every admissible binding, and not negative."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice

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
    check = _Counting(symbol_table(module).facts)
    for operation, what, attribute, least in (*_of_properties(properties), *_dimensions(operations)):
        if isinstance(attribute, TensorType):
            check.element(operation, attribute.element_bytes)
        for expr in attribute.dims if isinstance(attribute, TensorType) else expressions_in(attribute):
            check.count(operation, what, expr, least)
    return check.found


class _Counting:
    """Judges counts, each once; `found` are the faults."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.found: list[Diagnostic] = []
        self._counts: set[tuple[Expr, Expr]] = set()
        self._widths: set[Expr] = set()

    def count(self, operation: Operation, what: str, expr: Expr, least: Expr) -> None:
        """Refuse an expression that is no count, of which the least is 1, or 0."""
        if (expr, least) not in self._counts:
            self._counts.add((expr, least))
            if not positive(expr) or not (least is ZERO or integral(expr)):  # few counts are not seen to be right from their form
                self._count(operation, what, expr, least)

    def _count(self, operation: Operation, what: str, expr: Expr, least: Expr) -> None:
        for statement, verdict in _wrong(self.facts, expr, least):
            number = "be a positive integer" if least is ONE else "not be negative"
            message = f"{what} must {number} for every admissible binding: {expr.text} [bp.R5]"
            why = note(f"that {statement.text} is {verdict.text}")
            self.found.append(error(message, operation.span, why, undecided=not verdict.refuted))

    def element(self, operation: Operation, width: Expr) -> None:
        """Refuse the width of an element, which may be a fraction of a byte, unless it is positive."""
        if width in self._widths:
            return
        self._widths.add(width)
        verdict = self.facts.greater(width, ZERO)
        if not verdict.proved:
            why = note(f"that {width.text} > 0 is {verdict.text}")
            message = f"the width of an element must be positive for every admissible binding: {width.text} [bp.R5]"
            self.found.append(error(message, operation.span, why, undecided=not verdict.refuted))


def _wrong(facts: Facts, expr: Expr, least: Expr) -> list[tuple[Statement, Verdict]]:
    """Why the expression is no count: the first statement that is not proved; none if it is one."""
    statements = [Statement(expr, ">=", least), *([Statement(ONE, "|", expr)] if least is ONE else [])]
    verdicts = ((statement, statement.decide(facts)) for statement in statements)
    return list(islice(((statement, verdict) for statement, verdict in verdicts if not verdict.proved), 1))


def _of_properties(properties: Iterable[DistinctProperty]) -> Iterator[tuple[Operation, str, Attribute, Expr]]:
    """The properties that count, each with what it counts and the least that it may be."""
    for operation, name, attribute in properties:
        what = _counted(operation, name)
        if what:
            yield operation, what, attribute, ZERO if operation.name in _BUFFERS and name == "size" else ONE


def _counted(operation: Operation, name: str) -> str:
    """The name of what a property of an operation counts; empty if it counts nothing."""
    dialect = operation.dialect
    if dialect == "bind" and name == "fields":
        return f"a field of '{operation.name}'"
    return f"'{name}' of '{operation.name}'" if dialect == "model" else _COUNTS.get((operation.name, name), "")


def _dimensions(operations: Sequence[Operation]) -> Iterator[tuple[Operation, str, Attribute, Expr]]:
    """Each type of a value once, with the first operation that has it."""
    first: dict[Attribute, Operation] = {}
    for operation in operations:
        for value in operation.results:
            first.setdefault(value.type, operation)
        for argument in chain.from_iterable(block.arguments for block in operation.blocks) if operation.regions else ():
            first.setdefault(argument.type, operation)
    tensors = ((type, operation) for type, operation in first.items() if isinstance(type, TensorType))
    return ((operation, f"a dimension of {type.text}", type, ONE) for type, operation in tensors)
