"""Claims of verifiers about two expressions: how each is proved, where it is false, and which relations its proof needs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Literal

from bpir.ir.expressions.expression import ONE, Expr
from bpir.ir.operation import Operation
from bpir.ir.records import Interned, Record
from bpir.ir.relations.facts import Facts, Relation
from bpir.ir.relations.verdict import Verdict

if TYPE_CHECKING:
    from bpir.ir.relations.smallest import Witness

Sign = Literal["=", ">=", ">", "|"]
"""Equal, at least, greater, divides: what a claim says of its left and its right side."""


class Statement(metaclass=Interned):
    """Two expressions and the sign between them; `1 | x` says that x is whole."""

    left: Expr
    sign: Sign
    right: Expr

    @classmethod
    def of(cls, relation: Relation) -> Statement:
        """The statement that a relation makes."""
        return cls(relation.left, relation.sign, relation.right)

    def decide(self, facts: Facts) -> Verdict:
        """Whether it is true for every admissible binding."""
        prove = {"=": facts.equal, ">=": facts.at_least, ">": facts.greater, "|": facts.divides}[self.sign]
        return prove(self.left, self.right)

    def false_at(self, values: Mapping[str, int]) -> bool:
        """Whether it is false at the values.

        Raises:
            ExpressionError: a side has no value there.
        """
        if self.sign == "|":
            return (self.right / self.left).evaluate(values).denominator != 1
        left, right = self.left.evaluate(values), self.right.evaluate(values)
        if self.sign == "=":
            return left != right
        return left < right if self.sign == ">=" else left <= right

    def smallest_witness(self, facts: Facts) -> Witness | None:
        """The smallest values at which it is false, if the search finds any."""
        return facts.smallest_witness(self.false_at, self.left, self.right)

    @property
    def text(self) -> str:
        if self.sign == "|" and self.left is ONE:
            return f"{self.right.text} is whole"
        return f"{self.left.text} {self.sign} {self.right.text}"


class Claim(metaclass=Record):
    """A statement that a rule makes of an operation, and what was decided of it."""

    rule: str
    operation: Operation | None
    what: str
    statement: Statement
    verdict: Verdict


Fact = Relation | tuple[str, int]
"""A relation, or a symbol and the number that it is bound to."""


class Proof(metaclass=Interned):
    """How a statement is proved: by which method, and under which facts."""

    method: str
    facts: tuple[Fact, ...]


class Proofs:
    """The proofs of statements under the facts of a module, by no more relations and numbers than they need.

    What a proof lists is needed: without any one of it, the rest of the list does not prove the statement. There may be several such
    lists. One of a single fact is preferred; else what was recorded (`last`) is given up first, then numbers, then what was declared,
    from its end.
    """

    def __init__(self, facts: Facts, last: frozenset[Relation] = frozenset()) -> None:
        declared = [r for r in dict.fromkeys(facts.relations) if r not in last]
        recorded = [r for r in dict.fromkeys(facts.relations) if r in last]
        self._given: list[Fact] = [*declared, *facts.bindings.items(), *recorded]
        self._under = cache(self._facts)
        self.of = cache(self._of)

    @staticmethod
    def _facts(given: frozenset[Fact], order: tuple[Fact, ...]) -> Facts:
        chosen = [fact for fact in order if fact in given]
        bindings = dict(fact for fact in chosen if isinstance(fact, tuple))
        return Facts((fact for fact in chosen if isinstance(fact, Relation)), bindings, searching=False)

    def _verdict(self, statement: Statement, given: Iterable[Fact]) -> Verdict:
        return statement.decide(self._under(frozenset(given), tuple(self._given)))

    def _of(self, statement: Statement) -> Proof | None:
        """The proof of a statement; None if it is not proved."""
        if not self._verdict(statement, self._given).proved:
            return None
        for few in ((), *((fact,) for fact in self._given)):
            verdict = self._verdict(statement, few)
            if verdict.proved:
                return Proof(verdict.methods[0], few)
        kept = self._needed(statement)
        return Proof(self._verdict(statement, kept).methods[0], tuple(kept))

    def _needed(self, statement: Statement) -> list[Fact]:
        """Facts that prove a statement, and of which none can be spared."""
        kept, changed = list(self._given), True
        while changed:  # again, because what is provable need not grow with what is assumed
            changed = False
            for fact in reversed(kept):
                fewer = [other for other in kept if other != fact]
                if self._verdict(statement, fewer).proved:
                    kept, changed = fewer, True
        return kept
