"""When two plans say the same: tasks and buffers under a renaming of both; a part of the definition in `judge.py`."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import Any

from corruptions.derivation_inputs import grid, inputs_of, properties, unordered
from corruptions.workspace_peak import Numbers, peak
from raw import expr_of, live_of, names_of, number_of, symbol_of, text_of

from bpir.dialects.bp import symbol_table
from bpir.dialects.dist.parts import mesh_entries
from bpir.ir.expressions.expression import ONE, Expr
from bpir.ir.operation import Operation, top_level
from bpir.ir.relations.facts import Facts

POINTS = 64
"""At so many admissible numbers a workspace that is smaller than it was is compared with what is in use."""


def ancestors(after: dict[str, tuple[str, ...]]) -> dict[str, frozenset[str]]:
    """All that each task is after, directly or through others; tasks are behind those that they are after."""
    found: dict[str, frozenset[str]] = {}
    for name, names in after.items():
        found[name] = frozenset(names).union(*(found.get(n, frozenset()) for n in names))
    return found


class Plan:
    """A plan by what its tasks come from."""

    def __init__(self, module: Operation, facts: Facts) -> None:
        self.module = module
        self.facts = facts
        self.tasks = [o for o in top_level(module) if o.name == "plan.task"]
        self.buffers = {symbol_of(o): o for o in top_level(module) if o.name == "plan.buffer"}
        self.sources = {symbol_of(o): text_of(o, "source") for o in self.tasks}
        self.before = ancestors({symbol_of(o): names_of(o, "after") for o in self.tasks})
        self.users: dict[str, tuple[frozenset[str], frozenset[str]]] = {
            name: (self._using(name, "writes"), self._using(name, "reads")) for name in self.buffers
        }

    def _using(self, buffer: str, field: str) -> frozenset[str]:
        return frozenset(self.sources[symbol_of(o)] for o in self.tasks if buffer in names_of(o, field))

    def _identity(self, name: str) -> Any:
        """A buffer is what it holds for whom; several of one source are told apart by size."""
        holder = self.buffers[name]
        role = text_of(holder, "role")
        users = ("all",) if role == "workspace" else self.users[name]
        return (role, text_of(holder, "storage"), text_of(holder, "source"), users)

    def said(self) -> Any:
        """All but sizes, order, lifetimes, alignments and groups."""
        tasks = Counter[Any]()
        for task in self.tasks:
            tasks[
                (
                    properties(task, self.facts, "sym_name", "after", "reads", "writes", "requires"),
                    frozenset(self.sources.get(n, n) for n in self.before[symbol_of(task)]),
                    frozenset(Counter(self._identity(n) for n in names_of(task, "reads")).items()),
                    frozenset(Counter(self._identity(n) for n in names_of(task, "writes")).items()),
                    unordered(task.properties.get("requires")),
                )
            ] += 1
        facts = Counter((o.name, properties(o, self.facts)) for o in top_level(self.module) if "facts" in o.properties)
        objectives = Counter(properties(o, self.facts) for o in top_level(self.module) if o.name == "plan.objective")
        return inputs_of(self.module, self.facts), tasks, Counter(map(self._identity, self.buffers)), facts, objectives

    def same(self, other: Plan, source: Operation | None = None) -> bool:
        return self.said() == other.said() and other.sound() and self._holds(other, source)

    def _holds(self, other: Plan, source: Operation | None) -> bool:
        """Whether each buffer of the other is large enough for what this one's holds."""
        mine: dict[Any, list[str]] = {}
        theirs: dict[Any, list[str]] = {}
        for plan, found in ((self, mine), (other, theirs)):
            for name in plan.buffers:
                found.setdefault(plan._identity(name), []).append(name)
        for key, names in mine.items():
            for name, larger in self._paired(names, other, theirs[key]):
                size, needed = expr_of(other.buffers[larger], "size"), expr_of(self.buffers[name], "size")
                if size is not needed and not self.facts.integral(size).proved:
                    return False
                smaller = size is not needed and not self.facts.at_least(size, needed).proved
                if smaller and not (key[0] == "workspace" and other._room(size, source)):
                    return False
                if number_of(other.buffers[larger], "alignment") % number_of(self.buffers[name], "alignment"):
                    return False
        return True

    def _paired(self, mine: list[str], other: Plan, theirs: list[str]) -> list[tuple[str, str]]:
        """Buffers that are told apart by size alone: those of equal sizes first, in whatever order, the others in theirs."""
        left, pairs = list(theirs), []
        alone = []
        for name in mine:
            size = expr_of(self.buffers[name], "size")
            same = next((found for found in left if expr_of(other.buffers[found], "size") is size), None)
            if same is None:
                alone.append(name)
            else:
                left.remove(same)
                pairs.append((name, same))
        return pairs + list(zip(alone, left, strict=True))

    def sound(self) -> bool:
        """The order respects dependencies and updates of weights; lifetimes cover uses; said users are users; no group races."""
        place = {symbol_of(o): i for i, o in enumerate(self.tasks)}
        return (
            all(place[name] < place[symbol_of(task)] for task in self.tasks for name in names_of(task, "after"))
            and all(self._lives(name) and self._says_its_users(name) and self._updated_last(name) for name in self.buffers)
            and all(self._free(names_of(o, "tasks")) for o in top_level(self.module) if o.name == "plan.concurrent")
        )

    def _places(self, buffer: str, *fields: str) -> list[int]:
        """The places of the tasks that read or write a buffer."""
        return [i for i, o in enumerate(self.tasks) if any(buffer in names_of(o, field) for field in fields)]

    def _lives(self, buffer: str) -> bool:
        """Whether its lifetime covers its uses."""
        used = self._places(buffer, "reads", "writes")
        first, last = live_of(self.buffers[buffer])
        return not used or first <= min(used) <= max(used) <= last

    def _says_its_users(self, buffer: str) -> bool:
        """Whether its producers and consumers are those that use it; those of a workspace may be left out."""
        holder = self.buffers[buffer]
        for field, users in zip(("producers", "consumers"), self.users[buffer], strict=True):
            said = frozenset(self.sources[n] for n in names_of(holder, field))
            if said != users and (said or text_of(holder, "role") != "workspace"):
                return False
        return True

    def _updated_last(self, buffer: str) -> bool:
        """Whether no task reads a weight after its update."""
        updates = self._places(buffer, "writes")
        if text_of(self.buffers[buffer], "role") != "constant" or not updates:
            return True
        return all(i <= min(updates) or i in updates for i in self._places(buffer, "reads"))

    def _free(self, members: tuple[str, ...]) -> bool:
        """Whether no member needs another, or writes what another uses."""
        tasks = {symbol_of(o): o for o in self.tasks}
        for member in members:
            seen: set[str] = set()
            stack = list(names_of(tasks[member], "after"))
            while stack:
                name = stack.pop()
                if name not in seen:
                    seen.add(name)
                    stack.extend(names_of(tasks[name], "after"))
            others = [m for m in members if m != member]
            used = {b for m in others for f in ("reads", "writes") for b in names_of(tasks[m], f)}
            written = {b for b in names_of(tasks[member], "writes") if text_of(self.buffers[b], "role") != "workspace"}
            if seen & set(others) or written & used:
                return False
        return len(members) > 1

    def _room(self, size: Expr, source: Operation | None) -> bool:
        """Whether a workspace of this size holds what is in use at any task of inference."""
        blocks = [o for o in top_level(source) if o.name == "dist.block"] if source is not None else []
        table = symbol_table(self.module)
        points = (v for v in grid(table.names, table.bindings.items()) if all(r.holds(v) for r in (*table.relations, *table.assumptions)))
        mesh = next((dict(mesh_entries(o.properties.get("axes"))) for o in top_level(self.module) if o.name == "plan.mesh"), {})
        found = False
        for values in itertools.islice(points, POINTS if blocks else 0):
            ranks = mesh.get("tensor", ONE).evaluate(values).numerator
            needed = max(peak(block, self.module, Numbers(values, ranks)) for block in blocks)
            if size.evaluate(values) < needed:
                return False
            found = True
        return found
