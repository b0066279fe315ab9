"""Of one block of a distributed training module: the gradients of weights, their sum over the ranks, and the optimizer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from bpir.dialects.bp import TensorType
from bpir.dialects.dist import collective_tasks
from bpir.dialects.dist import tasks as dist
from bpir.dialects.model.rules.layer_view import LayerView
from bpir.dialects.model.rules.layers import layer_of, part_of, tied_to
from bpir.dialects.model.rules.operation import ModelOperation
from bpir.ir.attributes import FloatType
from bpir.ir.expressions.expression import ZERO
from bpir.ir.operation import Operation, Value
from bpir.verifiers.distribution.placed_axes import TENSOR
from bpir.verifiers.model_operations import rule_of, tensor_of, tensors_of
from bpir.verifiers.rulebooks import TRAINING
from bpir.verifiers.training.meaning import Meaning
from bpir.verifiers.training.replicas import Replicas

if TYPE_CHECKING:
    from bpir.verifiers.training.block import BlockTrace


class Weights:
    """Judges the tasks of weights by the types of what they read.

    A weight has no token axis. Where ranks share the tokens of an operation, the gradient of its weights is a partial sum on each, which
    the phase `gradient_reduction` sums before the optimizer reads it.
    """

    def __init__(self, trace: BlockTrace) -> None:
        self.trace = trace
        self.findings = trace.findings
        self._summed: dict[dist.Task, list[int]] = {}  # by the forward task of an operation
        self._formed: dict[dist.Task, bool] = {}  # whether a forward task has the form of its operation
        self.replicas = Replicas(self)

    @cached_property
    def _tied(self) -> dict[str, list[Operation]]:
        """The operations that read the table of each layer, in order."""
        found: dict[str, list[Operation]] = {}
        for operation in self.trace.layers.values():
            found.setdefault(tied_to(operation), []).append(operation)
        return found

    def gradient(self, task: dist.Task, operation: Operation) -> None:
        """Judge a task of the phase `weight_gradient`."""
        view, layer = self._view(operation), layer_of(operation)
        if view is None or not self.findings.require(
            "R9", view.weights is not ZERO, task, f"'{layer}' has no weights, so no weight gradient"
        ):
            return
        tied, needed = self._tied.get(layer, []), self.trace.needs.reads(operation, True)
        self.trace.gradients.reads(task, operation, needed, len(tied))
        self._adds(task, operation, task.operands[len(operation.results) + len(needed) :], tied[::-1])
        summed, over = self.summed(operation), self.replicas.over(operation)
        types = [type.partial(*over, *((TENSOR,) if place in summed else ())) for place, type in enumerate(self.gradients(operation))]
        if self.trace.results(task, types):
            products = rule_of(operation).weight_gradient_matmul(view.local)
            self.trace.numbers(task, self.trace.convention.weight_gradient(view), ZERO, products)

    def _adds(self, task: dist.Task, operation: Operation, images: Sequence[Value], tied: Sequence[Operation]) -> None:
        """The gradients of what is tied to a table are added to the table's."""
        for image, other in zip(images, tied, strict=False):
            added = self.trace.meanings.get(image, Meaning()).weight == (other, 0)
            what = f"the gradient of '{layer_of(operation)}' is not added to that of '{layer_of(other)}', which is tied to it"
            self.findings.require("R9", added, task, what)

    def _view(self, operation: Operation) -> LayerView | None:
        """How a convention counts a layer, if it has a forward task of its form."""
        view = self.trace.views.get(layer_of(operation))
        return view if view is not None and self.forward(operation) is not None else None

    def reduction(self, task: dist.Task, operation: Operation) -> None:
        """Judge a task of the phase `gradient_reduction`: one all-reduce of those gradients of a layer's weights that are parts of sums."""
        layer = layer_of(operation)
        summed = self.summed(operation)
        if self._view(operation) is None or not self.findings.require(
            "R9", bool(summed), task, f"the gradients of the weights of '{layer}' are complete on every rank"
        ):
            return
        if not isinstance(task, collective_tasks.AllReduce):
            self.findings.refuse("R5", task, f"'{task.name}' does not give every rank the sum: expected {collective_tasks.AllReduce.name}")
            return
        message = f"the gradients of '{layer}' are reduced by '{task.reduction}', expected sum"
        self.findings.require("R5", task.reduction == "sum", task, message)
        self.reads_gradients(task, operation, summed, "the reduction")
        types = [self.gradients(operation)[place] for place in summed]
        if self.trace.results(task, [type.partial(*self.replicas.over(operation)) for type in types]):
            self.trace.reduced += types
            self.trace.work(task, self.trace.convention.gradient_reduction(type.local(self.trace.mesh) for type in types))

    def optimizer(self, task: dist.Task, operation: Operation) -> None:
        """Judge a task of the phase `optimizer`."""
        view = self._view(operation)
        if view is None:
            return
        self.replicas.updated(task, operation)
        reads = task.kind_of_work == "adam" and view.owned is not ZERO
        message = f"the optimizer of '{layer_of(operation)}' does not read the gradients of its weights"
        if self.findings.require("R9", reads, task, message):
            self.reads_gradients(task, operation, range(len(self.types(operation))), "the optimizer")
            for place, (image, wanted) in enumerate(zip(task.operands, self.replicas.kept(operation), strict=False)):
                if self.trace.meanings.get(image, Meaning()).weight == (operation, place):
                    self._reads_sum(task, operation, image, wanted)
        self.trace.numbers(task, self.trace.convention.optimizer(view), view.weights, ZERO, "R9")

    def _reads_sum(self, task: dist.Task, operation: Operation, image: Value, wanted: TensorType) -> None:
        """An optimizer reads gradients that are summed over all ranks that have a part of them."""
        partial = isinstance(image.type, TensorType) and bool(image.type.unreduced)
        message = f"the optimizer of '{layer_of(operation)}' reads a partial sum, which no task reduces"
        if self.findings.require("R9", not partial, task, message):
            self.trace.type(task, image, wanted)

    def summed(self, operation: Operation) -> list[int]:
        """The weights whose gradient is a part of a sum on each rank: over a factor of dY that a mesh axis splits and the weight lacks."""
        forward = self.forward(operation)
        if forward is None or not self.trace.has_weights(layer_of(operation)):
            return []
        if forward not in self._summed:
            self._summed[forward] = self._lacking(operation, rule_of(operation), forward)
        return self._summed[forward]

    @staticmethod
    def _lacking(operation: Operation, rule: ModelOperation, forward: dist.Task) -> list[int]:
        factors = rule.factors(operation)
        lacking: list[bool] = []
        for index, value in enumerate(forward.results[: len(operation.results)]):
            axes_of = zip(factors.results[index], tensor_of(value).axes, strict=True)
            split = {factor for factor, axes in axes_of if TENSOR in axes}
            lacking += [not split <= set(weight) for weight in factors.weights[index]]
        return [place for place, part in enumerate(lacking) if part]

    def forward(self, operation: Operation) -> dist.Task | None:
        """The layer's forward task, if it has the form of the operation; another rule refuses one that does not."""
        task = self.trace.tasks.get((layer_of(operation), "forward"))
        if task is None:
            return None
        if task not in self._formed:
            self._formed[task] = self.trace.view(task, operation, rule_of(operation)) is not None
        return task if self._formed[task] else None

    @TRAINING.rule("R9", "every weight has its gradient and its optimizer task")
    def reads_gradients(self, task: dist.Task, operation: Operation, places: Iterable[int], who: str) -> None:
        """It reads the gradients of these weights of the layer, in order."""
        found = [self.trace.meanings.get(v, Meaning()).weight for v in task.operands]
        if found != [(operation, place) for place in places]:
            self.findings.refuse("R9", task, f"{who} of '{layer_of(operation)}' does not read the gradients of its weights")

    def gradients(self, operation: Operation) -> list[TensorType]:
        """The types of the gradients of the weights, summed, as they are kept: in f32 where the strategy says so."""
        types = self.types(operation)
        return [type.of(FloatType("f32")) for type in types] if self.trace.convention.choices.f32_gradients else types

    def types(self, operation: Operation) -> list[TensorType]:
        """The types of the weights, by the shards of what the layer reads and gives in forward."""
        rule, view, forward = rule_of(operation), self.trace.views[layer_of(operation)], self.forward(operation)
        assert forward is not None  # its callers asked
        tensors = tensors_of((*forward.operands, *forward.results[: len(operation.results)]))
        count = len(operation.operands)
        return list(rule.weight_types(part_of(rule, view.local.settings, tensors[:count], tensors[count:], view.local.first_use)))
