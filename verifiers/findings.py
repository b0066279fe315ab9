"""Collects what the rules of a verifier find: violations, each with the label of its rule, and the claims that were decided."""

from __future__ import annotations

from collections.abc import Iterable

from bpir.dialects.bp import TensorType, Vector, Work, product
from bpir.ir.declaration import Place, looked_at
from bpir.ir.diagnostic import Diagnostic, error, note
from bpir.ir.expressions.bounds import integral
from bpir.ir.expressions.expression import ONE, ZERO, Expr
from bpir.ir.operation import Value
from bpir.ir.relations.facts import Facts, Relation
from bpir.ir.relations.verdict import Verdict
from bpir.verifiers.statements import Claim, Sign, Statement


def shares(ranks: Expr, reduced: Iterable[TensorType], declared: Iterable[Relation]) -> set[Relation]:
    """The assumptions that reductions of values may make: that the ranks divide their elements; where the ranks are a number, also that
    they divide a dimension that a symbol is declared to divide (`8 | H` where `t | H`). A relation that says more than that would narrow
    the proof, and so would one about elements that are a multiple of the ranks already (`8*H*c`).
    """
    divided = _divided_by_symbols(declared) if ranks.constant is not None else set()
    needed = [type for type in reduced if not _is_multiple(product(type.dims), ranks)]
    sizes = {size for type in needed for size in (*(dim for dim in type.dims if dim in divided), product(type.dims))}
    return {Relation("divides", ranks, size) for size in sizes}


def _divided_by_symbols(declared: Iterable[Relation]) -> set[Expr]:
    """The sizes that a symbol is declared to divide."""
    return {r.right for r in declared if r.kind == "divides" and r.left.constant is None}


def _is_multiple(elements: Expr, ranks: Expr) -> bool:
    """Whether a number of elements is a multiple of the ranks, by its form, where these are a number."""
    known = ranks.integer or 0
    return bool(known) and integral(elements, known)


def _comparable(found: TensorType, expected: TensorType) -> bool:
    """Whether two types are one if their sizes are: the same shards, and one element, or two that have widths."""
    return _layout(found) == _layout(expected) and _comparable_elements(found.element, expected.element)


def _layout(type: TensorType) -> tuple[object, ...]:
    """How a tensor lies on the mesh, and how many dimensions it has."""
    return type.axes, type.unreduced, type.shared, len(type.dims)


def _comparable_elements(found: object, expected: object) -> bool:
    return found is expected or (isinstance(found, Expr) and isinstance(expected, Expr))


def _equal_sizes(found: TensorType, expected: TensorType) -> list[Statement]:
    """Two comparable types are one if these statements are true: equal dimensions, and equal widths of their elements."""
    pairs = [*zip(found.dims, expected.dims, strict=True)]
    if found.element is not expected.element:
        pairs.append((found.element_bytes, expected.element_bytes))
    return [Statement(ours, "=", theirs) for ours, theirs in pairs]


class Findings:
    """Collects the violations of labelled rules; and every claim that they make, if `claims` is a list.

    Attributes:
        unstated: of the violations those that are no claim about expressions, with their rules.
        overridden: the fields of bindings under which the target was made, and which the source does not say: `context = 7`.
        natural: what was decided of work, whether it is whole and whether it is not negative: layers repeat.
        sound: the work of which all of that is proved.
    """

    def __init__(self, prefix: str, facts: Facts, claims: list[Claim] | None = None) -> None:
        self.prefix, self.facts, self.claims = prefix, facts, claims
        self.diagnostics: list[Diagnostic] = []
        self.unstated: list[tuple[str, Diagnostic]] = []
        self.overridden: list[str] = []
        self.natural: dict[Expr, tuple[Verdict, Verdict]] = {}
        self.sound: set[Work] = set()

    @property
    def records_claims(self) -> bool:
        """Whether claims are recorded; what holds at sight must be claimed then, too."""
        return self.claims is not None

    def refuse(self, rule: str, operation: Place | None, message: str, *notes: Diagnostic, undecided: bool = False) -> None:
        """Report a violation; `undecided` says that it is not known to be one, which is no success either."""
        self._report(rule, operation, message, notes, undecided)
        self.unstated.append((rule, self.diagnostics[-1]))

    def require(self, rule: str, holds: bool, operation: Place | None, message: str, *notes: Diagnostic) -> bool:
        """Whether a condition holds; else refuse with the message."""
        if not holds:
            self.refuse(rule, operation, message, *notes)
        return holds

    def equal(self, rule: str, operation: Place, what: str, found: Expr, expected: Expr, *notes: Diagnostic) -> None:
        """Refuse unless the two expressions are proved equal for every admissible binding."""
        if found is not expected or self.claims is not None:
            self._compare(rule, operation, what, found, "=", expected, notes)

    def components(self, rule: str, operation: Place, kind: str, of: str, found: Vector, expected: Vector, *notes: Diagnostic) -> None:
        """Refuse unless two vectors of one kind are proved equal, component by component: `the work 'ops' of @task`."""
        if found is expected and self.claims is None:
            return
        for name, ours, theirs in zip(found.names(), found.components, expected.components, strict=True):
            self.equal(rule, operation, f"the {kind} '{name}' {of}", ours, theirs, *notes)

    def at_least(self, rule: str, operation: Place, what: str, found: Expr, bound: Expr, *notes: Diagnostic) -> None:
        """Refuse unless the expression is proved to be at least the bound for every admissible binding."""
        if found is not bound or self.claims is not None:
            self._compare(rule, operation, what, found, ">=", bound, notes)

    def enough_bytes(self, rule: str, operation: Place, what: str, size: Expr, needed: Expr, *notes: Diagnostic) -> None:
        """Refuse a size that is not proved to be at least what is needed: that, or a whole number of bytes."""
        if size is needed and self.claims is None:
            return
        self.at_least(rule, operation, what, size, needed, *notes)
        if size is needed or self.facts.equal(size, needed).proved:
            return
        statement = Statement(ONE, "|", size)
        message = f"{what} is no whole number of bytes: {size.text}"
        self.claim(rule, operation, message, what, statement, statement.decide(self.facts), *notes)

    def whole(self, rule: str, operation: Place, task: str, work: Work) -> None:
        """Refuse work of which a component is not proved to be a whole number, and not negative, for every admissible binding."""
        if work in self.sound:
            return
        known = len(self.diagnostics)
        self._whole(rule, operation, task, work)
        if len(self.diagnostics) == known and self.claims is None:
            self.sound.add(work)

    def _whole(self, rule: str, operation: Place, task: str, work: Work) -> None:
        for name, value in work.items():
            whole, sign = self._natural(value)
            if self.records_claims or not (whole.proved and sign.proved):
                self._claim_natural(rule, operation, f"the work '{name}' of '{task}'", value, (whole, sign))

    def _natural(self, value: Expr) -> tuple[Verdict, Verdict]:
        """Whether a value is whole, and whether it is not negative."""
        found = self.natural.get(value)
        if found is None:
            found = self.natural[value] = (self.facts.integral(value), self.facts.nonnegative(value))
        return found

    def _claim_natural(self, rule: str, operation: Place, what: str, value: Expr, verdicts: tuple[Verdict, Verdict]) -> None:
        whole, sign = verdicts
        help = note("declare which symbol divides which, as in 't | H', or record it with bp.assume")
        self.claim(rule, operation, f"{what} may be a fraction: {value.text}", what, Statement(ONE, "|", value), whole, help)
        how = "may be negative" if sign.refuted else "can't be decided not to be negative (unknown is not success)"
        self.claim(rule, operation, f"{what} {how}: {value.text}", what, Statement(value, ">=", ZERO), sign)

    def claim(
        self, rule: str, operation: Place, message: str, what: str, statement: Statement, verdict: Verdict, *notes: Diagnostic
    ) -> bool:
        """Whether the verdict on a statement about `what` is that it is proved; else refuse with the message."""
        self._record(rule, operation, what, statement, verdict)
        if not verdict.proved:
            self._report(rule, operation, message, notes, not verdict.refuted)
        return verdict.proved

    def _record(self, rule: str, operation: Place, what: str, statement: Statement, verdict: Verdict) -> None:
        """Keep a claim and what was decided of it, if claims are recorded."""
        if self.claims is not None:
            self.claims.append(Claim(rule, looked_at(operation), what, statement, verdict))

    def same_type(self, rule: str, operation: Place, message: str, value: Value, expected: TensorType) -> None:
        """Refuse with the message unless a value has the type: the same shards, sizes that are proved equal, and the same element.

        Two elements are one type, or two widths that are proved equal.
        """
        found = value.type
        if found is expected and self.claims is None:
            return
        message = f"{message}: {found.text}"
        help = note(f"expected {expected.text}")
        if not isinstance(found, TensorType) or not _comparable(found, expected):
            self.refuse(rule, operation, message, help)
            return
        verdicts = [self._decided(rule, operation, value, statement) for statement in _equal_sizes(found, expected)]
        if not all(verdict.proved for verdict in verdicts):
            self._report(rule, operation, message, (help,), not any(verdict.refuted for verdict in verdicts))

    def _decided(self, rule: str, operation: Place, value: Value, statement: Statement) -> Verdict:
        """The verdict on a statement about the size of a value."""
        verdict = statement.decide(self.facts)
        self._record(rule, operation, f"the size of {value.name or 'a value'}", statement, verdict)
        return verdict

    def _compare(
        self, rule: str, operation: Place, what: str, found: Expr, sign: Sign, expected: Expr, notes: tuple[Diagnostic, ...]
    ) -> None:
        statement = Statement(found, sign, expected)
        verdict = statement.decide(self.facts)
        if verdict.proved:
            self._record(rule, operation, what, statement, verdict)
            return
        wanted = note(f"expected {'at least ' if sign == '>=' else ''}{expected.text}")
        verb = "is wrong" if verdict.refuted else "can't be decided (unknown is not success)"
        numbers = self._refuting_numbers(statement, verdict) if verdict.refuted else ()
        self.claim(rule, operation, f"{what} {verb}: {found.text}", what, statement, verdict, wanted, *numbers, *notes)

    def _refuting_numbers(self, statement: Statement, verdict: Verdict) -> tuple[Diagnostic, ...]:
        """The numbers with which a refuted statement is false, and what its sides are then."""
        found, expected = statement.left, statement.right
        witness = statement.smallest_witness(self.facts)
        at = witness.values if witness is not None else verdict.witness or {}
        used = {*found.symbols, *expected.symbols}
        values = ", ".join(f"{name} = {value}" for name, value in at.items() if name in used) or "every binding"
        return (note(f"with {values} it is {found.evaluate(at)}, expected {expected.evaluate(at)}"),)

    def _report(self, rule: str, operation: Place | None, message: str, notes: tuple[Diagnostic, ...], undecided: bool) -> None:
        span = operation.span if operation is not None else None
        self.diagnostics.append(error(f"{message} [{self.prefix}.{rule}]", span, *notes, undecided=undecided))
