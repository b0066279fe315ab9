"""Bound plans whose texts are changed."""

from __future__ import annotations

from concrete_support import bound_text
from support import replaced


def queue(*changes: tuple[str, str]) -> str:
    return replaced(bound_text("queue"), *changes)


def slot(*changes: tuple[str, str]) -> str:
    return replaced(bound_text("slot"), *changes)


LEFT, RIGHT, SUM, SEND = "concrete.launch @left", "concrete.launch @right", "concrete.collective @sum", "concrete.transfer @send"
