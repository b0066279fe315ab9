"""Where everything of a picture stands: a table of tasks for each block, with a row for each layer and a column for each phase.

Forward goes down its column and backward up its own, so that a layer's tasks are beside each other and what is kept for backward is an
arrow to the side. Of a module that is bound to queues each queue is a column, and a row the earliest step at which a command can be issued.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from heapq import heappop, heappush
from itertools import pairwise

import attrs

from bpir.ir.expressions.expression import ONE, Expr, total
from bpir.tools.picture.graph import Frame, Graph, Node
from bpir.tools.picture.style import COLORS, text_width

NAME_SIZE, WHAT_SIZE, HEAD_SIZE = 12, 10, 12
HEIGHT, ROW_GAP, COLUMN_GAP, MARGIN, PADDING = 40, 16, 64, 16, 14
HEADING = 26  # of a frame, and of its columns
FRAME_GAP = 44
_ASIDE = ("recompute", "recommunication", "weight_gradient", "gradient_reduction", "optimizer")
_BACKWARD = ("activation_gradient", "weight_gradient")


@attrs.frozen
class Box:
    """A task and where it stands: its upper left corner, and its width."""

    node: Node
    name: str  # as it is shown
    what: str
    row: int
    column: int
    x: float
    y: float
    width: float

    @property
    def middle(self) -> tuple[float, float]:
        return self.x + self.width / 2, self.y + HEIGHT / 2


@attrs.frozen
class Heading:
    """The name of a column, or of a frame."""

    text: str
    phase: str
    x: float
    y: float


@attrs.frozen
class Panel:
    """A frame around the tasks of a block."""

    label: str
    x: float
    y: float
    width: float
    height: float


@attrs.frozen
class Arrow:
    """A line from one task to another: what is needed, the mere order, the order of a queue, or a way from frame to frame."""

    source: int
    target: int
    kind: str  # `data`, `order`, `issue` or `frames`


@attrs.frozen
class Picture:
    """All of it, in pixels."""

    title: str
    width: float
    height: float
    boxes: Sequence[Box]
    arrows: Sequence[Arrow]
    headings: Sequence[Heading]
    panels: Sequence[Panel]
    phases: Sequence[str]  # those for a legend: where columns are not phases


def laid_out(graph: Graph) -> Picture:
    """The picture of a graph."""
    if graph.queues:
        return _queues(graph)
    return _blocks(graph)


@attrs.frozen
class _Group:
    """The tasks of a block, which are in one table."""

    label: str
    places: tuple[int, ...]


@attrs.frozen
class _Table:
    """The tasks of a group as boxes, under the names of their phases; and where it ends."""

    boxes: Mapping[int, Box]
    headings: Sequence[Heading]
    right: float
    bottom: float


def _blocks(graph: Graph) -> Picture:
    boxes: dict[int, Box] = {}
    headings: list[Heading] = []
    panels: list[Panel] = []
    groups = _groups(graph)
    framed = len(groups) > 1 or bool(graph.frames)
    y, right = float(MARGIN), 0.0
    for group in groups:
        table = _table(graph, group, y + (HEADING if framed else 0), PADDING if framed else 0)
        boxes.update(table.boxes)
        headings += table.headings
        right = max(right, table.right)
        if framed:
            end = max(table.right, MARGIN + PADDING + text_width(group.label, HEAD_SIZE) + PADDING)
            right = max(right, end)
            panels.append(Panel(group.label, MARGIN, y, end - MARGIN, table.bottom - y))
        y = table.bottom + FRAME_GAP
    placed = [boxes[place] for place in range(len(graph.nodes))]
    arrows = [*_needed(graph), *_between(graph, groups)]
    width = max((panel.x + panel.width for panel in panels), default=right) + MARGIN
    return Picture(graph.title, max(width, right + MARGIN), y - FRAME_GAP + MARGIN, placed, arrows, headings, panels, ())


def _table(graph: Graph, group: _Group, y: float, inset: float) -> _Table:
    """A column for each phase, a row for each layer; `inset` is kept free at the sides and below."""
    nodes = [graph.nodes[place] for place in group.places]
    columns = _phases(nodes)
    rows = {layer: row for row, layer in enumerate(_rows(nodes))}
    shown = {node.name: _shown(node, group.label) for node in nodes}
    lefts, end = _columns([[shown[n.name] for n in nodes if n.phase == phase] for phase in columns], columns, MARGIN + inset)
    headings = [Heading(phase, phase, left + width / 2, y + 16) for phase, (left, width) in zip(columns, lefts, strict=True) if phase]
    y += HEADING if any(columns) else 4
    boxes = {}
    for place, node in zip(group.places, nodes, strict=True):
        column, row = columns.index(node.phase), rows[node.layer]
        left, width = lefts[column]
        boxes[place] = Box(node, *shown[node.name], row, column, left, y + row * (HEIGHT + ROW_GAP), width)
    return _Table(boxes, headings, end + inset, y + len(rows) * (HEIGHT + ROW_GAP) - ROW_GAP + inset)


def _phases(nodes: Sequence[Node]) -> list[str]:
    """The phases of the tasks, those that have a colour first."""
    known = [phase for phase in (*COLORS, "") if any(node.phase == phase for node in nodes)]
    return known + sorted({node.phase for node in nodes}.difference(known))


def _shown(node: Node, frame: str) -> tuple[str, str]:
    """The two lines of a task: its layer without the name of its frame, and what it does."""
    prefix = f"{node.block}."
    layer = node.layer.removeprefix(prefix) if node.block and frame else node.layer
    return layer, node.what


def _columns(cells: Sequence[Sequence[tuple[str, str]]], heads: Sequence[str], left: float) -> tuple[list[tuple[float, float]], float]:
    """The left edge and the width of each column, and where the last one ends."""
    found: list[tuple[float, float]] = []
    x = left + COLUMN_GAP / 2
    for lines, head in zip(cells, heads, strict=True):
        widths = [max(text_width(name, NAME_SIZE), text_width(what, WHAT_SIZE)) for name, what in lines]
        width = round(max([*widths, text_width(head, HEAD_SIZE)]) + 2 * PADDING)
        found.append((x, width))
        x += width + COLUMN_GAP
    return found, x - COLUMN_GAP / 2


def _rows(nodes: Sequence[Node]) -> list[str]:
    """The layers from the first to the last: as forward goes, and against backward; in the order of the text where that leaves it free."""
    layers = list(dict.fromkeys(node.layer for node in nodes))
    below = _below(nodes)
    place = {layer: index for index, layer in enumerate(layers)}
    above = Counter(name for names in below.values() for name in names)
    free = [place[layer] for layer in layers if not above[layer]]
    found: dict[str, None] = {}
    while free:
        layer = layers[heappop(free)]
        found[layer] = None
        for next_one in sorted(below[layer]):
            above[next_one] -= 1
            if not above[next_one]:
                heappush(free, place[next_one])
    return [*found, *(layer for layer in layers if layer not in found)]


def _below(nodes: Sequence[Node]) -> dict[str, set[str]]:
    """The layers that each one comes before: in forward those that need it, in backward those that it needs."""
    known = {node.name: node for node in nodes}
    below: dict[str, set[str]] = {node.layer: set() for node in nodes}
    for node in nodes:
        for other in (known[name] for name in node.after if name in known and known[name].phase == node.phase):
            if node.layer != other.layer:
                upper, lower = (node, other) if node.phase in _BACKWARD else (other, node)
                below[upper.layer].add(lower.layer)
    return below


def _groups(graph: Graph) -> list[_Group]:
    """The blocks, each with all its sections; all tasks together where there are no frames."""
    if not graph.frames:
        return [_Group("", tuple(range(len(graph.nodes))))]
    several = any(node.block for node in graph.nodes)
    runs: dict[str, dict[range, list[Frame]]] = {}
    for frame in graph.frames:
        if frame.nodes:
            name = graph.nodes[frame.nodes.start].block or (frame.name if several else graph.frames[0].name.removesuffix(".forward"))
            runs.setdefault(name, {}).setdefault(frame.nodes, []).append(frame)
    found = []
    for name, extents in runs.items():
        times = next((times for times in map(_runs, extents.values()) if times != ONE), ONE)
        found.append(_Group(_times(name, times), tuple(sorted(place for extent in extents for place in extent))))
    return found


def _runs(frames: Iterable[Frame]) -> Expr:
    """How often the tasks of frames with one extent run."""
    return total(frame.times for frame in frames)


def _times(name: str, times: Expr) -> str:
    return name if times == ONE else f"{name}, {times.text} times"


def _needed(graph: Graph) -> Iterable[Arrow]:
    numbers = {node.name: place for place, node in enumerate(graph.nodes)}
    for place, node in enumerate(graph.nodes):
        for name in node.after:
            if name in numbers:
                yield Arrow(numbers[name], place, "order" if name in node.orders else "data")


def _between(graph: Graph, groups: Sequence[_Group]) -> list[Arrow]:
    """From the last task on the way through each frame to the first one of each after it in another table."""
    of = {place: index for index, group in enumerate(groups) for place in group.places}
    known = {frame.name: frame for frame in reversed(graph.frames) if frame.nodes}
    found = []
    for frame in graph.frames:
        for other in (known[name] for name in frame.after if name in known and frame.nodes):
            if of[other.nodes[-1]] != of[frame.nodes[0]]:
                found.append(Arrow(_way(graph, other)[-1], _way(graph, frame)[0], "frames"))
    return list(dict.fromkeys(found))


def _way(graph: Graph, frame: Frame) -> Sequence[int]:
    """The tasks of a frame that values go through, forward or backward; not those that repeat others, or end at a weight."""
    return [place for place in frame.nodes if graph.nodes[place].phase not in _ASIDE] or frame.nodes


def _queues(graph: Graph) -> Picture:
    names = list(graph.queues)
    column = _queue_columns(graph)
    row = _queue_rows(graph, column)
    heads = [*names, *([""] if len(names) in column.values() else [])]
    shown = {node.name: (node.layer, f"{node.what} {node.phase}".rstrip()) for node in graph.nodes}
    cells = [[shown[node.name] for node in graph.nodes if column[node.name] == index] for index in range(len(heads))]
    lefts, right = _columns(cells, heads, MARGIN)
    top = MARGIN + HEADING
    boxes = []
    for node in graph.nodes:
        left, width = lefts[column[node.name]]
        boxes.append(
            Box(node, *shown[node.name], row[node.name], column[node.name], left, top + row[node.name] * (HEIGHT + ROW_GAP), width)
        )
    headings = [Heading(head, "", left + width / 2, MARGIN + 16) for head, (left, width) in zip(heads, lefts, strict=True) if head]
    arrows = [*_needed(graph), *_issued(graph), *_between(graph, [_Group(frame.label, tuple(frame.nodes)) for frame in graph.frames])]
    bottom = max((box.y for box in boxes), default=top) + HEIGHT
    phases = [phase for phase in _phases(graph.nodes) if phase in COLORS]
    return Picture(graph.title, right + MARGIN, bottom + MARGIN, boxes, arrows, headings, (), phases)


def _queue_columns(graph: Graph) -> dict[str, int]:
    """The column of each task: that of its queue, or one more for those on none."""
    column = {name: index for index, issued in enumerate(graph.queues.values()) for name in issued}
    return column | {node.name: len(graph.queues) for node in graph.nodes if node.name not in column}


def _queue_rows(graph: Graph, column: Mapping[str, int]) -> dict[str, int]:
    """The row of each task: below those of its column that are before it, and those that it is after."""
    row: dict[str, int] = {}
    last: dict[int, int] = {}
    for node in graph.nodes:
        own = column[node.name]
        row[node.name] = last[own] = 1 + max([last.get(own, -1), *(row[name] for name in node.after if name in row)])
    return row


def _issued(graph: Graph) -> list[Arrow]:
    """The issue order of the queues, where no task needs the one before it."""
    numbers = {node.name: place for place, node in enumerate(graph.nodes)}
    needed = {(arrow.source, arrow.target) for arrow in _needed(graph)}
    pairs = [(numbers[one], numbers[two]) for issued in graph.queues.values() for one, two in pairwise(issued)]
    return [Arrow(*pair, "issue") for pair in pairs if pair not in needed]
