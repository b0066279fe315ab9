"""The estimate of a plan on a system: its tasks, its seconds, and what follows from them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

import attrs

from bpir.cost.figures import Evidence
from bpir.cost.job import JobCost, job_cost, model_operations
from bpir.cost.seconds import Seconds, in_all
from bpir.cost.shape import Device, Shape, axis_of, shape_of
from bpir.cost.system import System
from bpir.cost.tasks import MATRIX, Costs, TaskCost, number
from bpir.dialects.bind import as_expr
from bpir.dialects.levels import PortablePlanIR
from bpir.ir.diagnostic import Diagnostic, fail, warning
from bpir.ir.expressions.expression import constant
from bpir.ir.operation import Operation
from bpir.tools.reports.collect import collect
from bpir.tools.reports.report import Report
from bpir.verifiers.structure.levels import level_of, place_of


@attrs.frozen(eq=False)
class Estimate:
    """What a plan is estimated to take.

    Attributes:
        seconds: of a step by what they are of, or of a phase of inference by its name; with their `total`.
        job: of training: the busiest device, and the message between stages.
        utilisation: the share of the peak of all devices that the model's matrix products need.
        tokens: tokens a second, of all replicas; None where the plan does not say its batch.
        warnings: what does not fit the system.
    """

    system: System
    report: Report
    shape: Shape
    tasks: tuple[TaskCost, ...]
    seconds: Mapping[str, Seconds]
    job: JobCost | None
    utilisation: float | None
    tokens: float | None
    warnings: tuple[Diagnostic, ...]

    @property
    def device(self) -> Device:
        """The device that the seconds are of."""
        return self.job.device if self.job is not None else self.shape.devices[0]

    def runs(self, place: int) -> Fraction:
        """How often the device runs a task in a step."""
        found = sum((self.device.runs.get(s.name, Fraction(0)) for s in self.shape.sections if place in s.tasks), Fraction(0))
        once = self.job is None or self.tasks[place].task.phase in ("optimizer", "gradient_reduction")
        return found if once else found * self.shape.microbatches

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """Every figure that was used, once."""
        found = dict.fromkeys(e for task in self.tasks for e in task.evidence)
        found.update(dict.fromkeys(self.job.evidence if self.job is not None else ()))
        return tuple(found)

    @property
    def waits(self) -> dict[str, float]:
        """The seconds of the device's tasks by what they wait for."""
        found: dict[str, float] = {}
        for place, cost in enumerate(self.tasks):
            if cost.bottleneck:
                found[cost.bottleneck] = found.get(cost.bottleneck, 0.0) + cost.seconds.value * float(self.runs(place))
        return found


def estimate(module: Operation, system: System, numbers: Mapping[str, int]) -> Estimate:
    """The estimate of a plan.

    Raises:
        DiagnosticError: it is no plan, holds symbols, or needs a figure that the system does not have.
    """
    level = level_of(module)
    if level != "plan":
        raise fail(f"an estimate is of a plan, and this module is of level '{level or 'none'}'", place_of(module))
    plan = PortablePlanIR(module)
    report = collect(module).bound({name: constant(value) for name, value in numbers.items()})
    shape = shape_of(plan, report, numbers)
    costs = Costs(system, shape.ranks)
    tasks = tuple(costs.of(row, axis_of(task)) for row, task in zip(report.tasks, plan.tasks, strict=True))
    training = any(task.phase == "forward" for task in report.tasks)
    job = job_cost(shape, costs, tasks) if training else None
    seconds = job.seconds if job is not None else _inference(shape, tasks)
    device = job.device if job is not None else shape.devices[0]
    total = seconds["total"].value
    needed = model_operations(shape, device, tasks)
    utilisation = float(needed) / total / system.engine(MATRIX).peak.value if total and needed else None
    tokens = _tokens(plan, shape, report, numbers)
    rate = float(tokens) / total if tokens and total else None
    return Estimate(system, report, shape, tasks, seconds, job, utilisation, rate, _unfit(system, shape, report))


def _inference(shape: Shape, tasks: Sequence[TaskCost]) -> dict[str, Seconds]:
    """The seconds of a phase, over all sections."""
    found: dict[str, Seconds] = {}
    for section in shape.sections:
        times = float(sum((device.runs.get(section.name, Fraction(0)) for device in shape.devices), Fraction(0)))
        for place in section.tasks:
            phase = tasks[place].task.phase
            found[phase] = found.get(phase, Seconds()) + tasks[place].seconds.times(times)
    return {**found, "total": in_all(found.values())}


def _tokens(plan: PortablePlanIR, shape: Shape, report: Report, numbers: Mapping[str, int]) -> Fraction | None:
    """The tokens of a step, or of a phase, of all replicas; None where the plan does not say its batch or its tokens."""
    bound = {name: constant(value) for name, value in {**plan.symbols.bindings, **numbers}.items()}
    phase = next((task.phase for task in report.tasks if task.phase), "")
    kind = "inference" if phase in ("prefill", "decode") else "training"
    fields = next((workload.fields for workload in plan.workloads if workload.kind == kind), {})

    def said(field: str, symbol: str) -> Fraction | None:
        value = as_expr(fields.get(field))
        value = value.substitute(bound) if value is not None else bound.get(symbol)
        return value.constant if value is not None else None

    batch = said("batch", "B")
    context = Fraction(1) if phase == "decode" else said("query", "q") or said("context", "S" if kind == "training" else "c")
    if batch is None or context is None:
        return None
    replicas = shape.ranks.get("data", 1) * shape.ranks.get("expert", 1)
    return batch * context * replicas * (shape.microbatches if kind == "training" else 1)


def _unfit(system: System, shape: Shape, report: Report) -> tuple[Diagnostic, ...]:
    """What the described machine has no room for."""
    return (*_too_many_ranks(system, shape), *_too_little_memory(system, report))


def _too_many_ranks(system: System, shape: Shape) -> Iterator[Diagnostic]:
    for axis, size in shape.ranks.items():
        number_of_tier = system.axes.get(axis, len(system.tiers))
        tier = system.tiers[number_of_tier] if number_of_tier < len(system.tiers) else None
        if tier is not None and size > tier.devices:
            message = f"{size} ranks of '{axis}' are more than the {tier.devices} devices of network tier {tier.number}"
            yield warning(message, tier.view.place())


def _too_little_memory(system: System, report: Report) -> Iterator[Diagnostic]:
    has = system.memory_bytes
    if has is not None and report.job is not None and "total" in report.job.memory:
        needs = number(report.job.memory["total"])
        if needs > has:
            yield warning(f"the fullest device needs {int(needs):,} bytes, and the system has {int(has):,}", system.file.place("memory"))
