"""Passes: one file per derivation. The registered ones stand here, and are imported when they are first named."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bpir.passes.base import Pass

PASSES: dict[str, str] = {
    "distribute-inference": "bpir.passes.distribute_inference:DistributeTransformerInferencePass",
    "plan-inference": "bpir.passes.plan_inference:PlanTransformerInferencePass",
    "distribute-training": "bpir.passes.distribute_training:DistributeTransformerTrainingPass",
    "plan-training": "bpir.passes.plan_training:PlanTransformerTrainingPass",
    "bind-queue": "bpir.passes.bind_queue:BindReferenceQueueTargetPass",
    "bind-slot": "bpir.passes.bind_slot:BindReferenceSlotTargetPass",
    "bind-target": "bpir.passes.binding:BindTargetPass",
    "expand-blocks": "bpir.passes.expand_blocks:ExpandBlocksPass",
    "bind-symbols": "bpir.passes.bind_symbols:BindSymbolsPass",
    "canonicalize": "bpir.passes.canonicalize:CanonicalizePass",
}
"""Each pass by its command: the module and the class."""


def load_pass(name: str) -> type[Pass]:
    """The class of a registered pass."""
    from importlib import import_module

    module, _, cls = PASSES[name].partition(":")
    found: type[Pass] = getattr(import_module(module), cls)
    return found
