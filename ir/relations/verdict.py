"""The answer to a claim about expressions: proved, refuted with a witness, or unknown."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from functools import cache

from bpir.ir.records import Record


class Answer(enum.Enum):
    PROVED = "proved"  # true for every admissible value of the symbols
    REFUTED = "refuted"  # false for the admissible values of the witness
    UNKNOWN = "unknown"  # neither; never to be taken for proved


class Verdict(metaclass=Record):
    """An answer, the witness of a refutation (values of the symbols by name, sorted), and what decided.

    `methods` are what a proof went by, or what was tried in vain: `normal form`, `cases of max and min`, `signs`,
    `divisors`, `declared`. The reason says it in words.
    """

    answer: Answer
    reason: str
    witness: dict[str, int] | None = None
    methods: tuple[str, ...] = ()

    @property
    def proved(self) -> bool:
        return self.answer is Answer.PROVED

    @property
    def refuted(self) -> bool:
        return self.answer is Answer.REFUTED

    @property
    def text(self) -> str:
        """`proved (...)`, `refuted by t = 2 (...)`, `unknown (...)`"""
        values = ", ".join(f"{name} = {value}" for name, value in (self.witness or {}).items())
        return f"{self.answer.value}{' by ' + values if values else ''} ({self.reason})"


def proved(method: str, under: Sequence[str] = ()) -> Verdict:
    """Proved by the method, under relations in their custom spelling."""
    return _proved(method, tuple(under))


@cache
def _proved(method: str, under: tuple[str, ...]) -> Verdict:
    return Verdict(Answer.PROVED, f"{method} under {', '.join(under)}" if under else method, methods=(method,))


def refuted(witness: Mapping[str, int], reason: str) -> Verdict:
    return Verdict(Answer.REFUTED, reason, dict(sorted(witness.items())))


def unknown(reason: str, *tried: str) -> Verdict:
    return Verdict(Answer.UNKNOWN, reason, methods=tried)
