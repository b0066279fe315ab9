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
