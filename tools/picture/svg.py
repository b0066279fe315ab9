"""A picture as SVG, with nothing but the standard library; it follows the reader's choice of light or dark paper."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape

from bpir.ir.expressions.expression import Expr
from bpir.ir.operation import Operation
from bpir.tools.picture.graph import KINDS, graph_of
from bpir.tools.picture.layout import (
    COLUMN_GAP,
    HEAD_SIZE,
    HEIGHT,
    MARGIN,
    NAME_SIZE,
    ROW_GAP,
    WHAT_SIZE,
    Arrow,
    Box,
    Heading,
    Panel,
    Picture,
    laid_out,
)
from bpir.tools.picture.style import COLORS, FONT, text_width, variables

LEGEND = 34  # the height of a row of it

RULES = f"""text{{font-family:{FONT};fill:var(--ink)}}
.name{{font-size:{NAME_SIZE}px}} .what{{font-size:{WHAT_SIZE}px;fill:var(--faint)}}
.head{{font-size:{HEAD_SIZE}px;font-weight:600;stroke:var(--paper);stroke-width:5px;paint-order:stroke}}
.panel{{fill:none;stroke:var(--rule);stroke-width:1.5}}
.shape{{stroke:var(--edge);stroke-width:1}} .collective .shape{{stroke-width:2.2}} .barrier .shape{{stroke-width:2}}
.arrow{{fill:none;stroke:var(--edge);stroke-width:1.1;opacity:.75}} .order{{stroke-dasharray:3 3;opacity:.45}}
.issue{{stroke-dasharray:1 4;opacity:.6}} .frames{{stroke-width:2.6;opacity:.9}}
.tip{{fill:var(--edge)}}
"""


def render_svg(module: Operation, numbers: Mapping[str, Expr] | None = None) -> str:
    """The picture of a module as one file.

    Raises:
        DiagnosticError: the module has no tasks: it is not of level dist, plan or concrete.
    """
    picture = laid_out(graph_of(module, numbers))
    return svg_of(picture, variables("svg") + "svg{background:var(--paper)}\n" + RULES) + "\n"


def svg_of(picture: Picture, style: str = "", notes: Mapping[str, str] | None = None, marked: Iterable[str] = (), prefix: str = "a") -> str:
    """The SVG element of a picture.

    Args:
        style: its style sheet; empty where the page around it has one.
        notes: a tip for each task, by name; the name itself where there is none.
        marked: tasks to be marked, as those that differ.
        prefix: what identifiers begin with, so that a page can have several.
    """
    legend = _legend(picture)
    width = max(picture.width, max((x + w for x, _, w, _ in legend), default=0) + MARGIN)
    rows = 1 + max((row for _, row, _, _ in legend), default=-1)
    height = picture.height + rows * LEGEND
    title = escape(picture.title or "module")
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'role="img" aria-label="The tasks of {title}">',
        f"<title>The tasks of {title}</title>",
    ]
    lines += [f"<style>\n{style}</style>"] if style else []
    size = 'viewBox="0 0 8 8" refX="7.2" refY="4" markerWidth="7" markerHeight="7" markerUnits="userSpaceOnUse" orient="auto"'
    lines.append(f'<defs><marker id="{prefix}-tip" {size}><path class="tip" d="M0 0.8L8 4L0 7.2z"/></marker></defs>')
    lines += [_panel(panel) for panel in picture.panels]
    lines += [_arrow(picture, arrow, prefix) for arrow in picture.arrows]
    lines += [_label(panel) for panel in picture.panels]
    lines += [_heading(heading) for heading in picture.headings]
    chosen = set(marked)
    for place, box in enumerate(picture.boxes):
        note = (notes or {}).get(box.node.name, box.node.name)
        lines += _box(box, place, note, box.node.name in chosen)
    lines += [_sample(kind, x, picture.height + row * LEGEND, width) for x, row, width, kind in legend]
    return "\n".join([*lines, "</svg>"])


def _panel(panel: Panel) -> str:
    return f'<rect class="panel" x="{panel.x:g}" y="{panel.y:g}" width="{panel.width:g}" height="{panel.height:g}" rx="8"/>'


def _label(panel: Panel) -> str:
    return f'<text class="head" x="{panel.x + 14:g}" y="{panel.y + 19:g}">{escape(panel.label)}</text>'


def _heading(heading: Heading) -> str:
    return f'<text class="head" text-anchor="middle" x="{heading.x:g}" y="{heading.y:g}">{escape(heading.text)}</text>'


def _box(box: Box, place: int, note: str, marked: bool) -> list[str]:
    color = f"var(--p-{box.node.phase if box.node.phase in COLORS else ''})"
    x, y = box.middle
    return [
        f'<g class="task {box.node.kind}{" marked" if marked else ""}" data-task="{place}"><title>{escape(note)}</title>',
        f'<path class="shape" style="fill:{color}" d="{_outline(box.node.kind, box.x, box.y, box.width)}"/>',
        f'<text class="name" text-anchor="middle" x="{x:g}" y="{y - 3:g}">{escape(box.name)}</text>',
        f'<text class="what" text-anchor="middle" x="{x:g}" y="{y + 12:g}">{escape(box.what)}</text></g>',
    ]


def _outline(kind: str, x: float, y: float, width: float, height: float = HEIGHT) -> str:
    """The shape of a kind of task."""
    right, bottom, cut = x + width, y + height, height / 4
    if kind == "collective":
        middle = y + height / 2
        return f"M{x + cut:g} {y:g}H{right - cut:g}L{right:g} {middle:g}L{right - cut:g} {bottom:g}H{x + cut:g}L{x:g} {middle:g}z"
    if kind == "transfer":
        return f"M{x:g} {y:g}H{right - cut:g}L{right:g} {y + height / 2:g}L{right - cut:g} {bottom:g}H{x:g}z"
    if kind == "host":
        return f"M{x:g} {y:g}H{right - cut:g}L{right:g} {y + cut:g}V{bottom:g}H{x:g}z"
    round_ = 0 if kind == "barrier" else 6
    corner = f"a{round_} {round_} 0 0 1"
    return (
        f"M{x + round_:g} {y:g}H{right - round_:g}{corner} {round_} {round_}V{bottom - round_:g}{corner} -{round_} {round_}"
        f"H{x + round_:g}{corner} -{round_} -{round_}V{y + round_:g}{corner} {round_} -{round_}z"
    )


def _arrow(picture: Picture, arrow: Arrow, prefix: str) -> str:
    path = _way(picture.boxes[arrow.source], picture.boxes[arrow.target])
    tip = f'marker-end="url(#{prefix}-tip)"'
    return f'<path class="arrow {arrow.kind}" data-from="{arrow.source}" data-to="{arrow.target}" d="{path}" {tip}/>'


def _way(source: Box, target: Box) -> str:
    """Down to the next row, in a bow beside a column, or from side to side."""
    (sx, sy), (tx, ty) = source.middle, target.middle
    down = ty > sy
    if source.x == target.x:
        near = abs(ty - sy) < HEIGHT + ROW_GAP + 1
        if near:
            return f"M{sx:g} {source.y + (HEIGHT if down else 0):g}V{target.y + (0 if down else HEIGHT):g}"
        bow = min(12 + abs(ty - sy) / 18, COLUMN_GAP * 0.45)
        if down:
            return f"M{source.x:g} {sy:g}C{source.x - bow:g} {sy:g} {target.x - bow:g} {ty:g} {target.x:g} {ty:g}"
        right = source.x + source.width
        return f"M{right:g} {sy:g}C{right + bow:g} {sy:g} {right + bow:g} {ty:g} {target.x + target.width:g} {ty:g}"
    if abs(sx - tx) < (source.width + target.width) / 2:  # of tables below each other
        y, end = source.y + (HEIGHT if down else 0), target.y + (0 if down else HEIGHT)
        return f"M{sx:g} {y:g}C{sx:g} {(y + end) / 2:g} {tx:g} {(y + end) / 2:g} {tx:g} {end:g}"
    start = source.x + source.width if tx > sx else source.x
    end = target.x if tx > sx else target.x + target.width
    bend = (end - start) / 2 if abs(end - start) < 2 * COLUMN_GAP else (COLUMN_GAP if end > start else -COLUMN_GAP)
    return f"M{start:g} {sy:g}C{start + bend:g} {sy:g} {end - bend:g} {ty:g} {end:g} {ty:g}"


def _legend(picture: Picture) -> list[tuple[float, int, float, str]]:
    """Where a sample of each kind of task and, if columns are no phases, of each phase stands: x, row, width, and which it is."""
    kinds = [kind for kind in KINDS if any(box.node.kind == kind for box in picture.boxes)]
    words = [*(kinds if len(kinds) > 1 else []), *picture.phases]
    found, x, row = [], float(MARGIN), 0
    for word in words:
        width = text_width(word, WHAT_SIZE) + 28
        if x + width > max(picture.width, 360) and x > MARGIN:
            x, row = float(MARGIN), row + 1
        found.append((x, row, width, word))
        x += width + 12
    return found


def _sample(word: str, x: float, y: float, width: float) -> str:
    color = f"var(--p-{word})" if word in COLORS else "var(--paper)"
    kind = word if word in KINDS else "compute"
    shape = f'<path class="shape" style="fill:{color}" d="{_outline(kind, x, y, width, 22)}"/>'
    return (
        f'<g class="{kind}">{shape}<text class="what" text-anchor="middle" x="{x + width / 2:g}" y="{y + 14.5:g}">{escape(word)}</text></g>'
    )
