"""What a verifier claims of two expressions: how it is proved, where it is false, and which relations its proof needs."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import attrs

from bpir.ir.expression import ONE, Expr
from bpir.ir.operation import Operation
from bpir.ir.relations import Facts, Relation
from bpir.ir.relations_smallest import Witness
from bpir.ir.verdict import Verdict

SIGNS = ("=", ">=", ">", "|")
"""Equal, at least, greater, divides: what a claim says of its left and its right side."""


@attrs.frozen
class Statement:
    """Two expressions and the sign between them; `1 | x` says that x is whole."""

    left: Expr
    sign: str = attrs.field(validator=attrs.validators.in_(SIGNS))
    right: Expr

    def decide(self, facts: Facts) -> Verdict:
        """Whether it is true for every admissible binding."""
        prove = {"=": facts.equal, ">=": facts.at_least, ">": facts.greater, "|": facts.divides}[self.sign]
        return prove(self.left, self.right)

    def false_at(self, values: Mapping[str, int]) -> bool:
        """Whether it is false at the values.

        Raises:
            ExpressionError: a side has no value there.
        """
        left, right = self.left.evaluate(values), self.right.evaluate(values)
        if self.sign == "=":
            return left != right
        if self.sign == "|":
            return (right / left).denominator != 1
        return left < right if self.sign == ">=" else left <= right

    def smallest_witness(self, facts: Facts) -> Witness | None:
        """The smallest values at which it is false, if the search finds any."""
        return facts.smallest_witness(self.false_at, self.left, self.right)

    @property
    def text(self) -> str:
        if self.sign == "|" and self.left is ONE:
            return f"{self.right.text} is whole"
        return f"{self.left.text} {self.sign} {self.right.text}"


@attrs.frozen(eq=False)
class Claim:
    """A statement that a rule makes of an operation, and what was decided of it."""

    rule: str
    operation: Operation | None
    what: str
    statement: Statement
    verdict: Verdict


@attrs.frozen
class Proof:
    """How a statement is proved: by which method, and under which relations and numbers."""

    method: str
    relations: tuple[Relation, ...]
    bindings: Mapping[str, int]


class Proofs:
    """The proofs of statements under the facts of a module, by no more relations and numbers than they need.

    What a proof lists is needed: without any one of it, the rest of the list does not prove the statement. There may be several such
    lists; what a derivation recorded (`last`) is given up first, then numbers, then what was declared, from its end.
    """

    def __init__(self, facts: Facts, last: frozenset[Relation] = frozenset()) -> None:
        self._facts = facts
        self._last = last
        self._under = cache(self._facts_of)
        self.of = cache(self._of)

    def _facts_of(self, relations: tuple[Relation, ...], names: tuple[str, ...]) -> Facts:
        return Facts(relations, {name: self._facts.bindings[name] for name in names}, searching=False)

    def _of(self, statement: Statement) -> Proof | None:
        """The proof of a statement; None if it is not proved."""
        relations, names = tuple(dict.fromkeys(self._facts.relations)), tuple(self._facts.bindings)
        verdict = statement.decide(self._under(relations, names))
        if not verdict.proved:
            return None
        bare = statement.decide(self._under((), ()))
        if bare.proved:
            return Proof(bare.method, (), {})
        recorded = [r for r in reversed(relations) if r in self._last]
        declared = [r for r in reversed(relations) if r not in self._last]
        changed = True
        while changed:  # again, because what is provable need not grow with what is assumed
            changed = False
            for given in (*recorded, *names, *declared):
                fewer = tuple(r for r in relations if r != given), tuple(n for n in names if n != given)
                if fewer == (relations, names):
                    continue
                without = statement.decide(self._under(*fewer))
                if without.proved:
                    (relations, names), verdict, changed = fewer, without, True
        return Proof(verdict.method, relations, {name: self._facts.bindings[name] for name in names})
