"""The results of each task of a block on one rank, and the results that the model demands."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import attrs

from bpir.dialects.dist import collective_tasks
from bpir.dialects.dist import tasks as dist
from bpir.dialects.dist.all_to_all import AllToAll
from bpir.dialects.model.rules.reads import Read
from bpir.ir.operation import Value
from bpir.run.call import Array, Call, Meter
from bpir.run.lineage import Lineage, has_weights, weight_count
from bpir.run.model.graph import Step
from bpir.run.model.reference import drawn_mask, with_gradient
from bpir.run.model.whole import Model
from bpir.run.operations import SEMANTICS
from bpir.run.operations.base import TOKEN_RANK, Semantics
from bpir.run.ranks.collectives import COLLECTIVES, Exchange
from bpir.run.ranks.mesh import Axes, Layout
from bpir.run.ranks.updates import Updates
from bpir.run.ranks.values import Ranks, cannot, sizes

Results = Callable[[int, Meter], list[Array]]
"""The results of a task on a rank; the meter notes the bytes that it touches."""

Meant = tuple[Results, list[Array | None]]
"""The results of a task, and for each the whole array that it must be, if the model says one."""


def _alone(x: Axes, y: Layout) -> tuple[str, ...]:
    """The mesh axes over which a result is a partial sum although they do not share the operand: they share what weights alone have."""
    known = {axis for axes in x for axis in axes}
    return tuple(axis for axis in y.unreduced if axis not in known)


def _own_axes(step: Step, x: Axes, y: Layout) -> tuple[str, ...]:
    """The mesh axes that share what weights alone have: of experts those that share the rows."""
    return x[TOKEN_RANK] if SEMANTICS[step.kind].by_experts else _alone(x, y)


def _refuse_other_move(task: AllToAll, before: Layout, after: Layout) -> None:
    """Refuse an exchange whose operand and result do not lie as it says: shared along one dimension before, along the other after.

    Raises:
        DiagnosticError: one of them does not.
    """
    for what, layout, place in (("operand", before, task.given), ("result", after, task.taken)):
        if not set(task.mesh_axes) <= {axis for axes in layout.axes[place : place + 1] for axis in axes}:
            raise cannot(task, f"dimension {place} of its {what} is not shared over {', '.join(task.mesh_axes)}")


@attrs.frozen(eq=False)
class Tasks:
    """Gives each task its meaning."""

    ranks: Ranks
    model: Model
    lineage: Lineage
    updates: Updates

    def meaning(self, task: dist.Task) -> Meant:
        """The results of a task, and the results that it must have.

        Raises:
            DiagnosticError: nothing says what it does, or its operands and results are not those of what it does.
        """
        kind = task.kind_of_work
        if isinstance(task, collective_tasks.Collective):
            return self._collective(task, kind)
        if kind == "fork":
            return self._fork(task)
        if kind == "adam":
            return self.updates.adam(task)
        return self._computed(task)

    def _collective(self, task: collective_tasks.Collective, kind: str) -> Meant:
        if kind not in COLLECTIVES:
            raise cannot(task, f"no semantics says what '{task.name}' does")
        act, sends_result = COLLECTIVES[kind]
        if task.phase == "gradient_reduction" and not task.reduces:
            self.updates.gathered(task)
        axes = task.axes
        maximum = isinstance(task, collective_tasks.AllReduce) and task.reduction == "max"
        layouts = [[self.ranks.layout(value, task) for value in pair] for pair in zip(task.operands, task.results, strict=True)]
        arrays = [self.ranks.arrays[operand] for operand in task.operands]
        mesh, elements = self.ranks.mesh, task.elements
        if isinstance(task, AllToAll):
            _refuse_other_move(task, *layouts[0])
        exchanges = [Exchange(mesh, each, axes, maximum, lie, elements) for each, lie in zip(arrays, layouts, strict=True)]

        def results(rank: int, meter: Meter) -> list[Array]:
            found = [act(exchange, rank) for exchange in exchanges]
            for operand, result in zip(task.operands, found, strict=True):
                array, width = self.ranks.arrays[operand][rank], self.ranks.numbers.width(operand)
                meter.read[operand] = array.size * width
                meter.message += (result if sends_result else array).size * width
            return found

        return results, [self.ranks.expected.get(operand) for operand in task.operands]

    def _fork(self, task: dist.Task) -> Meant:
        whole = [self.ranks.expected.get(v) for v in task.operands]
        known = [array for array in whole if array is not None]
        if len({array.shape for array in known}) > 1:
            raise cannot(task, f"it sums tensors of {' and '.join(sizes(array.shape) for array in known)}")
        expected = sum(known[1:], known[0]) if known and len(known) == len(whole) else None

        def results(rank: int, meter: Meter) -> list[Array]:
            call = Call(self.ranks.operands(task, rank), meter=meter)
            total = call.read(0)
            for index in range(1, len(call.operands)):
                total = total + call.read(index)
            return [total]

        return results, [expected]

    def _computed(self, task: dist.Task) -> Meant:
        phase = task.phase
        if task.kind_of_work not in SEMANTICS:
            raise cannot(task, f"no semantics says what '{task.kind_of_work}' computes")
        steps = self.lineage.steps(task)
        if phase == "activation_gradient":
            return self._gradient(task, steps[0])
        if phase == "weight_gradient":
            return self._weight_gradient(task, steps[0])
        return self._forward(task, steps)

    def _forward(self, task: dist.Task, steps: list[Step]) -> Meant:
        semantics = SEMANTICS[steps[0].kind]
        if semantics.maximum:
            self.ranks.maxima.update(task.results)
        self._check_operands(task, len(steps[0].operands) * (2 if steps[0].kind == "kv_append" else 1), "")
        values = self.model.values
        expected: list[Array | None] = []
        for step in steps:
            like_result = task.rule is not None and task.rule.weights_like_result
            self.updates.wide[step.index] = (task.results if like_result else task.operands)[0]
            expected += [values.arrays[v] for v in step.results]
            if step.index in values.masks:
                expected.append(values.masks[step.index])
        if len(task.results) != len(expected):
            raise cannot(task, f"it has {len(expected)} results, not {len(task.results)}")

        def results(rank: int, meter: Meter) -> list[Array]:
            found: list[Array] = []
            for index, step in enumerate(steps):
                found += self._one(task, semantics, step, task.results[index], rank, meter)
            return found

        return results, expected

    def _one(self, task: dist.Task, semantics: Semantics, step: Step, result: Value, rank: int, meter: Meter) -> list[Array]:
        """The results of one step of a task on one rank."""
        x, y = self.ranks.layouts[task.operands[0]], self.ranks.layouts[result]
        features = tuple(b - a for a, b in self.ranks.mesh.ranges(y, rank))[TOKEN_RANK:]

        def mask() -> Array:
            return self.ranks.mesh.cut(drawn_mask(step, x.dims), x, rank)

        call = Call(
            self.ranks.operands(task, rank, self.model.values.context),
            self._weights(task, step, x.axes, y, rank),
            (step.says - set(semantics.forms)) | ({task.form} if task.form else set()),
            features,
            mask,
            self._own(step, _own_axes(step, x.axes, y), rank),
            self.ranks.numbers.width(result),
            self.ranks.numbers.width(task.operands[0]),
            step.causal,
            step.window,
            self.ranks.mesh.first(rank, y.unreduced),
            step.index,
            meter,
            step.sizes,
        )
        return semantics.forward(call)

    def _own(self, step: Step, axes: tuple[str, ...], rank: int) -> list[tuple[int, int, int]]:
        """A rank's part of each size that weights alone have."""
        found = []
        for size in step.own:
            parts, place = self.ranks.mesh.place(rank, axes)
            count = -(-size // parts)
            first, end = place * count, (place + 1) * count
            found.append((first, end - first, size))
        return found

    def weights_of(self, shares: dist.Shares) -> list[Array]:
        """The whole weights of the layer that shares are of."""
        step = self.lineage.shared(shares)
        return [self.model.values.weights[step.index, index] for index in range(weight_count(step))]

    def _weights(self, task: dist.Task, step: Step, x: Axes, y: Layout, rank: int) -> list[Array]:
        """The weights that a task has on a rank: its own, or those that were gathered for it."""
        gathered = task.gathered_weights
        if not gathered:
            return self._parts_of_weights(step, x, y, rank)
        if len(gathered) != weight_count(step):
            raise cannot(task, f"'{step.layer}' has {weight_count(step)} weights, the task reads {len(gathered)} gathered ones")
        return [self.ranks.arrays[value][rank] for value in gathered]

    def _parts_of_weights(self, step: Step, x: Axes, y: Layout, rank: int) -> list[Array]:
        """A rank's part of each weight: a dimension lies where the operand's or the result's does that it belongs to."""
        found = []
        own = [_own_axes(step, x, y)] * len(step.own)
        for index, axes in enumerate(SEMANTICS[step.kind].weight_dims(x, y.axes, step.says, own)):
            whole = self.model.values.weights[step.index, index]
            if len(axes) != whole.ndim:
                raise ValueError(f"weight {index} of '{step.layer}' has {whole.ndim} dimensions, here {len(axes)} are needed")
            whole = self.ranks.mesh.fitted(whole, axes)
            found.append(self.ranks.mesh.cut(whole, Layout(whole.shape, axes), rank))
        return found

    def _gradient(self, task: dist.Task, step: Step) -> Meant:
        semantics = SEMANTICS[step.kind]
        places = self._places(task, step, semantics.gradient_reads)
        indices = [self.model.values.arrays[v].dtype.kind == "i" for v in step.operands]
        expected = [self.model.part(step.index, i) for i in with_gradient(step, indices)]
        if len(task.results) != len(expected):
            raise cannot(task, f"it has {len(expected)} results, not {len(task.results)}")
        y, x = self.ranks.layouts[task.operands[0]], self.ranks.layouts[task.results[0]]

        def results(rank: int, meter: Meter) -> list[Array]:
            weights = self._weights(task, step, x.axes, y, rank) if has_weights(step) else []
            operands = self.ranks.operands(task, rank, self.model.values.context)
            call = Call([operands[i] for i in places], weights, step.says, meter=meter, sizes=step.sizes)
            call.causal, call.window = step.causal, step.window
            call.own = self._own(step, _own_axes(step, x.axes, y), rank)
            call.weight_width = call.width = self.ranks.numbers.width(task.results[0])  # of the operand, whatever dY is
            return semantics.gradient(call)

        return results, expected

    def _weight_gradient(self, task: dist.Task, step: Step) -> Meant:
        semantics = SEMANTICS[step.kind]
        if not has_weights(step):
            raise cannot(task, f"'{step.layer}' has no weights")
        tied = sum(other.tied == step.layer for other in self.model.graph.steps)  # the last operands are their gradients
        places = self._places(task, step, semantics.weight_gradient_reads, tied)
        expected = [self.model.weight_gradient(step.index, i) for i in range(weight_count(step))]
        self.updates.made.update(((step.index, i), task) for i in range(weight_count(step)))

        def results(rank: int, meter: Meter) -> list[Array]:
            operands = self.ranks.operands(task, rank)
            call = Call([operands[i] for i in places], (), step.says, meter=meter, sizes=step.sizes)
            call.own = self._own(step, self.ranks.layouts[task.results[0]].axes[0], rank)
            call.width = self.ranks.numbers.width(task.results[0])
            found = semantics.weight_gradient(call)
            for other in operands[len(operands) - tied :]:
                found[0] = found[0] + other.array
            return found

        return results, expected

    def _places(self, task: dist.Task, step: Step, reads: Sequence[Read], more: int = 0) -> list[int]:
        """Which operand of a gradient's task is dY and each thing that it reads; one that is read as two things may be once.

        Args:
            more: how many operands follow.
        """
        named: list[object] = [step.operands[read.index] if read.what == "operand" else read for read in reads]
        once, count = list(dict.fromkeys(named)), len(step.results)
        if len(task.operands) == count + len(once) + more:
            return [*range(count), *(count + once.index(what) for what in named)]
        self._check_operands(task, count + len(reads) + more, f"dY, {', '.join(map(str, reads))}")
        return list(range(count + len(reads)))

    def _check_operands(self, task: dist.Task, count: int, what: str) -> None:
        if len(task.operands) != count:
            shown = f" ({what.strip(', ')})" if what else ""
            raise cannot(task, f"it reads {count} values{shown}, not {len(task.operands)}")
