"""Planning of inference: one rank's tasks become a portable plan with buffers."""

from __future__ import annotations

from collections.abc import Sequence

from bpir.dialects import plan as plan
from bpir.dialects.bind import as_word
from bpir.dialects.dist.memory import local_bytes
from bpir.dialects.dist.tasks import Block, Task
from bpir.dialects.levels import DistributedTaskIR, PortablePlanIR
from bpir.ir.diagnostic import fail, note
from bpir.ir.expressions.expression import Expr
from bpir.ir.operation import Value
from bpir.ir.relations.facts import Facts
from bpir.passes.base import DerivationPass, option
from bpir.passes.context import PassContext
from bpir.passes.inference.workspace import workspace_bytes
from bpir.passes.planning.blocks import Planning
from bpir.passes.planning.names import Space
from bpir.passes.planning.whole import plan_blocks, planned


class PlanTransformerInferencePass(DerivationPass[DistributedTaskIR, PortablePlanIR]):
    r"""Plans the tasks of one rank: what they require, and the buffers that they need.

    Boundary: distributed-task IR to portable-plan IR.

    Input invariant: a `dist.block` whose tasks carry exact work.

    Equations (for every task $i$, and one block of `b` sequences, `q` query and `c` visible tokens, `h` heads of size `d`, hidden `H`,
    feed-forward `F`, `e` bytes):

    - E1: $W_i^{plan} = W_i^{dist}$
    - E2: $Q_{compute} = \mathrm{ops}$
    - E3: $Q_{memory} = \mathrm{read} + \mathrm{write}$
    - E4: $Q_{network} = \mathrm{msg}$
    - E5: $C_{workspace} = bqHe + e \max(3bqhd/t, b(h/t)qc, bqF/t)$, for a serial block with `h*d` at most `t*H`; else the larger of
      that form over the projections that are alive at once and of what is alive at a task
    - E6: $C_{KV} = 2bc(hd/t)e$, one persistent buffer for K and V

    Conserved: the work of every task, component by component, and its sum; dependencies are the data flow.

    Deviations from the papers: the workspace assumes unfused scores until a target is bound; it is a bound for the
    order of the tasks in the text, and for those that a `plan.concurrent` lets run at once.

    Evidence (executable work-equality rules): rules plan-inference.R1 to R16 are the gate of every run; R9 proves each buffer large
    enough for what it holds. E1 to E6 are proved from this text against derived plans in `tests/project/equations/`. Unverified:
    that no schedule of an implementation needs more workspace than E5 is an argument, not a measurement.

    Example:

        $ bp-opt examples/transformer_block.bpir --pass='distribute-inference{phase=decode}' --pass=plan-inference

    References: Dao et al. 2022 (2205.14135); work conservation, and a conservative unfused workspace, of our own.
    """

    name = "plan-inference"
    reads = ("workload", "strategy")

    strategy: str | None = option("the bind.strategy to use, where there are several", "symbol")

    def run(self, ir: DistributedTaskIR, context: PassContext) -> PortablePlanIR:
        training = next((block for block in ir.blocks if block.is_training), None)
        if training is not None:
            raise fail("this block is a training step: plan it with plan-training", training.span)
        return planned(ir, lambda block, space, first: _InferencePlanning(ir, block, space, first, _phase(ir, block)))


def planned_workspace(ir: DistributedTaskIR) -> Expr:
    """The bytes of the workspace that the plan of a distributed module has.

    Raises:
        DiagnosticError: a block can't be planned.
    """
    plannings, _ = plan_blocks(ir, lambda block, space, first: _InferencePlanning(ir, block, space, first, ""))
    space = next(iter(plannings.values())).space
    return space.buffers[space.workspace].size


def _phase(ir: DistributedTaskIR, block: Block) -> str:
    """The phase of the workload that the block names.

    Raises:
        DiagnosticError: the block names no inference workload of the module.
    """
    for workload in ir.workloads:
        phase = as_word(workload.fields.get("phase"))
        if workload.symbol == block.workload and phase is not None:
            return phase
    raise fail("planning of inference needs a block with a workload that says the phase", block.span)


class _InferencePlanning(Planning):
    """Boundary values, the KV cache and weights have buffers of their own; all else lives in the workspace."""

    def __init__(self, ir: DistributedTaskIR, block: Block, space: Space, first: int, phase: str) -> None:
        super().__init__(ir, block, space, first)
        self.phase = phase
        facts = ir.symbols.facts
        self.known = Facts(facts.relations, facts.bindings, searching=False)  # what they don't prove is not looked into further

    def objective(self) -> tuple[str, ...]:
        """Decode reads every weight for one token; prefill reuses it for every token."""
        return ("memory", "network", "compute") if self.phase == "decode" else ("compute", "memory", "network")

    def place(self) -> None:
        self.add_arguments()
        returned = [v for v in self.block.returned if v not in self.homes]
        for state in self.block.states:
            values = state.operation.results
            home = self.add(state.label, "state", "persistent", local_bytes((v.type for v in values), self.mesh), state.label)
            self.homes.update(dict.fromkeys(values, home))
        self._refuse_stale_reads()
        for task in self.tasks:
            self.add_weights(task)
            self._place_results(task, returned)
        self.workspace = self.space.add_workspace(self.block)

    def sized(self, groups: list[list[Task]]) -> None:
        self.space.enlarge_workspace(workspace_bytes(self.block, self.mesh, self.homes, groups, self.known))

    def _refuse_stale_reads(self) -> None:
        """A state has one place: after a task has written to it nobody can read what it was before."""
        written: dict[Value, Task] = {}
        for task in self.tasks:
            for value in task.operation.operands:
                if value in written:
                    writer = written[value]
                    raise fail(
                        f"'{task.label}' reads a state as it was before '{writer.label}', which has written to it by then",
                        task.span,
                        note("written here", writer.span),
                    )
            if task.writes_state:
                written.update(dict.fromkeys(_written(task), task))

    def _place_results(self, task: Task, returned: Sequence[Value]) -> None:
        for value in task.operation.results:
            if value in returned and task.writes_state:
                raise fail("what is written to a state can't be returned by the block: the plan keeps it in its state", task.span)
            if value in returned:
                name = "output" if len(returned) == 1 else f"output.{returned.index(value)}"
                self.add_value(value, name, "output", task.label)
            elif task.writes_state:
                state = _written(task)[value.index]
                if value.type is state.type:  # a cache that holds fewer tokens than are visible has no room for them
                    self.homes[value] = self.homes[state]
            elif task.rule is not None and task.rule.residual:
                self.add_value(value, task.layer, "activation", task.label)


def _written(task: Task) -> Sequence[Value]:
    """The states that a task writes: its last operands, one a result."""
    return task.operation.operands[len(task.operation.operands) - len(task.operation.results) :]
