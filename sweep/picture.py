"""A sweep as a picture: all rows by two objectives with the Pareto front, and the memory of the best rows. SVG, in light and dark.

A picture rounds; what it is drawn from does not.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from html import escape

import attrs

from bpir.sweep.best import Objectives, Row
from bpir.sweep.storage.store import Table

PARTS = (
    "weights",
    "weight_gradients",
    "optimizer",
    "activations",
    "activation_stored",
    "activation_checkpoints",
    "activation_checkpoint",
    "activation_gradients",
    "kv_cache",
    "workspace",
)
"""What of a device's memory is drawn, in this order."""

CELLS = 160
"""The plane of all rows is divided into so many cells each way; a cell with rows is one mark."""

_WIDTH, _HEIGHT, _LEFT, _TOP = 760, 340, 90, 56
_PLOT_WIDTH, _PLOT_HEIGHT = 620, 230
_BAR, _GAP = 22, 14

_STYLE = """
  svg { --ink: #1c2733; --faint: #6b7785; --line: #d5dbe1; --page: #ffffff; --mark: #9db4cc; --front: #c2410c;
    --a: #2563a8; --b: #4f9d69; --c: #d08c2e; --d: #8a5cb8; --e: #b8476b; --f: #3c9aa6; --g: #7d8a34; background: var(--page);
    font: 12px system-ui, sans-serif; }
  @media (prefers-color-scheme: dark) { svg { --ink: #e3e9ef; --faint: #9aa7b4; --line: #39434e; --page: #14191f; --mark: #4a6784;
    --front: #fb923c; --a: #6ba6e0; --b: #7cc492; --c: #e3b062; --d: #b594da; --e: #df7f9d; --f: #6cc3cd; --g: #b1bd68; } }
  text { fill: var(--ink); } .faint { fill: var(--faint); } .title { font-weight: 600; font-size: 14px; }
  .axis { stroke: var(--faint); stroke-width: 1; } .grid { stroke: var(--line); stroke-width: 1; }
  .mark { fill: var(--mark); } .front { fill: var(--front); stroke: var(--page); stroke-width: 1; }
  .step { fill: none; stroke: var(--front); stroke-width: 1.5; }
"""
_COLORS = "abcdefg"


@attrs.frozen
class Scale:
    """From values to places; logarithmic where the values span more than a factor of 20."""

    low: float
    high: float
    start: float
    end: float

    @property
    def logarithmic(self) -> bool:
        return self.low > 0 and self.high > 20 * self.low

    def place(self, value: float) -> float:
        low, high, at = self.low, self.high, value
        if self.logarithmic:
            low, high, at = math.log(low), math.log(high), math.log(max(at, self.low))
        return self.start + (self.end - self.start) * ((at - low) / (high - low) if high > low else 0.5)

    def ticks(self) -> list[float]:
        """A few round values."""
        if self.logarithmic:
            found = [m * 10.0**k for k in range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1) for m in (1, 2, 5)]
            found = [value for value in found if self.low <= value <= self.high]
            return found if len(found) <= 7 else [value for value in found if math.log10(value).is_integer()] or found[:: len(found) // 5]
        step = _round_step((self.high - self.low) / 4 or 1)
        first = math.ceil(self.low / step)
        return [step * k for k in range(first, math.floor(self.high / step) + 1)]


def _round_step(size: float) -> float:
    power: float = 10.0 ** math.floor(math.log10(size))
    return next(m * power for m in (1, 2, 5, 10) if m * power >= size)


def picture(table: Table, objectives: Objectives, rows: Sequence[Row], swept: Sequence[str]) -> str:
    """The SVG of a sweep with two or more objectives.

    Args:
        rows: the best rows, whose memory is drawn.
        swept: the names of the grid.
    """
    bars = _bars(rows, swept)
    height = _HEIGHT + (len(bars) and 88 + len(rows) * (_BAR + _GAP))
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}" role="img" '
        'aria-label="The rows of a sweep with their Pareto front">',
        f"<style>{_STYLE}</style>",
        f'<rect width="{_WIDTH}" height="{height}" style="fill: var(--page)"/>',
        *_plane(table, objectives),
        *bars,
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _plane(table: Table, objectives: Objectives) -> Iterable[str]:
    """All rows by the first two objectives, and the steps of their front."""
    x, y = (f"CAST({key} AS DOUBLE)" for key in objectives.shown[:2])
    ((x_low, x_high, y_low, y_high, count),) = table.query(f"SELECT min({x}), max({x}), min({y}), max({y}), count(*) FROM rows")
    name_x, name_y = objectives.names[:2]
    yield f'<text class="title" x="{_LEFT}" y="24">{count:,} strategies by {escape(name_x)} and {escape(name_y)}</text>'
    if not count:
        return
    across = Scale(x_low, x_high, _LEFT + 8, _LEFT + _PLOT_WIDTH)
    up = Scale(y_low, y_high, _TOP + _PLOT_HEIGHT - 8, _TOP)
    yield from _axes(across, up, name_x, name_y)
    cells = table.query(f"SELECT DISTINCT {_cell(across, x)} AS a, {_cell(up, y)} AS b FROM rows ORDER BY a, b")
    for a, b in cells:
        left = across.start + (across.end - across.start) * a / CELLS
        top = up.start + (up.end - up.start) * b / CELLS
        yield f'<rect class="mark" x="{left - 1.5:.1f}" y="{top - 1.5:.1f}" width="3.5" height="3.5"/>'
    best = table.query(f"SELECT {x} AS a, min({y}) AS b FROM rows GROUP BY a ORDER BY a")
    front: list[tuple[float, float]] = []
    for a, b in best:
        if not front or b < front[-1][1]:
            front.append((a, b))
    places = [(across.place(a), up.place(b)) for a, b in front]
    path = "".join(f"{'M' if not i else f'H{px:.1f} V'}{f'{px:.1f} ' if not i else ''}{py:.1f}" for i, (px, py) in enumerate(places))
    yield f'<path class="step" d="{path}"/>'
    for (px, py), (a, b) in zip(places, front, strict=True):
        yield f'<circle class="front" cx="{px:.1f}" cy="{py:.1f}" r="4"><title>{_amount(a)}, {_amount(b)}</title></circle>'


def _cell(scale: Scale, value: str) -> str:
    """The cell of a value, in SQL."""
    if scale.high <= scale.low:
        return str(CELLS // 2)
    low, high = (math.log(scale.low), math.log(scale.high)) if scale.logarithmic else (scale.low, scale.high)
    at = f"ln({value})" if scale.logarithmic else value
    return f"CAST(round({CELLS} * ({at} - {low!r}) / {high - low!r}) AS INTEGER)"


def _axes(across: Scale, up: Scale, name_x: str, name_y: str) -> Iterable[str]:
    bottom = _TOP + _PLOT_HEIGHT
    for value in across.ticks():
        at = across.place(value)
        yield f'<line class="grid" x1="{at:.1f}" y1="{_TOP}" x2="{at:.1f}" y2="{bottom}"/>'
        yield f'<text class="faint" x="{at:.1f}" y="{bottom + 18}" text-anchor="middle">{_amount(value)}</text>'
    for value in up.ticks():
        at = up.place(value)
        yield f'<line class="grid" x1="{_LEFT}" y1="{at:.1f}" x2="{_LEFT + _PLOT_WIDTH}" y2="{at:.1f}"/>'
        yield f'<text class="faint" x="{_LEFT - 8}" y="{at + 4:.1f}" text-anchor="end">{_amount(value)}</text>'
    yield f'<path class="axis" fill="none" d="M{_LEFT} {_TOP} V{bottom} H{_LEFT + _PLOT_WIDTH}"/>'
    yield f'<text x="{_LEFT + _PLOT_WIDTH}" y="{bottom + 38}" text-anchor="end">{escape(name_x)}{_how(across)} →</text>'
    yield f'<text x="{_LEFT - 8}" y="{_TOP - 12}">↑ {escape(name_y)}{_how(up)}</text>'


def _how(scale: Scale) -> str:
    return " (logarithmic)" if scale.logarithmic else ""


def _bars(rows: Sequence[Row], swept: Sequence[str]) -> list[str]:
    """The memory of a device under each of the rows, in parts; nothing where it is not among the columns."""
    memory = _memory(rows)
    if memory is None:
        return []
    names, sizes = memory
    top = _HEIGHT + 14
    legend, below = _legend(names, top + 12)
    lines = [f'<text class="title" x="{_LEFT}" y="{top}">Memory of a device, the best first</text>', *legend]
    largest = max(map(sum, sizes)) or 1.0
    varied = [name for name in swept if len({row[name] for row in rows}) > 1] or list(swept)[:3]
    for index, (row, parts) in enumerate(zip(rows, sizes, strict=True)):
        y = below + 30 + index * (_BAR + _GAP)
        lines.append(f'<text x="{_LEFT}" y="{y - 3}">{escape("  ".join(f"{name}={row[name]}" for name in varied))}</text>')
        lines += _bar(parts, largest, y)
    return lines


def _memory(rows: Sequence[Row]) -> tuple[list[str], list[list[float]]] | None:
    """The parts of the memory that some row has, and their bytes under each row; None where it is not among the columns."""
    prefix = next((p for p in ("job.memory.", "memory.") if any(f"{p}{part}" in row for row in rows for part in PARTS)), None)
    if prefix is None:
        return None
    names = [part for part in PARTS if any(_size(row.get(prefix + part)) for row in rows)]
    if prefix == "memory.":  # of one block these are never there at once
        names = [part for part in names if part != "activation_gradients"]
    return names, [[_size(row.get(prefix + part)) for part in names] for row in rows]


def _bar(parts: Sequence[float], largest: float, y: int) -> Iterator[str]:
    """One bar: its parts side by side, and what they are together."""
    left = float(_LEFT)
    for place, size in enumerate(parts):
        width = size / largest * (_PLOT_WIDTH - 80)
        yield f'<rect x="{left:.1f}" y="{y}" width="{width:.1f}" height="{_BAR - 8}" {_fill(place)}/>'
        left += width
    yield f'<text class="faint" x="{left + 6:.1f}" y="{y + _BAR - 11}">{_gibibytes(sum(parts))}</text>'


def _legend(names: Sequence[str], top: int) -> tuple[list[str], int]:
    """What each colour is, in as many lines as that needs, and where the last one begins."""
    lines = []
    at = float(_LEFT)
    for place, part in enumerate(names):
        label = part.replace("_", " ")
        width = 26 + 6.4 * len(label)
        if at + width > _LEFT + _PLOT_WIDTH:
            at, top = float(_LEFT), top + 18
        lines.append(f'<rect x="{at:.0f}" y="{top}" width="10" height="10" {_fill(place)}/>')
        lines.append(f'<text class="faint" x="{at + 14:.0f}" y="{top + 9}">{label}</text>')
        at += width
    return lines, top


def _fill(place: int) -> str:
    return f'style="fill: var(--{_COLORS[place % len(_COLORS)]})"'


def _size(value: object) -> float:
    if value is None:
        return 0.0
    above, _, below = str(value).partition("/")
    return int(above) / int(below or 1)


def _gibibytes(value: float) -> str:
    return f"{value / 2**30:.1f} GiB" if value >= 2**29 else f"{value / 2**20:.1f} MiB"


def _amount(value: float) -> str:
    """A number with a metric letter."""
    for power, letter in ((18, "E"), (15, "P"), (12, "T"), (9, "G"), (6, "M"), (3, "k")):
        if abs(value) >= 10**power:
            return f"{value / 10**power:.3g} {letter}"
    return f"{value:.3g}"
