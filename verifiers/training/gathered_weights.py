"""Of one block of a distributed training module: the shares of weights under ZeRO 3, and the gathers for the tasks that read them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from bpir.dialects.dist import collective_tasks
from bpir.dialects.dist import tasks as dist
from bpir.dialects.model.rules.layers import layer_of, origin_of, tied_to
from bpir.ir.expressions.expression import ZERO
from bpir.ir.operation import Operation, Value
from bpir.verifiers.model_operations import rule_of
from bpir.verifiers.rulebooks import TRAINING
from bpir.verifiers.training.names import is_exchange_of
from bpir.verifiers.zero_stages import SHARES_WEIGHTS

if TYPE_CHECKING:
    from bpir.verifiers.training.replicas import Replicas


class GatheredWeights:
    """Judges the gathers of weights from shares once all tasks are known: what a layer's weights are, its forward task says.

    A rank keeps a share of each weight and has all of it only from a gather on: each task that reads weights reads those of a gather of its
    own time. Forward has one, backward another, which what is repeated reads before.
    """

    def __init__(self, replicas: Replicas) -> None:
        self.replicas = replicas
        self.trace = replicas.trace
        self.findings = replicas.trace.findings
        self.shares: dict[Value, dist.Shares] = {}
        self.gathers: dict[Operation, collective_tasks.Collective] = {}
        self._owned: dict[str, Operation] = {}  # where the shares of each layer lie
        self._accounted: set[Operation] = set()

    def lie(self, shares: dist.Shares) -> None:
        """Note where shares lie."""
        self.shares.update(dict.fromkeys(shares.results, shares))

    def gathers_shares(self, task: collective_tasks.Collective) -> bool:
        """Whether a collective reads shares, and is judged here."""
        found = any(value in self.shares for value in task.operands)
        if found:
            self.gathers[task.operation] = task
        return found

    @TRAINING.rule(
        "R22",
        "under ZeRO 3 the weights that replicas share are gathered for forward, and again for backward, and each task that reads weights "
        "reads those that were gathered for it",
    )
    def run(self) -> None:
        """Judge all shares and gathers, and what each task reads of them."""
        for operation in self.trace.layers.values():
            self._layer(operation)
        for task in self.trace.block.tasks:
            unknown = task.gathered and task.operation not in self._accounted
            self.findings.require("R22", not unknown, task, f"'{task.label}' reads gathered weights, and none are gathered for it")
        for gather in self.gathers.values():
            used = gather.operation in self._accounted
            self.findings.require("R22", used, gather, f"'{gather.label}' gathers weights that no task of that time reads")
        for shares in self.trace.block.shares:
            known = shares.operation in self._owned.values()
            self.findings.require("R22", known, shares, f"'{shares.label}' are shares of weights that no task gathers")

    def _layer(self, operation: Operation) -> None:
        """Judge the gathers of a layer's weights, if ranks share these."""
        replicas, layer = self.replicas, layer_of(operation)
        if replicas.stage < SHARES_WEIGHTS or not self.trace.has_weights(layer) or replicas.weights.forward(operation) is None:
            return
        if layer not in self.trace.views or not replicas.over(operation):
            return  # of a layer whose forward task is refused nothing is known
        for phase, time in self._reading(operation):
            task = self.trace.tasks.get((layer, phase))
            if task is not None:  # another rule refuses that it is missing
                self._accounted.add(task.operation)
                self._reads(task, operation, time)

    def _reading(self, operation: Operation) -> Iterator[tuple[str, str]]:
        """The phases of a layer's tasks that read its weights, each with that of the gather."""
        again = operation in self.trace.needs.recomputed
        yield "forward", "forward"
        if again:
            yield "recompute", "recommunication"
        view = self.trace.views[layer_of(operation)]
        if not self.trace.gradients.is_copy(operation) and rule_of(operation).gradient_weights(view.local) is not ZERO:
            yield "activation_gradient", "recommunication" if again else "activation_gradient"

    def _reads(self, task: dist.Task, operation: Operation, time: str) -> None:
        """A task reads all weights of its layer from one gather of a time."""
        layer, found = layer_of(operation), task.gathered_weights
        gather = collective_tasks.AllGather.of(found[0].producer) if found else None
        whole = gather is not None and found == gather.results and gather.phase == time and gather.operation in self.gathers
        whole = whole and not tied_to(operation)  # nothing says how a table is gathered for another layer
        message = f"'{task.label}' does not read the weights of '{layer}' that an all_gather of the phase {time} gives"
        if self.findings.require("R22", whole, task, message) and gather is not None and gather.operation not in self._accounted:
            self._accounted.add(gather.operation)
            self._gather(gather, operation)

    def _gather(self, gather: collective_tasks.AllGather, operation: Operation) -> None:
        """A gather is of the shares of a layer, whose type says which ranks have them, and costs what the convention says."""
        layer = layer_of(operation)
        named = is_exchange_of(gather.layer, operation, "weights") and gather.source == origin_of(operation)
        self.findings.require("R1", named, gather, f"'{gather.label}' is of the weights of '{layer}', and says another name or source")
        self._of_layer(gather, operation)
        if self.trace.results(gather, self.replicas.weights.types(operation)):
            self.trace.work(gather, self.trace.convention.weight_gather(self.trace.views[layer]))

    def _of_layer(self, gather: collective_tasks.AllGather, operation: Operation) -> None:
        """What a gather reads are the shares of the layer, which lie there once."""
        layer = layer_of(operation)
        shares = self.shares.get(gather.operands[0])
        once = shares is not None and self._owned.setdefault(layer, shares.operation) is shares.operation
        whole = shares is not None and gather.operands == shares.results and once
        if not self.findings.require("R22", whole, gather, f"'{gather.label}' does not gather the shares of '{layer}'") or shares is None:
            return
        named = is_exchange_of(shares.label, operation, "shares") and shares.layer == layer and shares.source == origin_of(operation)
        self.findings.require("R1", named, shares, f"'{shares.label}' are the shares of '{layer}', and say another name or source")
        types = [type.share(*self.replicas.over(operation)) for type in self.replicas.weights.types(operation)]
        for value, type in zip(shares.results, types, strict=False):
            self.trace.type(shares, value, type)
