"""The operators and methods of expressions that need modules which need expressions: these enter them here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bpir.ir.expressions.normal_form import Expr


class LateOperators:
    """The functions with which modules above the normal form serve `Expr`; `bpir.ir.expressions.expression` enters them."""

    fraction: Callable[[Expr, Expr], Expr]
    multiply_fractions: Callable[[Expr, Expr], Expr]
    add_fraction: Callable[[Expr, Expr, Expr], Expr]
    substitute: Callable[[Expr, Mapping[str, Expr]], Expr]
    evaluate: Callable[[Expr, Mapping[str, int]], Fraction]


ABOVE = LateOperators()
