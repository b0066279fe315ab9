"""Parts of a custom form that say expressions in place."""

from __future__ import annotations

from collections.abc import Iterable

from bpir.dialects.bp.attributes import ExprAttr
from bpir.ir.attributes import I64, Attribute, IntegerAttr
from bpir.ir.declaration import Fragment, Piece, wanted
from bpir.ir.diagnostic import Span, fail
from bpir.ir.expressions.expression import ONE, ZERO, Expr
from bpir.ir.property_parts import Property
from bpir.ir.syntax_part import alternative


class Expression(Property[Expr]):
    """An expression in place: `context c`; 0 where it is absent."""

    def value(self, attribute: Attribute | None) -> Expr:
        return attribute.expr if isinstance(attribute, ExprAttr) else ZERO

    def fragment(self, rule: str) -> Fragment:
        return alternative(rule, "expr", lambda c, v, s: ExprAttr(v[0]))

    def spelling(self, attribute: Attribute) -> Iterable[Piece]:
        attribute = wanted(attribute, ExprAttr)
        yield attribute.expr.text

    def expected(self, attribute: Attribute) -> str:
        return "" if isinstance(attribute, ExprAttr) else "an expression (#bp.expr<...>)"


class Times(Expression):
    """`L`: how often; once where it is absent."""

    def value(self, attribute: Attribute | None) -> Expr:
        return attribute.expr if isinstance(attribute, ExprAttr) else ONE


class Integer(Property[int]):
    """`256`: an integer; 0 where it is absent."""

    def fragment(self, rule: str) -> Fragment:
        return Fragment(f"{rule}: integer -> {rule}_is\n", {rule + "_is": lambda c, v, s: IntegerAttr(i64(v[0], s), I64)})

    def spelling(self, attribute: Attribute) -> Iterable[Piece]:
        yield str(attribute.value) if isinstance(attribute, IntegerAttr) else ""

    def expected(self, attribute: Attribute) -> str:
        return "" if is_number(attribute) else "a 64-bit integer that is not negative"

    def value(self, attribute: Attribute | None) -> int:
        return attribute.value if isinstance(attribute, IntegerAttr) else 0


def is_number(attribute: Attribute) -> bool:
    """Whether it is a 64-bit integer that is not negative."""
    return isinstance(attribute, IntegerAttr) and attribute.type is I64 and attribute.value >= 0


def i64(value: int, span: Span) -> int:
    """The number, if it has 64 bits.

    Raises:
        DiagnosticError: it has not.
    """
    if not 0 <= value < 2**63:
        raise fail("expected a 64-bit number", span)
    return value
