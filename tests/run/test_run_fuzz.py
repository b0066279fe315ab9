"""A run of a corrupted text ends with an answer or a diagnostic, never with another exception."""

from __future__ import annotations

import pytest
from corruptions.corruption import sampled
from corruptions.levels import corruptions
from support import example, read, run

from bpir.ir.diagnostic import DiagnosticError
from bpir.ir.printer import print_module
from bpir.run.check import check
from bpir.verifiers.structure import module as structure

pytestmark = pytest.mark.slow

NUMBERS = {"B": 2, "S": 6, "H": 8, "F": 32, "t": 2, "e": 5}


@pytest.mark.campaign
def test_corrupted_texts_end_in_an_answer() -> None:
    """One corruption of each kind whose structure is sound; those that change operands, collectives or types are refused."""
    model = example("mlp")
    dist = read(print_module(run(model, "distribute-training{tensor=t communication=reduce_scatter_all_gather}")), "d.bpir")
    answers: dict[str, bool] = {}
    for corruption in sampled(corruptions(dist), 1):
        corrupted = corruption.apply(dist)
        if structure.verify(corrupted):
            continue
        try:
            answers[corruption.kind] = not any(outcome.against for outcome in check(model, corrupted, NUMBERS))
        except DiagnosticError as failure:
            assert all(d.message for d in failure.diagnostics)
            answers[corruption.kind] = False
    assert len(answers) > 60
    wrong = (
        "operand of the same type",
        "operands exchanged",
        "kind: another's",
        "dropped: dist.all_gather",
        "dropped: dist.reduce_scatter",
    )
    counts = [kind for kind in answers if kind.startswith(("matmul:", "weights:"))]
    assert len(counts) > 12
    assert not any(answers[kind] for kind in (*wrong, *counts))
    assert answers["attribute 'note' added: dist"]  # says nothing
