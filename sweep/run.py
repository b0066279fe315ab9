"""A whole sweep: each structure is derived once, its points are evaluated in parts, and the parts are one table."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from math import prod

import attrs

from bpir.ir.diagnostic import Diagnostic, DiagnosticError, Source, fail, note, suggestion
from bpir.ir.effort import BASE, allow
from bpir.ir.operation import Operation
from bpir.sweep.conditions import Condition, parse_condition, resolved
from bpir.sweep.engines import Engine
from bpir.sweep.grid import Axis, parse_grid
from bpir.sweep.open_axes import closed
from bpir.sweep.points import PART, Axes, Compiled, parts
from bpir.sweep.storage.store import Stored, Table, table, write_part
from bpir.sweep.structures import Derived, Structure, derive, structures
from bpir.sweep.subject import Subject, Swept, stacked

WORK = ("totals.ops", "totals.matmul_ops", "totals.read", "totals.write", "totals.msg")
OF_PHASES = "totals.by_phase."
DEFAULT = ("devices", *WORK, "memory", "job.memory", "job.messages", "job.work.total.ops", "messages.total")
"""The columns that are stored where none are chosen, each with all below it."""

Progress = Callable[[str, int, int, int], None]
"""Is told what is done, how many of how many structures or points, and how many rows were kept."""


@attrs.frozen
class Request:
    """What is asked for, as text: the same for every process.

    Attributes:
        name, text: the file.
        training: whether the model is trained.
        grid: the texts of `--grid`.
        where: the texts of `--where`.
        numbers: for symbols that are not swept.
        columns: which columns are stored, each with all below it.
        part: points that are evaluated, and in memory, at once.
        layers: how often the one block of the file is repeated; 0 where the file is a model as it stands.
    """

    name: str
    text: str
    training: bool
    grid: tuple[str, ...]
    where: tuple[str, ...] = ()
    numbers: tuple[tuple[str, int], ...] = ()
    columns: tuple[str, ...] = DEFAULT
    part: int = PART
    layers: int = 0


@attrs.frozen(eq=False)
class Plan:
    """A request that was understood: the subject, what is swept, and the structures."""

    subject: Subject
    swept: tuple[Swept, ...]
    prepared: Operation
    structures: tuple[Structure, ...]
    conditions: tuple[Condition, ...]

    @property
    def words(self) -> dict[str, list[str]]:
        """The names of the grid that have words, and these."""
        return {one.name: list(map(str, one.axis.values)) for one in self.swept if one.axis.values and not one.axis.numbers}


@attrs.frozen(eq=False)
class Result:
    """The rows of a sweep, and what became of the points that are no rows.

    Attributes:
        points: how many the grid has.
        filtered: how many each relation or condition left out.
        refused: how many the derivation refuses, by its message.
    """

    plan: Plan
    table: Table
    columns: tuple[str, ...]
    points: int
    kept: int
    filtered: Mapping[str, int]
    refused: Mapping[str, int]
    derived: tuple[Derived, ...]


@lru_cache(maxsize=2)
def understood(request: Request) -> Plan:
    """The request, read.

    Raises:
        DiagnosticError: the file, the grid or a condition is wrong.
    """
    from bpir.tools.common import sound_module

    allow(BASE)
    source = Source(request.name, request.text)
    module = sound_module(source, [])
    subject = Subject(source, stacked(module, request.layers) if request.layers else module, request.training)
    conditions = tuple(map(parse_condition, request.where))
    axes: list[Axis] = closed(parse_grid(request.grid), conditions)
    swept = tuple(subject.swept(axes))
    return Plan(subject, swept, subject.prepared(swept), tuple(structures(swept)), conditions)


@attrs.frozen
class _Derivation:
    request: Request
    place: int


@attrs.frozen
class _Evaluation:
    """A part to evaluate: of which structure, at which points, and the file for its rows."""

    request: Request
    place: int
    derived: Derived
    known: tuple[str, ...]
    stored: tuple[str, ...]
    axes: Axes
    path: str


def sweep(request: Request, engine: Engine, folder: str, progress: Progress) -> Result:
    """Do a sweep; the files of its parts are in the folder.

    Raises:
        DiagnosticError: the request is wrong, the derivation refuses all structures, or a column can't be computed.
    """
    plan = understood(request)
    derived = _derived(request, engine, progress, len(plan.structures))
    refused: dict[str, int] = {}
    for structure, one in zip(plan.structures, derived, strict=True):
        if one.refused:
            refused[one.refused] = refused.get(one.refused, 0) + structure.points
    if all(one.refused for one in derived):
        raise DiagnosticError(*(Diagnostic(message) for message in refused), note("the derivation refuses every structure of the grid"))
    known = _columns([one for one in derived if not one.refused])
    fields = tuple(one.name for one in plan.swept)
    resolved(plan.conditions, (*fields, *known), plan.words)
    stored = (*fields, *_chosen(known, request.columns))
    items = [
        _Evaluation(request, place, derived[place], known, stored, axes, os.path.join(folder, f"{count:06}.parquet"))
        for count, (place, axes) in enumerate(_parts(plan.structures, derived, request.part))
    ]
    points = sum(structure.points for structure in plan.structures)
    ordered = _evaluated(engine, items, progress, points)
    filtered: dict[str, int] = {}
    for part in ordered:
        for label, number in part.filtered.items():
            filtered[label] = filtered.get(label, 0) + number
    kept = sum(part.count for part in ordered)
    return Result(plan, table(ordered, stored, plan.words), known, points, kept, filtered, refused, derived)


def _derived(request: Request, engine: Engine, progress: Progress, count: int) -> tuple[Derived, ...]:
    """The structures, derived in whatever order they are ready."""
    found: dict[int, Derived] = {}
    for place, one in engine.map(_derive, [_Derivation(request, place) for place in range(count)]):
        found[place] = one
        progress("structures", len(found), count, 0)
    return tuple(found[place] for place in range(count))


def _evaluated(engine: Engine, items: Sequence[_Evaluation], progress: Progress, points: int) -> list[Stored]:
    """The parts, evaluated in whatever order they are ready.

    Raises:
        DiagnosticError: one can't be computed.
    """
    results: dict[int, Stored] = {}
    done = kept = 0
    for place, result in engine.map(_evaluate, items):
        if isinstance(result, str):
            raise fail(result, None)
        results[place] = result
        done += prod(map(len, items[place].axes.values()))
        kept += result.count
        progress("points", done, points, kept)
    return [results[place] for place in range(len(items))]


def _columns(derived: Sequence[Derived]) -> tuple[str, ...]:
    """The columns that all structures have; a phase that one of them does not have is 0."""
    found = dict.fromkeys(name for one in derived for name in one.columns)
    return tuple(name for name in found if name.startswith(OF_PHASES) or all(name in one.columns for one in derived))


def _derive(item: _Derivation) -> Derived:
    plan = understood(item.request)
    return derive(plan.subject, plan.prepared, plan.structures[item.place], dict(item.request.numbers))


def _parts(structures: Sequence[Structure], derived: Sequence[Derived], most: int) -> Iterator[tuple[int, Axes]]:
    """The parts of all structures that could be derived, each with the place of its structure."""
    for place, (structure, one) in enumerate(zip(structures, derived, strict=True)):
        for axes in parts(structure.axes, most) if not one.refused else ():
            yield place, axes


def _evaluate(item: _Evaluation) -> Stored | str:
    """The part, stored; or why it can't be computed."""
    allow(BASE)
    try:
        rows = _compiled(item).rows(item.axes, item.stored)
    except DiagnosticError as problem:
        return problem.diagnostics[0].message
    return write_part(rows, item.stored, item.path)


_READY: dict[tuple[Request, int], Compiled] = {}
"""The structure that this process evaluated last."""


def _compiled(item: _Evaluation) -> Compiled:
    """The structure of a part, compiled once for all parts that follow each other."""
    key = (item.request, item.place)
    if key not in _READY:
        plan = understood(item.request)
        fields = tuple(one.name for one in plan.swept)
        names = [name for name in item.stored if name not in fields]
        conditions = resolved(plan.conditions, (*fields, *item.known), plan.words)
        _READY.clear()
        _READY[key] = Compiled(plan.structures[item.place], item.derived, names, conditions)
    return _READY[key]


def _chosen(known: Sequence[str], wanted: Sequence[str]) -> list[str]:
    """The columns that are stored, in their order.

    Raises:
        DiagnosticError: a wanted one is none.
    """
    below = {want: {name for name in known if name == want or name.startswith(f"{want}.")} for want in wanted}
    absent = next((want for want, names in below.items() if not names), None)
    if absent is not None and wanted != DEFAULT:
        raise fail(f"--columns: there is no column '{absent}'{suggestion(absent, known)}", None)
    return [name for name in known if any(name in names for names in below.values())]
