"""Boundary of `plan-training`: what differs from inference is which buffers there must be."""

from __future__ import annotations

from bpir.dialects.dist import tasks as dist
from bpir.dialects.dist.facts import LayerMemory
from bpir.dialects.plan import text_of
from bpir.ir.expression import ZERO
from bpir.ir.operation import Operation, Value
from bpir.verifiers.planning import BlockCheck
from bpir.verifiers.sizes import local_bytes, weight_bytes


class TrainingCheck(BlockCheck):
    """Every value, every layer's weights and every optimizer state has a buffer of its own."""

    def obligations(self) -> None:
        self.states: dict[str, str] = {}
        by_layer: dict[str, str] = {}
        self.arguments()
        returned = set(self.block.body[-1].operands)
        for task in self.block.body:
            if dist.work_of(task) is None:
                continue
            layer = _layer(task)
            if weight_bytes(task) is not ZERO:
                if layer not in by_layer:
                    by_layer[layer] = self.of(task, "constant", "persistent", weight_bytes(task))
                self.weights[task] = by_layer[layer]
            role = "gradient" if "gradient" in dist.text_of(task, "phase") else "activation"
            chosen: dict[Value, list[Operation]] = {}
            for kind in ("output", role):
                given = [value for value in task.results if (value in returned) == (kind == "output")]
                chosen.update(self.matched(given, self.held.get((kind, dist.name_of(task)), [])))
            for value in task.results:
                bound = local_bytes([value.type], self.mesh)
                what = f"result {value.index} of '{dist.name_of(task)}'"
                self.homes[value] = self.buffer(chosen[value], what, bound, "device_local", dist.name_of(task))
        for memory in self.block.body:
            facts = memory.properties.get("facts")
            if isinstance(facts, LayerMemory) and facts.optimizer is not ZERO:
                name = f"{text_of(memory, 'layer')}.optimizer"
                found = self.held.get(("optimizer", name), [])
                self.states[name] = self.buffer(found[:1], f"the state of '{name}'", facts.optimizer, "persistent", name)

    def uses(self, task: Operation) -> tuple[set[str], set[str]]:
        reads, writes = super().uses(task)
        if dist.text_of(task, "phase") == "optimizer":
            state = self.states.get(dist.name_of(task), "")
            return reads | {state}, writes | {self.weights.get(task, ""), state}
        return reads, writes


def _layer(task: Operation) -> str:
    return dist.name_of(task).removesuffix("." + dist.text_of(task, "phase"))
