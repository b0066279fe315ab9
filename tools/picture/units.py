"""Numbers with units for people: rounded to three digits in integers, the exact number beside it."""

from __future__ import annotations

from collections.abc import Sequence

from bpir.ir.expressions.expression import Expr

_BYTES = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
_COUNTS = ("", "K", "M", "G", "T", "P", "E")


def readable_bytes(value: Expr) -> str:
    """`36.4 GiB`; an expression as it is, with its unit."""
    return _readable(value, 1024, _BYTES) if value.integer is not None else f"{value.text} bytes"


def readable_operations(value: Expr) -> str:
    """`6.47 T ops`: operations, a multiply-add is two."""
    return _readable(value, 1000, [f"{prefix} ops".strip() for prefix in _COUNTS]) if value.integer is not None else f"{value.text} ops"


def exact(value: Expr) -> str:
    """All digits, in groups of three; an expression as it is."""
    return f"{value.integer:,}" if value.integer is not None else value.text


def _readable(value: Expr, base: int, units: Sequence[str]) -> str:
    number = value.integer or 0
    size, step = abs(number), 0
    while step + 1 < len(units) and 2 * size >= (2 * base - 1) * base**step:  # what rounds to the next unit is shown in it
        step += 1
    sign = "-" if number < 0 else ""
    shown = _digits(size, base**step) if step else f"{size:,}"
    return f"{sign}{shown} {units[step]}"


def _digits(size: int, unit: int) -> str:
    """The quotient with three digits, half rounded up."""
    for places in (2, 1, 0):
        scaled = (2 * size * 10**places + unit) // (2 * unit)
        if scaled < 1000 or not places:
            break
    whole, rest = divmod(scaled, 10**places)
    return f"{whole}.{rest:0{places}d}" if places else f"{whole:,}"
