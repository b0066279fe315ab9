"""The pipeline of a distributed model: its stages, and what goes from one to the next."""

from __future__ import annotations

from bpir.dialects.bp import TensorType, Work, work
from bpir.dialects.dist.tasks import Block, Task
from bpir.dialects.stages import StageRow, stage_syntax
from bpir.ir.declaration import Problems
from bpir.ir.expressions.expression import Expr
from bpir.ir.operation import Operation
from bpir.ir.property_parts import Text
from bpir.ir.syntax import Clause, EntryRegion, Operands, ResultTypes


class Stage(StageRow):
    """`dist.stage 0 runs [@embedding, @layer times ceildiv(L, 4)] microbatches n in_flight min(n, 4)`: a device of a pipeline.

    It runs the blocks in the order of the network, forward and, in training, backward in reverse. Of a device with several chunks of the
    network, which take turns with those of others, each is a stage of its own: `chunk 1`. A step runs the network `microbatches` times,
    and `in_flight` of them at most are between their forward and their backward part.
    """

    name = "dist.stage"
    syntax = stage_syntax()


class Border(Block):
    """`dist.border @border from "llama" on @mesh strategy @tp(%x: T, %dx: T) { ... }`: what goes from a stage to the next one.

    It comes from a network: its transfers send the residual stream between two layers, and in training its gradient back.
    """

    name = "dist.border"
    between = True
    syntax = (
        Block.symbol,
        Clause("from", (Block.source,), optional=False, line=False),
        Clause("on", (Block.mesh,), optional=False, line=False),
        Clause("workload", (Block.workload,), line=False),
        Clause("strategy", (Block.strategy,), optional=False, line=False),
        EntryRegion(),
    )


class Transfer(Task):
    r"""`%y = dist.transfer "transfer.forward" along "pipeline" %x : T`: each rank sends a value to the next one along a mesh axis.

    A task of backward sends to the one before. The sender reads what the receiver writes.

    Equations (`n` elements of the local value, `e` bytes an element):

    - E1: $\mathrm{read} = ne$, $\mathrm{write} = ne$
    - E2: $\mathrm{msg} = ne$

    Source: Narayanan et al. 2021 (2104.04473), section 2.2.
    """

    name = "dist.transfer"
    axis = Text()
    holders = ("dist.border",)
    kind_of_plan = "transfer"
    syntax = (
        Task.label,
        Clause("along", (axis,), optional=False, line=False),
        Operands(),
        ResultTypes(),
        Clause("from", (Task.source,), optional=False),
        Clause("phase", (Task.phase,), optional=False, line=False),
        Task.work,
    )

    def verify(self, operation: Operation, report: Problems) -> None:
        super().verify(operation, report)
        operands, results = ([value.type for value in values] for values in (operation.operands, operation.results))
        if operands != results or not all(isinstance(type, TensorType) for type in operands):
            report.error(operation, "a transfer gives the !bp.tensor values that it takes, of the same types")


def transfer_work(bytes: Expr) -> Work:
    """The work of a transfer of so many bytes of a rank."""
    return work(read=bytes, write=bytes, msg=bytes)
