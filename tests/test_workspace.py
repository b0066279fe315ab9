"""The workspace of random blocks holds what is alive, by a count of our own on numbers (`workspace_peak.py`)."""

from __future__ import annotations

import pytest
from random_blocks import INFERENCE, SIZES, random_block
from support import read, run
from workspace_peak import Numbers, peak

from bpir.dialects.plan import expr_of, text_of
from bpir.ir.operation import top_level


@pytest.mark.parametrize("options", INFERENCE)
def test_the_workspace_is_never_less_than_what_is_alive(options: str) -> None:
    found = []
    for seed in range(3):
        module = run(read(random_block(seed)), f"distribute-inference{{{options}}}")
        plan = run(module, "plan-inference")
        block = next(o for o in top_level(module) if o.name == "dist.block")
        workspace = next(expr_of(o, "size") for o in top_level(plan) if text_of(o, "role") == "workspace")
        bytes = workspace.evaluate(SIZES)
        needed = peak(block, plan, Numbers(SIZES, 1 if "tensor=1" in options else SIZES["t"]))
        assert bytes >= needed, f"seed {seed}: {workspace.text} is {bytes}, {needed} are alive"
        found.append((bytes, needed))
    assert any(bytes == needed for bytes, needed in found)  # not larger for the sake of it
