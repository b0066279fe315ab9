"""Of one block of a distributed training module: the collectives at the borders of its regions, and the sums of its forks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from bpir.dialects.bp import TensorType
from bpir.dialects.dist import collective_tasks
from bpir.dialects.dist import tasks as dist
from bpir.dialects.model.rules.conventions import LayerView
from bpir.dialects.model.rules.operation import Local, ModelOperation, layer_of, origin_of
from bpir.ir.expressions.expression import ONE, ZERO
from bpir.ir.operation import Operation, Value
from bpir.verifiers.distribution.placed_axes import TENSOR
from bpir.verifiers.rulebooks import TRAINING
from bpir.verifiers.training.meaning import Meaning, Use, is_sum
from bpir.verifiers.training.names import is_collective_of, is_fork_of

if TYPE_CHECKING:
    from bpir.verifiers.training.block import BlockTrace


_Sum = tuple[Value, frozenset[Use]]
"""A value, and the uses whose gradients are summed."""


class Borders:
    """Judges collectives and forks: what each changes, or sums, follows from what its operands stand for."""

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
        if len(task.operands) != 1 or len(task.results) != 1:
            self.findings.refuse("R5", task, f"'{task.label}' has {len(task.operands)} operands, and a border has one value")
            return
        trace = self.trace
        meaning = trace.meanings.get(task.operands[0], Meaning())
        operand, result = task.operands[0].type, task.results[0].type
        backward, again = phase == "activation_gradient", phase == "recommunication"
        if not isinstance(operand, TensorType) or not isinstance(result, TensorType):
            return
        summed = bool(operand.unreduced)
        exit = summed != backward
        values = self._candidates(meaning, summed, phase)
        if not values or not trace.layout.collectives:
            what = "is at no border of a tensor-parallel region, or its border has one already"
            self.findings.refuse("R5", task, f"the collective '{task.label}' {what}")
            return
        value, named = self._meant(task, values, exit)
        self.done.update((v, summed, phase) for v in (values if backward else [value]))
        self._comes_from(task, self._border(value, exit), named)
        trace.meanings[task.results[0]] = meaning if backward else Meaning(value=value, again=again)
        if not self._is_collective_of(task, value, summed, backward):
            return
        if again:
            self._again(task, value, summed, meaning)
        view = LayerView("output_collective" if exit else "input_collective", None, self._sides(operand, result, backward))
        self._judge(task, value, view, summed)
        work = trace.convention.activation_gradient(view) if backward else trace.convention.forward(view)
        trace.work(task, trace.convention.repeated(work) if again else work)

    def _candidates(self, meaning: Meaning, summed: bool, phase: str) -> list[Value]:
        """The values that a collective may be of: what its operand stands for, at a border that has no such collective yet."""
        backward = phase == "activation_gradient"
        stands_for = meaning.uses if backward else [meaning.value] if meaning.value is not None else []
        return [v for v in stands_for if self._at_border(meaning, v, summed, backward) and (v, summed, phase) not in self.done]

    def _sides(self, operand: TensorType, result: TensorType, backward: bool) -> Local:
        """A collective as an operation of one rank, in the direction of forward."""
        read, made = (result, operand) if backward else (operand, result)
        return Local((), (read.local(self.trace.mesh),), (made.local(self.trace.mesh),), (True,))

    def _judge(self, task: dist.Task, value: Value, view: LayerView, summed: bool) -> None:
        """Judge the type of the result; what is found of the layer is kept."""
        trace = self.trace
        expected = trace.expected(value)
        trace.type(task, task.results[0], expected if summed else expected.gathered(TENSOR))
        trace.views.setdefault(task.layer, view)
        trace.borders.setdefault(task.layer, value)
        if summed:
            trace.reduced.append(expected.local({**trace.mesh, TENSOR: ONE}))

    def _meant(self, task: dist.Task, values: list[Value], exit: bool) -> tuple[Value, bool]:
        """The value that a collective is of, and whether its layer is that of the border. Names may fit several values."""
        named = [v for v in values if is_collective_of(task.layer, self._border(v, exit), exit)]
        value = next((v for v in named if origin_of(self._border(v, exit)) == task.source), (named or values)[0])
        return value, bool(named)

    def _is_collective_of(self, task: dist.Task, value: Value, summed: bool, backward: bool) -> bool:
        """Whether the task is of the kind that the border needs; it reduces as the operation says that leaves partial results."""
        layout = self.trace.layout
        scattered = layout.scattered and not layout.has_every_token(value)
        expected = (collective_tasks.ReduceScatter if scattered else collective_tasks.AllReduce) if summed else collective_tasks.AllGather
        if not isinstance(task, expected):
            message = f"'{task.name}' is not the collective of this border, or no conjugate: expected {expected.name}"
            self.findings.refuse("R5", task, message)
            return False
        maker = value.owner.declaration if isinstance(value.owner, Operation) and summed and not backward else None
        how = maker.reduction if isinstance(maker, ModelOperation) else "sum"
        if isinstance(task, collective_tasks.AllReduce | collective_tasks.ReduceScatter) and task.reduction != how:
            self.findings.refuse("R5", task, f"the collective '{task.label}' reduces by '{task.reduction}', expected {how}")
        return True

    def _again(self, task: dist.Task, value: Value, summed: bool, meaning: Meaning) -> None:
        needs = self.trace.needs
        if value not in (needs.reduced_again if summed else needs.gathered_again):
            self.findings.refuse("R11", task, f"the collective '{task.label}' is repeated without need")
        if meaning.again != (value.owner in needs.recomputed and value.owner not in needs.products):
            self.findings.refuse("R12", task, "a repeated collective reads what is computed again, or what is kept if nothing is")

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

    def _at_border(self, meaning: Meaning, value: Value, summed: bool, backward: bool) -> bool:
        """Whether a value may be reduced, or gathered, here."""
        needs = self.trace.needs
        leaves = self.trace.layout.leaves(value)
        enters = bool(needs.entering(value))
        if backward:
            if summed:
                return enters and meaning.sums(value, needs.entering(value))
            return leaves and meaning.sums(value, needs.uses(value))
        return leaves if summed else enters

    # --- forks

    @TRAINING.rule("R10", "a fork sums the gradient of each use once")
    def fork(self, task: dist.Task) -> None:
        """A fork sums the gradients of a value's uses, all of them or those that enter a region, each once.

        Values with the same readers can have the same sum: their forks may stand for each other, as long as there are as many.
        """
        sums = self._sums(task)
        left = [found for found in sums if found not in self.done]
        if not left:
            self._no_sum(task)
            return
        named, own = self._called_after(task, sums)
        chosen = next((found for found in own if found in left), left[0])
        self.done.add(chosen)
        if len(task.results) != 1:
            self.findings.refuse("R4", task, f"the task has {len(task.results)} results, expected 1")
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
        claimed = next(iter(self.trace.meanings.get(task.operands[0], Meaning()).uses), None) if task.operands else None
        if claimed is not None and task.results:
            entering = self.trace.needs.entering(claimed)
            self._result(task, [(claimed, entering if len(entering) > 1 else self.trace.needs.uses(claimed))], judged=False)

    def _sums(self, task: dist.Task) -> list[_Sum]:
        """The value that the operands of the task are parts of, as a sum."""
        meanings = [self.trace.meanings.get(v, Meaning()) for v in task.operands]
        if len(meanings) < 2:
            return []
        found = []
        for value in min((m.uses for m in meanings), key=len):
            for uses in dict.fromkeys((self.trace.needs.entering(value), self.trace.needs.uses(value))):
                if uses and is_sum(task.operands, meanings, value, uses):
                    found.append((value, uses))
        return found

    def _result(self, task: dist.Task, sums: list[_Sum], judged: bool = True) -> None:
        """Give the result its meaning, and judge its type; of a sum that is one, the work too."""
        first = task.operands[0].type
        for operand in task.operands:
            if operand.type is not first:
                self.findings.refuse("R10", task, "the gradients that a fork sums must lie on the mesh in the same way")
        assert isinstance(first, TensorType)
        trace = self.trace
        trace.type(task, task.results[0], first)
        for value, uses in sums:
            trace.gradient(task.results[0], value, uses)
        value, uses = sums[0]
        part = first.local(trace.mesh)
        local = Local((), (part,), (part,), (True,))
        layer = task.layer
        trace.views[layer] = LayerView("fork", None, local, len(task.operands), len(set(task.operands)))
        trace.borders[layer] = value
        if uses == trace.needs.projecting(value):
            trace.entries.add(layer)
        if judged:
            trace.numbers(task, trace.convention.activation_gradient(trace.views[layer]), ZERO, ZERO)
