"""The bytes that the text states for each layer, against the bytes of the arrays that its tasks had."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

import attrs

from bpir.dialects.dist import tasks as dist
from bpir.dialects.dist.facts import Memory
from bpir.ir.diagnostic import Diagnostic, error
from bpir.ir.operation import Value
from bpir.run.call import Array, Meter
from bpir.run.lineage import is_activation
from bpir.run.numbers import Numbers
from bpir.run.ranks.updates import Updates
from bpir.run.ranks.values import shares_of


@attrs.frozen(eq=False)
class LayerBytes:
    """Measures the facts of `dist.memory` on the rank with the most bytes.

    Attributes:
        zero: the ZeRO stage: from 2 on a rank keeps what the optimizer reads of a gradient, before all of it.
        updates: the weights that the optimizer has updated.
        fused: activations write no gradient of their own.
    """

    block: dist.Block
    arrays: Mapping[Value, Sequence[Array]]
    meters: Mapping[dist.Task, Sequence[Meter]]
    numbers: Numbers
    zero: int
    updates: Updates
    fused: bool

    def wrong(self) -> list[Diagnostic]:
        """The first fact of each layer that is not what was measured."""
        tasks = {(task.layer, task.phase): task for task in self.meters}
        found = []
        for memory in self.block.memory:
            facts, layer = memory.facts, memory.layer
            measured = self._measured(memory, {phase: task for (name, phase), task in tasks.items() if name == layer})
            for name, stated in zip(facts.names(), facts.components, strict=True):
                value = self.numbers.fraction(stated)
                if value != measured[name]:
                    shown = f"{stated.text} = {value}" if stated.symbols else str(value)
                    found.append(error(f"'{layer}' states {name} = {shown} bytes, its tasks have {measured[name]}", memory.span))
                    break
        return found

    def _measured(self, memory: Memory, tasks: Mapping[str, dist.Task]) -> dict[str, Fraction]:
        forward, backward, update = (tasks.get(phase) for phase in ("forward", "activation_gradient", "weight_gradient"))
        if backward is not None and self.fused and is_activation(backward):
            backward = None
        tied = forward is not None and bool(forward.tied)  # its weights, and their gradient and states, are another layer's
        made = update.results if update is not None and not tied else []
        adam = tasks.get("optimizer")
        read = adam.operands if adam is not None else []
        kept = read if self.zero >= 2 else made
        copies = adam is not None and self.updates.copies(self.updates.like(adam))
        return {
            "weight": self._weights(forward if not tied else None),
            "activation": self._bytes(list(dict.fromkeys(memory.operands))),
            "output": self._bytes(_without_mask(forward)) if forward is not None else Fraction(0),
            "weight_gradient": self._bytes(kept),
            "weight_gradient_unsharded": Fraction(4 * sum(map(self._elements, made))),
            "activation_gradient": self._bytes(backward.results) if backward is not None else Fraction(0),
            "optimizer": Fraction((12 if copies else 8) * sum(map(self._elements, read))),
        }

    def _shares(self, task: dist.Task) -> Fraction:
        """The bytes of the shares from which the weights of a task are gathered."""
        return self._bytes(list(dict.fromkeys(share for value in task.gathered_weights for share in shares_of(value))))

    def _weights(self, task: dist.Task | None) -> Fraction:
        if task is None:
            return Fraction(0)
        if task.gathered:
            return self._shares(task)
        return max(sum((size for size in meter.held.values()), Fraction(0)) for meter in self.meters[task])

    def _elements(self, value: Value) -> int:
        return max(int(array.size) for array in self.arrays[value])

    def _bytes(self, values: Sequence[Value]) -> Fraction:
        return sum((self._elements(v) * self.numbers.width(v) for v in values), Fraction(0))


def _without_mask(task: dist.Task) -> list[Value]:
    """The results of a forward task, but for the mask of a dropout."""
    return task.results[:-1] if task.kind_of_work == "dropout" else task.results
