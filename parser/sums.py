"""Sums of products of symbols at once, such as `4*B*S*H/t + 5*B`: most expressions of a file. All others are read by the grammar."""

from __future__ import annotations

import re

from bpir.ir.expression import Expr, ExpressionError, constant, quotient, symbol, total

_WORD = r"[A-Za-z_][A-Za-z0-9_$.]*+"
_PRODUCT = rf"(?:[1-9][0-9]{{0,17}}+\*)?+{_WORD}(?:[*/]{_WORD}(?!\())*+"
SUM = re.compile(rf"[ \t\r\n]*+({_PRODUCT}(?: \+ {_PRODUCT})*+)(?=,|\Z)")
_LONGEST = 1000


class Sums:
    """Expressions by their text; it remembers products of symbols, whatever their coefficients."""

    def __init__(self) -> None:
        self.products: dict[str, Expr] = {}

    def get(self, text: str) -> Expr | None:
        """The expression of a text that `SUM` found; None if the grammar must read it."""
        if len(text) > _LONGEST:
            return None
        try:
            terms = [self._term(part) for part in text.split(" + ")]
            return terms[0] if len(terms) == 1 else total(terms)
        except ExpressionError:  # the grammar says where
            return None

    def _term(self, text: str) -> Expr:
        digits, _, rest = text.partition("*") if text[0].isdigit() else ("", "", text)
        product = self.products.get(rest)
        if product is None:
            first, *others = re.split(r"([*/])", rest)
            above: list[Expr] = [symbol(first)]
            below: list[Expr] = []
            for sign, name in zip(others[::2], others[1::2], strict=True):
                (above if sign == "*" else below).append(symbol(name))
            found = above[0] if not others else quotient(above, below)
            assert found is not None  # each symbol is one term
            product = self.products[rest] = found
        return constant(int(digits)) * product if digits else product
