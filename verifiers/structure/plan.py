"""The structure of a plan: references, cycles, lifetimes, uses, groups, transfers (rules plan.R1 to plan.R10)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from bpir.dialects.levels import PortablePlanIR
from bpir.dialects.plan import Buffer, Concurrent, Section, Task
from bpir.ir.declaration import DECLARATIONS, OperationDeclaration
from bpir.ir.diagnostic import Diagnostic, note, suggestion
from bpir.ir.expressions.expression import Expr
from bpir.ir.operation import Operation
from bpir.ir.property_parts import references
from bpir.ir.relations.facts import Facts
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
    tasks = {task.symbol: task for task in ir.tasks}
    buffers = {buffer.symbol: buffer for buffer in ir.buffers}
    _references(findings, ir, tasks, buffers)
    if not findings.diagnostics:
        place = _acyclic(findings, tasks)
        _uses(findings, tasks, buffers)
        if place is not None:
            _groups(findings, ir.groups, tasks, place)
            _together(findings, ir)
            _races(findings, ir.groups, tasks, buffers)
        held = {name: (buffer, buffer.times) for name, buffer in buffers.items()}
        SectionCheck(findings, SectionLabels("R8", "R9", "R10"), ir.sections, ir.tasks, held).run()
    _transfers(findings, ir, tasks)
    _meshes(findings, ir)
    unshared = verify_shares(findings.facts, ir.stages, _shared(ir), "section")
    sound = not findings.diagnostics and not unshared
    if sound and ir.stages and ir.deployments:
        from bpir.verifiers.stages.capacity import verify_stage_capacity

        return verify_stage_capacity(ir)
    return [*findings.diagnostics, *unshared]


def _shared(ir: PortablePlanIR) -> dict[str, tuple[Section, Expr]]:
    """The sections that stages share out, with their runs: all that do more than send along an axis of the mesh."""
    between = {task.symbol for task in ir.tasks if task.kind == "transfer" or task.along}
    return {s.symbol: (s, s.times) for s in ir.sections if not {t.symbol for t in ir.tasks[s.extent.start : s.extent.stop]} <= between}


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
            if not once <= known.keys():
                for name in names:
                    if name not in known:
                        findings.refuse("R1", operation, f"'{field}' names no {what}: @{name}{suggestion(name, known)}")
            if len(once) != len(names):
                findings.refuse("R1", operation, f"'{field}' names a {what} twice")


@PLAN.rule("R2", "tasks are behind those that they are after, without a cycle")
def _acyclic(findings: Findings, tasks: Mapping[str, Task]) -> dict[str, int] | None:
    """The place of each task in the text, or None if there is a cycle."""
    after = {name: task.after for name, task in tasks.items()}
    order = _ordered(after)
    if len(order) < len(tasks):
        cycle = _cycle(after, after.keys() - set(order))
        notes = [note(f"@{name} is after @{other}", tasks[name].span) for name, other in pairwise(cycle)]
        path = " -> ".join(f"@{name}" for name in cycle)
        findings.refuse("R2", tasks[cycle[0]], f"the dependencies are cyclic: {path}", *notes[:8])
        return None
    place = {name: index for index, name in enumerate(tasks)}
    for name in order:
        later = [other for other in after[name] if place[other] > place[name]]
        if later:
            findings.refuse("R2", tasks[name], f"@{name} is before @{later[0]}, which it is after")
    return place


def _ordered(after: Mapping[str, tuple[str, ...]]) -> list[str]:
    """The tasks, each behind those that it is after; without those of a cycle, and those that are after them."""
    waiting = {name: len(set(names)) for name, names in after.items()}
    followers: dict[str, list[str]] = {name: [] for name in after}
    for name, names in after.items():
        for other in set(names):
            followers[other].append(name)
    ready = [name for name, count in waiting.items() if not count]
    order: list[str] = []
    while ready:
        name = ready.pop()
        order.append(name)
        for follower in followers[name]:
            waiting[follower] -= 1
            if not waiting[follower]:
                ready.append(follower)
    return order


def _cycle(after: Mapping[str, tuple[str, ...]], stuck: set[str]) -> list[str]:
    name = min(stuck)
    seen: list[str] = []
    while name not in seen:
        seen.append(name)
        name = min(other for other in after[name] if other in stuck)
    return [*seen[seen.index(name) :], name]


def _uses(findings: Findings, tasks: Mapping[str, Task], buffers: Mapping[str, Buffer]) -> None:
    """Each buffer says which tasks use it, and lives as long as they do."""
    consumers: dict[str, list[str]] = {name: [] for name in buffers}
    producers: dict[str, list[str]] = {name: [] for name in buffers}
    place = {name: index for index, name in enumerate(tasks)}
    for name, task in tasks.items():
        for buffer in task.reads:
            consumers[buffer].append(name)
        for buffer in task.writes:
            producers[buffer].append(name)
    for name, holder in buffers.items():
        _same_users(findings, holder, "producers", "write", holder.producers, producers[name], place)
        _same_users(findings, holder, "consumers", "read", holder.consumers, consumers[name], place)
        users = (producers[name], consumers[name])  # in the order of the tasks
        _lifetime(findings, holder, [place[user] for names in users for user in names[:1] + names[-1:]], len(tasks))


@PLAN.rule("R4", "producers and consumers of a buffer are the tasks that write and read it")
def _same_users(
    findings: Findings, holder: Buffer, field: str, verb: str, written: Sequence[str], expected: list[str], place: Mapping[str, int]
) -> None:
    """A buffer lists the expected tasks, in any order; the workspace may list none."""
    if [*written] != expected and set(written) != set(expected) and (written or holder.role != "workspace"):
        wrong = sorted(set(written) ^ set(expected), key=place.__getitem__)
        findings.refuse(
            "R4",
            holder,
            f"the {field} of @{holder.symbol} are not the tasks that {verb} it: "
            + ", ".join(f"@{w} {f'{verb}s' if w in expected else 'does not'}" for w in wrong[:4]),
        )


@PLAN.rule("R3", "the lifetime of a buffer covers its uses")
def _lifetime(findings: Findings, holder: Buffer, used: Sequence[int], tasks: int) -> None:
    """A buffer lives from the first task that uses it to the last, or longer; the first and last are among the places `used`."""
    name, live = holder.symbol, holder.live
    if len(live) != 2 or live[0] > live[1] or live[1] >= max(tasks, 1):
        findings.refuse("R3", holder, f"'live' of @{name} must be [first, last] with first <= last < {tasks}")
    elif used and not (live[0] <= min(used) and max(used) <= live[1]):
        message = f"@{name} is used by tasks {min(used)} to {max(used)}, but lives from {live[0]} to {live[1]}"
        findings.refuse("R3", holder, message)


@PLAN.rule("R5", "the tasks of a concurrent group are two or more, of the same sections, and none needs another")
def _groups(findings: Findings, groups: Sequence[Concurrent], tasks: Mapping[str, Task], place: Mapping[str, int]) -> None:
    """No member of a group needs another, directly or through tasks between: a search back, no further than the first member."""
    after = {name: task.after for name, task in tasks.items()} if groups else {}
    for group in groups:
        members = group.tasks
        if len(members) < 2:
            findings.refuse("R5", group, "a group of concurrent tasks has at least two members")
            continue
        floor = min(place[m] for m in members)
        for member in members:
            stack, seen = list(after[member]), set()
            while stack:
                name = stack.pop()
                if name in members:
                    findings.refuse("R5", group, f"@{member} can't run at once with @{name}, which it needs")
                    break
                if name not in seen and place[name] > floor:
                    seen.add(name)
                    stack.extend(after[name])


def _together(findings: Findings, ir: PortablePlanIR) -> None:
    """The tasks of a concurrent group are of the same sections: sections run one after another."""
    of: dict[str, set[str]] = {task.symbol: set() for task in ir.tasks}
    for section in ir.sections:
        for task in ir.tasks[section.extent.start : section.extent.stop]:
            of[task.symbol].add(section.symbol)
    for group in ir.groups if ir.sections else ():
        first, *others = group.tasks
        other = next((name for name in others if of[name] != of[first]), None)
        if other is not None:
            findings.refuse("R5", group, f"@{other} can't run at once with @{first}: they are of different sections")


def _races(findings: Findings, groups: Sequence[Concurrent], tasks: Mapping[str, Task], buffers: Mapping[str, Buffer]) -> None:
    """No member of a group writes a buffer that another uses; in the workspace each has room of its own."""
    for group in groups:
        users: dict[str, str] = {}
        written: dict[str, str] = {}
        for member in group.tasks:
            used = (tasks[member].reads, tasks[member].writes)
            reads, writes = ({name for name in names if buffers[name].role != "workspace"} for names in used)
            for name in sorted((writes & users.keys()) | (reads & written.keys())):
                other = users[name] if name in writes else written[name]
                findings.refuse("R5", group, f"@{member} can't run at once with @{other}: one writes @{name}, which the other uses")
            users.update(dict.fromkeys(reads | writes, member))
            written.update(dict.fromkeys(writes, member))


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
        ranks = task.ranks
        if task.along and (task.kind != "transfer" or task.says(Task.ranks)):
            findings.refuse("R6", task, f"@{name} goes along an axis, so it is a transfer, and between no other ranks")
        elif task.along:
            if task.along not in axes:
                findings.refuse(
                    "R6", task, f"@{name} goes along '{task.along}', which is no axis of the mesh{suggestion(task.along, axes)}"
                )
        elif task.kind != "transfer":
            if task.says(Task.ranks):
                findings.refuse("R6", task, f"@{name} is no transfer, so it is not between ranks")
        elif len(ranks) != 2 or ranks[0] == ranks[1]:
            found = ", ".join(map(str, ranks)) or "none"
            findings.refuse("R6", task, f"the transfer @{name} needs two ranks, 'between [FROM, TO]'; it has {found}")
