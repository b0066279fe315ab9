"""The element of a value, from a model to its distributed module: a type stays that type, a width stays that width."""

from __future__ import annotations

import pytest
from inference_gate import RULE, accepted, refused, verdict
from support import edited, example_text, labels, read, run

from bpir.ir.printer import print_module


@pytest.mark.parametrize(
    ("written", "found", "right"),
    [
        ("bf16", "f16", False),  # as wide, and another number
        ("bf16", "i16", False),
        ("i8", "f8E4M3FN", False),
        ("bf16", "2", False),  # a width says no type
        ("2", "f16", False),
        ("f16", "f16", True),
        ("e", "e", True),
        ("bf16", "4", False),
        ("4", "bf16", False),
        ("e", "bf16", False),  # nothing says that `e` is 2
    ],
)
def test_r4_the_type_of_an_element(written: str, found: str, right: bool) -> None:
    """Everywhere in the block, so that the tasks agree with each other; work is that of the width."""
    source = read(example_text("transformer_block").replace("H, e>", f"H, {written}>"))
    other = read(example_text("transformer_block").replace("H, e>", f"H, {found}>"))
    text = print_module(run(other, "distribute-inference{tensor=1}"))
    if right:
        accepted(text, source)
    else:
        assert f"{RULE}R4" in labels(verdict(text, source))


def test_r4_one_element_of_another_type_in_the_middle() -> None:
    source = read(example_text("transformer_block").replace("H, e>", "H, bf16>"))
    text = print_module(run(source, "distribute-inference{tensor=1}"))
    accepted(text, source)
    refused(edited(text, '"mlp.gelu.decode"', (", bf16>", ", f16>")), RULE + "R4", at='"mlp.gelu.decode"', source=source)
    refused(edited(text, '"mlp.gelu.decode"', (", bf16>", ", 2>")), RULE + "R4", at='"mlp.gelu.decode"', source=source)
