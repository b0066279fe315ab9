"""A module as a picture (Graphviz): tasks, their dependencies, and, where it is bound to queues, the queues.

The shape says what a task is, the colour its phase; a queue is a column, in which grey arrows follow the issue order. The tasks of a
section, or of a block among several, are in a frame that says how often they run; thick arrows lead from one frame to those after it.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

import attrs

from bpir.dialects.levels import ConcretePlanIR, DistributedTaskIR, ModuleIR, PortablePlanIR
from bpir.dialects.network import callees, calls, networks
from bpir.ir.diagnostic import fail
from bpir.ir.expression import ONE, Expr
from bpir.ir.operation import Operation
from bpir.verifiers.levels import level_of, place_of

if TYPE_CHECKING:
    from bpir.dialects.dist.tasks import Block

SHAPES = {
    "compute": 'shape=box, style="rounded,filled"',
    "collective": 'shape=hexagon, style=filled, penwidth=2, margin="0.02,0.04"',
    "transfer": "shape=cds, style=filled",
    "barrier": "shape=box, style=filled, height=0.15, penwidth=2",
    "host": "shape=note, style=filled",
}
COLORS = {
    "forward": "#cfe3f7",
    "prefill": "#cfe3f7",
    "decode": "#cfe3f7",
    "recompute": "#fdf0c4",
    "recommunication": "#fbdcae",
    "activation_gradient": "#f9d2d2",
    "weight_gradient": "#e4d4f2",
    "optimizer": "#d3ecd2",
}
_NO_PHASE = "#eeeeee"
_KIND_OF_COMMAND = {"launch": "compute", "host_call": "host"}


@attrs.frozen
class Node:
    """A task as it is drawn."""

    name: str
    kind: str  # a key of SHAPES
    phase: str
    what: str  # the operation, and what implements it
    after: tuple[str, ...]


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


def render_dot(module: Operation) -> str:
    """The module in Graphviz's language.

    Raises:
        DiagnosticError: the module has no tasks: it is not of level dist, plan or concrete.
    """
    nodes = _nodes(module)
    numbers = {node.name: f"t{index}" for index, node in enumerate(nodes)}
    frames = _frames(module)
    lines = [
        f"digraph {_quoted(ModuleIR(module).title or 'module')} {{",
        '  graph [rankdir=TB, newrank=true, nodesep=0.25, ranksep=0.3, fontname="Helvetica", splines=true];',
        '  node [fontname="Helvetica", fontsize=11, margin="0.12,0.05"];',
        '  edge [arrowsize=0.7, color="#333333"];',
        *(["  compound=true;"] if frames else []),
    ]
    queues = _queues(module)
    drawn: set[str] = set()
    for index, (queue, issued) in enumerate(queues.items()):
        lines += [f"  subgraph cluster_q{index} {{", f"    label={_quoted(queue)}; color=grey60; style=dashed;"]
        lines += [f"    {_drawn(node, numbers)}" for node in nodes if node.name in issued]
        lines += ["  }"]
        drawn.update(issued)
    if not queues:
        for index, frame in enumerate(frames):
            lines += [f"  subgraph cluster_s{index} {{", f"    label={_quoted(frame.label)}; color=grey40; style=rounded;"]
            lines += [f"    {_drawn(nodes[place], numbers)}" for place in frame.nodes if nodes[place].name not in drawn]
            lines += ["  }"]
            drawn.update(nodes[place].name for place in frame.nodes)
    lines += [f"  {_drawn(node, numbers)}" for node in nodes if node.name not in drawn]
    for node in nodes:
        lines += [f"  {numbers[name]} -> {numbers[node.name]};" for name in node.after if name in numbers]
    needed = {(name, node.name) for node in nodes for name in node.after}
    for issued in queues.values():
        for pair in pairwise(issued):
            if pair not in needed:
                lines.append(f"  {numbers[pair[0]]} -> {numbers[pair[1]]} [style=dotted, color=grey60, arrowhead=open];")
    lines += _between(frames, clusters=not queues)
    return "\n".join([*lines, *_legend(nodes), "}"]) + "\n"


def render_svg(module: Operation) -> str:
    """The picture as SVG, by Graphviz's `dot`.

    Raises:
        DiagnosticError: `dot` is not installed, or fails.
    """
    text = render_dot(module)
    try:
        done = subprocess.run(["dot", "-Tsvg"], input=text.encode("latin-1"), capture_output=True, check=True)
    except FileNotFoundError:
        raise fail("--format=svg needs Graphviz: the program 'dot' is not installed; --format=dot does without") from None
    except subprocess.CalledProcessError as failure:
        raise fail(f"Graphviz failed: {failure.stderr.decode('latin-1').strip()}") from None
    return done.stdout.decode("latin-1")


def _between(frames: Sequence[Frame], *, clusters: bool) -> Iterator[str]:
    """An arrow from the last task of each frame to the first one of each after it; it says the name of a frame that is not drawn."""
    known = {frame.name: (index, frame) for index, frame in reversed(list(enumerate(frames)))}
    for index, frame in enumerate(frames):
        for number, before in (known[name] for name in frame.after if name in known):
            if before.nodes and frame.nodes:
                ends = f"ltail=cluster_s{number}, lhead=cluster_s{index}" if clusters else f"label={_quoted(frame.label)}, fontsize=9"
                yield f"  t{before.nodes[-1]} -> t{frame.nodes[0]} [penwidth=2.5, {ends}];"


def _drawn(node: Node, numbers: Mapping[str, str]) -> str:
    layer = node.name.removesuffix("." + node.phase) if node.phase else node.name
    below = f"{node.what} · {node.phase}" if node.phase else node.what
    label = _quoted(f"{layer}\n{below}".encode().decode("latin-1"))
    color = COLORS.get(node.phase, _NO_PHASE)
    return f'{numbers[node.name]} [label={label}, {SHAPES[node.kind]}, fillcolor="{color}"];'


def _legend(nodes: Iterable[Node]) -> list[str]:
    """A node for each kind and each phase that occurs."""
    nodes = list(nodes)
    kinds = [k for k in SHAPES if any(n.kind == k for n in nodes)]
    phases = [p for p in COLORS if any(n.phase == p for n in nodes)]
    lines = ["  subgraph cluster_legend {", '    label="legend"; color=grey80; fontsize=10; node [fontsize=9];']
    names = []
    for index, kind in enumerate(kinds):
        names.append(f"k{index}")
        lines.append(f'    k{index} [label={_quoted(kind)}, {SHAPES[kind]}, fillcolor="white"];')
    for index, phase in enumerate(phases):
        names.append(f"p{index}")
        lines.append(f'    p{index} [label={_quoted(phase)}, shape=box, style=filled, color=white, fillcolor="{COLORS[phase]}"];')
    if len(names) > 1:
        lines.append(f"    {' -> '.join(names)} [style=invis];")
    return [*lines, "  }"]


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def _nodes(module: Operation) -> list[Node]:
    level = level_of(module)
    if level == "dist":
        blocks = DistributedTaskIR(module).blocks
        return [node for block in blocks for node in _dist_nodes(block, block.symbol + "." if len(blocks) > 1 else "")]
    if level == "plan":
        return [Node(t.symbol, t.kind, t.phase, t.kind_of_work, t.after) for t in PortablePlanIR(module).tasks]
    if level == "concrete":
        return [
            Node(c.symbol, _KIND_OF_COMMAND.get(c.kind, c.kind), c.phase, c.by or c.kind_of_work, c.after)
            for c in ConcretePlanIR(module).commands
        ]
    found = f"of level '{level}'" if level else "without operations of a level"
    raise fail(f"a module {found} can't be drawn: expected dist, plan or concrete operations", place_of(module))


def _frames(module: Operation) -> list[Frame]:
    """The sections of a plan, or the blocks of distributed tasks if there are several."""
    from bpir.tools.networks import often

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
    from bpir.dialects.dist.tasks import Collective

    for task in block.tasks:
        kind = "collective" if isinstance(task, Collective) else "compute"
        after = tuple(dict.fromkeys(prefix + other.label for other in task.needed))
        yield Node(prefix + task.label, kind, task.phase, task.kind_of_work, after)


def _queues(module: Operation) -> dict[str, tuple[str, ...]]:
    """The commands of each queue that has some, in the order of issue."""
    from bpir.dialects.queue import Queue

    return {f"{queue.kind} queue": queue.issue for queue in ModuleIR(module).each(Queue) if queue.issue}
