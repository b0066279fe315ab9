"""Work is a whole number: divisibility that no relation declares is recorded as an assumption, and a derivation without it is refused."""

from __future__ import annotations

import pytest
from support import example_text, labels, read, replaced, run

from bpir.ir.operation import Operation
from bpir.ir.printer import print_module
from bpir.verifiers.derivation import verify

LOOSE = replaced(example_text("transformer_block"), (", t | H\n", "\n"))
"""A block that does not say that `t` divides `H`: the shares of its all-reduces may be fractions."""


def derived(options: str) -> tuple[Operation, str]:
    source = read(LOOSE)
    return source, print_module(run(source, options))


@pytest.mark.parametrize(
    ("options", "assumption"),
    [
        ("distribute-inference", "t | B*H"),  # one token of B sequences: B*1*H elements are summed
        ("distribute-inference{phase=prefill}", "t | B*H*c"),
        ("distribute-training{tensor=t}", "t | B*H*S"),
        ("distribute-training{tensor=4}", "4 | B*H*S"),
    ],
)
def test_an_undeclared_share_is_recorded(options: str, assumption: str) -> None:
    _, text = derived(options)
    assert assumption in next(line for line in text.splitlines() if "bp.assume" in line)


@pytest.mark.parametrize("degree", ["t", "8"])
def test_a_declared_share_needs_no_record(degree: str) -> None:
    text = print_module(run(read(example_text("transformer_block")), f"distribute-inference{{tensor={degree}}}"))
    recorded = next(line for line in text.splitlines() if "bp.assume" in line)
    assert recorded.strip() == {"t": "bp.assume t > 1", "8": "bp.assume 8 | h, 8 | F, 8 | H"}[degree]


@pytest.mark.parametrize(
    ("options", "assumption", "rule"),
    [
        ("distribute-inference", "t | B*H, ", "distribute-inference.R13"),
        ("distribute-training{tensor=t}", "t | B*H*S, ", "distribute-training.R17"),
    ],
)
def test_work_that_may_be_a_fraction_is_refused(options: str, assumption: str, rule: str) -> None:
    source, text = derived(options)
    assert assumption in text
    found = verify(source, read(text.replace(assumption, "")))
    assert labels(found) == {rule}
    assert all("may be a fraction" in diagnostic.message for diagnostic in found)
    assert any("'t | H'" in note.message for note in found[0].notes)


def test_calculon_may_have_fractions() -> None:
    """An exact fraction is Calculon's answer where a share is uneven; nothing is assumed, nothing refused."""
    _, text = derived("distribute-training{tensor=t convention=calculon}")
    assert "bp.assume t > 1\n" in text
