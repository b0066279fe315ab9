"""Jobs of Calculon: their machines, plans and expected seconds."""

from __future__ import annotations

import json
import re
from functools import cache

from support import DATA, ROOT, example, run

from bpir.cost.system import System
from bpir.ir.diagnostic import Source
from bpir.ir.operation import Operation

CASES = [json.loads(line) for line in (DATA / "calculon_seconds.jsonl").read_text().splitlines()]
MEASURED = [case for case in CASES if "paper_seconds" in case]
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


@cache
def system(name: str, ideal: bool = False) -> System:
    """The described machine; an ideal one reaches all of every peak."""
    text = (ROOT / "examples" / "systems" / f"{name}.toml").read_text()
    if ideal:
        text = re.sub(r"efficiency = (\[\[.*\]\]|[0-9.]+)", "efficiency = 1", text)
    return System(Source(f"{name}.toml", text))


@cache
def plan(identity: str) -> Operation:
    """The plan of a case, with numbers."""
    p = next(case["parameters"] for case in CASES if case["id"] == identity)
    microbatches = p["global_batch"] // p["data_parallel"] // p["microbatch"]
    strategy = {
        "tensor": p["tensor_parallel"],
        "pipeline": p["pipeline_parallel"],
        "interleaving": p["pipeline_interleaving"],
        "data": p["data_parallel"],
        "microbatches": microbatches,
        "communication": COMMUNICATION[p["tensor_parallel_communication"]],
        "recompute": RECOMPUTE[p["recompute"]],
        "all_gather_redo": str(p["all_gather_redo"]).lower(),
        "fused_activation": str(p["fused_activation"]).lower(),
        "optimizer_sharding": str(p["optimizer_sharding"]).lower(),
        "master_copy": str(p["bytes_per_element"] < 4).lower(),
        "convention": "calculon",
    }
    numbers = " ".join(f"{letter}={p[name]}" for letter, name in SIZES.items())
    options = " ".join(f"{name}={value}" for name, value in strategy.items())
    return run(example("transformer_stack"), f"distribute-training{{{options}}}", "plan-training", f"bind-symbols{{{numbers}}}")
