"""bp-verify's verdicts."""

from __future__ import annotations

import pytest

from bpir.ir.diagnostic import Diagnostic, error
from bpir.tools.bp_verify import verdict

WRONG = error("work is wrong: 2*B [plan.R1]")
OPEN = error("work can't be decided (unknown is not success): 2*B [plan.R1]", undecided=True)


@pytest.mark.parametrize(
    ("found", "answer"),
    [
        ([], "proved"),
        ([Diagnostic("careful", severity="warning")], "proved"),
        ([WRONG], "refuted"),
        ([OPEN], "unknown"),
        ([OPEN, WRONG], "refuted"),
    ],
)
def test_verdict(found: list[Diagnostic], answer: str) -> None:
    assert verdict(found) == answer
