"""bp-run of whole mixtures of experts on all axes of a machine at once: stages, replicas, experts' ranks, tensor parallelism."""

from __future__ import annotations

import json
from functools import cache

import pytest
from support import DATA, read, run

from bpir.importer.entry import import_model
from bpir.ir.diagnostic import Source
from bpir.ir.operation import Operation
from bpir.ir.printer import print_module
from bpir.run.check import check

CONFIGS = {row["model"]: row["config"] for row in map(json.loads, (DATA / "whole_models.jsonl").read_text().splitlines())}
ALL_AXES = "tensor=2 pipeline=2 data=2 expert=2 microbatches=2"


@cache
def model(name: str) -> Operation:
    """The model with few layers, so that two stages share them: of DeepSeek's two dense ones, and two with experts."""
    few = {"num_hidden_layers": 2} if "mixtral" in name else {"num_hidden_layers": 4, "first_k_dense_replace": 2}
    return read(import_model(Source(f"{name}.json", json.dumps({**CONFIGS[name], **few}))).text)


@pytest.mark.slow
@pytest.mark.parametrize("options", [ALL_AXES, "tensor=1 pipeline=2 data=2 expert=2 microbatches=2 zero=1 gradients=f32"])
@pytest.mark.parametrize("name", ["mixtral-8x7b", "deepseek-v3"])
def test_a_mixture_of_experts_trains_on_all_axes(name: str, options: str) -> None:
    """Every value and gradient of every rank is that of the model in one piece, and all bytes are as stated."""
    outcomes = check(model(name), run(model(name), f"distribute-training{{{options}}}"), {})
    assert [against.message for outcome in outcomes for against in outcome.against] == []
    assert {outcome.ranks for outcome in outcomes} == {8 if options == ALL_AXES else 4}


@pytest.mark.parametrize("name", ["mixtral-8x7b", "deepseek-v3"])
def test_a_mixture_of_experts_serves_on_all_axes(name: str) -> None:
    outcomes = check(model(name), run(model(name), f"distribute-inference{{{ALL_AXES}}}"), {})
    assert [against.message for outcome in outcomes for against in outcome.against] == []


def test_replicas_that_cross_a_border_each_send_their_own() -> None:
    """A border that sends the bytes of two replicas states twice what a rank has."""
    text = print_module(run(model("mixtral-8x7b"), f"distribute-inference{{{ALL_AXES}}}"))
    head, _, rest = text.partition("dist.border")
    begin = rest.index("msg = ") + len("msg = ")
    end = rest.index(">", begin)
    wrong = f"{head}dist.border{rest[:begin]}2*({rest[begin:end]}){rest[end:]}"
    found = [a.message for outcome in check(model("mixtral-8x7b"), read(wrong), {}) for a in outcome.against]
    assert any("each rank sends" in message for message in found), found
