"""Planning of inference: one rank's tasks become a portable plan with buffers."""

from __future__ import annotations

import attrs

from bpir.dialects import plan as plan
from bpir.ir.diagnostic import Diagnostic
from bpir.ir.operation import Operation
from bpir.passes.base import Pass, option
from bpir.passes.distribution import new_module
from bpir.passes.inputs import inputs_of
from bpir.passes.levels import top_level
from bpir.passes.planning import Planning


@attrs.define(eq=False)
class PlanTransformerInferencePass(Pass):
    r"""Plans the tasks of one rank: what they require, and the buffers that they need.

    Boundary: distributed-task IR to portable-plan IR.

    Input invariant: a `dist.block` whose tasks carry exact work.

    Equations (for every task $i$, and one block):

    - E1: $W_i^{plan} = W_i^{dist}$
    - E2: $Q_{compute} = ops$
    - E3: $Q_{memory} = read + write$
    - E4: $Q_{network} = msg$
    - E5: $C_{workspace} = bqHe + e \max(3bqhd/t, b(h/t)qc, bqF/t)$

    Conserved: the work of every task, component by component, and its sum; dependencies are the data flow.

    Deviations from the papers: the workspace assumes unfused scores until a target is bound.

    References: Dao et al. 2022 (2205.14135).
    """

    name = "plan-inference"
    source = "dist"
    target = "plan"

    strategy: str | None = option("the bind.strategy to use, where there are several", "symbol")

    def run(self, module: Operation) -> Operation:
        meshes = {plan.symbol_of(o): o for o in top_level(module) if o.name == "dist.mesh"}
        operations: list[Operation] = []
        for block in top_level(module):
            if block.name == "dist.block":
                operations.extend(Planning(module, block, meshes).operations())
        return new_module(module, [*inputs_of(module), *operations])

    def gate(self, source: Operation, target: Operation) -> list[Diagnostic]:
        from bpir.verifiers.boundary import verify

        return verify(source, target)
