"""An estimate as a table and as JSON. Both say that it is one, of which system, and on what evidence."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

from bpir.cost.estimate import Estimate
from bpir.cost.seconds import Seconds, in_all
from bpir.cost.tasks import TaskCost

GROUPS: dict[str, Callable[[TaskCost], str]] = {
    "task": lambda cost: cost.task.name,
    "layer": lambda cost: cost.task.layer,
    "phase": lambda cost: cost.task.phase,
}


def render_json(found: Estimate, by: str) -> str:
    """The estimate for programs: seconds are floating-point numbers, and `range` has the least and the most where they differ."""
    document: dict[str, Any] = {
        "estimate": True,
        "module": found.report.module,
        "system": found.system.name,
        "overlap": found.system.overlap,
        "seconds": {key: value.value for key, value in found.seconds.items()},
    }
    if not all(value.known for value in found.seconds.values()):
        document["range"] = {key: [value.least, value.most] for key, value in found.seconds.items()}
    if found.utilisation is not None:
        document["model_flops_utilisation"] = found.utilisation
    if found.tokens is not None:
        document["tokens_per_second"] = found.tokens
    document["waits_for"] = found.waits
    document["tasks" if by == "task" else f"{by}s"] = list(_rows(found, by))
    document["evidence"] = [{"what": e.what, "place": e.place, "source": e.source or None, "date": e.date or None} for e in found.evidence]
    return json.dumps(document, indent=1) + "\n"


def _rows(found: Estimate, by: str) -> Iterable[dict[str, Any]]:
    if by == "task":
        for place, cost in enumerate(found.tasks):
            yield {
                "name": cost.task.name,
                "layer": cost.task.layer,
                "phase": cost.task.phase,
                "engine": cost.engine or None,
                "seconds": cost.seconds.value,
                "own_seconds": cost.own.value,
                "network_seconds": cost.network.value,
                "runs": float(found.runs(place)),
                "bottleneck": cost.bottleneck or None,
                "share_of_peak": cost.share,
                "evidence": [e.place for e in cost.evidence],
            }
        return
    for name, seconds in _grouped(found, by).items():
        yield {"name": name, "seconds": seconds.value}


def _grouped(found: Estimate, by: str) -> dict[str, Seconds]:
    """The seconds of all runs of the tasks on the device, by layer or phase."""
    groups: dict[str, list[Seconds]] = {}
    for place, cost in enumerate(found.tasks):
        groups.setdefault(GROUPS[by](cost), []).append(cost.seconds.times(float(found.runs(place))))
    return {name: in_all(parts) for name, parts in groups.items()}


def render_request(prefill: Estimate, decode: Estimate, count: int) -> str:
    """The seconds of a request, of its prefill and so many steps of decoding, as JSON."""
    parts = {"prefill": prefill.seconds["total"].value, "decode": decode.seconds["total"].value}
    total = parts["prefill"] + count * parts["decode"]
    document = {"estimate": True, "system": prefill.system.name, "decodes": count, "seconds": {**parts, "total": total}}
    return json.dumps(document, indent=1) + "\n"


def render_table(found: Estimate, by: str) -> str:
    """The estimate for people."""
    system = f"{found.system.name} ({found.system.file.document.source.name})"
    lines = [f"estimate of @{found.report.module} on {system}, overlap {found.system.overlap}", ""]
    rows = _task_rows(found) if by == "task" else [(n, shown(s.value)) for n, s in _grouped(found, by).items() if s.value]
    head: tuple[str, ...] = ("task", "waits for", "of its peak", "runs", "one run", "in all") if by == "task" else (by, "in all")
    lines += [*_aligned([head, *rows], words=2 if by == "task" else 1), ""]
    total = [(key, shown(value.value), _range(value)) for key, value in found.seconds.items() if value.value or key == "total"]
    lines += _aligned([("of a step", "estimate", ""), *total], words=1)
    if found.utilisation is not None:
        lines.append(f"model FLOP utilisation {100 * found.utilisation:.2f} %")
    if found.tokens is not None:
        lines.append(f"{found.tokens:,.1f} tokens a second")
    lines += ["", "evidence", *(f"  {e.text}" for e in found.evidence)]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _task_rows(found: Estimate) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for place, cost in enumerate(found.tasks):
        if cost.seconds.value:
            runs = found.runs(place)
            share = f"{100 * cost.share:.1f} %" if cost.share is not None else ""
            whole = cost.seconds.value * float(runs)
            rows.append((cost.task.name, cost.bottleneck, share, f"{float(runs):g}", shown(cost.seconds.value), shown(whole)))
    return rows


def _range(value: Seconds) -> str:
    return "" if value.known else f"{shown(value.least)} to {shown(value.most)}"


def _aligned(rows: list[tuple[str, ...]], words: int) -> list[str]:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = (cell.ljust(w) if i < words else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, widths, strict=True)))
        lines.append("  ".join(cells).rstrip())
    lines.insert(1, "  ".join("-" * width for width in widths).rstrip())
    return lines


def shown(seconds: float) -> str:
    """Seconds in the unit that fits them."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if abs(seconds) >= size:
            return f"{seconds / size:.4g} {unit}"
    return f"{seconds / 1e-9:.3g} ns" if seconds else "0"
