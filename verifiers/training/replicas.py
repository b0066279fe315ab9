"""Of one block of a distributed training module: what replicas of the batch exchange of the gradients of weights, and of weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bpir.dialects.bp import TensorType, product
from bpir.dialects.dist import collective_tasks
from bpir.dialects.dist import tasks as dist
from bpir.dialects.model.rules.layer_view import LayerView
from bpir.dialects.model.rules.layers import layer_of, origin_of, tied_to
from bpir.dialects.replicas import REPLICAS
from bpir.ir.diagnostic import note
from bpir.ir.expressions.expression import ONE, Expr, ceildiv
from bpir.ir.operation import Operation, Value
from bpir.ir.relations.facts import Relation
from bpir.verifiers.rulebooks import TRAINING
from bpir.verifiers.training.gathered_weights import GatheredWeights
from bpir.verifiers.training.meaning import Meaning
from bpir.verifiers.training.names import is_exchange_of
from bpir.verifiers.zero_stages import SHARES_OPTIMIZER_STATES, SHARES_WEIGHTS

if TYPE_CHECKING:
    from bpir.verifiers.training.weights import Weights


class Replicas:
    """Judges the collectives over replicas by what they read and the strategy's ZeRO stage.

    Each replica has its own part of the batch, and a weight has no batch axis: its gradient is a partial sum over the ranks that hold the
    same weight. These are the replicas along every axis that does not shard it.
    """

    def __init__(self, weights: Weights) -> None:
        self.weights = weights
        self.trace = weights.trace
        self.findings = weights.findings
        self.stage = self.trace.convention.choices.zero
        equal = self.findings.facts.equal
        self.axes = tuple(axis for axis in REPLICAS if axis in self.trace.mesh and not equal(self.trace.mesh[axis], ONE).proved)
        self.assumable: set[Relation] = set()  # that replicas have whole shares
        self.done: dict[tuple[Operation, str], dist.Task] = {}
        self.gathered = GatheredWeights(self)

    def over(self, operation: Operation) -> tuple[str, ...]:
        """The mesh axes whose ranks hold the same weights of an operation."""
        own = {axis for type in self.weights.types(operation) for names in type.axes for axis in names}
        return tuple(axis for axis in self.axes if axis not in own)

    def shared(self, view: LayerView, operation: Operation, task: dist.Task) -> LayerView:
        """The view of a layer with how many ranks hold its weights, and the share of each weight that a rank would have."""
        rule = view.rule
        if not self.axes or rule is None or not rule.weight_types(view.local):
            return view
        self.trace.views[layer_of(operation)] = view
        over = self.over(operation)
        del self.trace.views[layer_of(operation)]
        copies = product(self.trace.mesh[axis] for axis in over) if over else ONE
        parts = tuple(self._share(type.elements, copies) for type in rule.weight_types(view.local)) if over else ()
        return LayerView(view.kind, rule, view.local, view.uses, view.gradients, copies, parts)

    def _share(self, elements: Expr, copies: Expr) -> Expr:
        """The elements of a weight that one of so many ranks has; that they share them evenly may be assumed from ZeRO 1 on."""
        if self.trace.convention.name != "standard":  # Calculon's shares may be fractions
            return elements / copies
        if self.stage >= SHARES_OPTIMIZER_STATES:
            self.assumable.add(Relation("divides", copies, elements))
        return ceildiv(elements, copies)

    def kept(self, operation: Operation) -> list[TensorType]:
        """The types of the gradients that the optimizer reads: summed, and a share of their elements from ZeRO 1 on."""
        over = self.over(operation) if self.stage >= SHARES_OPTIMIZER_STATES else ()
        return [type.share(*over) for type in self.weights.gradients(operation)]

    def _gathers(self, operation: Operation) -> bool:
        """Whether the optimizer gives shares of the weights, which are gathered then."""
        return SHARES_OPTIMIZER_STATES <= self.stage < SHARES_WEIGHTS and bool(self.over(operation))

    def updated(self, task: dist.Task, operation: Operation) -> None:
        """Judge what an optimizer task gives: nothing, or a rank's shares of the weights."""
        types = [type.share(*self.over(operation)) for type in self.weights.types(operation)] if self._gathers(operation) else []
        if self.trace.results(task, types):
            for place, value in enumerate(task.results):
                self.trace.meanings[value] = Meaning(updated=(operation, place))

    def concern(self, task: collective_tasks.Collective) -> bool:
        """Whether a collective is one between replicas."""
        return bool(set(task.mesh_axes) & set(REPLICAS))

    @TRAINING.rule("R21", "gradients of weights are summed, and weights gathered, over the replicas that hold them, as the ZeRO stage says")
    def collective(self, task: collective_tasks.Collective, phase: str) -> None:
        """Judge a collective over replicas: what it reads says whose gradients or weights it is about."""
        if self.gathered.gathers_shares(task):
            return
        operation = self._read_weights(task)
        if phase != "gradient_reduction" or operation is None:
            what = "is between replicas, and reads neither gradients of weights nor updated weights"
            self.findings.refuse("R21", task, f"'{task.label}' {what}")
            return
        what = "gradients" if task.reduces else "weights"
        if task.reduces:  # what it is meant to give: its readers are judged by themselves
            self.trace.meanings.update((value, Meaning(weight=(operation, place))) for place, value in enumerate(task.results))
        first = self.done.setdefault((operation, what), task)
        message = f"the {what} of '{layer_of(operation)}' have a second collective"
        if self.findings.require("R21", first is task, task, message, note("the first", first.span)):
            self._judge(task, operation, what)

    def _read_weights(self, task: collective_tasks.Collective) -> Operation | None:
        """The operation whose updated weights, or gradients of weights, a collective reads first."""
        meaning = self.trace.meanings.get(task.operands[0], Meaning()) if task.operands else Meaning()
        read = meaning.updated or meaning.weight
        return read[0] if read is not None else None

    def _judge(self, task: collective_tasks.Collective, operation: Operation, what: str) -> None:
        """Whether it is the collective that the stage asks for, between the ranks that hold the weights."""
        layer = layer_of(operation)
        named = is_exchange_of(task.layer, operation, what) and task.source == origin_of(operation)
        self.findings.require("R1", named, task, f"'{task.label}' is of the {what} of '{layer}', and says another name or source")
        if layer not in self.trace.views:
            return  # its forward task is missing or has another form, which is refused: nothing says what its weights are
        if not self._is_of_kind(task, layer, what) or not self._is_among(task, operation, what):
            return
        if tied_to(operation):
            self.findings.refuse("R21", task, f"the weights of '{layer}' are another layer's, which has their collectives")
        elif what == "gradients":
            self._reduction(task, operation)
        else:
            self._gather(task, operation)

    def _kind(self, what: str) -> type[collective_tasks.Collective]:
        """The collective that the stage asks for."""
        if what == "weights":
            return collective_tasks.AllGather
        return collective_tasks.ReduceScatter if self.stage >= SHARES_OPTIMIZER_STATES else collective_tasks.AllReduce

    def _is_of_kind(self, task: collective_tasks.Collective, layer: str, what: str) -> bool:
        """Whether a collective is of the kind that the stage asks for, and sums what it reduces."""
        kind = self._kind(what)
        sums = not isinstance(task, collective_tasks.AllReduce | collective_tasks.ReduceScatter) or task.reduction == "sum"
        wanted = f"under ZeRO {self.stage} the {what} of '{layer}' need a {kind.name}{' of the sum' if kind.reduces else ''}"
        return self.findings.require("R21", isinstance(task, kind) and sums, task, f"{wanted}, found {task.name}")

    def _is_among(self, task: collective_tasks.Collective, operation: Operation, what: str) -> bool:
        """Whether a collective is among the ranks that hold the weights, and shares out their elements if it does not give all."""
        over, elements = self.over(operation), self._kind(what) is not collective_tasks.AllReduce
        how = " by their elements" if elements else ""
        wanted = f"those that hold the {what} of '{layer_of(operation)}' exchange them{how} over {', '.join(over) or 'no axis'}"
        found = f"{', '.join(task.mesh_axes)}{' by elements' if task.elements else ''}"
        same = task.axes == (over,) and task.elements == elements
        return self.findings.require("R21", same, task, f"{wanted}, found {found}")

    def _reduction(self, task: collective_tasks.Collective, operation: Operation) -> None:
        gradients = self.weights.gradients(operation)
        self.weights.reads_gradients(task, operation, range(len(gradients)), "the reduction over replicas")
        self._types(task, task.operands, [type.partial(*self.over(operation)) for type in gradients])
        if self.trace.results(task, self.kept(operation)):
            self.trace.work(task, self.trace.convention.replica_reduction(self.trace.views[layer_of(operation)]))

    def _gather(self, task: collective_tasks.Collective, operation: Operation) -> None:
        types = self.weights.types(operation)
        found = [self.trace.meanings.get(value, Meaning()).updated for value in task.operands]
        all_read = found == [(operation, place) for place in range(len(types))]
        message = f"'{task.label}' does not gather the updated weights of '{layer_of(operation)}'"
        if self.findings.require("R21", all_read, task, message) and self.trace.results(task, types):
            self.trace.work(task, self.trace.convention.weight_gather(self.trace.views[layer_of(operation)]))

    def _types(self, task: dist.Task, values: Sequence[Value], types: Sequence[TensorType]) -> None:
        for value, type in zip(values, types, strict=False):
            self.trace.type(task, value, type)

    def missing(self, operation: Operation) -> None:
        """Refuse that a layer's gradients are not summed over replicas, or its updated weights not gathered."""
        layer = layer_of(operation)
        if not self._has_own_weights(operation) or not self.over(operation):
            return
        where = ", ".join(self.over(operation))
        for what, wanted, done in (("gradients", True, "summed"), ("weights", self._gathers(operation), "gathered")):
            there = not wanted or (operation, what) in self.done
            self.findings.require("R21", there, self.trace.block, f"the {what} of '{layer}' are not {done} over {where}")

    def _has_own_weights(self, operation: Operation) -> bool:
        """Whether an operation has weights that are no other layer's, and a forward task of its form."""
        if not self.trace.has_weights(layer_of(operation)) or tied_to(operation):
            return False
        return self.weights.forward(operation) is not None
