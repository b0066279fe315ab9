"""The memory and messages of a whole training job: the stages of a pipeline, the microbatches in flight, the blocks of each device."""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from bpir.dialects.bind import as_expr, as_word
from bpir.dialects.levels import PortablePlanIR
from bpir.dialects.network import BACKWARD, FORWARD, part_of_phase
from bpir.ir.attributes import Attribute
from bpir.ir.expression import ONE, ZERO, Expr, ceildiv, constant, minimum, total
from bpir.ir.relations import Facts
from bpir.tools.networks import times_by_block
from bpir.tools.report import Job


def job_of(plan: PortablePlanIR) -> Job | None:
    """The job that a plan is a part of; None where nothing says how often its blocks run, or in what."""
    if not plan.sections or not plan.memory or not plan.meshes:
        return None
    named = plan.meshes[0].strategy
    fields = next((strategy.fields for strategy in plan.strategies if strategy.symbol == named), None)
    if fields is None or as_word(fields.get("convention")) != "calculon":
        return None
    return _calculon(plan, fields)


@attrs.frozen
class _Block:
    """The bytes of one block, by what they hold."""

    weights: Expr
    working: Expr
    stored: Expr
    checkpoint: Expr
    gradients: Expr
    gradients_unsharded: Expr
    activation_gradients: Expr
    optimizer: Expr


def _calculon(plan: PortablePlanIR, fields: Mapping[str, Attribute]) -> Job | None:
    r"""The job of a network that repeats one block, as Calculon counts it (Isaev et al. 2023, `llm.py`, `_compute_mem_stats`).

    Every device has $l = \lceil L/p \rceil$ blocks, and holds $lm$ times what a block stores: $m = 1$ of one stage, else $\min(n, p)$,
    times $1 + (p-1)/(pv)$ where stages are interleaved (Narayanan et al. 2021, section 2.2). The gradients of the weights of one block
    are whole, those of the others shared out.
    """
    if len(plan.activations) != 1:
        return None
    block = _block(plan)
    facts = plan.symbols.facts
    count = times_by_block(plan)(plan.activations[0].layer)
    stages, chunks, microbatches = (as_expr(fields.get(name)) or ONE for name in ("pipeline", "interleaving", "microbatches"))
    alone = facts.equal(stages, ONE).proved
    blocks = ceildiv(count, stages)
    held = ONE if alone else minimum(microbatches, stages)
    if not alone and not facts.equal(chunks, ONE).proved:
        held *= ONE + (stages - 1) / (stages * chunks)
    again = as_word(fields.get("recompute")) == "full"
    memory = {
        "weights": block.weights * blocks,
        "activations": block.working if again else block.working + block.stored * (blocks * held - 1),
        "activation_checkpoints": block.checkpoint * blocks * held,
        "weight_gradients": block.gradients_unsharded + block.gradients * (blocks - 1),
        "activation_gradients": block.activation_gradients,
        "optimizer": block.optimizer * blocks,
    }
    replicas = as_expr(fields.get("data")) or ONE
    border = ZERO if alone else _border(plan)
    messages = {
        "tensor_forward": _messages(plan, FORWARD),
        "tensor_backward": _messages(plan, BACKWARD),
        "pipeline_forward": border,
        "pipeline_backward": border,
        "data_parallel": ZERO if facts.equal(replicas, ONE).proved else block.weights,
    }
    device = {**memory, "total": total(memory.values())}
    return Job((device,) * _number(stages, facts), microbatches, messages)


def _block(plan: PortablePlanIR) -> _Block:
    layers, of_block = [row.facts for row in plan.memory], plan.activations[0].facts
    return _Block(
        total(f.weight for f in layers),
        of_block.working,
        of_block.stored,
        of_block.checkpoint,
        total(f.weight_gradient for f in layers),
        total(f.weight_gradient_unsharded for f in layers),
        total(f.activation_gradient for f in layers),
        total(f.optimizer for f in layers),
    )


def _messages(plan: PortablePlanIR, part: str) -> Expr:
    """The bytes of the messages of tensor parallelism in one part of the training step of a block."""
    return total(task.work.msg for task in plan.tasks if part_of_phase(task.phase) == part)


def _border(plan: PortablePlanIR) -> Expr:
    """The bytes that a stage sends to the next: what a repetition of the block gives to the one behind it."""
    sizes = {buffer.symbol: buffer.size for buffer in plan.buffers}
    return total(sizes[target] for section in plan.sections[:1] for _, target in section.carries)


def _number(stages: Expr, facts: Facts) -> int:
    value = stages.substitute({name: constant(number) for name, number in facts.bindings.items()})
    return value.integer or 1
