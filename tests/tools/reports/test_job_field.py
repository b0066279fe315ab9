"""Published figures of a job: the first stage of Llama-3-8B under SimuMax (MooreThreads/SimuMax 4dcaae5), two stages and four replicas.

7.4797, 14.9595 and 11.2196 GiB of weights, gradients in f32 and optimizer states shared by the replicas (ZeRO 1); its vocabulary is padded
to 128384 rows.
"""

from __future__ import annotations

from support import example_text, read, replaced, report, run


def test_the_first_stage_of_llama_3_8b() -> None:
    text = replaced(example_text("llama_3_8b"), ("bp.bind V = 128256", "bp.bind V = 128384"))
    options = "tensor=1 pipeline=2 data=4 zero=1 gradients=f32 batch=1 context=4096 microbatches=4"
    job = report(run(read(text), f"distribute-training{{{options}}}", "plan-training")).job
    assert job is not None
    first = job.stages[0]
    assert first["weights"].integer == 8_031_305_728
    assert first["weight_gradients"].integer == 16_062_611_456
    assert first["optimizer"].integer == 12_046_958_592
    parameters = 8_031_305_728 // 2 + (job.stages[1]["weights"].integer or 0) // 2
    assert parameters == 8_031_309_824
    assert [round(first[name].integer / 2**30, 4) for name in ("weights", "weight_gradients", "optimizer")] == [7.4797, 14.9595, 11.2196]  # type: ignore[operator]


MIXTURE = """
bp.symbols B, S, c, H, F, V, E, k, L, h, d where E > k
bp.bind {sizes}
bind.workload @pretraining training {{context = c}}
bind.strategy @replicas {{tensor = 1, data = 4, expert = 4, zero = 1, gradients = f32, master_copy = true}}
model.network @model(%ids: !bp.tensor<B x S, i32>) {{
  %x = model.call @embedding %ids
  %y = model.repeat L @layer %x
  %z = model.call @head %y
  model.return %z
}}
model.block @embedding(%ids: !bp.tensor<B x S, i32>) {{
  %x = model.embedding "embedding.tokens" %ids : [V] -> !bp.tensor<B x S x H, bf16>
  model.return %x
}}
model.block @layer(%x: !bp.tensor<B x S x H, bf16>) {{
  %n = model.{norm} "attention.norm" %x
  %q, %k, %v = model.linear "attention.qkv" %n : [h x d], [h x d], [h x d]
  %o = model.attention "attention.core" %q, %k, %v context c
  %p = model.linear "attention.output" %o : [H]
  %r = model.add "attention.residual" %p, %x
  %m = model.{norm} "moe.norm" %r
  %route = model.router "moe.router" %m top k of E
  %rows = model.dispatch "moe.dispatch" %m, %route
  %a = model.experts "moe.expand" %rows of E : [F]
  %g = model.relu "moe.relu" %a
  %w = model.experts "moe.contract" %g of E : [H]
  %y = model.combine "moe.combine" %w, %route
  %z = model.add "moe.residual" %y, %r
  model.return %z
}}
model.block @head(%x: !bp.tensor<B x S x H, bf16>) {{
  %n = model.{norm} "head.norm" %x
  model.return %n
}}
"""


def persistent(sizes: str, norm: str) -> dict[str, int | None]:
    """Bytes of a rank of four replicas of four experts' groups: weights, gradients, optimizer states."""
    job = report(run(read(MIXTURE.format(sizes=sizes, norm=norm)), "distribute-training", "plan-training")).job
    assert job is not None
    return {name: job.memory[name].integer for name in ("weights", "weight_gradients", "optimizer")}


def test_expert_parallelism_of_megatron() -> None:
    """`(352 + 36)*(6 + 12/16) + 64*(6 + 12/4)` = 3195 bytes of the heaviest rank (NVIDIA/Megatron-LM d98e8a64).

    352 elements of layers and 36 of their ends are copied on all sixteen replicas, 64 of experts on four; 6 bytes are weights in bf16 and
    gradients in f32. Here is sixteen times that many of each, so that replicas have whole shares: four layers of 16 x 20 by three, 20 x 16,
    a router of 16 x 4 and two norms of 32; a table of 34 x 16 and a norm of 32; two matrices 16 x 8 of an expert a layer.
    """
    layers, ends, experts = 4 * (4 * 16 * 20 + 16 * 4 + 2 * 32), 34 * 16 + 32, 4 * 2 * 16 * 8
    assert (layers, ends, experts) == (16 * 352, 16 * 36, 16 * 64)
    found = persistent("H = 16, F = 8, V = 34, L = 4, h = 5, d = 4, E = 4, k = 1", "layer_norm")
    assert found["weights"] == 2 * (layers + ends + experts)
    assert found["weight_gradients"] == 4 * (layers + ends + experts)
    assert found["optimizer"] == 12 * (layers + ends) // 16 + 12 * experts // 4
    assert sum(size or 0 for size in found.values()) == 16 * 3195


def test_weights_that_replicas_do_not_divide_are_rounded_up_each() -> None:
    """The same numbers themselves: 4 elements of a norm on sixteen replicas are a share of one, where the formula counts a quarter."""
    found = persistent("H = 4, F = 2, V = 8, L = 4, h = 1, d = 4, E = 4, k = 1", "rms_norm")
    norms = 2 * 4 + 1
    assert sum(size or 0 for size in found.values()) == 3195 + norms * 12 * (1 - 1 / 4)
