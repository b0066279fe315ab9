"""Networks of blocks: what calls give, wherever the blocks stand, and which module is refused."""

from __future__ import annotations

import re

import pytest
from support import ROOT, read, report, run

from bpir.dialects.levels import DistributedTaskIR
from bpir.dialects.network import called, calls, networks, times_of
from bpir.ir.expressions.expression import constant, symbol, total
from bpir.ir.operation import types_of
from bpir.ir.printer import print_module
from bpir.tools.picture.dot import render_dot
from bpir.tools.reports.report import summed
from bpir.verifiers.structure.module import verify

BLOCKS = """
model.block @up(%x: !bp.tensor<B x S x H, bf16>) {
  %n = model.linear "up" %x : [F]
  model.return %n
}
model.block @down(%x: !bp.tensor<B x S x F, bf16>) {
  %n = model.linear "down" %x : [H]
  model.return %n
}
model.block @unused(%x: !bp.tensor<B x S x F, bf16>) {
  model.return %x
}
"""
NETWORK = """
model.network @whole(%x: !bp.tensor<B x S x H, bf16>) {
  %y = model.call @up %x
  %z = model.call @down %y
  %a = model.repeat 3*L [@up, @down] %z
  model.return %a
}
"""
SYMBOLS = "bp.symbols B, S, H, F, L\n"


@pytest.mark.parametrize(
    "text", [SYMBOLS + BLOCKS + NETWORK, SYMBOLS + NETWORK + BLOCKS, f"module {{ {SYMBOLS} module {{ {NETWORK} {BLOCKS} }} }}"]
)
def test_types_follow_from_the_blocks_wherever_they_stand(text: str) -> None:
    module = read(text)
    assert verify(module) == []
    (network,) = networks(module)
    found = [(times_of(call).text, *(type.text for type in types_of(call.results))) for call in calls(network)]
    wide, narrow = "!bp.tensor<B x S x F, bf16>", "!bp.tensor<B x S x H, bf16>"
    assert found == [("1", wide), ("1", narrow), ("3*L", narrow)]
    assert list(called(module)) == ["up", "down"]
    assert print_module(read(print_module(module))) == print_module(module)
    assert print_module(read(print_module(module, generic=True))) == print_module(module)


def test_a_module_without_a_network_runs_all_its_blocks() -> None:
    assert list(called(read(SYMBOLS + BLOCKS))) == ["up", "down", "unused"]


GPT = """
bp.symbols B, S, H, F, V, L, h, d, t where H = h * d, F = 4 * H, t | h, t | F, t | V, t | H
bind.strategy @tp {tensor = t}
model.block @layer(%x: !bp.tensor<B x S x H, bf16>) {
  %z = model.transformer_block %x heads h head_size d feed_forward F
  model.return %z
}
model.block @head(%x: !bp.tensor<B x S x H, bf16>) {
  %y = model.linear "head.logits" %x : [V]
  model.return %y
}
model.network @gpt(%x: !bp.tensor<B x S x H, bf16>) {
  %y = model.repeat L @layer %x
  %z = model.call @head %y
  model.return %z
}
"""
GPT3 = {"B": 1536, "S": 2048, "H": 12288, "F": 49152, "V": 51200, "L": 96, "h": 96, "d": 128, "t": 8}


def matmul_of_a_step(strategy: str) -> int:
    """Operations in matrix products of all 8 ranks, for GPT-3 175B with a batch of 1536 sequences."""
    plan = run(read(GPT), f"distribute-training{{{strategy}}}", "plan-training")
    work = summed(task.in_all for task in report(plan).tasks)
    return int(work.matmul.evaluate(GPT3)) * GPT3["t"]


def test_a_training_step_of_gpt3_has_the_operations_of_megatron() -> None:
    """`96*B*S*L*H**2*(1 + S/(6*H) + V/(16*L*H))` with all activations computed again (Narayanan et al. 2021, section 5.1): four passes
    through the layers, three through the head. Without recomputation a layer has three passes, too. Our last product of a layer, whose
    result no gradient reads, is not repeated: `2*B*S*H*F` a layer less than theirs.
    """
    B, S, H, F, V, L = (GPT3[name] for name in "BSHFVL")
    layer, head = 24 * B * S * H**2 + 4 * B * S**2 * H, 2 * B * S * H * V
    assert 16 * L * H * 6 * H * (4 * L * layer + 3 * head) == 96 * B * S * L * H**2 * (16 * L * H * 6 * H + S * 16 * L * H + V * 6 * H)
    assert matmul_of_a_step("recompute=none") == 3 * L * layer + 3 * head
    assert matmul_of_a_step("recompute=full") == 4 * L * layer + 3 * head - 2 * B * S * H * F * L


def test_a_repeated_block_keeps_its_own_of_what_backward_reads() -> None:
    """Weights, gradients, states and stored activations: L times those of a layer, once those of the head; by hand from the blocks."""
    whole = report(run(read(GPT), "distribute-training", "plan-training")).memory
    step = run(read(GPT[: GPT.index("model.network")]), "distribute-training")
    L = symbol("L")
    times = {"layer": L, "head": constant(1)}
    facts = {block.symbol: [row.facts for row in block.memory] for block in DistributedTaskIR(step).blocks}
    stored = {block.symbol: block.activations[0].facts.stored for block in DistributedTaskIR(step).blocks}
    for name, field in (("weights", "weight"), ("weight_gradients", "weight_gradient"), ("optimizer", "optimizer")):
        assert whole[name] is total(times[block] * getattr(row, field) for block, rows in facts.items() for row in rows)
    assert whole["activation_stored"] is total(times[block] * kept for block, kept in stored.items())


INFERENCE = "distribute-inference{phase=prefill context=S}"


def test_pictures_frame_sections_with_how_often_they_run() -> None:
    frame, follows = (
        re.compile(r'subgraph cluster_s\d+ \{\n +label="(.*?)"'),
        re.compile(r"^  t(\d+) -> t(\d+) \[penwidth=2.5", re.MULTILINE),
    )
    step = run(read(GPT), INFERENCE)
    plan = run(step, "plan-inference")
    for module in (step, plan):
        picture = render_dot(module)
        assert frame.findall(picture) == ["layer, L times", "head"]
        assert len(follows.findall(picture)) == 1
        assert picture.count("fillcolor=") >= sum(len(block.tasks) for block in DistributedTaskIR(step).blocks)
    bound = read((ROOT / "lit_tests/concrete/network.bpir").read_text())
    queued = render_dot(run(bound, "distribute-inference", "plan-inference", "bind-queue"))
    assert frame.findall(queued) == []
    assert re.findall(r'penwidth=2.5, label="(.*?)"', queued) == ["last"]
    training = render_dot(run(read(GPT), "distribute-training", "plan-training"))
    assert [name.partition(",")[0] for name in frame.findall(training)][:3] == ["layer.forward", "head.forward", "head.backward"]
    one = read(GPT[: GPT.index("model.block @head")])
    assert "penwidth=2.5" not in render_dot(run(one, INFERENCE))
