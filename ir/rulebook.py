"""The rules of a verifier: each is written, with its number and what it demands, at the function that checks it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

_F = TypeVar("_F", bound=Callable[..., Any])


class RuleBook:
    """The rules of one verifier.

    A function that checks a rule says so: `@PLAN.rule("R3", "the lifetime of a buffer covers its uses")`. Lists of rules, for
    `--explain`, pages and tests, are made from the books.

    Args:
        prefixes: what is before the number in a label, as `plan` in `plan.R3`; several where verifiers share their rules.
    """

    def __init__(self, *prefixes: str) -> None:
        self.prefixes = prefixes
        self._rules: dict[str, str] = {}

    def rule(self, number: str, demands: str) -> Callable[[_F], _F]:
        """Mark the function that checks a rule, or the first of them.

        Raises:
            ValueError: another function has the rule already.
        """
        if number in self._rules:
            raise ValueError(f"the rule {self.prefixes[0]}.{number} is said twice")
        self._rules[number] = demands

        def mark(function: _F) -> _F:
            return function

        return mark

    @property
    def rules(self) -> dict[str, str]:
        """The demand of each rule, in the order of the numbers."""
        return dict(sorted(self._rules.items(), key=lambda rule: (rule[0][0], int(rule[0][1:]))))
