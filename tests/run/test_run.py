"""Numbers run: examples and random blocks, under each strategy, compute on their ranks what their models compute on whole arrays.

`bp-run` shares nothing with what it judges: its semantics are those of the papers, its gradients are checked by the complex step.
"""

from __future__ import annotations

import pytest
from random_blocks import INFERENCE, SIZES, TRAINING, random_block
from runs import SMALL, agrees, outcome, strategies
from support import example, read

from bpir.ir.operation import top_level
from bpir.run.model.graph import graph_of


@pytest.mark.campaign(keep=11)
@pytest.mark.parametrize(
    ("name", "passed"),
    [
        (name, passed)
        for name in ("transformer_block", "mlp", "gpt3_175b", "opt_6_7b", "gpt3_175b_training")
        for passed in strategies()
        if name == "transformer_block" or "recompute=full" in passed or "data" in passed
    ],
)
def test_training_of_examples(name: str, passed: str) -> None:
    if name == "gpt3_175b_training":
        passed += " batch=2 context=8 pipeline=1" + (" all_gather_redo=false" if "redo" not in passed else "")
        passed += "" if "communication" in passed else " communication=all_reduce"
    agrees(outcome(example(name), f"distribute-training{{{passed}}}", {**SMALL, "c": 8, "e": 4}))


@pytest.mark.campaign(keep=8)
@pytest.mark.parametrize("name", ["transformer_block", "mlp", "gpt3_175b", "opt_6_7b"])
@pytest.mark.parametrize("passed", [f"phase={phase} tensor={t}" for phase in ("prefill", "decode") for t in (1, 2, 4)])
def test_inference_of_examples(name: str, passed: str) -> None:
    """With the plan: KV cache, weights and workspace hold what is alive."""
    found = outcome(example(name), f"distribute-inference{{{passed}}}", {**SMALL, "e": 2}, "plan-inference")
    agrees(found)
    assert {alive.what for alive in found.alive} >= {"weights", "workspace"}
    assert name == "mlp" or "KV cache" in {alive.what for alive in found.alive}


def test_an_example_with_numbers_of_its_own_runs() -> None:
    found = outcome(example("gpt2"), "distribute-inference{tensor=1 context=4}", {"B": 1})
    agrees(found)


TWO_ATTENTIONS = """
module @two_attentions {
  bp.symbols B, S, c, H, h, d, t, e where t | h, t | H
  bind.workload @decode inference {phase = decode, context = c}
  bind.strategy @tp {tensor = t}
  model.block @block(%x: !bp.tensor<B x S x H, e>) {
    %q1, %q2, %k1, %k2, %v = model.linear "attention.qkv" %x : [h x d], [h x d], [h x d], [h x d], [h x d]
    %a = model.attention "attention.first" %q1, %k1, %v context c
    %b = model.attention "attention.second" %q2, %k2, %v context c
    %o = model.add "attention.sum" %a, %b
    %y = model.linear "attention.output_projection" %o : [H]
    model.return %y
  }
}
"""


@pytest.mark.parametrize("tensor", ["1", "2", "t"])
def test_one_linear_gives_the_queries_and_keys_of_two_attentions(tensor: str) -> None:
    """Both queries are the part `query` of one layer: each has weights and an update of its own."""
    sizes = {"B": 2, "S": 3, "c": 4, "H": 4, "h": 2, "d": 3, "t": 2, "e": 2}
    agrees(outcome(read(TWO_ATTENTIONS), f"distribute-training{{tensor={tensor}}}", sizes))
    agrees(outcome(read(TWO_ATTENTIONS), f"distribute-inference{{tensor={tensor}}}", sizes, "plan-inference"))
    block = next(o for o in top_level(read(TWO_ATTENTIONS)) if o.name == "model.block")
    steps = graph_of(block, lambda size: size.evaluate(sizes).numerator, training=True).steps
    names = [step.name for step in steps if step.kind == "linear"]
    assert len(names) == 6 == len(set(names))


@pytest.mark.campaign(keep=2)
@pytest.mark.parametrize("seed", range(6))
def test_random_blocks(seed: int) -> None:
    """Each under one strategy of each pass; `python evidence/run_report.py random 0 300` runs hundreds under all."""
    model = read(random_block(seed, unused=0))
    for name, options, planned in (
        ("distribute-inference", INFERENCE[seed], "plan-inference"),
        ("distribute-training", TRAINING[seed], None),
    ):
        agrees(outcome(model, f"{name}{{{options}}}", SIZES, planned))
