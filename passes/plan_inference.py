"""Planning of inference: one rank's tasks become a portable plan with buffers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import attrs

from bpir.dialects import plan as plan
from bpir.dialects.bind import as_word, fields_of
from bpir.dialects.bp import symbol_table
from bpir.dialects.dist.memory import local_bytes
from bpir.dialects.dist.tasks import name_of, rule_of, writes_state
from bpir.dialects.plan import symbol_of
from bpir.ir.attributes import SymbolRefAttr
from bpir.ir.diagnostic import fail, note
from bpir.ir.expression import ZERO, Expr
from bpir.ir.operation import Operation, Value, top_level
from bpir.ir.relations import Facts
from bpir.passes.base import Derivation, option
from bpir.passes.distribution import new_module
from bpir.passes.inputs import inputs_of
from bpir.passes.planning import Planning, layer_of_task, mesh_of, one_block
from bpir.passes.workspace import workspace_bytes


@attrs.define(eq=False)
class PlanTransformerInferencePass(Derivation):
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
    enough for what it holds. E1 to E6 are proved from this text against derived plans in `tests/test_equations.py`. Unverified: that
    no schedule of an implementation needs more workspace than E5 is an argument, not a measurement.

    Example:

        $ bp-opt examples/transformer_block.bpir --pass='distribute-inference{phase=decode}' --pass=plan-inference

    References: Dao et al. 2022 (2205.14135); work conservation, and a conservative unfused workspace, of our own.
    """

    name = "plan-inference"
    source = "dist"
    target = "plan"

    strategy: str | None = option("the bind.strategy to use, where there are several", "symbol")

    def run(self, module: Operation) -> Operation:
        block = one_block(module)
        if any(operation.name == "dist.activations" for operation in block.body):
            raise fail("this block is a training step: plan it with plan-training", block.span)
        planning = _InferencePlanning(block, mesh_of(module, block), _phase(module, block), _known(module))
        return new_module(module, [*inputs_of(module), *planning.operations()])


def planned_workspace(module: Operation) -> Expr:
    """The bytes of the workspace that the plan of a distributed block has.

    Raises:
        DiagnosticError: the block can't be planned.
    """
    block = one_block(module)
    planning = _InferencePlanning(block, mesh_of(module, block), "", _known(module))
    planning.operations()
    return planning.buffers[planning.workspace].size


def _phase(module: Operation, block: Operation) -> str:
    """The phase of the workload that the block names.

    Raises:
        DiagnosticError: the block names no inference workload of the module.
    """
    reference = block.properties.get("workload")
    for operation in top_level(module):
        if operation.name == "bind.workload" and isinstance(reference, SymbolRefAttr) and symbol_of(operation) == reference.root:
            phase = as_word(fields_of(operation).get("phase"))
            if phase is not None:
                return phase
    raise fail("planning of inference needs a block with a workload that says the phase", block.span)


def _known(module: Operation) -> Facts:
    """The relations and numbers of the module; what they don't prove is not looked into further."""
    facts = symbol_table(module).facts
    return Facts(facts.relations, facts.bindings, searching=False)


class _InferencePlanning(Planning):
    """Boundary values, the KV cache and weights have buffers of their own; all else lives in the workspace."""

    def __init__(self, block: Operation, mesh: Mapping[str, Expr], phase: str, known: Facts) -> None:
        super().__init__(block, mesh)
        self.phase = phase
        self.known = known

    def objective(self) -> tuple[str, ...]:
        """Decode reads every weight for one token; prefill reuses it for every token."""
        return ("memory", "network", "compute") if self.phase == "decode" else ("compute", "memory", "network")

    def place(self) -> None:
        self.add_arguments()
        returned = [v for v in self.block.body[-1].operands if v not in self.homes]
        for operation in self.block.body:
            if operation.name == "dist.state":
                size = local_bytes((v.type for v in operation.results), self.mesh)
                home = self.add(name_of(operation), "state", "persistent", size, name_of(operation))
                self.homes.update(dict.fromkeys(operation.results, home))
        self._refuse_stale_reads()
        for task in self.tasks:
            self.add_weights(task)
            self._place_results(task, returned)
        self.workspace = self.add("workspace", "workspace", "transient", ZERO)

    def sized(self, groups: list[list[Operation]]) -> None:
        self.buffers[self.workspace].size = workspace_bytes(self.block, self.tasks, self.mesh, self.homes, groups, self.known)

    def _refuse_stale_reads(self) -> None:
        """A state has one place: after a task has written to it nobody can read what it was before."""
        written: dict[Value, Operation] = {}
        for task in self.tasks:
            for value in task.operands:
                if value in written:
                    writer = written[value]
                    raise fail(
                        f"'{name_of(task)}' reads a state as it was before '{name_of(writer)}', which has written to it by then",
                        task.span,
                        note("written here", writer.span),
                    )
            if writes_state(task):
                written.update(dict.fromkeys(task.operands[len(task.operands) - len(task.results) :], task))

    def _place_results(self, task: Operation, returned: Sequence[Value]) -> None:
        rule = rule_of(task)
        for value in task.results:
            if value in returned and writes_state(task):
                raise fail("what is written to a state can't be returned by the block: the plan keeps it in its state", task.span)
            if value in returned:
                name = "output" if len(returned) == 1 else f"output.{returned.index(value)}"
                self.add_value(value, name, "output", name_of(task))
            elif writes_state(task):  # its last operands are the states, one a result
                self.homes[value] = self.homes[task.operands[len(task.operands) - len(task.results) + value.index]]
            elif rule is not None and rule.residual:
                self.add_value(value, layer_of_task(task), "activation", name_of(task))
