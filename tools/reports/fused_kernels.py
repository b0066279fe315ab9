"""What fused kernels, which a plan does not assume, would not hold in memory, and what they hold instead."""

from __future__ import annotations

from collections.abc import Iterable

from bpir.dialects.levels import PortablePlanIR
from bpir.dialects.plan import Task
from bpir.dialects.stages import Run
from bpir.ir.expressions.expression import ZERO, Expr, maximum, total

WITHIN = ("softmax", "dropout")
"""The tasks between the two products of attention."""
ACTIVATIONS = ("gelu", "gelu_erf", "quick_gelu", "relu", "relu2", "silu")
"""The activations that a kernel computes together with the product of a gate."""


def scores_of_attention(plan: PortablePlanIR) -> frozenset[str]:
    """The buffers of scores, of probabilities, of their masks and gradients: all that lies between the two products of attention.

    A fused kernel makes them part by part, in forward and again in backward, and writes none of them. Source: Dao et al. 2022
    (2205.14135), section 3.1; of each row it keeps the logarithm of the sum of exponentials instead (4 bytes a token and head).
    """
    products = _used(task for task in plan.tasks if task.kind_of_work == "batch_matmul")
    within = [task for task in plan.tasks if task.kind_of_work in WITHIN]
    found = _used(task for task in within if task.kind_of_work == "softmax" and not products.isdisjoint(_used([task])))
    while more := _used(task for task in within if not found.isdisjoint(_used([task]))) - found:
        found |= more
    return frozenset(buffer.symbol for buffer in plan.buffers if buffer.symbol in found and buffer.role in ("activation", "gradient"))


def gated_activations(plan: PortablePlanIR) -> frozenset[str]:
    """The buffers of what lies between an activation and the elementwise product that it gates, and of its gradient.

    A fused kernel reads both factors and computes the activation again in backward. An activation that anything else reads, as the linear
    layer behind an activation without a gate, is written. Source: Shazeer 2020 (2002.05202) for the form; Megatron-LM,
    `fusions/fused_bias_swiglu.py`.
    """
    kinds: dict[str, set[str]] = {}
    for task in plan.tasks:
        for name in (*task.reads, *task.writes):
            kinds.setdefault(name, set()).add(task.kind_of_work)
    within = {"mul", *ACTIVATIONS}
    found = {name for name, of in kinds.items() if "mul" in of and len(of) > 1 and of <= within}
    return frozenset(buffer.symbol for buffer in plan.buffers if buffer.symbol in found and buffer.role in ("activation", "gradient"))


def gradients_beside_sums(plan: PortablePlanIR, runs: Iterable[Run]) -> Expr:
    """The bytes that a device holds as gradients of the weights' own element, where products add to sums in f32.

    A framework that adds to sums in f32 inside the product still hands a tensor to automatic differentiation: one for each linear layer of
    a block, as wide as the weight, kept for the next block. Of different blocks the one that has the most counts. Source:
    Transformer Engine, `pytorch/module/base.py`, `get_dummy_wgrad`, which keeps them by shape and element.
    """
    weights = {buffer.symbol: buffer.size for buffer in plan.buffers if buffer.role == "constant"}
    extents = {section.symbol: section.extent for section in plan.sections}
    sizes = []
    for extent in dict.fromkeys(extents[name] for name, _ in runs):
        linear = _used(task for task in plan.tasks[extent.start : extent.stop] if task.kind_of_work == "linear")
        sizes.append(total(size for name, size in weights.items() if name in linear))
    return maximum(*dict.fromkeys(sizes)) if sizes else ZERO


def _used(tasks: Iterable[Task]) -> set[str]:
    return {name for task in tasks for name in (*task.reads, *task.writes)}
