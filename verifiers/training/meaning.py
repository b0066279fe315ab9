"""The meaning of each value of a training block, and the phases that a task can be of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import attrs

from bpir.dialects.dist import collective_tasks
from bpir.dialects.dist import tasks as dist
from bpir.dialects.dist.all_to_all import AllToAll
from bpir.ir.operation import Operation, Value

PHASE_ORDER = {
    "forward": 0,
    "recompute": 1,
    "recommunication": 1,
    "activation_gradient": 2,
    "weight_gradient": 2,
    "gradient_reduction": 3,
    "optimizer": 4,
}
"""The order of phases; a gather of the phase `gradient_reduction` is of updated weights, behind all."""

Use = tuple[Operation, int]
"""One use of a value of the model: who reads it, as which operand."""


@attrs.define(eq=False)
class Meaning:
    """The meaning of a value of the target.

    Attributes:
        value: of forward, the value of the model, or None.
        mask: the dropout whose mask it is.
        again: whether it was computed or gathered again.
        uses: of a gradient, by value of the model the uses whose contributions it sums. Gradients can be aliases (a residual's gradient
            is a copy): then there are several values, or several sums of one value, and each reading means one of them.
        weight: of a weight gradient, the operation and which of its weights.
        updated: of a weight that the optimizer has updated, the operation and which of its weights.
    """

    value: Value | None = None
    mask: Operation | None = None
    again: bool = False
    uses: dict[Value, list[frozenset[Use]]] = attrs.field(factory=dict)
    weight: Use | None = None
    updated: Use | None = None

    def sums(self, value: Value, uses: frozenset[Use]) -> bool:
        """Whether it is the sum of the contributions of these uses of the value."""
        return uses in self.uses.get(value, ())


def is_sum(operands: Sequence[Value], meanings: Sequence[Meaning], value: Value, uses: frozenset[Use]) -> bool:
    """Whether the operands together are the contributions of these uses of a value, each use once.

    An operand that is there twice is two contributions. Large ones are chosen first: the sum of a fork within is one.
    """
    left = Counter(operands)
    parts = [(part, image) for image, meaning in dict(zip(operands, meanings, strict=True)).items() for part in meaning.uses.get(value, ())]
    covered: set[Use] = set()
    for part, image in sorted(parts, key=lambda choice: -len(choice[0])):
        if left[image] and part <= uses and covered.isdisjoint(part):
            left[image] -= 1
            covered |= part
    return covered == uses and not left.total()


def place_of_task(task: dist.Task) -> int:
    """Which place the phase of a task has in the order of phases."""
    gathers = isinstance(task, collective_tasks.AllGather) and task.phase == "gradient_reduction"
    return len(PHASE_ORDER) if gathers else PHASE_ORDER[task.phase]


def phases_of(task: dist.Task) -> tuple[str, ...]:
    """The phases that a task of its kind can be of."""
    if isinstance(task, AllToAll):  # an exchange between ranks of experts is a layer of its own
        return ("forward", "recompute", "activation_gradient")
    if isinstance(task, collective_tasks.Collective):
        return ("forward", "recommunication", "activation_gradient", "gradient_reduction")
    if task.kind_of_work in dist.TRAINING_KINDS:
        return ("activation_gradient",) if task.kind_of_work == "fork" else ("optimizer",)
    return ("forward", "recompute", "activation_gradient", "weight_gradient")
