"""One operation of each name at every level."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

from support import read, run

from bpir.ir.operation import Operation

ROOT = Path(__file__).parent.parent.parent
TEXTS = {
    "model": ("mlp.bpir",),
    "dist": ("mlp.bpir", "distribute-inference"),
    "plan": ("mlp.bpir", "distribute-inference", "plan-inference"),
    "attention": ("opt_6_7b.bpir", "distribute-inference"),
    "attention plan": ("opt_6_7b.bpir", "distribute-inference", "plan-inference"),
    "queue": ("gpt3_175b.bpir", "distribute-inference", "plan-inference", "bind-symbols{B=1 c=64 t=8}", "bind-queue"),
    "slot": ("gpt3_175b.bpir", "distribute-inference", "plan-inference", "bind-symbols{B=1 c=64 t=8}", "bind-slot"),
}


@cache
def module(level: str) -> Operation:
    name, *passes = TEXTS[level]
    return run(read((ROOT / "examples" / name).read_bytes().decode("latin-1"), name), *passes)


def instances(level: str) -> Iterator[Operation]:
    """One operation of each name; of a bound module only those that no other level has."""
    seen = {"bp.symbols", "bp.bind", "bind.workload", "bind.strategy"} if level in ("queue", "slot") else set()
    for operation in module(level).walk():
        if operation.declaration is not None and operation.name not in seen:
            seen.add(operation.name)
            yield operation
