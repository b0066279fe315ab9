"""The tasks of a module as a picture has them: nodes, their dependencies, and the frames or queues that they are in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

import attrs

from bpir.dialects.levels import ConcretePlanIR, DistributedTaskIR, ModuleIR, PortablePlanIR
from bpir.dialects.network import callees, calls, networks
from bpir.ir.diagnostic import fail
from bpir.ir.expressions.expression import ONE, Expr
from bpir.ir.operation import Operation
from bpir.verifiers.structure.levels import level_of, place_of

if TYPE_CHECKING:
    from bpir.dialects.concrete.envelope import Command
    from bpir.dialects.dist.tasks import Block
    from bpir.dialects.plan import Task

KINDS = ("compute", "collective", "transfer", "barrier", "host")
_KIND_OF_COMMAND = {"launch": "compute", "host_call": "host"}


@attrs.frozen
class Node:
    """A task as it is drawn."""

    name: str
    kind: str  # one of KINDS
    phase: str
    what: str  # the operation, and what implements it
    after: tuple[str, ...]
    block: str = ""  # of a network
    orders: frozenset[str] = frozenset()  # those of `after` whose results it does not read

    @property
    def layer(self) -> str:
        """The name without its phase."""
        return self.name.removesuffix("." + self.phase) if self.phase else self.name


@attrs.frozen
class Frame:
    """The tasks of a section of a plan, or of a block."""

    name: str
    times: Expr
    nodes: range  # their places among all
    after: tuple[str, ...]  # frames

    @property
    def label(self) -> str:
        return self.name if self.times == ONE else f"{self.name}, {self.times} times"


@attrs.frozen
class Graph:
    """All that is drawn of a module.

    Attributes:
        queues: the commands of each queue in the order of issue, where the module is bound to queues.
    """

    title: str
    nodes: Sequence[Node]
    frames: Sequence[Frame]
    queues: Mapping[str, tuple[str, ...]]


def graph_of(module: Operation, numbers: Mapping[str, Expr] | None = None) -> Graph:
    """The tasks of a module.

    Args:
        numbers: those of symbols, for how often a frame runs.

    Raises:
        DiagnosticError: it has none: it is not of level dist, plan or concrete.
    """
    nodes = _nodes(module)
    frames = [attrs.evolve(frame, times=frame.times.substitute(numbers or {})) for frame in _frames(module)]
    return Graph(ModuleIR(module).title, nodes, frames, _queues(module))


def _nodes(module: Operation) -> list[Node]:
    level = level_of(module)
    if level == "dist":
        blocks = DistributedTaskIR(module).blocks
        return [node for block in blocks for node in _dist_nodes(block, block.symbol + "." if len(blocks) > 1 else "")]
    if level == "plan":
        tasks = PortablePlanIR(module).tasks
        return [_planned(task, task.kind, task.kind_of_work, orders) for task, orders in zip(tasks, _orders(tasks), strict=True)]
    if level == "concrete":
        commands = ConcretePlanIR(module).commands
        kinds = [_KIND_OF_COMMAND.get(command.kind, command.kind) for command in commands]
        named = zip(commands, kinds, _orders(commands), strict=True)
        return [_planned(command, kind, command.by or command.kind_of_work, orders) for command, kind, orders in named]
    found = f"of level '{level}'" if level else "without operations of a level"
    raise fail(f"a module {found} can't be drawn: expected dist, plan or concrete operations", place_of(module))


def _planned(task: Task | Command, kind: str, what: str, orders: frozenset[str]) -> Node:
    block, several, _ = task.source.partition("/")
    return Node(task.symbol, kind, task.phase, what, task.after, block if several else "", orders)


def _orders(tasks: Sequence[Task] | Sequence[Command]) -> list[frozenset[str]]:
    """Of each task those that it is after although it reads nothing that they write: it writes over what they read."""
    writes = {task.symbol: set(task.writes) for task in tasks}
    return [frozenset(name for name in task.after if writes.get(name) and not writes[name].intersection(task.reads)) for task in tasks]


def _frames(module: Operation) -> list[Frame]:
    """The sections of a plan, or the blocks of distributed tasks if there are several."""
    from bpir.tools.reports.networks import often

    level = level_of(module)
    if level != "dist":
        sections = (PortablePlanIR if level == "plan" else ConcretePlanIR)(module).sections
        return [Frame(s.symbol, s.times, s.extent, s.after) for s in sections]
    blocks = DistributedTaskIR(module).blocks
    if len(blocks) == 1:
        return []
    times, ends = often(module), list(accumulate(len(block.tasks) for block in blocks))
    before = _blocks_before(module)
    return [
        Frame(b.symbol, times.get(b.symbol, ONE), range(end - len(b.tasks), end), before.get(b.symbol, ()))
        for b, end in zip(blocks, ends, strict=True)
    ]


def _blocks_before(module: Operation) -> dict[str, tuple[str, ...]]:
    """The blocks that a network calls right before each, by name."""
    before: dict[str, tuple[str, ...]] = {}
    for network in networks(module):
        for one, other in pairwise(name for call in calls(network) for name in callees(call)):
            if one != other and one not in before.get(other, ()):
                before[other] = (*before.get(other, ()), one)
    return before


def _dist_nodes(block: Block, prefix: str) -> Iterable[Node]:
    from bpir.dialects.dist.collective_tasks import Collective

    for task in block.tasks:
        kind = "collective" if isinstance(task, Collective) else "compute"
        after = tuple(dict.fromkeys(prefix + other.label for other in task.needed))
        yield Node(prefix + task.label, kind, task.phase, task.kind_of_work, after, block.symbol if prefix else "")


def _queues(module: Operation) -> dict[str, tuple[str, ...]]:
    """The commands of each queue that has some, in the order of issue."""
    from bpir.dialects.queue import Queue

    return {f"{queue.kind} queue": queue.issue for queue in ModuleIR(module).each(Queue) if queue.issue}
