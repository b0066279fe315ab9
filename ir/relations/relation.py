"""One declared relation between two expressions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from bpir.ir.expressions.expression import Expr
from bpir.ir.records import Interned, fill

RelationKind = Literal["equal", "divides", "greater"]
RelationSign = Literal["=", "|", ">"]
KINDS: tuple[RelationKind, ...] = ("equal", "divides", "greater")
_SIGNS: Mapping[RelationKind, RelationSign] = {"equal": "=", "divides": "|", "greater": ">"}


class Relation(metaclass=Interned):
    """`left = right`, `left | right` (the right side is an integral multiple of the left) or `left > right`, by its kind.

    Raises:
        ValueError: the kind is none of `KINDS`.
    """

    kind: RelationKind
    left: Expr
    right: Expr

    def __init__(self, kind: RelationKind, left: Expr, right: Expr) -> None:
        if kind not in KINDS:
            raise ValueError(f"the kind of a relation is one of {', '.join(KINDS)}, not '{kind}'")
        fill(self, kind, left, right)

    @property
    def text(self) -> str:
        """The custom spelling: `H = d*h`, `t | h`, `t > 1`."""
        return f"{self.left.text} {self.sign} {self.right.text}"

    @property
    def sign(self) -> RelationSign:
        """The sign between its sides, as texts have it."""
        return _SIGNS[self.kind]

    @property
    def symbols(self) -> tuple[str, ...]:
        """The names of the symbols that occur, sorted."""
        return tuple(sorted({*self.left.symbols, *self.right.symbols}))

    def holds(self, values: Mapping[str, int]) -> bool:
        """Whether the relation is true at the values.

        Raises:
            ExpressionError: a symbol has no value, or a side has none.
        """
        left, right = self.left.evaluate(values), self.right.evaluate(values)
        if self.kind == "equal":
            return left == right
        if self.kind == "greater":
            return left > right
        return left != 0 and (right / left).denominator == 1
