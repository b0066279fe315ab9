"""A `dist` block on every rank of its mesh: each task on the rank's own arrays, collectives between them."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import attrs
import numpy as np

from bpir.dialects.dist import tasks as dist
from bpir.ir.diagnostic import fail
from bpir.run.call import Array, Meter
from bpir.run.model.reference import drawn_cache
from bpir.run.model.whole import Model
from bpir.run.ranks.tasks import Results, Tasks
from bpir.run.ranks.values import Ranks, cannot, error_at, sizes


@attrs.define(eq=False)
class BlockRun:
    """Runs the tasks of a block in order, and compares each value with the model's.

    Attributes:
        meters: of each task what it touched, by rank.
    """

    block: dist.Block
    ranks: Ranks
    model: Model
    tasks: Tasks
    meters: dict[dist.Task, list[Meter]] = attrs.field(factory=dict)

    def run(self) -> None:
        """Run every task.

        Raises:
            DiagnosticError: a value is not the model's, is missing, or can't be computed.
        """
        self._arguments()
        tasks = {task.operation: task for task in self.block.tasks}
        for operation in self.block.operation.body:
            if (ending := dist.Return.of(operation)) is not None:
                self._return(ending)
            elif (state := dist.State.of(operation)) is not None:
                self._state(state)
            elif (shares := dist.Shares.of(operation)) is not None:
                self._shares(shares)
            elif operation in tasks:
                self._task(tasks[operation])
        self.tasks.updates.verify(self.block)

    def _arguments(self) -> None:
        arguments = self.block.arguments
        whole = [*self.model.inputs, *self.model.seeds]
        if len(arguments) != len(whole):
            what = f"{len(self.model.inputs)} inputs of the model"
            if self.model.seeds:
                what += f" and {len(self.model.seeds)} gradients of its results"
            raise fail(f"the block has {len(arguments)} arguments, expected the {what}", self.block.span)
        for value, array in zip(arguments, whole, strict=True):
            layout = self.ranks.layout(value, self.block)
            self.ranks.expected[value] = array
            self.ranks.arrays[value] = self.ranks.placed(self.block, array, layout)

    def _task(self, task: dist.Task) -> None:
        for value in task.results:
            self.ranks.layout(value, task)
        results, expected = self.tasks.meaning(task)
        self._finish(task, results, expected)

    def _finish(self, task: dist.Task, results: Results, expected: Sequence[Array | None]) -> None:
        """Run a task on every rank, and judge what it gives."""
        found: list[list[Array]] = []
        meters = [Meter() for _ in self.ranks.mesh.ranks]
        for rank, meter in enumerate(meters):
            try:
                arrays = results(rank, meter)
            except (ValueError, IndexError) as failure:
                raise cannot(task, str(failure)) from None
            found.append(arrays)
            self._check_shapes(task, rank, arrays)
            if meter.written is None:
                widths = map(self.ranks.numbers.width, task.results)
                meter.written = sum((a.size * w for a, w in zip(arrays, widths, strict=True)), Fraction(0))
        self.meters[task] = meters
        for index, value in enumerate(task.results):
            self.ranks.arrays[value] = [arrays[index] for arrays in found]
            whole = expected[index]
            if whole is not None:
                self.ranks.expected[value] = whole
                self.ranks.judge(task, value, whole, f"'{task.label}' gives")

    def _check_shapes(self, task: dist.Task, rank: int, arrays: Sequence[Array]) -> None:
        if len(arrays) != len(task.results):
            raise cannot(task, f"it has {len(arrays)} results, not {len(task.results)}")
        for array, value in zip(arrays, task.results, strict=True):
            try:
                stated = tuple(b - a for a, b in self.ranks.mesh.ranges(self.ranks.layouts[value], rank))
            except ValueError as failure:
                raise cannot(task, str(failure)) from None
            if array.shape != stated:
                raise cannot(task, f"a rank's result is {sizes(array.shape)}, its type says {sizes(stated)}")

    def _state(self, task: dist.State) -> None:
        source = task.source
        step = next((s for s in self.model.graph.steps if s.layer == source and s.kind == "kv_append"), None)
        if step is None or len(task.results) != len(step.operands):
            raise cannot(task, f"'{source}' of the model has no cache of {len(task.results)} values")
        for index, value in enumerate(task.results):
            layout = self.ranks.layout(value, task)
            visible = self.model.values.arrays[step.results[index]].shape
            held = (visible[0], visible[1] if step.window is None else min(visible[1], step.window), *visible[2:])
            if self.ranks.mesh.fitted(np.empty(held), layout.axes).shape != layout.dims:
                raise cannot(task, f"the cache is {sizes(layout.dims)}, in the model it holds {sizes(held)}")
            whole = drawn_cache(step, index, held, self.model.values.arrays[step.operands[index]].shape[1])
            self.ranks.arrays[value] = self.ranks.placed(task, whole, layout)

    def _shares(self, shares: dist.Shares) -> None:
        """Give each rank its shares of the weights of a layer."""
        weights = self.tasks.weights_of(shares)
        if len(weights) != len(shares.results):
            raise cannot(shares, f"'{shares.source}' has {len(weights)} weights, not {len(shares.results)}")
        for value, whole in zip(shares.results, weights, strict=True):
            layout = self.ranks.layout(value, shares)
            self.ranks.expected[value] = whole
            self.ranks.arrays[value] = self.ranks.placed(shares, whole, layout)

    def _return(self, task: dist.Return) -> None:
        expected = self.model.returned()
        if len(task.operands) != len(expected):
            raise error_at(task, f"the block returns {len(task.operands)} values, expected {', '.join(name for name, _ in expected)}")
        for value, (name, whole) in zip(task.operands, expected, strict=True):
            self.ranks.judge(task, value, whole, f"as {name} the block returns")
            self.ranks.complete(task, value, f"as {name} the block returns")
