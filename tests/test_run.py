"""Numbers run: examples and random blocks, under each strategy, compute on their ranks what their models compute on whole arrays.

`bp-run` shares nothing with what it judges: its semantics are those of the papers, its gradients are checked by the complex step.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import pytest
from random_blocks import INFERENCE, SIZES, TRAINING, random_block
from support import example, read, run

from bpir.ir.operation import Operation, top_level
from bpir.ir.printer import print_module
from bpir.run.check import Outcome, check
from bpir.run.model.graph import graph_of

SMALL = {"B": 2, "S": 8, "c": 6, "H": 16, "F": 64, "h": 4, "d": 4}
"""Numbers for the examples, admissible at 1, 2 and 4 ranks, and small enough for a run of a second."""


def outcome(model: Operation, passed: str, numbers: dict[str, int], planned: str | None = None) -> Outcome:
    """The run of what a pass derives, printed and read again as a user's file is; with the plan that another pass makes of it."""
    dist = read(print_module(run(model, passed)), "dist.bpir")
    declared = {name for line in print_module(model).splitlines() if "bp.symbols" in line for name in line.replace(",", " ").split()}
    plan = None if planned is None else run(dist, planned)
    (found,) = check(model, dist, {name: value for name, value in numbers.items() if name in declared}, plan)
    return found


def agrees(found: Outcome) -> None:
    """All that done-when 3 asks: values and gradients to 1e-9, the model's own gradients to 1e-7, work and memory as stated."""
    assert not found.against, "\n".join(d.render() for d in found.against)
    assert found.phases and max(found.phases.values()) < 1e-9
    assert found.gradients is None or found.gradients < 1e-7
    assert found.tasks > 0
    assert all(alive.alive <= alive.stated for alive in found.alive)


def strategies() -> Iterator[str]:
    """Options of training."""
    for tensor, communication, recompute in product((1, 2, 4), ("all_reduce", "reduce_scatter_all_gather"), ("none", "attention", "full")):
        yield f"tensor={tensor} communication={communication} recompute={recompute}"
    yield "tensor=2 communication=reduce_scatter_all_gather all_gather_redo=true"
    yield "tensor=2 communication=reduce_scatter_all_gather recompute=core_attention"
    yield "tensor=2 data=2 optimizer_sharding=true"
    yield "tensor=2 data=2 optimizer_sharding=true master_copy=false"
    yield "tensor=2 fused_activation=true"


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


@pytest.mark.parametrize("seed", range(6))
def test_random_blocks(seed: int) -> None:
    """Each under one strategy of each pass; `python tests/run_report.py random 0 300` runs hundreds under all."""
    model = read(random_block(seed, unused=0))
    for name, options, planned in (
        ("distribute-inference", INFERENCE[seed], "plan-inference"),
        ("distribute-training", TRAINING[seed], None),
    ):
        agrees(outcome(model, f"{name}{{{options}}}", SIZES, planned))
