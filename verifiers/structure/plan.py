"""The structure of a plan: references, cycles, lifetimes, uses, groups, transfers (rules plan.R1 to plan.R10)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from bpir.dialects.levels import PortablePlanIR
from bpir.dialects.plan import Buffer, Concurrent, Section, Task
from bpir.ir.declaration import DECLARATIONS, OperationDeclaration
from bpir.ir.diagnostic import Diagnostic, note, suggestion
from bpir.ir.expressions.expression import Expr
from bpir.ir.operation import Operation
from bpir.ir.property_parts import references
from bpir.ir.relations.facts import Facts
from bpir.verifiers.dependencies import After, cycle, ordered, reached
from bpir.verifiers.findings import Findings
from bpir.verifiers.rulebooks import PLAN
from bpir.verifiers.stages.rows import verify_shares
from bpir.verifiers.structure.sections import SectionCheck, SectionLabels


@PLAN.rule("R8", "every task is of a section where there are sections, and two of them run the same tasks or none in common")
@PLAN.rule("R9", "sections are behind those that they are after, and name buffers that they use")
@PLAN.rule("R10", "a buffer is there once, or once for each run of the sections that use it")
def verify(module: Operation) -> list[Diagnostic]:
    """Everything that is wrong with the plan operations of a module by themselves."""
    ir = PortablePlanIR(module)
    if not any(o.dialect == ir.level for o in ir.operations):
        return []
    findings = Findings("plan", ir.symbols.facts if ir.sections else Facts((), {}))
    tasks, buffers = _by_name(ir)
    _references(findings, ir, tasks, buffers)
    if not findings.diagnostics:
        _sound(findings, ir, tasks, buffers)
    _transfers(findings, ir, tasks)
    _meshes(findings, ir)
    found = [*findings.diagnostics, *verify_shares(findings.facts, ir.stages, _shared(ir), "section")]
    return found or _capacity(ir)


def _by_name(ir: PortablePlanIR) -> tuple[dict[str, Task], dict[str, Buffer]]:
    """The tasks and the buffers of a plan by name."""
    return {task.symbol: task for task in ir.tasks}, {buffer.symbol: buffer for buffer in ir.buffers}


def _capacity(ir: PortablePlanIR) -> list[Diagnostic]:
    """The faults in the memory of the stages of a sound plan."""
    if not ir.stages or not ir.deployments:
        return []
    from bpir.verifiers.stages.capacity import verify_stage_capacity

    return verify_stage_capacity(ir)


def _sound(findings: Findings, ir: PortablePlanIR, tasks: Mapping[str, Task], buffers: Mapping[str, Buffer]) -> None:
    """The order of the tasks, the uses of the buffers, the groups and the sections of a plan whose names are all known."""
    place = _acyclic(findings, tasks)
    _uses(findings, tasks, buffers)
    if place is not None:
        _groups(findings, ir.groups, tasks, place)
        _together(findings, ir)
        _races(findings, ir.groups, tasks, buffers)
    held = {name: (buffer, buffer.times) for name, buffer in buffers.items()}
    SectionCheck(findings, SectionLabels("R8", "R9", "R10"), ir.sections, ir.tasks, held).run()


def _shared(ir: PortablePlanIR) -> dict[str, tuple[Section, Expr]]:
    """The sections that stages share out, with their runs: all that do more than send along an axis of the mesh."""
    return {section.symbol: (section, section.times) for section in ir.sections if not _only_sends(ir, section)}


def _only_sends(ir: PortablePlanIR, section: Section) -> bool:
    """Whether all tasks of a section send something from one rank to another."""
    return all(task.kind == "transfer" or task.along for task in ir.tasks[section.extent.start : section.extent.stop])


_NAMED: tuple[tuple[type[OperationDeclaration], tuple[tuple[str, str], ...]], ...] = (
    (Task, ((Task.after.name, "task"), (Task.reads.name, "buffer"), (Task.writes.name, "buffer"))),
    (Buffer, ((Buffer.producers.name, "task"), (Buffer.consumers.name, "task"))),
    (Concurrent, ((Concurrent.tasks.name, "task"),)),
)
"""The names in each list of an operation."""


@PLAN.rule("R1", "every name is that of a task or buffer, once in a list")
def _references(findings: Findings, ir: PortablePlanIR, tasks: Mapping[str, Task], buffers: Mapping[str, Buffer]) -> None:
    named: dict[str, Mapping[str, object]] = {"task": tasks, "buffer": buffers}
    lists: dict[OperationDeclaration | None, tuple[tuple[str, str], ...]] = {DECLARATIONS[cls.name]: fields for cls, fields in _NAMED}
    for operation in ir.operations:
        for field, what in lists.get(operation.declaration, ()):
            names, known = references(operation.properties.get(field)), named[what]
            once = set(names)
            if len(once) != len(names) or not once <= known.keys():
                _wrong_names(findings, operation, (field, what), names, known)


def _wrong_names(
    findings: Findings, operation: Operation, list_: tuple[str, str], names: Sequence[str], known: Mapping[str, object]
) -> None:
    """Refuse the names of a list that are not known, and a name that is there twice; the list is a field of tasks or buffers."""
    field, what = list_
    for name in names:
        if name not in known:
            findings.refuse("R1", operation, f"'{field}' names no {what}: @{name}{suggestion(name, known)}")
    findings.require("R1", len(set(names)) == len(names), operation, f"'{field}' names a {what} twice")


@PLAN.rule("R2", "tasks are behind those that they are after, without a cycle")
def _acyclic(findings: Findings, tasks: Mapping[str, Task]) -> dict[str, int] | None:
    """The place of each task in the text, or None if there is a cycle."""
    after = {name: task.after for name, task in tasks.items()}
    order = ordered(after)
    if len(order) < len(tasks):
        _refuse_cycle(findings, tasks, cycle(after, after.keys() - set(order)))
        return None
    place = dict(zip(tasks, range(len(tasks)), strict=True))
    for name in order:
        later = [other for other in after[name] if place[other] > place[name]]
        if later:
            findings.refuse("R2", tasks[name], f"@{name} is before @{later[0]}, which it is after")
    return place


def _refuse_cycle(findings: Findings, tasks: Mapping[str, Task], path: Sequence[str]) -> None:
    notes = [note(f"@{name} is after @{other}", tasks[name].span) for name, other in pairwise(path)]
    text = " -> ".join(f"@{name}" for name in path)
    findings.refuse("R2", tasks[path[0]], f"the dependencies are cyclic: {text}", *notes[:8])


def _uses(findings: Findings, tasks: Mapping[str, Task], buffers: Mapping[str, Buffer]) -> None:
    """Each buffer says which tasks use it, and lives as long as they do."""
    consumers = _users({name: task.reads for name, task in tasks.items()}, buffers)
    producers = _users({name: task.writes for name, task in tasks.items()}, buffers)
    place = dict(zip(tasks, range(len(tasks)), strict=True))
    for name, holder in buffers.items():
        _same_users(findings, holder, "producers", "write", holder.producers, producers[name], place)
        _same_users(findings, holder, "consumers", "read", holder.consumers, consumers[name], place)
        users = (producers[name], consumers[name])  # in the order of the tasks
        _lifetime(findings, holder, [place[user] for names in users for user in names[:1] + names[-1:]], len(tasks))


def _users(used: Mapping[str, Iterable[str]], buffers: Iterable[str]) -> dict[str, list[str]]:
    """The tasks that use each buffer, in order, given what each task uses."""
    found: dict[str, list[str]] = {name: [] for name in buffers}
    for name, names in used.items():
        for buffer in names:
            found[buffer].append(name)
    return found


@PLAN.rule("R4", "producers and consumers of a buffer are the tasks that write and read it")
def _same_users(
    findings: Findings, holder: Buffer, field: str, verb: str, written: Sequence[str], expected: list[str], place: Mapping[str, int]
) -> None:
    """A buffer lists the expected tasks, in any order; the workspace may list none."""
    if [*written] == expected or (not written and holder.role == "workspace"):
        return
    wrong = sorted(set(written) ^ set(expected), key=place.__getitem__)
    names = ", ".join(f"@{name} {f'{verb}s' if name in expected else 'does not'}" for name in wrong[:4])
    message = f"the {field} of @{holder.symbol} are not the tasks that {verb} it: {names}"
    findings.require("R4", not wrong, holder, message)


@PLAN.rule("R3", "the lifetime of a buffer covers its uses")
def _lifetime(findings: Findings, holder: Buffer, used: Sequence[int], tasks: int) -> None:
    """A buffer lives from the first task that uses it to the last, or longer; the first and last are among the places `used`."""
    name, live = holder.symbol, holder.live
    if len(live) != 2 or not live[0] <= live[1] < max(tasks, 1):
        findings.refuse("R3", holder, f"'live' of @{name} must be [first, last] with first <= last < {tasks}")
    elif used and (min(used) < live[0] or live[1] < max(used)):
        message = f"@{name} is used by tasks {min(used)} to {max(used)}, but lives from {live[0]} to {live[1]}"
        findings.refuse("R3", holder, message)


@PLAN.rule("R5", "the tasks of a concurrent group are two or more, of the same sections, and none needs another")
def _groups(findings: Findings, groups: Sequence[Concurrent], tasks: Mapping[str, Task], place: Mapping[str, int]) -> None:
    """No member of a group needs another, directly or through tasks between."""
    after = {name: task.after for name, task in tasks.items()} if groups else {}
    for group in groups:
        several = len(group.tasks) > 1
        if findings.require("R5", several, group, "a group of concurrent tasks has at least two members"):
            for member, other in _needing(group.tasks, after, place):
                findings.refuse("R5", group, f"@{member} can't run at once with @{other}, which it needs")


def _needing(members: Sequence[str], after: After, place: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    """Each member of a group that needs another one, with that: a search back, no further than the first member."""
    floor = min(place[member] for member in members)
    for member in members:
        other = reached(after, member, members, lambda name: place[name] > floor)
        if other is not None:
            yield member, other


def _together(findings: Findings, ir: PortablePlanIR) -> None:
    """The tasks of a concurrent group are of the same sections: sections run one after another."""
    of = _sections_of_tasks(ir) if ir.groups else {}
    for group in ir.groups:
        first, *others = group.tasks
        other = next((name for name in others if of[name] != of[first]), first)
        message = f"@{other} can't run at once with @{first}: they are of different sections"
        findings.require("R5", other == first, group, message)


def _sections_of_tasks(ir: PortablePlanIR) -> dict[str, set[str]]:
    """The sections that run each task."""
    of: dict[str, set[str]] = {task.symbol: set() for task in ir.tasks}
    for section in ir.sections:
        for task in ir.tasks[section.extent.start : section.extent.stop]:
            of[task.symbol].add(section.symbol)
    return of


def _races(findings: Findings, groups: Sequence[Concurrent], tasks: Mapping[str, Task], buffers: Mapping[str, Buffer]) -> None:
    """No member of a group writes a buffer that another uses; in the workspace each has room of its own."""
    for group in groups:
        users: dict[str, str] = {}
        written: dict[str, str] = {}
        for member in group.tasks:
            reads, writes = _outside_workspace(tasks[member], buffers)
            for name in sorted((writes & users.keys()) | (reads & written.keys())):
                other = users[name] if name in writes else written[name]
                findings.refuse("R5", group, f"@{member} can't run at once with @{other}: one writes @{name}, which the other uses")
            users.update(dict.fromkeys(reads | writes, member))
            written.update(dict.fromkeys(writes, member))


def _outside_workspace(task: Task, buffers: Mapping[str, Buffer]) -> tuple[set[str], set[str]]:
    """The buffers that a task reads, and those that it writes, without the workspace."""
    reads, writes = ({name for name in names if buffers[name].role != "workspace"} for names in (task.reads, task.writes))
    return reads, writes


@PLAN.rule("R7", "there is one mesh at most, under a strategy of the module")
def _meshes(findings: Findings, ir: PortablePlanIR) -> None:
    """The plan is one rank's of one mesh, under a strategy that the module has."""
    strategies = {strategy.symbol for strategy in ir.strategies}
    for mesh in ir.meshes:
        if mesh.strategy not in strategies:
            findings.refuse("R7", mesh, f"the module has no bind.strategy @{mesh.strategy}{suggestion(mesh.strategy, strategies)}")
        if mesh is not ir.meshes[0]:
            findings.refuse("R7", mesh, "a plan is under one mesh", note("the first is here", ir.meshes[0].span))


@PLAN.rule("R6", "a transfer is between two ranks, or along an axis of the mesh, and nothing else is")
def _transfers(findings: Findings, ir: PortablePlanIR, tasks: Mapping[str, Task]) -> None:
    """A transfer is between two ranks, or from each to the next one along an axis; no other task is."""
    axes = {axis for mesh in ir.meshes for axis in mesh.axes}
    for name, task in tasks.items():
        if task.along:
            _along(findings, name, task, axes)
        elif task.kind == "transfer":
            _between_two(findings, name, task)
        elif task.says(Task.ranks):
            findings.refuse("R6", task, f"@{name} is no transfer, so it is not between ranks")


def _along(findings: Findings, name: str, task: Task, axes: Collection[str]) -> None:
    """A task that goes along an axis of the mesh is a transfer, and between no other ranks."""
    if task.kind != "transfer" or task.says(Task.ranks):
        findings.refuse("R6", task, f"@{name} goes along an axis, so it is a transfer, and between no other ranks")
    elif task.along not in axes:
        message = f"@{name} goes along '{task.along}', which is no axis of the mesh{suggestion(task.along, axes)}"
        findings.refuse("R6", task, message)


def _between_two(findings: Findings, name: str, task: Task) -> None:
    """A transfer is between two different ranks."""
    ranks = task.ranks
    if len(ranks) != 2 or ranks[0] == ranks[1]:
        found = ", ".join(map(str, ranks)) or "none"
        findings.refuse("R6", task, f"the transfer @{name} needs two ranks, 'between [FROM, TO]'; it has {found}")
