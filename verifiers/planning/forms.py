"""The facts that a task states besides its work: where tokens go, its form, and the work of its other form."""

from __future__ import annotations

from bpir.dialects.dist import tasks as dist
from bpir.dialects.dist.forms import FormWork, Routing
from bpir.dialects.model.rules.local import Local
from bpir.dialects.model.rules.operation import ModelOperation
from bpir.dialects.plan import Task as PlanTask
from bpir.ir.attributes import Attribute, StringAttr
from bpir.ir.records import evolved
from bpir.verifiers.findings import Findings

AnyTask = dist.Task | PlanTask


def verify_routing_and_form(findings: Findings, rule: str, task: dist.Task, of: ModelOperation, local: Local) -> None:
    """A task of an operation of a model says what follows from the operation's rule, and nothing else."""
    routed = of.routed(local)
    _experts(findings, rule, task, Routing(*routed) if routed is not None else None)
    form = of.form(local.settings)
    first = next(iter(of.forms), "")
    other = next((other for other in of.forms if other != form), "")
    expected = _work_of_form(of, local, other) if other else None
    _forms(findings, rule, task, form if form != first else "", other, expected)


def _work_of_form(of: ModelOperation, local: Local, form: str) -> FormWork:
    """The work of an operation in another form."""
    changed = evolved(local, settings=(("form", StringAttr(form)), *_without_form(local)))
    work, products = of.forward(changed), of.matmul_operations(changed)
    return FormWork(work.ops, work.read, work.write, products)


def verify_kept_routing_and_form(findings: Findings, rule: str, task: PlanTask, source: dist.Task) -> None:
    """A task of a plan says what the distributed task says."""
    routing, other = (source.operation.properties.get(name) for name in ("experts", "other_work"))
    _experts(findings, rule, task, routing if isinstance(routing, Routing) else None)
    _forms(findings, rule, task, source.form, source.other_form, other if isinstance(other, FormWork) else None)


def _experts(findings: Findings, rule: str, task: AnyTask, expected: Routing | None) -> None:
    found = task.operation.properties.get("experts")
    routing = found if isinstance(found, Routing) else None
    if routing is not None or expected is not None:
        findings.components(rule, task, "routing", f"of {_named(task)}", routing or Routing.zero(), expected or Routing.zero())


def _forms(findings: Findings, rule: str, task: AnyTask, form: str, other: str, expected: FormWork | None) -> None:
    if (task.form, task.other_form) != (form, other):
        pairs = ((task.form, task.other_form), (form, other))
        found, wanted = (f"{own or 'the first'}, the other one {more or 'none'}" for own, more in pairs)
        findings.refuse(rule, task, f"the form of {_named(task)} is {found}; expected {wanted}")
        return
    work = task.operation.properties.get("other_work")
    if work is not None or expected is not None:
        _same_work(findings, rule, task, work, expected or FormWork.zero())


def _same_work(findings: Findings, rule: str, task: AnyTask, found: Attribute | None, expected: FormWork) -> None:
    work = found if isinstance(found, FormWork) else FormWork.zero()
    findings.components(rule, task, "other form's", f"of {_named(task)}", work, expected)


def _named(task: AnyTask) -> str:
    return f"'{task.label}'" if isinstance(task, dist.Task) else f"@{task.symbol}"


def _without_form(local: Local) -> list[tuple[str, Attribute]]:
    return [item for item in local.settings if item[0] != "form"]
