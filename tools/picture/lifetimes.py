"""The buffers of a plan over its tasks: a bar for each from its first task to its last one, and above them what is held at each task."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from bpir.ir.expressions.expression import ONE, Expr
from bpir.tools.picture.style import ROLES, text_width
from bpir.tools.picture.units import exact, readable_bytes
from bpir.tools.reports.report import BufferRow, Report

ROW, NAMES, PROFILE = 15, 10, 110  # the height of a row, the size of names, the height of the profile
_MOST_WIDE = 14  # pixels of a task


def lifetimes(report: Report) -> list[str]:
    """The picture with its key, as HTML."""
    buffers = sorted((b for b in report.buffers if b.live), key=lambda b: (b.storage != "persistent", b.live[0], -b.live[-1]))
    count = max(len(report.tasks), 1 + max(b.live[-1] for b in buffers))
    step = max(4, min(_MOST_WIDE, 900 // count))
    left = max(text_width(b.name, NAMES) for b in buffers) + 12
    sizes = max(text_width(_size(b), NAMES) for b in buffers) + 12
    held = _held(report, buffers, count)
    top = (PROFILE + 26) if held else 20
    width, height = left + count * step + sizes, top + len(buffers) * ROW + 8
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" role="img" aria-label="When buffers live">'
    ]
    lines += _grid(count, step, left, top, height)
    lines += _profile(held, step, left) if held else []
    for row, buffer in enumerate(buffers):
        lines.append(_life(report, buffer, row, step, left, top))
    roles = [role for role in ROLES if any(b.role == role for b in buffers)]
    keys = "".join(f'<span><i style="background:var(--r-{role})"></i>{role}</span>' for role in roles)
    return [f'<div class="keys">{keys}</div>', f'<div class="scroll lives">{"".join(lines)}</svg></div>']


def _size(buffer: BufferRow) -> str:
    """The size of one, and how many there are; an expression that is long is in the tip only."""
    text = readable_bytes(buffer.size)
    text = text if len(text) <= 40 else "..."
    return text if buffer.times is ONE else f"{exact(buffer.times)} x {text}"


def _grid(count: int, step: float, left: float, top: float, height: float) -> list[str]:
    every = next(n for n in (5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, count) if n * step >= 40 or n >= count)
    found = []
    for task in range(0, count, every):
        x = left + task * step
        found.append(
            f'<path class="grid" d="M{x:g} {top - 4}V{height:g}"/><text class="axis" x="{x + 2:g}" y="{top - 8}">task {task}</text>'
        )
    return found


def _life(report: Report, buffer: BufferRow, row: int, step: float, left: float, top: float) -> str:
    first, last = buffer.live[0], buffer.live[-1]
    names = [report.tasks[place].name if place < len(report.tasks) else str(place) for place in (first, last)]
    x, y, width = left + first * step, top + row * ROW, (last - first + 1) * step
    times = "" if buffer.times is ONE else f"{exact(buffer.times)} of them, each "
    size = f"{readable_bytes(buffer.size)}" + (f" ({buffer.size.integer:,})" if (buffer.size.integer or 0) >= 1024 else "")
    note = f"{buffer.name}\n{buffer.role}, {buffer.storage}\n{times}{size}\nfrom {names[0]} ({first})\nto {names[1]} ({last})"
    end = x + width + 6
    return (
        f'<g class="life"><title>{escape(note)}</title>'
        f'<text text-anchor="end" x="{left - 6:g}" y="{y + 11:g}">{escape(buffer.name)}</text>'
        f'<rect x="{x:g}" y="{y + 2:g}" width="{width:g}" height="{ROW - 4}" style="fill:var(--r-{buffer.role})"/>'
        f'<text x="{end:g}" y="{y + 11:g}" class="axis">{escape(_size(buffer))}</text></g>'
    )


def _held(report: Report, buffers: Sequence[BufferRow], count: int) -> list[int]:
    """The bytes held at each task; nothing of plans with sections, which run their tasks more than once, or where sizes have symbols."""
    if report.sections or any(b.size.integer is None for b in buffers):
        return []
    change = [0] * (count + 1)
    for buffer in buffers:
        size = _integer(buffer.size)
        first, last = (0, count - 1) if buffer.storage == "persistent" else (buffer.live[0], buffer.live[-1])
        change[first] += size
        change[last + 1] -= size
    found, now = [], 0
    for difference in change[:-1]:
        now += difference
        found.append(now)
    return found


def _integer(value: Expr) -> int:
    return value.integer or 0


def _profile(held: Sequence[int], step: float, left: float) -> list[str]:
    """A step for each task, as high as what is held; the highest says how much."""
    most = max(held) or 1
    bottom = PROFILE
    path = f"M{left:g} {bottom}"
    for task, size in enumerate(held):
        path += f"V{bottom - 90 * size / most:.1f}H{left + (task + 1) * step:g}"
    place = held.index(most) if most in held else 0
    x = left + (place + 0.5) * step
    label = f"most at once: {most:,} bytes, at task {place}"
    anchor = "start" if place < len(held) / 2 else "end"
    return [
        f'<path d="{path}V{bottom}z" style="fill:var(--r-activation);opacity:.55"/>',
        f'<text text-anchor="end" class="axis" x="{left - 6:g}" y="{bottom - 2}">bytes held</text>',
        f'<path d="M{x:g} 16V{bottom}" style="stroke:var(--warm)"/>',
        f'<text class="axis" text-anchor="{anchor}" x="{x:g}" y="12">{label}</text>',
    ]
