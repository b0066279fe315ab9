"""A rule of a verifier: a label, what it demands, and the findings that it makes; all findings name their rule."""

from __future__ import annotations

from collections.abc import Iterable

import attrs

from bpir.dialects.bp import TensorType, Work, product
from bpir.ir.attributes import Type
from bpir.ir.diagnostic import Diagnostic, error, note
from bpir.ir.expression import Expr
from bpir.ir.operation import Operation
from bpir.ir.relations import Facts, Relation
from bpir.ir.verdict import Answer


def shares(ranks: Expr, reduced: Iterable[TensorType]) -> set[Relation]:
    """What reductions of values may assume: that the ranks divide their elements, or one of their dimensions."""
    sizes = {size for type in reduced for size in (*type.dims, product(type.dims))}
    return {Relation("divides", ranks, size) for size in sizes}


@attrs.define
class Findings:
    """Collects the violations of labelled rules."""

    prefix: str
    facts: Facts
    diagnostics: list[Diagnostic] = attrs.field(factory=list)
    integral: set[Expr] = attrs.field(factory=set)  # what was proved to be whole: layers repeat

    def refuse(self, rule: str, operation: Operation | None, message: str, *notes: Diagnostic) -> None:
        span = operation.span if operation is not None else None
        self.diagnostics.append(error(f"{message} [{self.prefix}.{rule}]", span, *notes))

    def equal(self, rule: str, operation: Operation, what: str, found: Expr, expected: Expr, *notes: Diagnostic) -> None:
        """Refuse unless the two expressions are proved equal for every admissible binding."""
        if found is expected:
            return
        verdict = self.facts.equal(found, expected)
        if verdict.answer is not Answer.PROVED:
            self._undecided(rule, operation, what, "is", found, expected, verdict.answer, verdict.witness, *notes)

    def at_least(self, rule: str, operation: Operation, what: str, found: Expr, bound: Expr, *notes: Diagnostic) -> None:
        """Refuse unless the expression is proved to be at least the bound for every admissible binding."""
        if found is bound:
            return
        verdict = self.facts.at_least(found, bound)
        if verdict.answer is not Answer.PROVED:
            self._undecided(rule, operation, what, "is at least", found, bound, verdict.answer, verdict.witness, *notes)

    def whole(self, rule: str, operation: Operation, task: str, work: Work) -> None:
        """Refuse work of which a component is not proved to be a whole number for every admissible binding."""
        for name, value in work.items():
            if value not in self.integral and self.facts.integral(value).proved:
                self.integral.add(value)
            if value not in self.integral:
                self.refuse(
                    rule,
                    operation,
                    f"the work '{name}' of '{task}' may be a fraction: {value.text}",
                    note("declare which symbol divides which, as in 't | H', or record it with bp.assume"),
                )

    def same_type(self, found: Type, expected: TensorType) -> bool:
        """Whether two types are proved equal: the same shards, equal sizes."""
        return isinstance(found, TensorType) and (
            found.axes == expected.axes
            and found.unreduced == expected.unreduced
            and len(found.dims) == len(expected.dims)
            and all(self.facts.equal(a, b).proved for a, b in zip(found.dims, expected.dims, strict=True))
            and (found.element is expected.element or self.facts.equal(found.element_bytes, expected.element_bytes).proved)
        )

    def _undecided(
        self,
        rule: str,
        operation: Operation,
        what: str,
        relation: str,
        found: Expr,
        expected: Expr,
        answer: Answer,
        witness: object,
        *notes: Diagnostic,
    ) -> None:
        lines = [note(f"expected {relation.removeprefix('is').strip()} {expected.text}".replace("  ", " "))]
        if answer is Answer.REFUTED and isinstance(witness, dict):
            numbers = {n: v for n, v in witness.items() if n in found.symbols or n in expected.symbols}
            values = ", ".join(f"{n} = {v}" for n, v in numbers.items()) or "every binding"
            lines.append(note(f"with {values} it is {found.evaluate(witness)}, expected {expected.evaluate(witness)}"))
            verb = "is wrong"
        else:
            verb = "can't be decided (unknown is not success)"
        self.refuse(rule, operation, f"{what} {verb}: {found.text}", *lines, *notes)
