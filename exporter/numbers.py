"""Numbers for all that a trace says: it has no symbols."""

from __future__ import annotations

from collections.abc import Mapping

from bpir.ir.diagnostic import Span, fail
from bpir.ir.expressions.expression import Expr, constant


class Numbers:
    """The numbers of symbols, put into expressions."""

    def __init__(self, values: Mapping[str, int]) -> None:
        self.values = {name: constant(value) for name, value in values.items()}

    def of(self, expr: Expr, what: str, span: Span | None = None) -> int:
        """The number of an expression.

        Raises:
            DiagnosticError: a symbol of it has none, or it is no 64-bit integer that is not negative.
        """
        found = expr.substitute(self.values)
        if found.integer is not None and 0 <= found.integer < 2**63:
            return found.integer
        if found.symbols:
            names = sorted(found.symbols)
            given = " ".join(f"{name}=..." for name in names)
            message = f"a trace has numbers only: for {what}, {expr.text}, give those of {', '.join(names)}"
            raise fail(f"{message}: --bind {given}", span)
        raise fail(f"{what} would be {found.text}, and a trace has only 64-bit integers that are not negative", span)
