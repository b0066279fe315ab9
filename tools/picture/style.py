"""The colours of pictures, on light and on dark paper, and the widths of their text."""

from __future__ import annotations

COLORS = {
    "forward": "#cfe3f7",
    "prefill": "#cfe3f7",
    "decode": "#cfe3f7",
    "recompute": "#fdf0c4",
    "recommunication": "#fbdcae",
    "activation_gradient": "#f9d2d2",
    "weight_gradient": "#e4d4f2",
    "gradient_reduction": "#d5d9f0",
    "optimizer": "#d3ecd2",
}
"""The colour of each phase on light paper."""

DARK = {
    "forward": "#1f4468",
    "prefill": "#1f4468",
    "decode": "#1f4468",
    "recompute": "#5c4d14",
    "recommunication": "#66421a",
    "activation_gradient": "#6b2b2f",
    "weight_gradient": "#4b3468",
    "gradient_reduction": "#333d70",
    "optimizer": "#24512a",
}
"""The same on dark paper."""

NO_PHASE, NO_PHASE_DARK = "#eeeeee", "#3a3f46"

ROLES = {
    "input": ("#7fb2e5", "#4d86bf"),
    "output": ("#4f83c4", "#7aa7df"),
    "constant": ("#a9b0bb", "#6f7883"),
    "state": ("#e0b34d", "#b98a26"),
    "workspace": ("#8ccf9c", "#4f9962"),
    "activation": ("#74c1c9", "#3f8d96"),
    "gradient": ("#dd8a8a", "#b25a5f"),
    "optimizer": ("#b79ad6", "#8465ab"),
}
"""The colour of each role of a buffer, on light and on dark paper."""

PAPER = {
    "paper": ("#ffffff", "#16191d"),
    "ink": ("#1f2328", "#e6e9ec"),
    "faint": ("#66707a", "#9aa4ae"),
    "rule": ("#d0d7de", "#3d444d"),
    "edge": ("#57606a", "#8b949e"),
    "panel": ("#f6f8fa", "#1e2228"),
    "warm": ("#b35900", "#f0a04b"),
}

FONT = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
_ADVANCE = 0.62  # of a letter in a font of one width, in its size; the widest of the usual ones has 0.602


def text_width(text: str, size: float) -> float:
    """How wide a text is at most, in pixels; its bytes are decoded as latin-1."""
    return len(text.encode("latin-1").decode("utf-8", "replace")) * size * _ADVANCE


def variables(selector: str) -> str:
    """CSS variables of all colours, for light paper and, where the reader prefers it, dark paper."""
    light, dark = _both()
    return (
        f"{selector}{{color-scheme:light dark;{_declared(light)}}}\n@media (prefers-color-scheme:dark){{{selector}{{{_declared(dark)}}}}}\n"
    )


def _both() -> tuple[dict[str, str], dict[str, str]]:
    light = {name: pair[0] for name, pair in PAPER.items()} | {f"p-{name}": color for name, color in COLORS.items()}
    dark = {name: pair[1] for name, pair in PAPER.items()} | {f"p-{name}": color for name, color in DARK.items()}
    light |= {f"r-{name}": pair[0] for name, pair in ROLES.items()} | {"p-": NO_PHASE}
    dark |= {f"r-{name}": pair[1] for name, pair in ROLES.items()} | {"p-": NO_PHASE_DARK}
    return light, dark


def _declared(colors: dict[str, str]) -> str:
    return "".join(f"--{name}:{color};" for name, color in colors.items())
