"""The error of expressions."""

from __future__ import annotations

from typing import NoReturn


class ExpressionError(ValueError):
    """An expression that has no value (division by zero), exceeds a bound, or is too much work."""


def refuse(what: str, limit: int, unit: str) -> NoReturn:
    """Refuse what exceeds a bound."""
    raise ExpressionError(f"{what}: the limit is {limit} {unit}")
