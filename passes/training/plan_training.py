"""Planning of training: one rank's tasks become a portable plan in which every value has a buffer."""

from __future__ import annotations

from bpir.dialects import plan as plan
from bpir.dialects.dist import collective_tasks
from bpir.dialects.dist import tasks as dist
from bpir.dialects.dist.facts import ActivationFacts, MemoryFacts
from bpir.dialects.levels import DistributedTaskIR, PortablePlanIR
from bpir.ir.attributes import Attribute, StringAttr
from bpir.ir.diagnostic import fail
from bpir.ir.expressions.expression import ZERO
from bpir.ir.operation import Operation, Value
from bpir.passes.base import DerivationPass, option
from bpir.passes.context import PassContext
from bpir.passes.planning.blocks import Planning
from bpir.passes.planning.names import Space
from bpir.passes.planning.whole import planned


class PlanTransformerTrainingPass(DerivationPass[DistributedTaskIR, PortablePlanIR]):
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
    text against derived plans in `tests/project/equations/`. Unverified: the gradient that accumulates in fp32 is a memory fact
    without a buffer of its own.

    Example:

        $ bp-opt examples/transformer_block.bpir --pass='distribute-training{tensor=t}' --pass=plan-training

    References: conservation of the derived work vector; Rajbhandari et al. 2019 (1910.02054) for the optimizer's state.
    """

    name = "plan-training"
    reads = ("strategy",)

    strategy: str | None = option("the bind.strategy to use, where there are several", "symbol")

    def run(self, ir: DistributedTaskIR, context: PassContext) -> PortablePlanIR:
        other = next((block for block in ir.blocks if not block.is_training), None)
        if other is not None:
            raise fail("this block is no training step: plan it with plan-inference", other.span)
        return planned_training(ir)


def planned_training(ir: DistributedTaskIR) -> PortablePlanIR:
    """The plan of a training step."""
    return planned(ir, lambda block, space, first: _TrainingPlanning(ir, block, space, first))


class _TrainingPlanning(Planning):
    """Every value has a buffer with its exact lifetime; weights and optimizer state outlive the step."""

    def __init__(self, ir: DistributedTaskIR, block: dist.Block, space: Space, first: int) -> None:
        super().__init__(ir, block, space, first)
        self.states: dict[str, str] = {}  # the buffer of each layer's optimizer state

    def objective(self) -> tuple[str, ...]:
        """Every weight is reused for every token."""
        return ("compute", "network", "memory")

    def facts(self) -> list[Operation]:
        of_layers = [plan.Memory.build(properties=self._said(row), span=row.span) for row in self.block.memory]
        return of_layers + [plan.BlockActivations.build(properties=self._said(row), span=row.span) for row in self.block.activations]

    def _said(self, row: MemoryFacts | ActivationFacts) -> dict[str, Attribute]:
        """The text of a row of memory facts, with the layer or block as the plan names it."""
        return {**row.operation.properties, "layer": StringAttr(self.space.origin(self.block, row.layer))}

    def place(self) -> None:
        self.add_arguments()
        returned = list(dict.fromkeys(v for v in self.block.returned if v not in self.homes))
        for shares in self.block.shares:
            self.add_shares(shares)
        for task in self.tasks:
            self.add_weights(task)
            if isinstance(task, dist.Compute) and task.phase == "optimizer":  # updates the weights where they lie
                self.homes.update(dict.fromkeys(task.results, self.weights_of(task)))
                continue
            if (
                isinstance(task, collective_tasks.AllGather) and task.phase == "gradient_reduction"
            ):  # so does the gather from the ranks' shares
                self.homes.update(dict.fromkeys(task.results, self.homes[task.operands[0]]))
                continue
            self._place_results(task, returned)
        for row in self.block.memory:
            if row.facts.optimizer is not ZERO:
                layer, size = row.layer, row.facts.optimizer
                self.states[layer] = self.add(f"{layer}.optimizer_state", "optimizer", "persistent", size, f"{layer}.optimizer")

    def _place_results(self, task: dist.Task, returned: list[Value]) -> None:
        """A buffer for each result of a task."""
        role = "gradient" if "gradient" in task.phase else "activation"
        results = task.operation.results
        for value in results:
            if value in returned:
                self.add_value(value, f"output.{value.name or returned.index(value)}", "output", task.label)
            else:
                suffix = f".{value.index}" if len(results) > 1 else ""
                self.add_value(value, f"{task.label}.value{suffix}", role, task.label)

    def uses(self, task: dist.Task) -> tuple[list[str], list[str]]:
        reads, writes = super().uses(task)
        if task.phase == "optimizer" and isinstance(task, dist.Compute):
            state = self.states[task.layer]
            reads.append(state)
            writes += [self.weights_of(task), state]
        return reads, writes
