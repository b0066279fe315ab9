"""No property of any operation is without a rule that refuses a change of it; what is accepted says the same, or is named."""

from __future__ import annotations

import pytest
from property_table import declared, rules_of


@pytest.mark.slow
@pytest.mark.campaign(keep=40)
@pytest.mark.parametrize(("operation", "name"), declared(), ids=str)
def test_some_rule_looks_at_every_property(operation: str, name: str) -> None:
    rules, wrong = rules_of(operation, name, 12)
    assert [verdict.first for verdict in wrong] == []
    assert rules
