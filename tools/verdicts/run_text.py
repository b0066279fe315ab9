"""The output of bp-run: a few lines for a reader, or JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from bpir.ir.diagnostic import Diagnostic
from bpir.run.check import Outcome

_WIDTH = 9


def as_text(outcomes: Iterable[Outcome]) -> str:
    """The lines of each block."""
    found = list(outcomes)
    lines = [line for index, outcome in enumerate(found) for line in _lines(outcome, index == 0 or not outcome.runs)]
    return "".join(line + "\n" for line in lines)


def _lines(outcome: Outcome, numbers: bool) -> Iterable[str]:
    if outcome.chosen and numbers:
        yield "with " + ", ".join(f"{name} = {value}" for name, value in outcome.chosen.items())
    if outcome.runs:
        yield f"{'block':<{_WIDTH}} @{outcome.block}   run {outcome.runs} time{'s' if outcome.runs != 1 else ''}, on what came before"
    ranks = f"{outcome.ranks} rank{'s' if outcome.ranks != 1 else ''}"
    for phase, largest in outcome.phases.items():
        own = ""
        if phase == "backward" and outcome.gradients is not None:
            own = f"   (the model's own gradients: {outcome.gradients:.1e} from the complex step, random directions)"
        yield f"{phase:<{_WIDTH}} {ranks}   largest difference {largest:.1e}{own}"
    if not outcome.against:
        stated = "matrix products and bytes as stated" if outcome.bytes_measured else "matrix products as stated"
        yield f"{'work':<{_WIDTH}} {outcome.tasks} tasks  {stated}"
        for alive in outcome.alive:
            yield f"{'memory':<{_WIDTH}} {alive.what} {alive.stated} bytes, alive {alive.alive}"


def as_json(outcomes: Iterable[Outcome]) -> str:
    """The same for other programs."""
    return json.dumps([_object(outcome) for outcome in outcomes], indent=2) + "\n"


def _object(outcome: Outcome) -> dict[str, Any]:
    runs = {"runs": outcome.runs} if outcome.runs else {}
    return {
        "block": outcome.block,
        **runs,
        "agrees": not outcome.against,
        "ranks": outcome.ranks,
        "numbers": dict(outcome.numbers),
        "chosen": dict(outcome.chosen),
        "largest_difference": {phase: _float(largest) for phase, largest in outcome.phases.items()},
        "gradient_deviation": None if outcome.gradients is None else _float(outcome.gradients),
        "tasks": outcome.tasks,
        "bytes_measured": outcome.bytes_measured,
        "memory": [{"what": a.what, "alive": _exact(a.alive), "stated": _exact(a.stated)} for a in outcome.alive],
        "against": [_diagnostic(d) for d in outcome.against],
    }


def _float(value: float) -> float | str:
    return value if value < float("inf") else "inf"


def _exact(value: Fraction) -> int | str:
    return value.numerator if value.denominator == 1 else str(value)


def _diagnostic(diagnostic: Diagnostic) -> dict[str, Any]:
    place: dict[str, Any] = {}
    if diagnostic.span is not None:
        line, column = diagnostic.span.source.position(diagnostic.span.start)
        place = {"file": diagnostic.span.source.name, "line": line, "column": column}
    return {"message": diagnostic.message, **place}
