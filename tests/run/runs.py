"""Runs of derivations on ranks, and the outcome that they must have."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from support import read, run

from bpir.ir.operation import Operation
from bpir.ir.printer import print_module
from bpir.run.check import Outcome, check

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
