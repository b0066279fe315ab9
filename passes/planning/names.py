"""The flat name space of a plan: what tasks and buffers of its blocks are called, and the buffers themselves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache

from bpir.dialects import plan
from bpir.dialects.bp import ExprAttr
from bpir.dialects.dist.tasks import Block, Task
from bpir.dialects.network import flat_name, own_names
from bpir.ir.attributes import I64, ArrayAttr, Attribute, IntegerAttr, StringAttr, SymbolRefAttr
from bpir.ir.diagnostic import Span, fail, note
from bpir.ir.expressions.expression import ZERO, Expr, maximum
from bpir.ir.operation import Operation

ALIGNMENT = 256
"""Bytes: what an allocator of accelerator memory gives at least (CUDA C++ Programming Guide, device memory accesses)."""

REPEATED = ("constant", "state", "optimizer")
"""The roles of buffers that each repetition of a block has for itself."""


class Buffer:
    """A buffer while it is planned: the tasks that write and read it come as they are found.

    Attributes:
        times: how often there is one; None: once, whatever the network says.
    """

    def __init__(
        self,
        name: str,
        role: str,
        storage: str,
        size: Expr,
        source: str = "",
        times: Expr | None = None,
        span: Span | None = None,
    ) -> None:
        self.name, self.role, self.storage, self.size, self.source, self.times, self.span = name, role, storage, size, source, times, span
        self.producers: dict[str, int] = {}
        self.consumers: dict[str, int] = {}

    def operation(self) -> Operation:
        used = [*self.producers.values(), *self.consumers.values()] or [0]
        properties: dict[str, Attribute] = {"sym_name": StringAttr(self.name), "role": StringAttr(self.role)}
        properties["storage"] = StringAttr(self.storage)
        if self.times is not None:
            properties["times"] = ExprAttr(self.times)
        properties |= {
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
        return plan.Buffer.build(properties=properties, span=self.span)


def symbols(names: Iterable[str]) -> ArrayAttr:
    return ArrayAttr(tuple(map(_symbol, names)))


@cache
def _symbol(name: str) -> SymbolRefAttr:
    return SymbolRefAttr((name,))


class Space:
    """Names and buffers of the blocks of one plan. Of several blocks a name begins with that of its block: `layer.attention.core.decode`.

    Args:
        blocks: the blocks, in the order in which they run.
        runs: how often each runs, where the network says so, by name.
        sectioned: whether the plan has sections.
        taken: names that the plan has besides.
    """

    def __init__(self, blocks: Sequence[Block], runs: Mapping[str, Expr], sectioned: bool = False, taken: Iterable[str] = ()) -> None:
        self.several = len(blocks) > 1
        self.sectioned = sectioned
        self.runs = runs
        self.buffers: dict[str, Buffer] = {}
        self.weights: dict[tuple[str, str], str] = {}  # the buffer of each layer's weights, by block and layer
        self.layers: dict[str, str] = {}  # the block that has a layer, for those that others are tied to
        self.taken = set(taken)
        self._own: dict[str, frozenset[str]] = {}
        first: dict[str, Operation] = {}
        for block in blocks:
            self._own[block.symbol] = own_names(block.operation)
            for task in block.tasks:
                self.layers.setdefault(task.layer, block.symbol)
                name = self.full(block, task.label)
                if name in first:
                    message = f"the plan would have two tasks @{name}, of '{task.label}' in @{block.symbol} and of this one: rename a block"
                    raise fail(message, task.span, note("the other one", first[name].span))
                first[name] = task.operation
        self.taken.update(first)
        self.workspace = self.free("workspace") if self.several else ""

    def full(self, block: Block, name: str) -> str:
        """The name in the plan of what is called so in a block: with the name of the block, unless it begins with that already."""
        return flat_name(block.symbol, name, self._own[block.symbol]) if self.several else name

    def origin(self, block: Block, name: str = "") -> str:
        """The origin of something, as the plan says it: `layer/attention.core.decode`; in a file of one block the name alone."""
        return "/".join(part for part in (block.symbol, name) if part) if self.several else name

    def free(self, name: str) -> str:
        """The name, or another one where it is taken already; taken from now on."""
        while name in self.taken:
            name += ".buffer"
        self.taken.add(name)
        return name

    def owner(self, block: Block, task: Task) -> tuple[str, str]:
        """The block and the layer that the weights of a task belong to."""
        return (block.symbol if task.owner == task.layer else self.layers.get(task.owner, block.symbol)), task.owner

    def add(self, block: Block, name: str, role: str, storage: str, size: Expr, source: str = "") -> str:
        """A new buffer; its name, which is another one where the file has taken it for a layer."""
        name = self.free(self.full(block, name))
        times = self.runs.get(block.symbol) if role in REPEATED else None
        self.buffers[name] = Buffer(name, role, storage, size, self.origin(block, source), times, block.span)
        return name

    def add_workspace(self, block: Block) -> str:
        """The buffer in which the blocks put what has no other, one after another."""
        name = self.workspace or self.free("workspace")
        self.workspace = name
        self.buffers.setdefault(name, Buffer(name, "workspace", "transient", ZERO, span=block.span))
        return name

    def enlarge_workspace(self, size: Expr) -> None:
        """Make the workspace large enough for one more block."""
        space = self.buffers[self.workspace]
        space.size = size if space.size is ZERO else maximum(space.size, size)

    def keep(self, parts: Mapping[int, tuple[str, str]]) -> None:
        """Have one for each repetition of the buffers that a later part of the training step of a block reads.

        Args:
            parts: of each task, by its place, the block and the part of a training step.
        """
        for buffer in self.buffers.values():
            used = {parts[place] for place in (*buffer.producers.values(), *buffer.consumers.values())}
            if len(used) > 1 and buffer.role not in REPEATED:
                buffer.times = self.runs.get(next(iter(used))[0])

    def operations(self) -> list[Operation]:
        """The buffers, the workspace last."""
        ordered = sorted(self.buffers.values(), key=lambda buffer: buffer.name == self.workspace)
        return [buffer.operation() for buffer in ordered]
