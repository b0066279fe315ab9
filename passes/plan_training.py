"""Planning of training: one rank's tasks become a portable plan in which every value has a buffer."""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from bpir.dialects import plan as plan
from bpir.dialects.dist.facts import LayerMemory
from bpir.dialects.dist.tasks import name_of, text_of
from bpir.ir.diagnostic import fail
from bpir.ir.expression import ZERO, Expr
from bpir.ir.operation import Operation
from bpir.passes.base import Derivation, option
from bpir.passes.distribution import build, new_module
from bpir.passes.inputs import inputs_of
from bpir.passes.planning import Planning, layer_of_task, mesh_of, one_block


@attrs.define(eq=False)
class PlanTransformerTrainingPass(Derivation):
    r"""Plans the tasks of one rank's training: what they require, and a buffer for every value, weight and optimizer state.

    Boundary: distributed-task IR to portable-plan IR.

    Input invariant: a `dist.block` whose tasks carry exact work, with the memory facts of its layers.

    Equations (for every task $i$ and layer `l`; `w` weights, `e` bytes an element, `D` optimizer shards):

    - E1: $W_i^{plan} = W_i^{dist}$
    - E2: $Q_{compute} = \mathrm{ops}$
    - E3: $Q_{memory} = \mathrm{read} + \mathrm{write}$
    - E4: $Q_{network} = \mathrm{msg}$
    - E5: $s_{weights} = we$, the buffer of a layer's weights
    - E6: $s_{optimizer} = 12w/D$, that of its optimizer state with a master copy

    Conserved: the work of every task, component by component, and its sum; the memory facts of every layer.

    Deviations from the papers: none; buffers have their exact lifetimes, no allocator is assumed.

    Evidence (executable work-equality rules): rules plan-training.R1 to R16 are the gate of every run. E1 to E6 are proved from this
    text against derived plans in `tests/test_equations.py`. Unverified: the gradient that accumulates in fp32 is a memory fact
    without a buffer of its own.

    Example:

        $ bp-opt examples/transformer_block.bpir --pass='distribute-training{tensor=t}' --pass=plan-training

    References: conservation of the derived work vector; Rajbhandari et al. 2019 (1910.02054) for the optimizer's state.
    """

    name = "plan-training"
    source = "dist"
    target = "plan"

    strategy: str | None = option("the bind.strategy to use, where there are several", "symbol")

    def run(self, module: Operation) -> Operation:
        block = one_block(module)
        if not any(operation.name == "dist.activations" for operation in block.body):
            raise fail("this block is no training step: plan it with plan-inference", block.span)
        return new_module(module, [*inputs_of(module), *_TrainingPlanning(block, mesh_of(module, block)).operations()])


class _TrainingPlanning(Planning):
    """Every value has a buffer with its exact lifetime; weights and optimizer state outlive the step."""

    def __init__(self, block: Operation, mesh: Mapping[str, Expr]) -> None:
        super().__init__(block, mesh)
        self.states: dict[str, str] = {}  # the buffer of each layer's optimizer state

    def objective(self) -> tuple[str, ...]:
        """Every weight is reused for every token."""
        return ("compute", "network", "memory")

    def facts(self) -> list[Operation]:
        return [
            build(o.name.replace("dist.", "plan."), properties=dict(o.properties), span=o.span)
            for o in self.block.body
            if o.name in ("dist.memory", "dist.activations")
        ]

    def place(self) -> None:
        self.add_arguments()
        returned = list(dict.fromkeys(v for v in self.block.body[-1].operands if v not in self.homes))
        for task in self.tasks:
            self.add_weights(task)
            phase = text_of(task, "phase")
            role = "gradient" if "gradient" in phase else "activation"
            for value in task.results:
                if value in returned:
                    self.add_value(value, f"output.{value.name or returned.index(value)}", "output", name_of(task))
                else:
                    suffix = f".{value.index}" if len(task.results) > 1 else ""
                    self.add_value(value, f"{name_of(task)}.value{suffix}", role, name_of(task))
        for memory in self.block.body:
            facts = memory.properties.get("facts")
            if isinstance(facts, LayerMemory) and facts.optimizer is not ZERO:
                layer = text_of(memory, "layer")
                self.states[layer] = self.add(f"{layer}.optimizer_state", "optimizer", "persistent", facts.optimizer, f"{layer}.optimizer")

    def uses(self, task: Operation) -> tuple[list[str], list[str]]:
        reads, writes = super().uses(task)
        if text_of(task, "phase") == "optimizer":
            state = self.states[layer_of_task(task)]
            reads.append(state)
            writes += [self.weights[layer_of_task(task)], state]
        return reads, writes
