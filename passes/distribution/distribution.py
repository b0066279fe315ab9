"""The steps that every distribution needs, whatever the workload: the mesh, the divisibility relations, and the new module."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from bpir.dialects.bp import Assume, Rewriting, SymbolTable, product, relations_attribute, rewrite_attribute
from bpir.ir.attributes import Attribute, Type
from bpir.ir.diagnostic import Span, fail, note
from bpir.ir.expressions.expression import ONE, Expr, ceildiv, constant, symbol
from bpir.ir.operation import Block, Operation, Region, clone
from bpir.ir.relations.facts import Facts, Relation
from bpir.ir.relations.verdict import Answer, Verdict


class Assumptions:
    """The assumptions of a derivation: recorded in the result, checked when the numbers are bound.

    A requirement that the declared relations prove needs no record. One that they leave open is an error, unless the
    bound numbers
    prove it, or a literal degree is an instance of a declared relation about a degree that is still open (`t | h` for
    `8 | h`).
    """

    def __init__(self, table: SymbolTable) -> None:
        self.table = table
        self.recorded: list[Relation] = []

    def require_divides(self, divisor: Expr, axis: Expr, span: Span | None, what: str = "tensor-parallel degree") -> None:
        relation = Relation("divides", divisor, axis)
        declared = self.table.declared_facts.divides(divisor, axis).answer
        if declared is Answer.PROVED or divisor is ONE:
            return
        verdict = self.table.facts.divides(divisor, axis)
        if verdict.answer is Answer.REFUTED and self._decided(divisor, axis):
            values = ", ".join(f"{e.text} = {self._number(e)}" for e in (divisor, axis) if e.constant is None)
            raise fail(f"{divisor.text} does not divide {axis.text}" + (f" ({values})" if values else ""), span)
        if verdict.answer is not Answer.PROVED and not self._is_instance(divisor, axis):
            raise fail(
                f"can't prove that the {what} {divisor.text} divides {axis.text}",
                span,
                note(f"declare the relation '{divisor.text} | {axis.text}', or bind both to numbers"),
            )
        self._record(relation)

    def may_divide(self, divisor: Expr) -> Callable[[str], bool]:
        """Whether the ranks divide an axis, as declared, bound, or by an instance of what is declared."""

        def divided(name: str) -> bool:
            axis = symbol(name)
            return self.table.facts.divides(divisor, axis).proved or self._is_instance(divisor, axis)

        return divided

    def leaves_rest(self, divisor: Expr, axis: Expr) -> bool:
        """Whether the numbers leave no way for several ranks to divide an axis."""
        if self._decided(divisor, axis) or not self._decided(axis):
            return self._decided(divisor, axis) and self.table.facts.divides(divisor, axis).refuted
        facts = self.table.facts
        several = (Relation("divides", divisor, axis), Relation("greater", divisor, ONE))
        return Facts((*facts.relations, *several), dict(facts.bindings)).satisfied.impossible

    def assume_divides(self, divisor: Expr, size: Expr) -> None:
        """A share that no declaration proves to be whole: recorded, unless the declared relations prove it."""
        if divisor is not ONE and self.table.declared_facts.divides(divisor, size).answer is not Answer.PROVED:
            self._record(Relation("divides", divisor, size))

    def share_batch(self, ranks: Expr, batch: Expr, span: Span | None) -> None:
        """Each rank gets as many sequences: by a declared relation, or as recorded.

        Raises:
            DiagnosticError: the numbers say that they do not.
        """
        if self._decided(ranks, batch) and self.table.facts.divides(ranks, batch).refuted:
            numbers = f"{self._number(ranks)} ranks of 'expert' can't share a batch of {self._number(batch)} alike"
            raise fail(numbers, span, note(f"the batch must be a multiple of {self._number(ranks)}"))
        self.assume_divides(ranks, batch)

    def assume_whole(self, parts: Expr, size: Expr) -> None:
        """A whole share, as `assume_divides`: what was recorded before may prove it, too."""
        known = any(r.kind == "divides" and r.left is parts for r in self.recorded)
        if not known or not Facts((*self.table.relations, *self.recorded)).divides(parts, size).proved:
            self.assume_divides(parts, size)

    def assume_share(self, ranks: Expr, dims: Sequence[Expr]) -> None:
        """A reduction gives each rank a whole share: by a declared relation, an instance of one (`8 | H` of `t | H`), or as recorded."""
        instance = next((dim for dim in dims if self._instantiates(ranks, dim)), None)
        size = product(dims)
        if instance is not None and self.table.declared_facts.divides(ranks, size).answer is not Answer.PROVED:
            self._record(Relation("divides", ranks, instance))
        else:
            self.assume_divides(ranks, size)

    def resize(self, degree: Expr, axis: str, copied: bool, span: Span | None) -> Expr:
        """The size that the ranks divide of an axis that they do not: the next larger one; heads are copied as often as that needs.

        Raises:
            DiagnosticError: the heads can't be copied alike: neither do the ranks divide them, nor they the ranks.
        """
        size = degree * ceildiv(symbol(axis), degree)
        relation = Relation("divides", symbol(axis), size)
        if copied and not _decide(self.table.declared_facts, relation).proved:
            if _decide(self.table.facts, relation).refuted and self._decided(symbol(axis), degree):
                heads, ranks = self._number(symbol(axis)), self._number(degree)
                message = f"{heads} KV heads ({axis}) can't be copied alike to {ranks} ranks: neither number divides the other"
                raise fail(message, span, note(f"declare '{degree.text} | {axis}', or take a number of ranks that {heads} divides"))
            self._record(relation)
        return size

    def require_sizes(self, relation: Relation, span: Span | None) -> None:
        """The sizes that a workload states: recorded, unless the declared relations prove them.

        Raises:
            DiagnosticError: it does not hold.
        """
        if _decide(self.table.declared_facts, relation).proved:
            return
        verdict = _decide(self.table.facts, relation)
        if verdict.answer is Answer.REFUTED and self._decided(relation.left, relation.right):
            numbers = [side for side in (relation.left, relation.right) if side.constant is None and self._decided(side)]
            values = ", ".join(f"{side.text} = {self._number(side)}" for side in numbers)
            raise fail(f"the workload needs '{relation.text}', which does not hold" + (f" ({values})" if values else ""), span)
        self._record(relation)

    def require_more(self, count: Expr, than: Expr, message: str, span: Span | None) -> None:
        """More of something than a number: recorded, unless the declared relations prove it.

        Raises:
            DiagnosticError: there are not so many; `message` says what needs them.
        """
        relation = Relation("greater", count, than)
        if _decide(self.table.declared_facts, relation).proved:
            return
        if _decide(self.table.facts, relation).refuted and self._decided(count):
            raise fail(f"{message}, and there are {self._number(count)}", span)
        self._record(relation)

    def require_count(self, count: Expr, number: Expr, message: str, span: Span | None) -> None:
        """A number of something: recorded, unless the declared relations or the bound numbers say it.

        Raises:
            DiagnosticError: there is another number of them; `message` says what is about so many.
        """
        relation = Relation("equal", count, number)
        if _decide(self.table.declared_facts, relation).proved:
            return
        if _decide(self.table.facts, relation).refuted and self._decided(count):
            raise fail(f"{message}, and there are {self._number(count)}", span)
        self._record(relation)

    def require_parallel(self, degree: Expr) -> None:
        """A symbolic degree stands for more than one rank."""
        if degree.constant is None and self.table.declared_facts.greater(degree, ONE).answer is not Answer.PROVED:
            self._record(Relation("greater", degree, ONE))

    def _record(self, relation: Relation) -> None:
        if relation not in self.recorded:
            self.recorded.append(relation)

    def _decided(self, *exprs: Expr) -> bool:
        return all(name in self.table.bindings for expr in exprs for name in expr.symbols)

    def _number(self, expr: Expr) -> str:
        return expr.substitute({n: constant(v) for n, v in self.table.bindings.items()}).text

    def _is_instance(self, divisor: Expr, axis: Expr) -> bool:
        return not self._decided(axis) and self._instantiates(divisor, axis)

    def _instantiates(self, divisor: Expr, axis: Expr) -> bool:
        return divisor.constant is not None and any(
            r.kind == "divides"
            and len(r.left.symbols) == 1
            and r.left is symbol(r.left.symbols[0])
            and r.left.symbols[0] not in self.table.bindings
            and r.right is axis
            for r in self.table.relations
        )

    def operations(self) -> list[Operation]:
        """The `bp.assume` that records them; none if there is nothing to record."""
        if not self.recorded:
            return []
        return [Assume.build(properties={"relations": relations_attribute(self.recorded)})]


def resized(block: Operation, sizes: Mapping[str, Expr]) -> Operation:
    """The block with other sizes in the place of symbols, in every type and property; the block is changed."""
    if not sizes:
        return block

    def rewrite(expr: Expr) -> Expr:
        return expr.substitute(sizes)

    for argument in block.arguments:
        argument.type = _type(argument.type, rewrite)
    for operation in block.body:
        operation.properties = {name: rewrite_attribute(value, rewrite) for name, value in operation.properties.items()}
        for result in operation.results:
            result.type = _type(result.type, rewrite)
    return block


def _type(type: Attribute, rewrite: Rewriting) -> Type:
    found = rewrite_attribute(type, rewrite)
    assert isinstance(found, Type)
    return found


def _decide(facts: Facts, relation: Relation) -> Verdict:
    return {"equal": facts.equal, "divides": facts.divides, "greater": facts.greater}[relation.kind](relation.left, relation.right)


def new_module(module: Operation, operations: Iterable[Operation]) -> Operation:
    """A module with the name and attributes of another, and copies of the operations where they are elsewhere already."""
    body = [clone(operation) if operation.parent is not None else operation for operation in operations]
    return Operation(
        module.name,
        properties=dict(module.properties),
        attributes=dict(module.attributes),
        regions=[Region([Block([], body)])],
        location=module.location,
        span=module.span,
        declaration=module.declaration,
    )
