"""The gradients of weights: that each is made, and that each weight is updated once, by its own."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import attrs

from bpir.dialects.dist import tasks as dist
from bpir.ir.diagnostic import note
from bpir.ir.operation import Value
from bpir.run.call import Array, Meter
from bpir.run.lineage import Lineage, weight_count
from bpir.run.model.reference import WeightKey
from bpir.run.model.whole import Model
from bpir.run.ranks.values import Ranks, cannot, error_at


@attrs.define(eq=False)
class Updates:
    """Which weights have a gradient and an update.

    Attributes:
        shards: the ranks that share the optimizer's states.
        copies: whether the optimizer keeps an fp32 copy of the weights that a gradient belongs to.
    """

    ranks: Ranks
    model: Model
    lineage: Lineage
    shards: Fraction
    copies: Callable[[Value], bool]
    made: dict[WeightKey, dist.Task] = attrs.field(factory=dict)
    updated: dict[WeightKey, dist.Task] = attrs.field(factory=dict)

    def adam(self, task: dist.Task) -> Callable[[int, Meter], list[Array]]:
        """Adam reads the gradient, the weight or its fp32 copy, and two fp32 moments; writes the weight, the copy and the moments."""
        step = self.lineage.updated(task)
        if len(task.operands) != weight_count(step):
            raise cannot(task, f"'{step.layer}' has {weight_count(step)} weights, the task reads {len(task.operands)} gradients")
        for index, value in enumerate(task.operands):
            key = (step.index, index)
            if key in self.updated:
                raise error_at(task, f"weight {index} of '{step.layer}' is updated twice", note("the first", self.updated[key].span))
            self.updated[key] = task
            whole = self.model.weight_gradient(*key)
            if whole is not None:
                self.ranks.judge(task, value, whole, f"'{task.label}' reads")
                self.ranks.complete(task, value, f"'{task.label}' reads")

        def results(rank: int, meter: Meter) -> list[Array]:
            meter.written = Fraction(0)
            for value in task.operands:
                elements, width = self.ranks.arrays[value][rank].size, self.ranks.numbers.width(value)
                meter.weights += elements
                share, copy = elements / self.shards, 4 if self.copies(value) else 0
                meter.read[value] = share * (width + (copy or width) + 8)
                meter.written += share * (width + copy + 8)
            return []

        return results

    def verify(self, block: dist.Block) -> None:
        """Whether each weight of the model has its gradient and, if any is updated, its update."""
        if self.model.gradients is None:
            return
        for key in self.model.gradients.weights:
            layer = self.model.graph.steps[key[0]].layer
            if key not in self.made:
                raise error_at(block, f"the gradient of weight {key[1]} of '{layer}' is missing")
            if self.updated and key not in self.updated and not self.model.graph.steps[key[0]].tied:
                raise error_at(block, f"weight {key[1]} of '{layer}' is not updated")
