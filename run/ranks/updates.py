"""The gradients of weights: that each is made, and that each weight is updated once, by its own."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import prod

import attrs
import numpy as np

from bpir.dialects.dist import tasks as dist
from bpir.ir.diagnostic import note
from bpir.ir.operation import Operation, Value
from bpir.run.call import Array, Meter
from bpir.run.lineage import Lineage, weight_count
from bpir.run.model.graph import Step
from bpir.run.model.reference import WeightKey
from bpir.run.model.whole import Model
from bpir.run.ranks.mesh import Layout
from bpir.run.ranks.values import Ranks, cannot, error_at


@attrs.define(eq=False)
class Updates:
    """Which weights have a gradient and an update.

    Attributes:
        copies: whether the optimizer keeps an fp32 copy of weights with elements like a value's.
        wide: of each step a value with elements like those of its weights.
    """

    ranks: Ranks
    model: Model
    lineage: Lineage
    copies: Callable[[Value], bool]
    wide: dict[int, Value] = attrs.field(factory=dict)
    shares: dict[Value, WeightKey] = attrs.field(factory=dict)  # of weights that an update has given, and nothing has gathered
    made: dict[WeightKey, dist.Task] = attrs.field(factory=dict)
    updated: dict[WeightKey, dist.Task] = attrs.field(factory=dict)

    def adam(self, task: dist.Task) -> tuple[Callable[[int, Meter], list[Array]], list[Array | None]]:
        """Adam reads the gradient, the weight or its fp32 copy, and two fp32 moments; writes the weight, the copy and the moments.

        A rank with a share of the gradient updates that share of the weight, and gives it; the model's is `updated`.
        """
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

        if task.results and len(task.results) != len(task.operands):
            raise cannot(task, f"it has {len(task.results)} results, not one for each of {len(task.operands)} weights")
        wide = self.like(task)
        width, copy = self.ranks.numbers.width(wide), 4 if self.copies(wide) else 0

        self.shares.update((value, (step.index, index)) for index, value in enumerate(task.results))

        def results(rank: int, meter: Meter) -> list[Array]:
            meter.written = Fraction(0)
            found = []
            for index, value in enumerate(task.operands):
                gradient, layout = self.ranks.arrays[value][rank], self.ranks.layouts[value]
                whole = Layout(layout.dims, layout.axes)
                meter.weights += prod(end - start for start, end in self.ranks.mesh.ranges(whole, rank))
                meter.read[value] = gradient.size * (self.ranks.numbers.width(value) + (copy or width) + 8)
                meter.written += gradient.size * (width + copy + 8)
                if task.results:
                    weight = self.ranks.mesh.fitted(self.model.values.weights[step.index, index], layout.axes)
                    found.append(updated(self.ranks.mesh.cut(weight, layout, rank), gradient))
            return found

        return results, [self._updated(step, index) for index in range(len(task.results))]

    def like(self, task: dist.Task) -> Value:
        """A value with elements like those of the weights that an optimizer task updates."""
        return self.wide.get(self.lineage.updated(task).index, task.operands[0])

    def _updated(self, step: Step, index: int) -> Array | None:
        """A weight of the model, updated by its whole gradient."""
        gradient = self.model.weight_gradient(step.index, index)
        return updated(self.model.values.weights[step.index, index], gradient) if gradient is not None else None

    def gathered(self, task: dist.Task) -> None:
        """A gather of the phase `gradient_reduction` is of updated weights."""
        for value in task.operands:
            if self.shares.pop(value, None) is None:
                raise error_at(task, f"'{task.label}' gathers what is no share of an updated weight")

    def verify(self, block: dist.Block) -> None:
        """Whether each weight of the model has its gradient and, if any is updated, its update."""
        if self.model.gradients is None:
            return
        for value, (index, place) in self.shares.items():
            layer = self.model.graph.steps[index].layer
            where = value.owner if isinstance(value.owner, Operation) else block
            raise error_at(where, f"weight {place} of '{layer}' is updated in shares, and not gathered")
        for key in self.model.gradients.weights:
            layer = self.model.graph.steps[key[0]].layer
            if key not in self.made:
                raise error_at(block, f"the gradient of weight {key[1]} of '{layer}' is missing")
            if self.updated and key not in self.updated and not self.model.graph.steps[key[0]].tied:
                raise error_at(block, f"weight {key[1]} of '{layer}' is not updated")


def updated(weight: Array, gradient: Array) -> Array:
    """A weight after one step: which step does not matter here, but that each element is moved by its own gradient."""
    return np.asarray(weight - gradient)
