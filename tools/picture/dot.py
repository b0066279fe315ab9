"""A module as a picture in Graphviz's language: tasks, their dependencies, and, where it is bound to queues, the queues.

The shape says what a task is, the colour its phase; a queue is a column, in which grey arrows follow the issue order. The tasks of a
section, or of a block among several, are in a frame that says how often they run; thick arrows lead from one frame to those after it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from bpir.ir.expression import Expr
from bpir.ir.operation import Operation
from bpir.tools.picture.graph import Frame, Node, graph_of
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
    nodes, frames, queues = graph.nodes, graph.frames, graph.queues
    places = {node.name: f"t{index}" for index, node in enumerate(nodes)}
    lines = [
        f"digraph {_quoted(graph.title or 'module')} {{",
        '  graph [rankdir=TB, newrank=true, nodesep=0.25, ranksep=0.3, fontname="Helvetica", splines=true];',
        '  node [fontname="Helvetica", fontsize=11, margin="0.12,0.05"];',
        '  edge [arrowsize=0.7, color="#333333"];',
        *(["  compound=true;"] if frames else []),
    ]
    drawn: set[str] = set()
    for index, (queue, issued) in enumerate(queues.items()):
        lines += [f"  subgraph cluster_q{index} {{", f"    label={_quoted(queue)}; color=grey60; style=dashed;"]
        lines += [f"    {_drawn(node, places)}" for node in nodes if node.name in issued]
        lines += ["  }"]
        drawn.update(issued)
    if not queues:
        for index, frame in enumerate(frames):
            lines += [f"  subgraph cluster_s{index} {{", f"    label={_quoted(frame.label)}; color=grey40; style=rounded;"]
            lines += [f"    {_drawn(nodes[place], places)}" for place in frame.nodes if nodes[place].name not in drawn]
            lines += ["  }"]
            drawn.update(nodes[place].name for place in frame.nodes)
    lines += [f"  {_drawn(node, places)}" for node in nodes if node.name not in drawn]
    for node in nodes:
        lines += [f"  {places[name]} -> {places[node.name]};" for name in node.after if name in places]
    needed = {(name, node.name) for node in nodes for name in node.after}
    for issued in queues.values():
        for pair in pairwise(issued):
            if pair not in needed:
                lines.append(f"  {places[pair[0]]} -> {places[pair[1]]} [style=dotted, color=grey60, arrowhead=open];")
    lines += _between(frames, clusters=not queues)
    return "\n".join([*lines, *_legend(nodes), "}"]) + "\n"


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
