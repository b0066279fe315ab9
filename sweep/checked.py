"""A row of a sweep, derived again with its numbers: both levels read back from their text, judged, and each column compared."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING

import attrs

from bpir.ir.diagnostic import Diagnostic, DiagnosticError, Source, error, note
from bpir.ir.effort import BASE, allow
from bpir.ir.expressions.expression import constant
from bpir.ir.operation import Operation
from bpir.ir.printer import print_module
from bpir.sweep.best import Row
from bpir.sweep.run import Request, Result
from bpir.sweep.structures import columns_of, pipeline_text
from bpir.sweep.subject import Subject

if TYPE_CHECKING:
    from bpir.cost.system import System


@attrs.frozen
class Checked:
    """What was found of a row.

    Attributes:
        text: the verdict, and the passes that lead to the plan.
        dist, plan: both levels as text; empty where they can't be derived.
        against: what speaks against it.
    """

    text: str
    dist: str = ""
    plan: str = ""
    against: tuple[Diagnostic, ...] = ()


def checked(request: Request, result: Result, row: Row, place: int, system: System | None = None) -> Checked:
    """Derive the row and judge what comes out; on a described machine, estimate it, too."""
    allow(4 * BASE)
    subject = result.plan.subject
    options, numbers = _chosen(request, result, row)
    pipeline = pipeline_text(subject, options)
    try:
        dist, plan = _levels(subject, pipeline)
        against = [*_judged(subject.module, dist), *_judged(_read(dist), plan)]
        columns = {name: row[name] for name in result.table.names if name in result.columns}
        different = _different(_read(plan), columns, numbers)
    except DiagnosticError as refusal:
        return Checked(f"{place}  refused\n   {pipeline}", against=refusal.diagnostics)
    if different:
        against.append(error(f"row {place} is not what its plan says", None, *map(note, different)))
    errors = [d for d in against if d.severity == "error"]
    verdict = "proved" if not errors else "unknown" if all(d.undecided for d in errors) else "refuted"
    said = [str(place), verdict, f"{len(columns) - len(different)} of {len(columns)} columns equal"]
    if system is not None:
        from bpir.cost.estimate import estimate
        from bpir.cost.text import shown

        found = estimate(_read(plan), system, numbers)
        said.append(f"estimate {shown(found.seconds['total'].value)} on {system.name}")
    return Checked(f"{'  '.join(said)}\n   {pipeline}", dist, plan, tuple(errors))


def _levels(subject: Subject, pipeline: str) -> tuple[str, str]:
    """The text of the distributed module and of the plan."""
    from bpir.passes.manager import PassManager
    from bpir.passes.pipeline import parse_pipeline

    module, texts = subject.module, []
    for current in parse_pipeline(Source("<sweep>", pipeline)):
        module = PassManager([current], print_module).run(module)
        texts.append(print_module(module).rstrip("\n") + "\n")
    return texts[0], texts[1]


def _read(text: str) -> Operation:
    from bpir.tools.common import sound_module

    return sound_module(Source("<plan>", text), [])


def _judged(source: Operation, target: str) -> list[Diagnostic]:
    """What speaks against the text as a derivation of the module, as `bp-verify` finds it."""
    from bpir.verifiers.derivation import verifier

    return [d for d in verifier(source, _read(target), None).verify() if d.severity == "error"]


def _different(plan: Operation, columns: Mapping[str, object], numbers: Mapping[str, int]) -> list[str]:
    """The columns whose value is not what the report of the plan says."""
    said, _ = columns_of(plan, {name: constant(number) for name, number in numbers.items()})
    return [
        f"{name}: the row has {value}, the plan {said[name].text if name in said else 'nothing'}"
        for name, value in columns.items()
        if Fraction(str(value)) != (said[name].constant if name in said else Fraction(0))
    ]


def _chosen(request: Request, result: Result, row: Row) -> tuple[dict[str, str], dict[str, int]]:
    """The options of the passes that a row stands for, and the numbers of all symbols."""
    swept = result.plan.swept
    options = {one.option: str(row[one.name]) for one in swept if one.option}
    return options, dict(request.numbers) | {one.symbol: int(row[one.name]) for one in swept if one.symbol and not one.option}
