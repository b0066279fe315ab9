"""Llama-3.1-405B on 16 stages of 8 ranks and D replicas: who holds what, whether it fits, and that nothing is multiplied twice."""

from __future__ import annotations

import pytest
from support import example_text, read, replaced, report, run

from bpir.dialects.bp import symbol_table
from bpir.dialects.levels import DistributedTaskIR
from bpir.ir.diagnostic import DiagnosticError
from bpir.ir.expressions.expression import ONE, constant, symbol
from bpir.tools.reports.report import Report

TEXT = example_text("llama_3_1_405b_training")
H, F, V, HEADS, GROUPS, SIZE, S = 16384, 53248, 128256, 128, 8, 128, 8192
LAYER = (2 * H * HEADS * SIZE + 2 * H * GROUPS * SIZE + 3 * H * F) // 8 + 2 * H
"""The weights of a layer on one of 8 ranks; the two norms are whole on each."""
TABLE = V * H // 8


def planned(text: str) -> Report:
    return report(run(read(text), "distribute-training", "plan-training"))


def test_fourteen_stages_have_8_layers_and_two_have_7() -> None:
    stages = DistributedTaskIR(run(read(TEXT), "distribute-training")).stages
    layers = [stage.times()["layer"].evaluate({"L": 126}) for stage in stages]
    assert layers == [8] * 14 + [7] * 2
    assert [name for name, _ in stages[0].runs] == ["embedding", "layer"]
    assert [name for name, _ in stages[15].runs] == ["layer", "head"]


def test_the_memory_of_each_stage() -> None:
    """bf16 weights and gradients, Adam with a master copy; a checkpoint is a shard of the stream, and min(n, 16 - i) of them are kept."""
    job = planned(TEXT).job
    assert job is not None
    elements = [8 * LAYER + TABLE, *[8 * LAYER] * 13, 7 * LAYER, 7 * LAYER + TABLE + H]
    stream = 2 * S * H // 8
    for place, (stage, count) in enumerate(zip(job.stages, elements, strict=True)):
        assert stage["weights"].integer == stage["weight_gradients"].integer == 2 * count
        assert stage["optimizer"].integer == 12 * count
        kept = (8 if place < 14 else 7) * stream + (4 * S if place == 0 else 0)
        if place == 15:  # backward of the head makes nothing again that it keeps: its norm's operand is the shard
            kept += stream
        assert stage["activation_checkpoints"].evaluate({"n": 99}) == (16 - place) * kept
        assert stage["activation_checkpoints"].evaluate({"n": 1}) == kept


def test_it_fits_into_80_gibibytes_and_not_into_40() -> None:
    with pytest.raises(DiagnosticError) as refused:
        planned(replaced(TEXT, ("memory = 80*2**30}", "memory = 40*2**30}")))
    messages = [d.message for d in refused.value.diagnostics]
    assert "a device of stage 0 does not fit: it needs " in messages[0] and f"there are {40 * 2**30}" in messages[0]
    assert any(f"optimizer: {12 * (8 * LAYER + TABLE)} bytes" in note.message for note in refused.value.diagnostics[0].notes)


def test_the_matrix_products_of_all_devices_are_the_model_s() -> None:
    """For all `t` that divide what they must, all `D` and `n`: no product is made twice, and none is left out."""
    text = replaced(TEXT, ("  bp.bind t = 8\n", ""), (", memory = 80*2**30", ""))
    found = planned(text)
    alone = replaced(
        text, ("tensor = t, pipeline = 16, microbatches = n, data = D, communication = reduce_scatter_all_gather", "tensor = 1")
    )
    model = planned(alone)
    assert found.job is not None and model.job is not None
    everything, one = found.job.work["total"].matmul, model.job.work["total"].matmul
    facts = symbol_table(read(text)).facts
    n, replicas = symbol("n"), symbol("D")
    assert facts.equal(everything, n * replicas * one).proved
    assert facts.equal(everything, n * replicas * one + ONE).refuted
    assert facts.equal(found.job.work["model"].matmul, everything).proved
    # forward by hand: 2 operations a weight and token, the scores and the products with V
    weights = 126 * (2 * H * HEADS * SIZE + 2 * H * GROUPS * SIZE + 3 * H * F) + V * H
    forward = 2 * S * weights + 126 * 4 * S * S * HEADS * SIZE
    passes = {task.phase: constant(0) for task in model.tasks}
    for task in model.tasks:
        passes[task.phase] += task.in_all.matmul
    assert passes["forward"].integer == forward


def test_weights_in_shares_of_eight_replicas() -> None:
    """Under ZeRO 3 an eighth of each weight, of its gradient and of its optimizer states."""
    options = "data=8 microbatches=32 zero=3 gradients=f32"
    job = report(run(read(TEXT), f"distribute-training{{{options}}}", "plan-training")).job
    assert job is not None
    first = (8 * LAYER + TABLE) // 8
    assert (8 * LAYER + TABLE) % 8 == 0
    assert job.stages[0]["weights"].integer == 2 * first
    assert job.stages[0]["weight_gradients"].integer == 4 * first
    assert job.stages[0]["optimizer"].integer == 12 * first
