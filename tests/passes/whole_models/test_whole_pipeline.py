"""Every dense model through every tool: imported, distributed, planned, bound to a queue and a slot machine, trained, run on ranks.

Each pass has its gate, so what comes out is verified. The networks are run as they are, with small numbers in place of their sizes.
"""

from __future__ import annotations

import json
from functools import cache

import pytest
from support import DATA, ROOT, read, report, run

from bpir.dialects.bp import symbol_table
from bpir.importer.entry import import_model
from bpir.ir.diagnostic import Source
from bpir.ir.operation import Operation
from bpir.ir.printer import print_module

CONFIGS = {row["model"]: row["config"] for row in map(json.loads, (DATA / "whole_models.jsonl").read_text().splitlines())}
for routed in ("mixtral-8x7b", "qwen3-30b-a3b", "deepseek-v3"):  # no machine here has an implementation of routing, and none is trained
    CONFIGS.pop(routed, None)
CONFIGS["qwen3-32b"] = json.loads((ROOT / "examples" / "configs" / "qwen3-32b.json").read_text())
ONE_OF_A_FAMILY = {str(config["architectures"][0]): name for name, config in CONFIGS.items()}
ROOM = "memory=4000*2**30"  # the largest has 405 billion parameters of two bytes, and one device holds them here


@cache
def model(name: str) -> Operation:
    return read(import_model(Source(f"{name}.json", json.dumps(CONFIGS[name]))).text)


@cache
def plan(name: str) -> Operation:
    return run(model(name), "distribute-inference{phase=decode tensor=1 batch=2 context=300}", "plan-inference")


@pytest.mark.campaign(keep=18)
@pytest.mark.parametrize("target", ["queue", "slot"])
@pytest.mark.parametrize("name", CONFIGS)
def test_it_is_bound(name: str, target: str) -> None:
    """Weights and cache keep their bytes: times and sizes are those of the plan."""
    file = ROOT / "examples" / "targets" / f"{target}_machine.bpir"
    bound = report(run(plan(name), f"bind-{target}{{target_file={file} {ROOM}}}"))
    planned = report(plan(name))
    assert {what: bound.memory[what].integer for what in ("weights", "kv_cache")} == {
        what: planned.memory[what].integer for what in ("weights", "kv_cache")
    }
    assert planned.memory["weights"].integer == 2 * _parameters(name)


def _parameters(name: str) -> int:
    whole = report(model(name)).network
    assert whole is not None and whole.total.integer is not None
    return whole.total.integer


@pytest.mark.campaign(keep=9)
@pytest.mark.parametrize("name", CONFIGS)
def test_it_trains(name: str) -> None:
    """Three times the forward's matrix products, as every matrix has two gradients; the scores have two operands each."""
    found = report(run(model(name), "distribute-training{tensor=1 batch=1 context=128}", "plan-training"))
    phases: dict[str, int] = {}
    for task in found.tasks:
        phases[task.phase] = phases.get(task.phase, 0) + (task.in_all.matmul.integer or 0)
    assert sum(phases.values()) == 3 * phases["forward"] > 0


@pytest.mark.campaign(keep=3)
@pytest.mark.parametrize("training", [False, True], ids=["inference", "training"])
@pytest.mark.parametrize("name", sorted(ONE_OF_A_FAMILY.values()))
def test_it_runs_on_ranks(name: str, training: bool) -> None:
    """Each value of each rank is the model's, each byte and matrix product as stated; two ranks where they share heads evenly."""
    from bpir.run.check import check

    numbers = symbol_table(model(name)).bindings
    even = all(numbers[size] % 2 == 0 for size in ("h", "F", "H")) and numbers.get("g", 2) % 2 == 0
    what = "training" if training else "inference"
    module = run(model(name), f"distribute-{what}{{tensor={2 if even else 1}}}")
    outcomes = check(model(name), module, {"L": 2} if "L" in numbers else {})
    assert [against.message for outcome in outcomes for against in outcome.against] == []


def test_the_plan_of_llama_3_8b_is_short() -> None:
    text = print_module(run(model("llama-3-8b"), "distribute-inference", "plan-inference"))
    assert len(text.splitlines()) <= 300
