"""Floating-point formats bit by bit: from a double to the bits of a format (nearest, ties to even), and back to text.

The formats are LLVM's `APFloat` semantics; a value is kept as its bit pattern, so that text reads back bit-equal.
"""

from __future__ import annotations

import struct
from fractions import Fraction

from bpir.ir.records import Interned


class FloatFormat(metaclass=Interned):
    """A binary format: sign, `exponent` bits, `mantissa` bits after the (hidden) first one."""

    exponent: int
    mantissa: int
    bias: int
    special: str = "ieee"  # ieee: infinity and NaN; fn: no infinity, NaN all ones; fnuz: NaN is -0
    explicit: bool = False  # the first mantissa bit is stored (x87)

    @property
    def width(self) -> int:
        return 1 + self.exponent + self.mantissa + self.explicit


FORMATS = {
    "f8E5M2": FloatFormat(5, 2, 15),
    "f8E4M3": FloatFormat(4, 3, 7),
    "f8E4M3FN": FloatFormat(4, 3, 7, "fn"),
    "f8E5M2FNUZ": FloatFormat(5, 2, 16, "fnuz"),
    "f8E4M3FNUZ": FloatFormat(4, 3, 8, "fnuz"),
    "f8E4M3B11FNUZ": FloatFormat(4, 3, 11, "fnuz"),
    "bf16": FloatFormat(8, 7, 127),
    "f16": FloatFormat(5, 10, 15),
    "tf32": FloatFormat(8, 10, 127),
    "f32": FloatFormat(8, 23, 127),
    "f64": FloatFormat(11, 52, 1023),
    "f80": FloatFormat(15, 63, 16383, explicit=True),
    "f128": FloatFormat(15, 112, 16383),
}


def from_double(value: float, name: str) -> int:
    """The bits of the nearest value of the format."""
    bits: int = struct.unpack("<Q", struct.pack("<d", value))[0]
    if name == "f64":
        return bits
    form, negative = FORMATS[name], bits >> 63
    exponent, mantissa = bits >> 52 & 0x7FF, bits & (1 << 52) - 1
    if exponent == 0x7FF:
        return _special(form, negative, mantissa)
    if exponent:
        mantissa |= 1 << 52
    power = (exponent or 1) - 1075  # the value is mantissa * 2**power
    return _round(form, negative, mantissa, power) if mantissa else _zero(form, negative)


def _round(form: FloatFormat, negative: int, mantissa: int, power: int) -> int:
    """The bits of the value of the format that is nearest to `mantissa * 2**power`."""
    lowest = 1 - form.bias - form.mantissa  # power of the last bit of a subnormal
    target = max(mantissa.bit_length() + power - form.mantissa - 1, lowest)
    mantissa = _shifted(mantissa, target - power)
    if mantissa.bit_length() > form.mantissa + 1:
        mantissa >>= 1
        target += 1
    if not mantissa:
        return _zero(form, negative)
    normal = mantissa >> form.mantissa
    exponent = target - lowest + 1 if normal else 0
    return _special(form, negative, 0) if _overflows(form, exponent, mantissa) else _pack(form, negative, exponent, mantissa)


def _shifted(mantissa: int, shift: int) -> int:
    """The mantissa without so many of its last bits, rounded to the nearest, ties to even; with more of them where that is negative."""
    if shift <= 0:
        return mantissa << -shift
    rest, half = mantissa & (1 << shift) - 1, 1 << shift - 1
    mantissa >>= shift
    return mantissa + (rest > half or (rest == half and bool(mantissa & 1)))


def _zero(form: FloatFormat, negative: int) -> int:
    """The bits of zero; a format whose NaN is -0 has one zero."""
    return 0 if form.special == "fnuz" else _pack(form, negative, 0, 0)


def _overflows(form: FloatFormat, exponent: int, mantissa: int) -> bool:
    """Whether a value is larger than those of the format: where its bits are no infinity or NaN, its exponent has no room."""
    top = (1 << form.exponent) - 1
    if form.special == "ieee":
        return exponent >= top
    return exponent > top or (form.special == "fn" and exponent == top and mantissa == (2 << form.mantissa) - 1)


def _special(form: FloatFormat, negative: int, mantissa: int) -> int:
    top = (1 << form.exponent) - 1
    if form.special == "fnuz":
        return 1 << form.exponent + form.mantissa
    if form.special == "fn":
        return _pack(form, negative, top, (2 << form.mantissa) - 1)
    quiet = 1 << form.mantissa - 1 if mantissa else 0
    return _pack(form, negative, top, quiet | 1 << form.mantissa)


def _pack(form: FloatFormat, negative: int, exponent: int, mantissa: int) -> int:
    stored = mantissa if form.explicit else mantissa & (1 << form.mantissa) - 1
    return (negative << form.exponent | exponent) << form.mantissa + form.explicit | stored


def to_fraction(bits: int, name: str) -> Fraction | None:
    """The exact value; None for infinities, NaNs and encodings that are no number. The sign of a zero is lost."""
    form = FORMATS[name]
    stored = form.mantissa + form.explicit
    mantissa = bits & (1 << stored) - 1
    exponent = bits >> stored & (1 << form.exponent) - 1
    negative = bits >> stored + form.exponent & 1
    if _is_special(form, negative, exponent, mantissa):
        return None
    if not form.explicit and exponent:
        mantissa |= 1 << form.mantissa
    power = (exponent or 1) - form.bias - form.mantissa
    value = Fraction(mantissa) * Fraction(2) ** power if power < 0 else Fraction(mantissa << power)
    return -value if negative else value


def _is_special(form: FloatFormat, negative: int, exponent: int, mantissa: int) -> bool:
    """Whether the fields are those of an infinity, of a NaN, or (with an explicit leading bit) of no number at all."""
    top = (1 << form.exponent) - 1
    if form.special == "fnuz":
        return bool(negative and not exponent and not mantissa)
    if form.special == "fn":
        return exponent == top and mantissa == (1 << form.mantissa) - 1
    if exponent == top:
        return True
    return form.explicit and bool(mantissa >> form.mantissa) != bool(exponent)


def float_text(bits: int, name: str) -> str:
    """A text that reads back to the same bits: six digits, else the shortest decimal, else the bit pattern in hex."""
    form = FORMATS[name]
    double = _double(bits, name)
    if double is not None:
        for text in (f"{double:.6e}", repr(double)):
            if "." in text and from_double(float(text), name) == bits:
                return text
    return f"0x{bits:0{(form.width + 3) // 4}X}"


def _double(bits: int, name: str) -> float | None:
    """The double nearest to a value, with its sign; None if it is no number, or too large."""
    value = to_fraction(bits, name)
    try:
        return None if value is None else float(value) if value or not bits else -0.0
    except OverflowError:
        return None
