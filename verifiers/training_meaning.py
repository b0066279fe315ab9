"""What a value of a training block stands for, and which phases a task can be of."""

from __future__ import annotations

import attrs

from bpir.dialects.dist import tasks as dist
from bpir.ir.operation import Operation, Value

PHASE_ORDER = {
    "forward": 0,
    "recompute": 1,
    "recommunication": 1,
    "activation_gradient": 2,
    "weight_gradient": 2,
    "optimizer": 3,
}

Use = tuple[Operation, int]
"""One use of a value of the model: who reads it, as which operand."""


@attrs.define(eq=False)
class Meaning:
    """What a value of the target stands for.

    Attributes:
        value: of forward, the value of the model, or None.
        mask: the dropout whose mask it is.
        again: whether it was computed or gathered again.
        uses: of a gradient, by value of the model the uses whose contributions it sums. Gradients can be aliases (a residual's gradient
            is a copy): then there are several values, or several sums of one value, and each reading stands for one of them.
        weight: of a weight gradient, the operation and which of its weights.
    """

    value: Value | None = None
    mask: Operation | None = None
    again: bool = False
    uses: dict[Value, list[frozenset[Use]]] = attrs.field(factory=dict)

    def sums(self, value: Value, uses: frozenset[Use]) -> bool:
        """Whether it is the sum of the contributions of these uses of the value."""
        return uses in self.uses.get(value, ())

    weight: Use | None = None


def phases_of(task: Operation) -> tuple[str, ...]:
    """The phases that a task of its kind can be of."""
    if isinstance(task.declaration, dist.Collective):
        return ("forward", "recommunication", "activation_gradient")
    if dist.kind_of(task) in dist.TRAINING_KINDS:
        return ("activation_gradient",) if dist.kind_of(task) == "fork" else ("optimizer",)
    return ("forward", "recompute", "activation_gradient", "weight_gradient")
