"""`dist.all_to_all`: the rows of tokens go to the ranks of their experts, and come back."""

from __future__ import annotations

from bpir.dialects.bp import TensorType, Work, work
from bpir.dialects.bp.parts import Integer
from bpir.dialects.dist.collective_tasks import Collective
from bpir.dialects.dist.tasks import Task
from bpir.ir.expressions.expression import ZERO, Expr
from bpir.ir.operation import Operation
from bpir.ir.property_parts import Word
from bpir.ir.syntax import Clause, Operands, ResultTypes


class AllToAll(Collective):
    r"""`%z = dist.all_to_all "moe.input_collective.decode" [{"expert"}] from 0 to 2 %y : T`: another dimension is sharded than before.

    Each rank sends to each other one what belongs there, and keeps its own. `message payload`: the bytes of a message are all that a rank
    holds of the tensor, its own part included, not what passes a wire (which is `(p-1)/p` of it). From experts to tokens the same way back,
    and the gradient goes the opposite way. Each rank has as many rows as any other: routing is balanced.

    Equations (`N` elements of the whole tensor, `p` ranks, `e` bytes an element):

    - E1: $\mathrm{ops} = 0$
    - E2: $\mathrm{msg} = Ne/p$
    - E3: $\mathrm{read} = Ne/p$, $\mathrm{write} = Ne/p$

    Source: Lepikhin et al. 2020, section 3.2 (AllToAll of dispatch and combine).
    """

    name = "dist.all_to_all"
    given = Integer("from")
    taken = Integer("to")
    message = Word(choices=("payload",))
    syntax = (
        Task.label,
        Collective.axes,
        Clause("from", (given,), optional=False, line=False),
        Clause("to", (taken,), optional=False, line=False),
        Operands(1, 1),
        ResultTypes(maximum=1),
        Clause("from", (Task.source,), optional=False),
        Clause("phase", (Task.phase,), optional=False, line=False),
        Clause("message", (message,), optional=False, line=False),
        Task.work,
    )

    def result(self, operand: TensorType, operation: Operation) -> TensorType | None:
        task = AllToAll(operation)
        moved, given, taken = tuple(task.mesh_axes), task.given, task.taken
        if not moved or max(given, taken) >= len(operand.dims) or given == taken or not set(moved) <= set(operand.axes[given]):
            return None
        axes = list(operand.axes)
        axes[given] = tuple(axis for axis in axes[given] if axis not in moved)
        axes[taken] = (*axes[taken], *moved)
        return TensorType(operand.dims, tuple(axes), operand.element, operand.unreduced)

    def forward(self, operand: TensorType, result: TensorType, ranks: Expr) -> Work:
        return work(ZERO, operand.bytes, result.bytes, operand.bytes)
