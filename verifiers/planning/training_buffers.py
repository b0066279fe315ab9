"""Boundary of `plan-training`: what differs from inference is which buffers there must be."""

from __future__ import annotations

from collections.abc import Collection

from bpir.dialects.dist.collective_tasks import AllGather
from bpir.dialects.dist.facts import Memory
from bpir.dialects.dist.tasks import Compute, Shares, Task
from bpir.dialects.plan import Buffer
from bpir.ir.expressions.expression import ZERO
from bpir.ir.operation import Value
from bpir.verifiers.planning.block import PlannedBlockCheck
from bpir.verifiers.sizes import local_bytes


class TrainingCheck(PlannedBlockCheck):
    """Every value, every layer's weights and every optimizer state has a buffer of its own."""

    def obligations(self) -> None:
        self.states: dict[str, str] = {}
        self.arguments()
        returned = set(self.block.returned)
        for shares in self.block.shares:
            self._keep_shares(shares)
        for task in self.block.tasks:
            self._keep_weights(task)
            if _updates_weights(task):
                self._updates(task)
            else:
                self._keep_each(task, returned)
        for memory in self.block.memory:
            self._keep_optimizer(memory)

    def _keep_shares(self, shares: Shares) -> None:
        """Find the buffer of a rank's shares of the weights of a layer; the optimizer updates them there."""
        size, origin = local_bytes((value.type for value in shares.results), self.mesh), self.origin(shares.label)
        found = self.held.get(("constant", origin), [])
        home = self.buffer(found[:1], f"the shares of '{self.origin(shares.layer)}'", size, "persistent", origin)
        self.homes.update(dict.fromkeys(shares.results, home))
        self.owned[self.block.symbol, shares.layer] = home

    def _keep_each(self, task: Task, returned: Collection[Value]) -> None:
        """Find the buffer of each result of a task."""
        results, origin = task.operation.results, self.origin(task.label)
        role = "gradient" if "gradient" in task.phase else "activation"
        chosen: dict[Value, list[Buffer]] = {}
        for kind in ("output", role):
            given = [value for value in results if (value in returned) == (kind == "output")]
            if given:
                chosen.update(self.matched(given, self.held.get((kind, origin), [])))
        for value in results:
            what = f"result {value.index} of '{task.label}'"
            self.homes[value] = self.buffer(chosen[value], what, self.bytes(value.type), "device_local", origin)

    def _keep_optimizer(self, memory: Memory) -> None:
        """Find the buffer of the optimizer states of a layer, if it has any."""
        size, name = memory.facts.optimizer, f"{memory.layer}.optimizer"
        if size is not ZERO:
            origin = self.origin(name)
            found = self.held.get(("optimizer", origin), [])
            self.states[name] = self.buffer(found[:1], f"the state of '{origin}'", size, "persistent", origin)

    def _updates(self, task: Task) -> None:
        """Give the results of an optimizer task, or of the gather behind it, the place of the weights: they are the updated weights."""
        home = self.weights.get(task) or next((self.homes.get(value, "") for value in task.operands[:1]), "")
        self.homes.update(dict.fromkeys(task.results, home))

    def uses(self, task: Task) -> tuple[set[str], set[str]]:
        reads, writes = super().uses(task)
        if task.phase == "optimizer" and isinstance(task, Compute):
            state = self.states.get(task.label, "")
            return reads | {state}, writes | {self.weights.get(task, ""), state}
        return reads, writes


def _updates_weights(task: Task) -> bool:
    """Whether a task gives updated weights: the optimizer does, and what gathers them behind it."""
    return task.phase == "optimizer" or (task.phase == "gradient_reduction" and isinstance(task, AllGather))
