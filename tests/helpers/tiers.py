"""The two tiers of the tests: `make test` asks fewer random questions than `make test-campaigns`, which CI runs as well."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

Case = TypeVar("Case")

FEWER = 5
full = False
"""Whether all questions are asked; set before any test is imported."""


def examples(count: int) -> int:
    """So many examples in a campaign, a fifth of them otherwise."""
    return count if full else max(1, count // FEWER)


def some(cases: Iterable[Case]) -> Iterator[Case]:
    """All cases in a campaign, every fifth otherwise."""
    return islice(cases, 0, None, 1 if full else FEWER)
