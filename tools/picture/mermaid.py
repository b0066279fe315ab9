"""A module in Mermaid's language, which many viewers of Markdown draw: a flowchart of tasks, with a subgraph for each section or queue."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from bpir.ir.expressions.expression import Expr
from bpir.ir.operation import Operation
from bpir.tools.picture.graph import Frame, Graph, Node, graph_of
from bpir.tools.picture.style import COLORS, NO_PHASE

_SHAPES = {
    "compute": ('("', '")'),
    "collective": ('{{"', '"}}'),
    "transfer": ('>"', '"]'),
    "barrier": ('["', '"]'),
    "host": ('[["', '"]]'),
}


def render_mermaid(module: Operation, numbers: Mapping[str, Expr] | None = None) -> str:
    """The module as a Mermaid flowchart.

    Raises:
        DiagnosticError: the module has no tasks: it is not of level dist, plan or concrete.
    """
    graph = graph_of(module, numbers)
    places = {node.name: f"t{index}" for index, node in enumerate(graph.nodes)}
    clusters, drawn = _clusters(graph, places)
    loose = (f"  {_drawn(node, places)}" for node in graph.nodes if node.name not in drawn)
    lines = ["flowchart TD", *clusters, *loose, *_arrows(graph, places), *_between(graph.frames)]
    for phase in dict.fromkeys(node.phase for node in graph.nodes):
        color = COLORS.get(phase, NO_PHASE)
        lines.append(f"  classDef {phase or 'none'} fill:{color},stroke:#57606a,color:#1f2328")
    return "\n".join(lines) + "\n"


def _clusters(graph: Graph, places: Mapping[str, str]) -> tuple[list[str], set[str]]:
    """The queues, or else the frames, each with its tasks; and the names of the tasks that are in one."""
    lines: list[str] = []
    drawn: set[str] = set()
    for index, (queue, issued) in enumerate(graph.queues.items()):
        lines += _cluster(f"q{index}", queue, [node for node in graph.nodes if node.name in issued], places)
        drawn.update(issued)
    for index, frame in enumerate(() if graph.queues else graph.frames):
        own = [graph.nodes[place] for place in frame.nodes if graph.nodes[place].name not in drawn]
        if own:
            lines += _cluster(f"s{index}", frame.label, own, places)
            drawn.update(node.name for node in own)
    return lines, drawn


def _cluster(name: str, label: str, nodes: Iterable[Node], places: Mapping[str, str]) -> list[str]:
    return [f'  subgraph {name} ["{_text(label)}"]', *(f"    {_drawn(node, places)}" for node in nodes), "  end"]


def _arrows(graph: Graph, places: Mapping[str, str]) -> Iterator[str]:
    """What each task is after, and the issue order of the queues where that says nothing of it."""
    needed = set()
    for node in graph.nodes:
        for name in [name for name in node.after if name in places]:
            needed.add((name, node.name))
            yield f"  {places[name]} {'-.->' if name in node.orders else '-->'} {places[node.name]}"
    for issued in graph.queues.values():
        yield from (f"  {places[one]} -.- {places[two]}" for one, two in pairwise(issued) if (one, two) not in needed)


def _between(frames: Sequence[Frame]) -> Iterator[str]:
    known = {frame.name: frame for frame in reversed(frames)}
    for frame in frames:
        for before in (known[name] for name in frame.after if name in known):
            if before.nodes and frame.nodes:
                yield f"  t{before.nodes[-1]} ==> t{frame.nodes[0]}"


def _drawn(node: Node, places: Mapping[str, str]) -> str:
    left, right = _SHAPES[node.kind]
    below = " ".join(part for part in (node.what, node.phase) if part)
    return f"{places[node.name]}{left}{_text(node.layer)}<br/>{_text(below)}{right}:::{node.phase or 'none'}"


def _text(text: str) -> str:
    """The text as Mermaid shows it; characters that it would read are written as entities."""
    return "".join(f"#{ord(c)};" if c in '"#<>&`{}[]()|;\\' or ord(c) < 32 else c for c in text)
