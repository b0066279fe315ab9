"""Sums at once, such as `4*B*S*H/t + 256*ceildiv(B*H, 256)`: a product is read by the grammar the first time, and its text remembered.

Expressions of large files are sums of the same products, with ever other coefficients. Whatever does not look like such a sum, or is
wrong, is left to the grammar, which reads the sum from its beginning: no diagnostic is made here.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bpir.ir.diagnostic import DiagnosticError
from bpir.ir.expression import Expr, ExpressionError, constant, quotient, symbol, total

if TYPE_CHECKING:
    from bpir.parser.state import ParserState

_WORD = r"[A-Za-z_][A-Za-z0-9_$.]*+"
_INTEGER = r"[1-9][0-9]{0,17}+"
_INSIDE = r"(?:[A-Za-z0-9_$.*+, -]|/(?!/))"
_BRACKETS = rf"\({_INSIDE}*+(?:\({_INSIDE}*+\){_INSIDE}*+)*+\)"  # of a node or a group, with others inside, but none in those
_POWER = r"(?:\*\*[1-9][0-9]{0,2}+)?+"
_FACTOR = rf"(?:{_WORD}(?:{_BRACKETS})?+|{_BRACKETS}){_POWER}"
_PRODUCT = rf"{_FACTOR}(?:[*/](?:{_FACTOR}|{_INTEGER}(?!\*\*)))*+"
_TERM = rf"(?:{_INTEGER}\*)?+{_PRODUCT}"
SUM = re.compile(rf"[ \t\r\n]*+({_TERM}(?: [+-] {_TERM})*+)(?=,|\Z)")
_PARTS = re.compile(rf"(?: ([+-]) )?+(?:({_INTEGER})\*)?+({_PRODUCT})")
_PLAIN = re.compile(rf"{_WORD}(?:[*/]{_WORD})*+")
_LONGEST = 10_000
_REMEMBERED = 100_000


class Sums:
    """Expressions by their text; it remembers products, whatever their coefficients."""

    def __init__(self, parser: ParserState) -> None:
        self._parser = parser
        self._products: dict[str, Expr | None] = {}

    def get(self, found: re.Match[str]) -> Expr | None:
        """The expression of a text that `SUM` found; None if the grammar must read it."""
        begin, end = found.span(1)
        if end - begin > _LONGEST or len(self._products) > _REMEMBERED:
            return None
        terms: list[Expr] = []
        try:
            for part in _PARTS.finditer(found.string, begin, end):
                sign, digits, product = part.groups()
                value = self._products.get(product) or self._product(product, part.start(3))
                if value is None:
                    return None
                if digits:
                    value = constant(int(digits)) * value
                terms.append(-value if sign == "-" else value)
            return terms[0] if len(terms) == 1 else total(terms)
        except (ExpressionError, DiagnosticError):  # the grammar says where
            return None

    def _product(self, text: str, begin: int) -> Expr | None:
        """A product that is not remembered; None while the grammar reads it."""
        if text in self._products:
            return None
        if _PLAIN.fullmatch(text):
            value = _of_symbols(text)
        else:
            self._products[text] = None
            try:
                value = self._parser.read("only_expr", begin, begin + len(text))
            finally:
                del self._products[text]
        self._products[text] = value
        return value


def _of_symbols(text: str) -> Expr:
    first, *others = re.split(r"([*/])", text)
    above: list[Expr] = [symbol(first)]
    below: list[Expr] = []
    for sign, name in zip(others[::2], others[1::2], strict=True):
        (above if sign == "*" else below).append(symbol(name))
    found = above[0] if not others else quotient(above, below)
    assert found is not None  # each symbol is one term
    return found
