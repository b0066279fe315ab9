"""The workspace of random blocks holds what is alive, by a count of our own on numbers (`workspace_peak.py`)."""

from __future__ import annotations

import pytest
from corruptions.workspace_peak import Numbers, peak
from random_blocks import INFERENCE, SIZES, random_block
from raw import expr_of, text_of
from support import read, run

from bpir.ir.operation import top_level

pytestmark = pytest.mark.slow


@pytest.mark.campaign(keep=2)
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


CHAIN = """
module @chain {
  bp.symbols B, S, c, H, F, e
  model.block @block(%x: !bp.tensor<B x S x H, e>) {
    %a, %b = model.linear "mlp.up" %x : [F], [F]
    %r = model.relu "mlp.relu" %b
    %g = model.gelu "mlp.gelu" %r
    %n = model.rms_norm "mlp.norm" %x
    %u = model.linear "mlp.left" %a : [H]
    %v = model.linear "mlp.right" %g : [H]
    %s = model.add "mlp.sum" %u, %v
    %z = model.add "mlp.residual" %s, %n
    model.return %z
  }
}
"""


def test_a_task_that_may_run_at_once_with_a_later_one_is_over_before_what_reads_it() -> None:
    """`plan.concurrent` has the relu and `mlp.left`, three tasks later; the gelu reads the relu, so B, R and G share `F` at every place.

    Alive are at `mlp.left` A and G, N and U (`2F + 2H`), at `mlp.right` G, N, U and V (`F + 3H`), a token and a byte of an element each.
    """
    plan = run(read(CHAIN), "distribute-inference{phase=prefill tensor=1 context=c}", "plan-inference")
    assert any(o.name == "plan.concurrent" and "mlp.relu" in str(o.properties["tasks"].text) for o in top_level(plan))
    workspace = next(expr_of(o, "size") for o in top_level(plan) if text_of(o, "role") == "workspace")
    for h, f in ((1, 1), (5, 2), (2, 5)):
        assert workspace.evaluate({"B": 2, "S": 4, "c": 4, "H": h, "F": f, "e": 2}) == 16 * max(2 * f + 2 * h, f + 3 * h)
