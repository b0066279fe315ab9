"""Parts of a custom form that say expressions in place."""

from __future__ import annotations

from collections.abc import Iterable

from bpir.dialects.bp.attributes import ExprAttr
from bpir.ir.attributes import Attribute
from bpir.ir.declaration import Fragment, Piece, wanted
from bpir.ir.expression import ONE, ZERO, Expr
from bpir.ir.parts import alternative
from bpir.ir.syntax import Property


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
