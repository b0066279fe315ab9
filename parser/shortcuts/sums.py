"""Sums at once, such as `4*B*S*H/t + 256*ceildiv(B*H, 256)`: a product is read by the grammar the first time, and its text remembered.

Expressions of large files are sums of the same products, with ever other coefficients. Whatever does not look like such a sum, or is
wrong, is left to the grammar, which reads the sum from its beginning: no diagnostic is made here.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from bpir.ir.diagnostic import DiagnosticError
from bpir.ir.expressions.expression import Expr, ExpressionError, combination, quotient, symbol

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


@cache
def _items() -> re.Pattern[str]:
    """An item `name = sum` of a body, and the comma behind it; compiled for a file that has such bodies."""
    return re.compile(rf"([A-Za-z_][A-Za-z0-9_]*+) = ({_TERM}(?: [+-] {_TERM})*+)(?:(, )|\Z)")


_LONGEST = 10_000
_REMEMBERED = 100_000


class Sums:
    """Expressions by their text; it remembers products, whatever their coefficients."""

    def __init__(self, parser: ParserState) -> None:
        self._parser = parser
        self._products: dict[str, Expr | None] = {}

    def get(self, found: re.Match[str]) -> Expr | None:
        """The expression of a text that `SUM` found; None if the grammar must read it."""
        return self._sum(found.string, *found.span(1))

    def named(self, begin: int, end: int) -> dict[str, Expr] | None:
        """The expressions of a body `name = sum, name = sum`, by their names; None if the grammar must read it."""
        found: dict[str, Expr] = {}
        text, items = self._parser.text, _items()
        while True:
            item = items.match(text, begin, end)
            if item is None or item[1] in found:
                return None
            value = self._sum(text, *item.span(2))
            if value is None:
                return None
            found[item[1]] = value
            if item[3] is None:
                return found
            begin = item.end()

    def _sum(self, text: str, begin: int, end: int) -> Expr | None:
        if end - begin > _LONGEST or len(self._products) > _REMEMBERED:
            return None
        terms: list[tuple[int, Expr]] = []
        try:
            for part in _PARTS.finditer(text, begin, end):
                sign, digits, product = part.groups()
                value = self._products.get(product) or self._product(product, part.start(3))
                if value is None:
                    return None
                factor = int(digits) if digits else 1
                terms.append((-factor if sign == "-" else factor, value))
            return combination(terms)
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
