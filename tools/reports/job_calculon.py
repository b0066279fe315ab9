"""The memory of a device as Calculon counts it (`convention = calculon`)."""

from __future__ import annotations

from collections.abc import Mapping

from bpir.dialects.bind import as_expr, as_word
from bpir.dialects.levels import PortablePlanIR
from bpir.ir.attributes import Attribute
from bpir.ir.expressions.expression import ONE, Expr, ceildiv, minimum, total
from bpir.tools.reports.networks import times_by_block


def device_of_calculon(plan: PortablePlanIR, fields: Mapping[str, Attribute]) -> dict[str, Expr] | None:
    r"""The bytes of a device by what they hold, of a network that repeats one block; None of any other network.

    Every device has $l = \lceil L/p \rceil$ blocks, and holds $lm$ times what a block stores: $m = 1$ of one stage, else $\min(n, p)$,
    times $1 + (p-1)/(pv)$ where stages are interleaved (Narayanan et al. 2021, section 2.2). The gradients of the weights of one block
    are whole, those of the others shared out.

    Source: Isaev et al. 2023; Calculon at caa4b11f, `calculon/llm/llm.py`.
    """
    if len(plan.activations) != 1:
        return None
    layers, block = [row.facts for row in plan.memory], plan.activations[0].facts
    facts = plan.symbols.facts
    count = times_by_block(plan)(plan.activations[0].layer)
    stages, chunks, microbatches = (as_expr(fields.get(name)) or ONE for name in ("pipeline", "interleaving", "microbatches"))
    blocks, held = ceildiv(count, stages), ONE
    if not facts.equal(stages, ONE).proved:
        held = minimum(microbatches, stages)
        held *= ONE if facts.equal(chunks, ONE).proved else ONE + (stages - 1) / (stages * chunks)
    again = as_word(fields.get("recompute")) == "full"
    memory = {
        "weights": total(f.weight for f in layers) * blocks,
        "activations": block.working if again else block.working + block.stored * (blocks * held - 1),
        "activation_checkpoints": block.checkpoint * blocks * held,
        "weight_gradients": total(f.weight_gradient_unsharded for f in layers) + total(f.weight_gradient for f in layers) * (blocks - 1),
        "activation_gradients": total(f.activation_gradient for f in layers),
        "optimizer": total(f.optimizer for f in layers) * blocks,
    }
    return {**memory, "total": total(memory.values())}
