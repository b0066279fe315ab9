"""Formats in which the matrices of quantised checkpoints are stored: bits an element, and scales of blocks."""

from __future__ import annotations

from fractions import Fraction

from bpir.ir.attributes import Attribute, StringAttr
from bpir.ir.expressions.expression import Expr, ceildiv
from bpir.ir.records import Interned


class Format(metaclass=Interned):
    """Bits of an element, and of the scale of each block of so many rows (contracted elements) and columns; 0 bits: there are no scales."""

    bits: int
    rows: int = 1
    columns: int = 1
    scale: int = 0

    def bytes(self, matrices: Expr, rows: Expr, columns: Expr) -> Expr:
        """The bytes of so many matrices. A block that is cut off at an edge has a scale, too."""
        elements = Fraction(self.bits, 8) * rows * columns
        scales = Fraction(self.scale, 8) * ceildiv(rows, self.rows) * ceildiv(columns, self.columns) if self.scale else 0
        return matrices * (elements + scales)


FORMATS = {
    "f8E4M3FN": Format(8),
    "f8E5M2": Format(8),
    "i8": Format(8),
    "fp8_block": Format(8, 128, 128, 32),  # DeepSeek-AI 2024 (2412.19437), section 3.3: 128 x 128, a scale in f32
    "mxfp8": Format(8, 32, 1, 8),  # OCP Microscaling Formats 1.0: 32 along the contracted dimension, a scale of 8 bits
    "mxfp4": Format(4, 32, 1, 8),
    "nvfp4": Format(4, 16, 1, 8),  # NVIDIA 2025: 16, a scale in f8E4M3; that of the whole tensor is not counted
}
"""By name."""


def format_of(stored: Attribute | None) -> Format | None:
    """The format that a property names; None where weights have the element of activations."""
    return FORMATS.get(stored.value) if isinstance(stored, StringAttr) else None
