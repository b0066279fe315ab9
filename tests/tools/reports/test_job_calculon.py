"""The memory of a device and the messages of a whole job under `convention=calculon`, as Calculon has them (`tests/data/README.md`)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support import DATA, example, report, run
from support_training import number, options

from bpir.tools.reports.report import Job

CASES = [json.loads(line) for line in (DATA / "calculon_jobs.jsonl").read_text().splitlines()]
COMMUNICATION = {"ar": "all_reduce", "rs_ag": "reduce_scatter_all_gather"}
RECOMPUTE = {"none": "none", "attn_only": "attention", "full": "full"}
SIZES = {
    "B": "microbatch",
    "S": "sequence",
    "H": "hidden",
    "F": "feedforward",
    "h": "heads",
    "d": "head_size",
    "e": "bytes_per_element",
    "L": "blocks",
}
MEMORY = {
    "weight": "weights",
    "activation": "activations",
    "activation_checkpoint": "activation_checkpoints",
    "weight_gradient": "weight_gradients",
    "activation_gradient": "activation_gradients",
    "optimizer": "optimizer",
    "total_memory": "total",
}


def derive(p: dict[str, Any]) -> Job:
    """The job of a stack of blocks for the parameters of a case."""
    strategy = {
        "tensor": p["tensor_parallel"],
        "pipeline": p["pipeline_parallel"],
        "interleaving": p["pipeline_interleaving"],
        "data": p["data_parallel"],
        "microbatches": p["global_batch"] // p["data_parallel"] // p["microbatch"],
        "communication": COMMUNICATION[p["tensor_parallel_communication"]],
        "recompute": RECOMPUTE[p["recompute"]],
        **{flag: p[flag] for flag in ("all_gather_redo", "fused_activation", "optimizer_sharding")},
        "master_copy": p["bytes_per_element"] < 4,
        "convention": "calculon",
    }
    numbers = options({name: p[field] for name, field in SIZES.items()})
    passes = (f"distribute-training{{{options(strategy)}}}", "plan-training", f"bind-symbols{{{numbers}}}")
    found = report(run(example("transformer_stack"), *passes)).job
    assert found is not None
    return found


def test_the_cases_have_each_kind_of_pipeline() -> None:
    chosen = [case["parameters"] for case in CASES]
    assert {p["pipeline_parallel"] for p in chosen} >= {1, 4, 8}
    assert {p["pipeline_interleaving"] for p in chosen} >= {1, 2, 3}
    assert {p["recompute"] for p in chosen} == set(RECOMPUTE)
    assert any(p["blocks"] % p["pipeline_parallel"] for p in chosen)  # uneven stages


@pytest.mark.campaign(keep=6)
@pytest.mark.parametrize("case", CASES, ids=[c["id"] for c in CASES])
def test_the_memory_and_the_messages_are_calculon_s(case: dict[str, Any]) -> None:
    job = derive(case["parameters"])
    assert len(job.stages) == case["parameters"]["pipeline_parallel"]
    for name, expected in case["memory"].items():
        found = number(job.memory[MEMORY[name]])
        assert found == expected or abs(found - expected) < 1e-12 * expected, name
    assert {name: number(job.messages[name]) for name in case["messages"]} == case["messages"]
