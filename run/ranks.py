"""A `dist` block on every rank of its mesh: each task on the rank's own arrays, collectives between them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import attrs

from bpir.dialects.dist import tasks as dist
from bpir.ir.diagnostic import DiagnosticError, error, fail, note
from bpir.ir.operation import Operation, Value
from bpir.run.call import Array, Call, Meter, Operand
from bpir.run.collectives import COLLECTIVES, Exchange
from bpir.run.compare import compare
from bpir.run.graph import Graph, Step
from bpir.run.lineage import Lineage, has_weights, layer_of, weight_count
from bpir.run.mesh import Axes, Layout, Mesh
from bpir.run.numbers import Numbers
from bpir.run.operations import SEMANTICS
from bpir.run.operations.base import TOKEN_RANK, Semantics
from bpir.run.reference import Gradients, Values, WeightKey, draw, drawn_cache, drawn_mask

Results = Callable[[int, Meter], list[Array]]
"""What a task gives on a rank."""

BACKWARD = ("activation_gradient", "weight_gradient", "gradient_reduction", "optimizer")


@attrs.frozen(eq=False)
class Model:
    """What the block is compared with: the graph, the whole inputs and seeds, the values and, in training, the gradients."""

    graph: Graph
    inputs: Sequence[Array]
    seeds: Sequence[Array]
    values: Values
    gradients: Gradients | None


@attrs.define(eq=False)
class BlockRun:
    """Runs the tasks of a block in order, and compares each value with the model's.

    Attributes:
        arrays: of each value the array of each rank.
        expected: of each value the whole array that it must be, where the model says one.
        meters: of each task what it touched, by rank.
        largest: the largest relative difference, in forward and in backward.
    """

    block: Operation
    mesh: Mesh
    numbers: Numbers
    model: Model
    shards: Fraction = Fraction(1)
    master_copy: bool = True
    arrays: dict[Value, list[Array]] = attrs.field(factory=dict)
    expected: dict[Value, Array] = attrs.field(factory=dict)
    layouts: dict[Value, Layout] = attrs.field(factory=dict)
    meters: dict[Operation, list[Meter]] = attrs.field(factory=dict)
    largest: dict[str, float] = attrs.field(factory=lambda: {"forward": 0.0, "backward": 0.0})
    made: dict[WeightKey, Operation] = attrs.field(factory=dict)
    updated: dict[WeightKey, Operation] = attrs.field(factory=dict)
    lineage: Lineage = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self.lineage = Lineage(self.model.graph)

    def run(self) -> None:
        """Run every task.

        Raises:
            DiagnosticError: a value is not the model's, is missing, or can't be computed.
        """
        self._arguments()
        for task in self.block.body:
            if task.name == "dist.return":
                self._return(task)
            elif task.name == "dist.state":
                self._state(task)
            elif isinstance(task.declaration, dist.Task):
                self._task(task)
        self._weights()

    def _arguments(self) -> None:
        arguments = self.block.regions[0].blocks[0].arguments
        whole = [*self.model.inputs, *self.model.seeds]
        if len(arguments) != len(whole):
            what = f"{len(self.model.inputs)} inputs of the model"
            if self.model.seeds:
                what += f" and {len(self.model.seeds)} gradients of its results"
            raise fail(f"the block has {len(arguments)} arguments, expected the {what}", self.block.span)
        for value, array in zip(arguments, whole, strict=True):
            layout = self._layout(value, self.block)
            self.expected[value] = array
            self.arrays[value] = [
                self.mesh.cut(array, layout, rank) * float(self.mesh.first(rank, layout.unreduced)) for rank in self.mesh.ranks
            ]

    def _layout(self, value: Value, reader: Operation) -> Layout:
        if value not in self.layouts:
            self.layouts[value] = self.numbers.layout(value, reader)
        return self.layouts[value]

    # --- tasks

    def _task(self, task: Operation) -> None:
        for value in task.results:
            self._layout(value, task)
        kind = dist.kind_of(task)
        if isinstance(task.declaration, dist.Collective):
            results, expected = self._collective(task, kind)
        elif kind == "fork":
            results, expected = self._fork(task)
        elif kind == "adam":
            results, expected = self._adam(task)
        else:
            results, expected = self._computed(task)
        self._finish(task, results, expected)

    def _finish(self, task: Operation, results: Results, expected: Sequence[Array | None]) -> None:
        """Run a task on every rank, and judge what it gives."""
        found: list[list[Array]] = []
        meters = [Meter() for _ in self.mesh.ranks]
        for rank, meter in enumerate(meters):
            try:
                arrays = results(rank, meter)
            except (ValueError, IndexError) as failure:
                raise self._cannot(task, str(failure)) from None
            found.append(arrays)
            self._check_shapes(task, rank, arrays)
            if meter.written is None:
                widths = map(self.numbers.width, task.results)
                meter.written = sum((a.size * w for a, w in zip(arrays, widths, strict=True)), Fraction(0))
        self.meters[task] = meters
        for index, value in enumerate(task.results):
            self.arrays[value] = [arrays[index] for arrays in found]
            whole = expected[index]
            if whole is not None:
                self.expected[value] = whole
                self._judge(task, value, whole, f"'{dist.name_of(task)}' gives")

    def _check_shapes(self, task: Operation, rank: int, arrays: Sequence[Array]) -> None:
        if len(arrays) != len(task.results):
            raise self._cannot(task, f"it has {len(arrays)} results, not {len(task.results)}")
        for array, value in zip(arrays, task.results, strict=True):
            try:
                stated = tuple(b - a for a, b in self.mesh.ranges(self.layouts[value], rank))
            except ValueError as failure:
                raise self._cannot(task, str(failure)) from None
            if array.shape != stated:
                raise self._cannot(task, f"a rank's result is {_sizes(array.shape)}, its type says {_sizes(stated)}")

    def _judge(self, task: Operation, value: Value, whole: Array, what: str) -> None:
        layout = self.layouts[value]
        if whole.shape != layout.dims:
            raise error_at(task, f"{what} a tensor of {_sizes(layout.dims)}, the model's is {_sizes(whole.shape)}")
        largest, mismatch = compare(self.mesh, self.arrays[value], layout, whole)
        side = "backward" if dist.text_of(task, "phase") in BACKWARD else "forward"
        self.largest[side] = max(self.largest[side], largest)
        if mismatch is not None:
            name = f" '%{value.name}'" if value.name else ""
            place = ", ".join(map(str, mismatch.place))
            where = f"at [{place}] on rank {mismatch.rank}"
            if layout.unreduced:
                where += f", summed over {', '.join(layout.unreduced)}"
            raise error_at(task, f"{what}{name} {mismatch.found:.17g} {where}; expected {mismatch.expected:.17g}")

    def _cannot(self, task: Operation, why: str) -> DiagnosticError:
        return error_at(task, f"'{dist.name_of(task)}' can't run: {why}")

    def _operands(self, task: Operation, rank: int) -> list[Operand]:
        return [Operand(self.arrays[v][rank], v, self.numbers.width(v)) for v in task.operands]

    # --- collectives, sums of gradients, updates

    def _collective(self, task: Operation, kind: str) -> tuple[Results, list[Array | None]]:
        if kind not in COLLECTIVES:
            raise self._cannot(task, f"no semantics says what '{task.name}' does")
        act, sends_result = COLLECTIVES[kind]
        operand, axes = task.operands[0], tuple(dist.axes_of(task))
        exchange = Exchange(self.mesh, self.arrays[operand], axes)

        def results(rank: int, meter: Meter) -> list[Array]:
            array, width = self.arrays[operand][rank], self.numbers.width(operand)
            found = act(exchange, rank)
            meter.read[operand] = array.size * width
            meter.message = (found if sends_result else array).size * width
            return [found]

        return results, [self.expected.get(operand)]

    def _fork(self, task: Operation) -> tuple[Results, list[Array | None]]:
        whole = [self.expected.get(v) for v in task.operands]
        known = [array for array in whole if array is not None]
        expected = sum(known[1:], known[0]) if known and len(known) == len(whole) else None

        def results(rank: int, meter: Meter) -> list[Array]:
            call = Call(self._operands(task, rank), meter=meter)
            total = call.read(0)
            for index in range(1, len(call.operands)):
                total = total + call.read(index)
            return [total]

        return results, [expected]

    def _adam(self, task: Operation) -> tuple[Results, list[Array | None]]:
        """Adam reads the gradient, the weight or its fp32 copy, and two fp32 moments; writes the weight, the copy and the moments."""
        step = self.lineage.updated(task)
        if len(task.operands) != weight_count(step):
            raise self._cannot(task, f"'{step.layer}' has {weight_count(step)} weights, the task reads {len(task.operands)} gradients")
        for index, value in enumerate(task.operands):
            key = (step.index, index)
            if key in self.updated:
                raise error_at(task, f"weight {index} of '{step.layer}' is updated twice", note("the first", self.updated[key].span))
            self.updated[key] = task
            gradients = self.model.gradients
            whole = None if gradients is None else gradients.weights.get(key)
            if whole is not None:
                self._judge(task, value, whole, f"'{dist.name_of(task)}' reads")
                self._reduced(task, value, f"'{dist.name_of(task)}' reads")

        def results(rank: int, meter: Meter) -> list[Array]:
            meter.written = Fraction(0)
            for value in task.operands:
                elements, width = self.arrays[value][rank].size, self.numbers.width(value)
                meter.weights += elements
                share, copy = elements / self.shards, 4 if self.master_copy else 0
                meter.read[value] = share * (width + (copy or width) + 8)
                meter.written += share * (width + copy + 8)
            return []

        return results, []

    # --- operations of the model

    def _computed(self, task: Operation) -> tuple[Results, list[Array | None]]:
        phase = dist.text_of(task, "phase")
        if dist.kind_of(task) not in SEMANTICS:
            raise self._cannot(task, f"no semantics says what '{dist.kind_of(task)}' computes")
        steps = self.lineage.steps(task)
        if phase == "activation_gradient":
            return self._gradient(task, steps[0])
        if phase == "weight_gradient":
            return self._weight_gradient(task, steps[0])
        return self._forward(task, steps)

    def _forward(self, task: Operation, steps: list[Step]) -> tuple[Results, list[Array | None]]:
        semantics = SEMANTICS[steps[0].kind]
        self._check_operands(task, len(steps[0].operands) * (2 if steps[0].kind == "kv_append" else 1), "")
        values = self.model.values
        expected: list[Array | None] = []
        for step in steps:
            expected += [values.arrays[v] for v in step.results]
            if step.index in values.masks:
                expected.append(values.masks[step.index])
        if len(task.results) != len(expected):
            raise self._cannot(task, f"it has {len(expected)} results, not {len(task.results)}")

        def results(rank: int, meter: Meter) -> list[Array]:
            found: list[Array] = []
            for index, step in enumerate(steps):
                found += self._one(task, semantics, step, task.results[index], rank, meter)
            return found

        return results, expected

    def _one(self, task: Operation, semantics: Semantics, step: Step, result: Value, rank: int, meter: Meter) -> list[Array]:
        """What one step of a task gives on one rank."""
        x, y = self.layouts[task.operands[0]], self.layouts[result]
        features = tuple(b - a for a, b in self.mesh.ranges(y, rank))[TOKEN_RANK:]

        def mask() -> Array:
            return self.mesh.cut(drawn_mask(step, x.dims), x, rank)

        call = Call(
            self._operands(task, rank),
            self._parts_of_weights(step, x.axes, y.axes, rank),
            step.says,
            features,
            mask,
            self.mesh.first(rank, y.unreduced),
            step.index,
            meter,
        )
        return semantics.forward(call)

    def _parts_of_weights(self, step: Step, x: Axes, y: Axes, rank: int) -> list[Array]:
        """A rank's part of each weight: a dimension lies where the operand's or the result's does that it belongs to."""
        found = []
        for index, axes in enumerate(SEMANTICS[step.kind].weight_dims(x, y, step.says)):
            whole = self.model.values.weights[step.index, index]
            if len(axes) != whole.ndim:
                raise ValueError(f"weight {index} of '{step.layer}' has {whole.ndim} dimensions, here {len(axes)} are needed")
            found.append(self.mesh.cut(whole, Layout(whole.shape, axes), rank))
        return found

    def _gradient(self, task: Operation, step: Step) -> tuple[Results, list[Array | None]]:
        semantics = SEMANTICS[step.kind]
        places = self._places(task, step, semantics.gradient_reads)
        gradients = self.model.gradients
        expected = [None if gradients is None else gradients.parts.get((step.index, i)) for i in range(len(step.operands))]
        if len(task.results) != len(expected):
            raise self._cannot(task, f"it has {len(expected)} results, not {len(task.results)}")
        y, x = self.layouts[task.operands[0]], self.layouts[task.results[0]]

        def results(rank: int, meter: Meter) -> list[Array]:
            weights = self._parts_of_weights(step, x.axes, y.axes, rank) if has_weights(step) else []
            operands = self._operands(task, rank)
            return semantics.gradient(Call([operands[i] for i in places], weights, step.says, meter=meter))

        return results, expected

    def _weight_gradient(self, task: Operation, step: Step) -> tuple[Results, list[Array | None]]:
        semantics = SEMANTICS[step.kind]
        if not has_weights(step):
            raise self._cannot(task, f"'{step.layer}' has no weights")
        places = self._places(task, step, semantics.weight_gradient_reads)
        gradients, expected = self.model.gradients, []
        for index in range(weight_count(step)):
            key = (step.index, index)
            expected.append(None if gradients is None else gradients.weights.get(key))
            self.made[key] = task

        def results(rank: int, meter: Meter) -> list[Array]:
            operands = self._operands(task, rank)
            return semantics.weight_gradient(Call([operands[i] for i in places], (), step.says, meter=meter))

        return results, expected

    def _places(self, task: Operation, step: Step, reads: Sequence[str]) -> list[int]:
        """Which operand of a gradient's task is dY and each thing that it reads; one that is read as two things may stand once."""
        named = [step.operands[int(what[-1])] if what.startswith("operand") else what for what in reads]
        once = list(dict.fromkeys(named))
        if len(task.operands) == 1 + len(once):
            return [0, *(1 + once.index(what) for what in named)]
        self._check_operands(task, 1 + len(reads), f"dY, {', '.join(reads)}")
        return list(range(1 + len(reads)))

    def _check_operands(self, task: Operation, count: int, what: str) -> None:
        if len(task.operands) != count:
            shown = f" ({what.strip(', ')})" if what else ""
            raise self._cannot(task, f"it reads {count} values{shown}, not {len(task.operands)}")

    # --- what the block begins and ends with

    def _state(self, task: Operation) -> None:
        source = dist.text_of(task, "source")
        step = next((s for s in self.model.graph.steps if s.layer == source and s.kind == "kv_append"), None)
        if step is None or len(task.results) != len(step.operands):
            raise self._cannot(task, f"'{source}' of the model has no cache of {len(task.results)} values")
        for index, value in enumerate(task.results):
            layout = self._layout(value, task)
            visible = self.model.values.arrays[step.results[index]]
            if layout.dims != visible.shape:
                raise self._cannot(task, f"the cache is {_sizes(layout.dims)}, in the model {_sizes(visible.shape)} are visible")
            whole = drawn_cache(step, index, layout.dims, self.model.values.arrays[step.operands[index]].shape[1])
            try:
                self.arrays[value] = [self.mesh.cut(whole, layout, rank).copy() for rank in self.mesh.ranks]
            except ValueError as failure:
                raise self._cannot(task, str(failure)) from None

    def _return(self, task: Operation) -> None:
        model = self.model
        expected = [(f"result {i}", model.values.arrays[v]) for i, v in enumerate(model.graph.results)]
        if model.gradients is not None:
            expected += [(f"the gradient of input {i}", model.gradients.values[v]) for i, v in enumerate(model.graph.inputs)]
        if len(task.operands) != len(expected):
            raise error_at(task, f"the block returns {len(task.operands)} values, expected {', '.join(name for name, _ in expected)}")
        for value, (name, whole) in zip(task.operands, expected, strict=True):
            self._judge(task, value, whole, f"as {name} the block returns")
            self._reduced(task, value, f"as {name} the block returns")

    def _reduced(self, task: Operation, value: Value, what: str) -> None:
        """Each rank goes on with its own: a sum must be complete."""
        if self.layouts[value].unreduced:
            raise error_at(task, f"{what} a partial sum that is still to be reduced over {', '.join(self.layouts[value].unreduced)}")

    def _weights(self) -> None:
        """Whether each weight of the model has its gradient and, if any is updated, its update."""
        if self.model.gradients is None:
            return
        for key in self.model.gradients.weights:
            layer = self.model.graph.steps[key[0]].layer
            if key not in self.made:
                raise error_at(self.block, f"the gradient of weight {key[1]} of '{layer}' is missing")
            if self.updated and key not in self.updated:
                raise error_at(self.block, f"weight {key[1]} of '{layer}' is not updated")


def seeds_of(graph: Graph, values: Values) -> list[Array]:
    """The gradient that backward begins with, for each result."""
    return [draw(f"seed {i}", values.arrays[v].shape) for i, v in enumerate(graph.results)]


def error_at(task: Operation, message: str, *notes: object) -> DiagnosticError:
    return DiagnosticError(error(message, task.span, *notes))  # type: ignore[arg-type]


def _sizes(shape: Sequence[int]) -> str:
    return " x ".join(map(str, shape))


__all__ = ["BlockRun", "Model", "layer_of", "seeds_of"]
