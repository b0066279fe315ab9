"""Replicas of the batch: which mesh axes count them, and what a ZeRO stage shares out among those that hold the same weights.

A block's batch axis is that of one replica (Megatron-LM's micro batch), so the values between its tasks are the replica's own. Weights are
the same on each replica: no weight has the batch axis, so its gradient is a partial sum over the replicas that hold a copy of it.
"""

from __future__ import annotations

from collections.abc import Mapping

from bpir.dialects.bind import as_word
from bpir.ir.attributes import Attribute, FloatType

DATA = "data"
REPLICAS = (DATA, "expert")
"""The mesh axes whose ranks each have their own part of the batch, in mesh order. `expert` shares the weights of experts, too."""

F32 = FloatType("f32")
"""The element of gradients that are kept in f32 (Narayanan et al. 2021, section 5.1: the main gradients)."""


def zero_stage(strategy: Mapping[str, Attribute]) -> int:
    """The ZeRO stage of a strategy; `optimizer_sharding = true` shares optimizer states and the kept gradient, as stage 2 does."""
    said = as_word(strategy.get("zero"))
    if said is not None:
        return int(said)
    return 2 if as_word(strategy.get("optimizer_sharding")) == "true" else 0


def reduces_in_backward(strategy: Mapping[str, Attribute]) -> bool:
    """Whether gradients of weights are reduced as soon as backward has them: a rank that keeps a share of them has no room for all."""
    return zero_stage(strategy) >= 2
