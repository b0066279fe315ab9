"""What planning does with every distributed block: tasks, buffers, groups, objectives."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import attrs

from bpir.dialects.bind import as_word, fields_of
from bpir.dialects.bp import ExprAttr
from bpir.dialects.dist.memory import local_bytes, weight_bytes, workspace_bound
from bpir.dialects.dist.parts import mesh_entries
from bpir.dialects.dist.tasks import Collective, kind_of, local, name_of, rule_of, text_of, work_of
from bpir.dialects.plan import resources_of_work, symbol_of
from bpir.ir.attributes import I64, ArrayAttr, Attribute, IntegerAttr, StringAttr, SymbolRefAttr
from bpir.ir.diagnostic import fail
from bpir.ir.expression import ZERO, Expr
from bpir.ir.operation import Operation, Value
from bpir.ir.syntax import references
from bpir.passes.distribution import build
from bpir.passes.levels import top_level

ALIGNMENT = 256
"""Bytes: what an allocator of accelerator memory gives at least (CUDA C++ Programming Guide, device memory accesses)."""

OBJECTIVES = {"decode": ("memory", "network", "compute"), "prefill": ("compute", "memory", "network")}


@attrs.define
class _Buffer:
    name: str
    role: str
    storage: str
    size: Expr
    source: str = ""
    producers: dict[str, int] = attrs.field(factory=dict)
    consumers: dict[str, int] = attrs.field(factory=dict)

    def operation(self, block: Operation) -> Operation:
        used = [*self.producers.values(), *self.consumers.values()] or [0]
        properties: dict[str, Attribute] = {
            "sym_name": StringAttr(self.name),
            "role": StringAttr(self.role),
            "storage": StringAttr(self.storage),
            "size": ExprAttr(self.size),
            "alignment": IntegerAttr(ALIGNMENT, I64),
            "live": ArrayAttr((IntegerAttr(min(used), I64), IntegerAttr(max(used), I64))),
        }
        if self.source:
            properties["source"] = StringAttr(self.source)
        shared = self.role == "workspace"
        if self.producers and not shared:
            properties["producers"] = symbols(self.producers)
        if self.consumers and not shared:
            properties["consumers"] = symbols(self.consumers)
        return build("plan.buffer", properties=properties, span=block.span)


def symbols(names: Iterable[str]) -> ArrayAttr:
    return ArrayAttr(tuple(SymbolRefAttr((name,)) for name in names))


class Planning:
    """Plans one `dist.block`: `operations()` are its objective, buffers, tasks and groups, in that order."""

    def __init__(self, module: Operation, block: Operation, meshes: Mapping[str, Operation]) -> None:
        self.block = block
        name = references(ArrayAttr((block.properties["mesh"],)))[0]
        if name not in meshes:
            raise fail(f"there is no dist.mesh @{name}", block.span)
        self.mesh: dict[str, Expr] = dict(mesh_entries(meshes[name].properties.get("axes")))
        self.phase = self._phase(module)
        self.tasks = [o for o in block.body if work_of(o) is not None]
        self.buffers: dict[str, _Buffer] = {}
        self.homes: dict[Value, str] = {}

    def _phase(self, module: Operation) -> str:
        wanted = references(ArrayAttr((self.block.properties["workload"],)))
        for operation in top_level(module):
            if operation.name == "bind.workload" and symbol_of(operation) in wanted:
                return as_word(fields_of(operation).get("phase")) or ""
        return ""

    def operations(self) -> list[Operation]:
        self._place()
        tasks = [self._task(index, task) for index, task in enumerate(self.tasks)]
        found = [self._objective()] if self.phase in OBJECTIVES else []
        found += [b.operation(self.block) for b in self.buffers.values()]
        return found + tasks + self._groups(tasks)

    def _objective(self) -> Operation:
        words = ArrayAttr(tuple(map(StringAttr, OBJECTIVES[self.phase])))
        return build("plan.objective", properties={"minimize": words}, span=self.block.span)

    # --- buffers

    def _add(self, name: str, role: str, storage: str, size: Expr, source: str = "") -> str:
        self.buffers[name] = _Buffer(name, role, storage, size, source)
        return name

    def _place(self) -> None:
        """Give every value its buffer: boundary values, the KV cache, else the workspace; and every layer's weights one."""
        entry = self.block.regions[0].blocks[0]
        for index, argument in enumerate(entry.arguments):
            name = "input" if len(entry.arguments) == 1 else f"input.{argument.name or index}"
            self.homes[argument] = self._add(name, "input", "device_local", local_bytes([argument.type], self.mesh))
        returned = [v for v in self.block.body[-1].operands if v not in self.homes]
        for operation in self.block.body:
            if operation.name == "dist.state":
                size = local_bytes((v.type for v in operation.results), self.mesh)
                home = self._add(name_of(operation), "state", "persistent", size, name_of(operation))
                self.homes.update(dict.fromkeys(operation.results, home))
        for task in self.tasks:
            weights = weight_bytes(task)
            if weights is not ZERO:
                name = f"{text_of(task, 'source')}.weights"
                self._add(name, "constant", "persistent", weights, text_of(task, "task"))
            self._place_results(task, returned)
        self._add("workspace", "workspace", "transient", workspace_bound(self.block, self.mesh))

    def _place_results(self, task: Operation, returned: Sequence[Value]) -> None:
        rule = rule_of(task)
        for value in task.results:
            if value in returned:
                name = "output" if len(returned) == 1 else f"output.{returned.index(value)}"
                size = local_bytes([value.type], self.mesh)
                self.homes[value] = self._add(name, "output", "device_local", size, text_of(task, "task"))
            elif writes_state(task):
                owner = self._state_of(task, value)
                self.homes[value] = self.homes[owner]
            elif rule is not None and rule.residual:
                size = local_bytes([value.type], self.mesh)
                name = text_of(task, "source")
                self.homes[value] = self._add(name, "activation", "device_local", size, text_of(task, "task"))

    @staticmethod
    def _state_of(task: Operation, value: Value) -> Value:
        """The state that a result of a writing task is the new content of: states are its last operands, one a result."""
        return task.operands[len(task.operands) - len(task.results) + value.index]

    def _home(self, value: Value) -> str:
        return self.homes.get(value, "workspace")

    # --- tasks

    def _task(self, index: int, task: Operation) -> Operation:
        name = name_of(task)
        work = work_of(task)
        assert work is not None
        rule = rule_of(task)
        collective = isinstance(task.declaration, Collective)
        inputs = task.operands[: len(task.operands) - len(task.results)] if writes_state(task) else task.operands
        reads = list(dict.fromkeys(self._home(v) for v in inputs))
        if weight_bytes(task) is not ZERO:
            reads.append(f"{text_of(task, 'source')}.weights")
        writes = list(dict.fromkeys(self._home(v) for v in task.results))
        for buffer in reads:
            self.buffers[buffer].consumers[name] = index
        for buffer in writes:
            self.buffers[buffer].producers[name] = index
        properties: dict[str, Attribute] = {
            "sym_name": StringAttr(name),
            "kind": StringAttr("collective" if collective else "compute"),
            "operation": StringAttr(kind_of(task)),
            "source": StringAttr(name),
            "phase": task.properties["phase"],
            "work": work,
            "resources": resources_of_work(work),
        }
        owners = [v.owner for v in task.operands if isinstance(v.owner, Operation)]
        after = dict.fromkeys(name_of(owner) for owner in owners if work_of(owner) is not None)
        requires = rule.capabilities if rule is not None else (kind_of(task),)
        matmul = rule.matmul_operations(local(task, task, self.mesh)) if rule is not None else ZERO
        for key, names in (("after", after), ("reads", reads), ("writes", writes)):
            if names:
                properties[key] = symbols(names)
        if matmul is not ZERO:
            properties["matmul"] = ExprAttr(matmul)
        properties["requires"] = ArrayAttr(tuple(map(StringAttr, requires)))
        if rule is not None and rule.alternatives:
            properties["alternatives"] = ArrayAttr(tuple(map(StringAttr, rule.alternatives)))
        return build("plan.task", properties=properties, span=task.span)

    def _groups(self, tasks: Sequence[Operation]) -> list[Operation]:
        """Tasks with the same dependencies (and at least one) can run at once: none of them needs another."""
        together: dict[tuple[str, ...], list[str]] = {}
        for task in tasks:
            after = references(task.properties.get("after"))
            if after:
                together.setdefault(after, []).append(symbol_of(task))
        groups = [names for names in together.values() if len(names) > 1]
        return [
            build(
                "plan.concurrent",
                properties={"sym_name": StringAttr(f"group.{index}"), "tasks": symbols(names)},
                span=self.block.span,
            )
            for index, names in enumerate(groups)
        ]


def writes_state(task: Operation) -> bool:
    """Whether the task writes a state: its last operands are the states, one a result."""
    effects = task.properties.get("effects")
    return isinstance(effects, ArrayAttr) and StringAttr("write") in effects.values
