"""Of one block of a distributed training module: the gradients of values, and what the tasks that compute them read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bpir.dialects.bp import TensorType
from bpir.dialects.dist import tasks as dist
from bpir.dialects.model.rules.layers import layer_of
from bpir.dialects.model.rules.operation import ModelOperation
from bpir.ir.operation import Operation, Value
from bpir.verifiers.distribution.placed_axes import TENSOR
from bpir.verifiers.model_operations import rule_of
from bpir.verifiers.rulebooks import TRAINING
from bpir.verifiers.training.meaning import Meaning, Use

if TYPE_CHECKING:
    from bpir.verifiers.training.block import BlockTrace


class Gradients:
    """Gives gradients their meaning, and judges the tasks that compute them by what they read."""

    def __init__(self, trace: BlockTrace) -> None:
        self.trace = trace
        self.findings = trace.findings
        self.needs = trace.needs

    def mean(self, image: Value, value: Value, uses: frozenset[Use]) -> None:
        """Give an image the meaning of a gradient: it sums what these uses of the value contribute.

        Complete, it is the gradient of the operands of an operation whose gradient is a copy, too.
        """
        claims = self.trace.meanings.setdefault(image, Meaning()).uses
        stack = [(value, uses)]
        while stack:
            value, uses = stack.pop()
            if uses not in claims.get(value, ()):
                claims.setdefault(value, []).append(uses)
                stack += self._copied_to(value, uses)

    def _copied_to(self, value: Value, uses: frozenset[Use]) -> list[tuple[Value, frozenset[Use]]]:
        """The operands, each with its use, whose gradient a complete gradient of a value is, too."""
        owner = value.owner
        if uses != self.needs.uses(value) or not isinstance(owner, Operation) or not self.is_copy(owner):
            return []
        made_of = rule_of(owner).factors(owner).lane_of_result(value.index).operands
        return [(owner.operands[index], frozenset({(owner, index)})) for index in reversed(made_of)]

    def is_copy(self, operation: Operation) -> bool:
        """Whether the gradient of an operation's operands is that of its result, so that no task computes it."""
        rule = operation.declaration
        return isinstance(rule, ModelOperation) and rule.residual and self.trace.convention.aliases_residual

    def is_complete(self, image: Value, value: Value) -> bool:
        """Whether an image means the gradient of a value, summed over all its uses."""
        return self.trace.meanings.get(image, Meaning()).sums(value, self.needs.uses(value))

    def task(self, task: dist.Task, operation: Operation) -> None:
        """Judge a task of the phase `activation_gradient`."""
        view = self.trace.views.get(layer_of(operation))
        message = f"the gradient of '{layer_of(operation)}' is a copy, which needs no task"
        if not self.findings.require("R8", not self.is_copy(operation), task, message):
            return
        self.reads(task, operation, self.needs.reads(operation, False))
        types = []
        for index in differentiable(operation):
            type = self.trace.operand_type(operation, index).reduced
            types.append(type.partial(TENSOR) if self.trace.layout.enters(operation, index) else type)
        if self.trace.results(task, types) and view is not None:
            rule, work = rule_of(operation), self.trace.convention.activation_gradient(view)
            self.trace.numbers(task, work, rule.gradient_weights(view.local), rule.gradient_matmul(view.local))

    @TRAINING.rule("R8", "a gradient task reads the complete gradient of its result, and what its rule needs")
    def reads(self, task: dist.Task, operation: Operation, needed: Sequence[Value | Operation], more: int = 0) -> None:
        """A gradient task reads the complete gradient of each result, then what its rule needs, kept or made again, then so many more."""
        count = len(operation.results)
        expected = count + len(needed) + more
        message = f"the task has {len(task.operands)} operands, expected {expected}"
        if not self.findings.require("R8", len(task.operands) == expected, task, message):
            return
        for image, value in zip(task.operands, operation.results, strict=False):
            self._reads_gradient(task, operation, image, value)
        for image, need in zip(task.operands[count:], needed, strict=False):
            if (need if isinstance(need, Operation) else need.owner) not in self.trace.lost:
                self._reads_kept(task, operation, image, need)

    def _reads_gradient(self, task: dist.Task, operation: Operation, image: Value, value: Value) -> None:
        if not self.is_complete(image, value):
            self.findings.refuse("R8", task, f"'{layer_of(operation)}' does not read the complete gradient of its result")
            return
        type = self.trace.expected(value)
        self.trace.type(task, image, type.gathered(TENSOR) if self.trace.layout.is_partial(value) else type)

    @TRAINING.rule("R12", "backward reads what is kept or repeated")
    def _reads_kept(self, task: dist.Task, operation: Operation, image: Value, need: Value | Operation) -> None:
        meaning = self.trace.meanings.get(image, Meaning())
        found = meaning.mask if isinstance(need, Operation) else meaning.value
        message = f"the gradient of '{layer_of(operation)}' reads another value than its rule needs"
        if not self.findings.require("R8", found is need, task, message):
            return
        if isinstance(need, Value):
            self.trace.type(task, image, self._read_type(operation, need))
        again = self.needs.is_made_again((need, False) if isinstance(need, Operation) else self.needs.read_as(operation, need))
        what = "is neither kept nor repeated: backward makes it again" if again else "is kept, and need not be repeated"
        message = f"a value that the gradient of '{layer_of(operation)}' reads {what}"
        self.findings.require("R12", again == meaning.again, task, message)

    def _read_type(self, operation: Operation, need: Value) -> TensorType:
        """The type of a value as the gradient of an operation reads it: as the operation does, if that reads it."""
        if need not in operation.operands:
            return self.trace.expected(need)
        return self.trace.operand_type(operation, operation.operands.index(need))


def differentiable(operation: Operation) -> list[int]:
    """The operands of an operation that have a gradient: numbers of rows have none, nor what it takes as a constant."""
    rule = operation.declaration
    return rule.with_gradient(operation) if isinstance(rule, ModelOperation) else []
