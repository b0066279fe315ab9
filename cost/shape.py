"""The shape of a job: which sections each device runs, and how often; from the stages of a plan, or as Calculon counts blocks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from fractions import Fraction

import attrs

from bpir.cost.tasks import number
from bpir.dialects.bind import as_expr, as_word
from bpir.dialects.levels import PortablePlanIR
from bpir.dialects.plan import Task
from bpir.ir.attributes import Attribute
from bpir.ir.expressions.expression import ONE, Expr, constant
from bpir.tools.reports.report import Report, SectionRow


@attrs.frozen
class Device:
    """What one device runs: how often each section, by its name, for one microbatch (of an update of weights: a step)."""

    runs: Mapping[str, Fraction]


@attrs.frozen
class Shape:
    """A job.

    Attributes:
        devices: one of each stage of the pipeline.
        sections: the sections, in order; one of all tasks where a plan has none.
        blocks: how many blocks the network repeats, where it repeats one only; 0 otherwise.
        calculon: whether it is counted as Calculon does.
        fields: the strategy.
        ranks: the size of each mesh axis.
        messages: the bytes that a job sends besides its tasks.
    """

    devices: tuple[Device, ...]
    sections: tuple[SectionRow, ...]
    blocks: int
    stages: int
    chunks: int
    microbatches: int
    calculon: bool
    fields: Mapping[str, Attribute]
    ranks: Mapping[str, int]
    messages: Mapping[str, Fraction]


def shape_of(plan: PortablePlanIR, report: Report, numbers: Mapping[str, int]) -> Shape:
    """The shape of the job that a plan is.

    Raises:
        DiagnosticError: a number of it is a symbol.
    """
    values = {name: constant(value) for name, value in {**plan.symbols.bindings, **numbers}.items()}
    fields, axes = _placed(plan)
    ranks = {name: _whole(size.substitute(values)) for name, size in axes.items()}

    def field(name: str) -> int:
        return _whole((as_expr(fields.get(name)) or ONE).substitute(values))

    calculon = as_word(fields.get("convention")) == "calculon"
    stages = field("pipeline")
    sections = report.sections or (SectionRow("", ONE, tuple(range(len(report.tasks)))),)
    borders = {section.name for section in sections if all(report.tasks[place].moves == "transfer" for place in section.tasks)}
    counts = {section.name: number(section.times) for section in sections if section.name not in borders}
    blocks = int(counts[sections[0].name]) if len(set(counts.values())) == 1 else 0
    if calculon:  # what goes between its stages is a message of the job
        devices: tuple[Device, ...] = (_even(counts, stages),) * stages
    else:
        devices = _devices(plan, values, _directions(report, sections, borders)) or (Device(counts),)
    messages = {name: number(value) for name, value in report.job.messages.items()} if report.job is not None else {}
    return Shape(devices, sections, blocks, stages, field("interleaving"), field("microbatches"), calculon, fields, ranks, messages)


def _placed(plan: PortablePlanIR) -> tuple[Mapping[str, Attribute], Mapping[str, Expr]]:
    """The fields of the strategy of a plan's mesh, and the axes of the mesh."""
    mesh = plan.meshes[0] if plan.meshes else None
    if mesh is None:
        return {}, {}
    return next((s.fields for s in plan.strategies if s.symbol == mesh.strategy), {}), mesh.axes


def _even(counts: Mapping[str, Fraction], stages: int) -> Device:
    """The device of the fullest stage, where the runs of each section are dealt to the stages."""
    return Device({name: Fraction(-(-count // stages)) for name, count in counts.items()})


def _directions(report: Report, sections: Sequence[SectionRow], borders: Set[str]) -> dict[str, bool]:
    """The sections that send from stage to stage, and whether they send forward."""
    return {s.name: report.tasks[s.tasks[0]].phase == "forward" for s in sections if s.name in borders}


def _devices(plan: PortablePlanIR, values: Mapping[str, Expr], sends: Mapping[str, bool]) -> tuple[Device, ...]:
    """The devices of the stages that a plan says; none where it says none.

    Each chunk sends to the next one forward, and to the one before it backward: all but the last one, and the first one.
    """
    rows = sorted(plan.stages, key=lambda stage: (stage.chunk, stage.place))
    found: dict[int, dict[str, Fraction]] = {}
    for place, stage in enumerate(rows):
        runs = found.setdefault(stage.place, {})
        for name, times in stage.times().items():
            runs[name] = runs.get(name, Fraction(0)) + number(times.substitute(values))
        for name, forward in sends.items():
            runs[name] = runs.get(name, Fraction(0)) + (place < len(rows) - 1 if forward else place > 0)
    return tuple(Device(runs) for _, runs in sorted(found.items()))


def _whole(value: Expr) -> int:
    return int(number(value))


_OF_REPLICAS = (".gradients", ".weights")
"""How the layers of messages between replicas end: sums of gradients, and gathers of weights."""


def axis_of(task: Task) -> str:
    """The mesh axis along which a task of a plan sends; that of tensor parallelism where nothing says another one."""
    if task.along:
        return task.along
    if task.kind_of_work == "all_to_all":
        return "expert"
    layer = task.symbol.removesuffix(f".{task.phase}")
    return "data" if task.kind == "collective" and layer.endswith(_OF_REPLICAS) else "tensor"
