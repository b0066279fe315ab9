"""Boundary of `plan-training`: what differs from inference is which buffers there must be."""

from __future__ import annotations

from bpir.dialects.dist.collective_tasks import AllGather
from bpir.dialects.dist.tasks import Compute, Task
from bpir.dialects.plan import Buffer
from bpir.ir.expressions.expression import ZERO
from bpir.ir.operation import Value
from bpir.verifiers.planning.block import BlockCheck
from bpir.verifiers.sizes import weight_bytes


class TrainingCheck(BlockCheck):
    """Every value, every layer's weights and every optimizer state has a buffer of its own."""

    def obligations(self) -> None:
        self.states: dict[str, str] = {}
        self.arguments()
        returned = set(self.block.returned)
        for task in self.block.tasks:
            own = weight_bytes(task)
            if own is not ZERO:
                owner = self.lineage.owner(self.block, task)
                if owner not in self.owned:
                    self.owned[owner] = self.of(task, "constant", "persistent", own)
                self.weights[task] = self.owned[owner]
            if task.phase == "optimizer" or (task.phase == "gradient_reduction" and isinstance(task, AllGather)):
                self._updates(task)
                continue
            role = "gradient" if "gradient" in task.phase else "activation"
            results = task.operation.results
            label = task.label
            origin = self.origin(label)
            chosen: dict[Value, list[Buffer]] = {}
            for kind in ("output", role):
                given = [value for value in results if (value in returned) == (kind == "output")]
                if given:
                    chosen.update(self.matched(given, self.held.get((kind, origin), [])))
            for value in results:
                what = f"result {value.index} of '{label}'"
                self.homes[value] = self.buffer(chosen[value], what, self.bytes(value.type), "device_local", origin)
        for memory in self.block.memory:
            size = memory.facts.optimizer
            if size is not ZERO:
                name = f"{memory.layer}.optimizer"
                origin = self.origin(name)
                found = self.held.get(("optimizer", origin), [])
                self.states[name] = self.buffer(found[:1], f"the state of '{origin}'", size, "persistent", origin)

    def _updates(self, task: Task) -> None:
        """What an optimizer task gives, and the gather behind it, are the weights, where they lie."""
        first = task.operands[0] if task.operands else None
        home = self.weights.get(task) or (self.homes.get(first, "") if first is not None else "")
        self.homes.update(dict.fromkeys(task.results, home))

    def uses(self, task: Task) -> tuple[set[str], set[str]]:
        reads, writes = super().uses(task)
        if task.phase == "optimizer" and isinstance(task, Compute):
            state = self.states.get(task.label, "")
            return reads | {state}, writes | {self.weights.get(task, ""), state}
        return reads, writes
