"""Exact sizes of a text at chosen numbers."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import attrs

from bpir.dialects.bp import TensorType
from bpir.ir.declaration import Place
from bpir.ir.diagnostic import fail
from bpir.ir.expressions.expression import Expr
from bpir.ir.operation import Value
from bpir.run.ranks.mesh import Layout


@attrs.frozen(eq=False)
class Numbers:
    """The value of each symbol."""

    values: Mapping[str, int]

    def fraction(self, expr: Expr) -> Fraction:
        """The value of an expression, exactly."""
        return expr.evaluate(self.values)

    def size(self, expr: Expr) -> int:
        """The value of a dimension.

        Raises:
            DiagnosticError: it is no positive integer.
        """
        value = self.fraction(expr)
        if value.denominator != 1 or value < 1:
            raise fail(f"can't run with {self.text(expr)}: '{expr.text}' is {value}, not a positive integer")
        return value.numerator

    def text(self, expr: Expr) -> str:
        return ", ".join(f"{name} = {self.values[name]}" for name in expr.symbols)

    def layout(self, value: Value, reader: Place) -> Layout:
        """How a value lies on the mesh.

        Raises:
            DiagnosticError: it is no tensor, or has no such sizes.
        """
        type = value.type
        if not isinstance(type, TensorType):
            raise fail(f"a task works on !bp.tensor values, found {type.text}", reader.span)
        return Layout(tuple(map(self.size, type.dims)), type.axes, type.unreduced, type.shared)

    def width(self, value: Value) -> Fraction:
        """The bytes of an element."""
        assert isinstance(value.type, TensorType)
        return self.fraction(value.type.element_bytes)
