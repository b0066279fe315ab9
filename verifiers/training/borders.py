"""Of one block of a distributed training module: the collectives at the borders of its regions, and the sums of its forks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from bpir.dialects.bp import TensorType
from bpir.dialects.dist import collective_tasks
from bpir.dialects.dist import tasks as dist
from bpir.dialects.model.rules.layer_view import LayerView
from bpir.dialects.model.rules.layers import layer_of, origin_of
from bpir.dialects.model.rules.local import Local
from bpir.ir.expressions.expression import ONE, ZERO
from bpir.ir.operation import Operation, Value
from bpir.ir.records import Interned
from bpir.verifiers.distribution.placed_axes import TENSOR
from bpir.verifiers.model_operations import maker_of, tensor_of, tensors_of
from bpir.verifiers.rulebooks import TRAINING
from bpir.verifiers.training.meaning import Meaning, Use, is_sum
from bpir.verifiers.training.names import is_collective_of, is_fork_of

if TYPE_CHECKING:
    from bpir.verifiers.training.block import BlockTrace


_Sum = tuple[Value, frozenset[Use]]
"""A value, and the uses whose gradients are summed."""


class _Border(metaclass=Interned):
    """Where a collective is: in which phase, and whether it reduces a partial sum there."""

    phase: str
    summed: bool

    @property
    def backward(self) -> bool:
        return self.phase == "activation_gradient"

    @property
    def again(self) -> bool:
        return self.phase == "recommunication"

    @property
    def exit(self) -> bool:
        """Whether a region ends there in forward; else one begins."""
        return self.summed != self.backward

    @property
    def kind(self) -> str:
        """The kind of layer that a collective there is."""
        return "output_collective" if self.exit else "input_collective"


class Borders:
    """Judges collectives and forks: what each changes, or sums, follows from what its operands mean."""

    def __init__(self, trace: BlockTrace) -> None:
        self.trace = trace
        self.findings = trace.findings
        self.done: set[object] = set()  # borders and sums that have their task

    # --- collectives

    @TRAINING.rule("R5", "collectives are where regions begin and end, and those of backward are the conjugates")
    def collective(self, task: dist.Task, phase: str) -> None:
        """A collective is at a border of a region; it changes how a value lies on the mesh, never what it means.

        A partial sum is reduced: behind a contraction in forward, behind the readers that enter a region in backward, once. A shard is
        gathered: where a region is entered in forward, and where one was left in backward; what two values share is gathered for both.
        """
        message = f"'{task.label}' has {len(task.operands)} operands, and a border has one value"
        if not self.findings.require("R5", len(task.operands) == len(task.results) == 1, task, message):
            return
        tensors = tensors_of((*task.operands, *task.results))
        if len(tensors) == 2:
            self._between(task, _Border(phase, bool(tensors[0].unreduced)), *tensors)

    def _between(self, task: dist.Task, border: _Border, operand: TensorType, result: TensorType) -> None:
        """Judge the collective of one value at a border."""
        trace = self.trace
        meaning = trace.meanings.get(task.operands[0], Meaning())
        values = self._candidates(meaning, border)
        if not values or not trace.layout.collectives:
            what = "is at no border of a tensor-parallel region, or its border has one already"
            self.findings.refuse("R5", task, f"the collective '{task.label}' {what}")
            return
        value, named = self._meant(task, values, border.exit)
        self.done.update((v, border.summed, border.phase) for v in (values if border.backward else [value]))
        self._comes_from(task, self._border(value, border.exit), named)
        trace.meanings[task.results[0]] = meaning if border.backward else Meaning(value=value, again=border.again)
        if self._is_collective_of(task, value, border):
            if border.again:
                self._again(task, value, border.summed, meaning)
            view = LayerView(border.kind, None, self._sides(operand, result, border.backward))
            self._judge(task, value, view, border)

    def _candidates(self, meaning: Meaning, border: _Border) -> list[Value]:
        """The values that a collective may be of: what its operand means, at a border that has no such collective yet."""
        forward = [meaning.value] if meaning.value is not None else []
        means = meaning.uses if border.backward else forward
        return [v for v in means if self._at_border(meaning, v, border) and (v, border.summed, border.phase) not in self.done]

    def _sides(self, operand: TensorType, result: TensorType, backward: bool) -> Local:
        """A collective as an operation of one rank, in the direction of forward."""
        read, made = (result, operand) if backward else (operand, result)
        return Local((), (read.local(self.trace.mesh),), (made.local(self.trace.mesh),), (True,))

    def _judge(self, task: dist.Task, value: Value, view: LayerView, border: _Border) -> None:
        """Judge the type of the result and the work; what is found of the layer is kept."""
        trace = self.trace
        expected = trace.expected(value)
        trace.type(task, task.results[0], expected if border.summed else expected.gathered(TENSOR))
        trace.views.setdefault(task.layer, view)
        trace.borders.setdefault(task.layer, value)
        if border.summed:
            trace.reduced.append(expected.local({**trace.mesh, TENSOR: ONE}))
        work = trace.convention.activation_gradient(view) if border.backward else trace.convention.forward(view)
        trace.work(task, trace.convention.repeated(work) if border.again else work)

    def _meant(self, task: dist.Task, values: list[Value], exit: bool) -> tuple[Value, bool]:
        """The value that a collective is of, and whether its layer is that of the border. Names may fit several values."""
        named = [v for v in values if is_collective_of(task.layer, self._border(v, exit), exit)]
        value = next((v for v in named if origin_of(self._border(v, exit)) == task.source), (named or values)[0])
        return value, bool(named)

    def _is_collective_of(self, task: dist.Task, value: Value, border: _Border) -> bool:
        """Whether the task is of the kind that the border needs; it reduces as the operation says that leaves partial results."""
        expected = self._needed(value, border)
        message = f"'{task.name}' is not the collective of this border, or no conjugate: expected {expected.name}"
        if not self.findings.require("R5", isinstance(task, expected), task, message):
            return False
        if isinstance(task, collective_tasks.AllReduce | collective_tasks.ReduceScatter):
            maker = maker_of(value) if border.summed and not border.backward else None
            how = maker.reduction if maker is not None else "sum"
            message = f"the collective '{task.label}' reduces by '{task.reduction}', expected {how}"
            self.findings.require("R5", task.reduction == how, task, message)
        return True

    def _needed(self, value: Value, border: _Border) -> type[collective_tasks.Collective]:
        """The collective that a border of a value needs."""
        layout = self.trace.layout
        if not border.summed:
            return collective_tasks.AllGather
        scattered = layout.scattered and not layout.has_every_token(value)
        return collective_tasks.ReduceScatter if scattered else collective_tasks.AllReduce

    def _again(self, task: dist.Task, value: Value, summed: bool, meaning: Meaning) -> None:
        needs = self.trace.needs
        needed = value in (needs.reduced_again if summed else needs.gathered_again)
        self.findings.require("R11", needed, task, f"the collective '{task.label}' is repeated without need")
        again = value.owner in needs.recomputed and value.owner not in needs.products
        message = "a repeated collective reads what is computed again, or what is kept if nothing is"
        self.findings.require("R12", meaning.again == again, task, message)

    def _border(self, value: Value, exit: bool) -> Operation:
        """The operation that ends a region with the value, or the first that begins one with it."""
        if exit:
            assert isinstance(value.owner, Operation)
            return value.owner
        return self._first(self.trace.needs.entering(value))

    def _first(self, uses: Iterable[Use]) -> Operation:
        return min((reader for reader, _ in uses), key=self.trace.place.__getitem__)

    def _comes_from(self, task: dist.Task, operation: Operation, named: bool) -> None:
        """Lineage of a fork or a collective: the layer that it is called after, and the operation of the file."""
        if not named:
            self.findings.refuse("R1", task, f"'{task.layer}' is not what belongs to '{layer_of(operation)}'")
        self.trace.origin(task, operation)

    def _at_border(self, meaning: Meaning, value: Value, border: _Border) -> bool:
        """Whether a value may be reduced, or gathered, here."""
        needs = self.trace.needs
        entering = needs.entering(value)
        at_border = self.trace.layout.leaves(value) if border.exit else bool(entering)
        if not border.backward:
            return at_border
        return at_border and meaning.sums(value, entering if border.summed else needs.uses(value))

    # --- forks

    @TRAINING.rule("R10", "a fork sums the gradient of each use once")
    def fork(self, task: dist.Task) -> None:
        """A fork sums the gradients of a value's uses, all of them or those that enter a region, each once.

        Values with the same readers can have the same sum: their forks may be taken for each other, as long as there are as many.
        """
        sums = self._sums(task)
        left = [found for found in sums if found not in self.done]
        if not left:
            self._no_sum(task)
            return
        named, own = self._called_after(task, sums)
        chosen = next((found for found in own if found in left), left[0])
        self.done.add(chosen)
        counted = len(task.results) == 1
        self.findings.require("R4", counted, task, f"the task has {len(task.results)} results, expected 1")
        if task.results:
            self._comes_from(task, self._first((own or named or [chosen])[0][1]), bool(named))
            self._result(task, [chosen, *(found for found in sums if found != chosen)])

    def _called_after(self, task: dist.Task, sums: Iterable[_Sum]) -> tuple[list[_Sum], list[_Sum]]:
        """The sums whose fork would have the layer of the task; and those of them that are of its operation of the file, too."""
        named = [found for found in sums if is_fork_of(task.layer, found[0], self._first(found[1]))]
        return named, [found for found in named if task.source == origin_of(self._first(found[1]))]

    def _no_sum(self, task: dist.Task) -> None:
        """Refuse a fork of other gradients; its result is what it should be, so that its readers are judged by themselves."""
        self.findings.refuse("R10", task, f"'{task.label}' does not sum the gradient of each use of one value once")
        claimed = self._claimed(task)
        if claimed is not None and task.results:
            entering = self.trace.needs.entering(claimed)
            self._result(task, [(claimed, entering if len(entering) > 1 else self.trace.needs.uses(claimed))], judged=False)

    def _claimed(self, task: dist.Task) -> Value | None:
        """The value whose gradient the first operand of a fork is, if it is one."""
        meanings = [self.trace.meanings.get(operand, Meaning()) for operand in task.operands[:1]]
        return next((value for meaning in meanings for value in meaning.uses), None)

    def _sums(self, task: dist.Task) -> list[_Sum]:
        """The value that the operands of the task are parts of, as a sum."""
        meanings = [self.trace.meanings.get(v, Meaning()) for v in task.operands]
        if len(meanings) < 2:
            return []
        least = min((meaning.uses for meaning in meanings), key=len)
        possible = [(value, uses) for value in least for uses in self._summable(value)]
        return [(value, uses) for value, uses in possible if is_sum(task.operands, meanings, value, uses)]

    def _summable(self, value: Value) -> list[frozenset[Use]]:
        """The uses of a value whose gradients a fork may sum: those that enter a region, and all."""
        needs = self.trace.needs
        return [uses for uses in dict.fromkeys((needs.entering(value), needs.uses(value))) if uses]

    def _result(self, task: dist.Task, sums: list[_Sum], judged: bool = True) -> None:
        """Give the result its meaning, and judge its type; of a sum that is one, the work too."""
        trace, first = self.trace, tensor_of(task.operands[0])
        for operand in task.operands:
            message = "the gradients that a fork sums must lie on the mesh in the same way"
            self.findings.require("R10", operand.type is first, task, message)
        trace.type(task, task.results[0], first)
        for value, uses in sums:
            trace.gradients.mean(task.results[0], value, uses)
        self._known_fork(task, first, sums[0])
        if judged:
            trace.numbers(task, trace.convention.activation_gradient(trace.views[task.layer]), ZERO, ZERO)

    def _known_fork(self, task: dist.Task, first: TensorType, of: _Sum) -> None:
        """Keep what is found of the layer of a fork."""
        value, uses = of
        part = first.local(self.trace.mesh)
        local = Local((), (part,), (part,), (True,))
        self.trace.views[task.layer] = LayerView("fork", None, local, len(task.operands), len(set(task.operands)))
        self.trace.borders[task.layer] = value
        if uses == self.trace.needs.projecting(value):
            self.trace.entries.add(task.layer)
