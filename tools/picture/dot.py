"""A module as a picture in Graphviz's language: tasks, their dependencies, and, where it is bound to queues, the queues.

The shape says what a task is, the colour its phase; a queue is a column, in which grey arrows follow the issue order. The tasks of a
section, or of a block among several, are in a frame that says how often they run; thick arrows lead from one frame to those after it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from bpir.ir.expressions.expression import Expr
from bpir.ir.operation import Operation
from bpir.tools.picture.graph import Frame, Graph, Node, graph_of
from bpir.tools.picture.style import COLORS, NO_PHASE

SHAPES = {
    "compute": 'shape=box, style="rounded,filled"',
    "collective": 'shape=hexagon, style=filled, penwidth=2, margin="0.02,0.04"',
    "transfer": "shape=cds, style=filled",
    "barrier": "shape=box, style=filled, height=0.15, penwidth=2",
    "host": "shape=note, style=filled",
}


def render_dot(module: Operation, numbers: Mapping[str, Expr] | None = None) -> str:
    """The module in Graphviz's language.

    Raises:
        DiagnosticError: the module has no tasks: it is not of level dist, plan or concrete.
    """
    graph = graph_of(module, numbers)
    places = {node.name: f"t{index}" for index, node in enumerate(graph.nodes)}
    clusters, drawn = _clusters(graph, places)
    lines = [
        f"digraph {_quoted(graph.title or 'module')} {{",
        '  graph [rankdir=TB, newrank=true, nodesep=0.25, ranksep=0.3, fontname="Helvetica", splines=true];',
        '  node [fontname="Helvetica", fontsize=11, margin="0.12,0.05"];',
        '  edge [arrowsize=0.7, color="#333333"];',
        *(["  compound=true;"] if graph.frames else []),
        *clusters,
        *(f"  {_drawn(node, places)}" for node in graph.nodes if node.name not in drawn),
        *_arrows(graph, places),
        *_between(graph.frames, clusters=not graph.queues),
    ]
    return "\n".join([*lines, *_legend(graph.nodes), "}"]) + "\n"


def _clusters(graph: Graph, places: Mapping[str, str]) -> tuple[list[str], set[str]]:
    """The queues, or else the frames, each with its tasks; and the names of the tasks that are in one."""
    lines: list[str] = []
    drawn: set[str] = set()
    for index, (queue, issued) in enumerate(graph.queues.items()):
        own = [node for node in graph.nodes if node.name in issued]
        lines += _cluster(f"q{index}", f"label={_quoted(queue)}; color=grey60; style=dashed;", own, places)
        drawn.update(issued)
    for index, frame in enumerate(() if graph.queues else graph.frames):
        own = [graph.nodes[place] for place in frame.nodes if graph.nodes[place].name not in drawn]
        lines += _cluster(f"s{index}", f"label={_quoted(frame.label)}; color=grey40; style=rounded;", own, places)
        drawn.update(node.name for node in own)
    return lines, drawn


def _cluster(name: str, says: str, nodes: Iterable[Node], places: Mapping[str, str]) -> list[str]:
    return [f"  subgraph cluster_{name} {{", f"    {says}", *(f"    {_drawn(node, places)}" for node in nodes), "  }"]


def _arrows(graph: Graph, places: Mapping[str, str]) -> Iterator[str]:
    """What each task is after, and the issue order of the queues where that says nothing of it."""
    for node in graph.nodes:
        yield from (f"  {places[name]} -> {places[node.name]};" for name in node.after if name in places)
    needed = {(name, node.name) for node in graph.nodes for name in node.after}
    for one, two in (pair for issued in graph.queues.values() for pair in pairwise(issued)):
        if (one, two) not in needed:
            yield f"  {places[one]} -> {places[two]} [style=dotted, color=grey60, arrowhead=open];"


def _between(frames: Sequence[Frame], *, clusters: bool) -> Iterator[str]:
    """An arrow from the last task of each frame to the first one of each after it; it says the name of a frame that is not drawn."""
    known = {frame.name: (index, frame) for index, frame in reversed(list(enumerate(frames)))}
    for index, frame in enumerate(frames):
        for number, before in (known[name] for name in frame.after if name in known):
            if before.nodes and frame.nodes:
                ends = f"ltail=cluster_s{number}, lhead=cluster_s{index}" if clusters else f"label={_quoted(frame.label)}, fontsize=9"
                yield f"  t{before.nodes[-1]} -> t{frame.nodes[0]} [penwidth=2.5, {ends}];"


def _drawn(node: Node, places: Mapping[str, str]) -> str:
    below = f"{node.what} · {node.phase}" if node.phase else node.what
    label = _quoted(f"{node.layer}\n{below}".encode().decode("latin-1"))
    return f'{places[node.name]} [label={label}, {SHAPES[node.kind]}, fillcolor="{COLORS.get(node.phase, NO_PHASE)}"];'


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
