"""A plan as one rank runs it: each run of each task, with the runs that it needs.

Sections say how often tasks run, and what goes from one repetition to the next. Here they are written out. A run has an index: that of the
place of the network whose weights and kept values it uses. Forward and updates count from 0; backward goes through the same places in
reverse, so that the last forward run of a block is the first one backward.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence

import attrs

from bpir.dialects.levels import PortablePlanIR
from bpir.dialects.plan import Section, Task
from bpir.dialects.sections import Flow
from bpir.ir.expressions.expression import Expr

BACKWARD = frozenset({"recompute", "recommunication", "activation_gradient", "weight_gradient"})


@attrs.frozen
class Step:
    """One run of a task.

    Attributes:
        task: what runs.
        name: the task's, and which run it is where there are several.
        needs: the places of the runs whose results it reads, in ascending order.
    """

    task: Task
    name: str
    needs: tuple[int, ...]


def steps_of(plan: PortablePlanIR, number: Callable[[Expr, str], int]) -> list[Step]:
    """All runs of all tasks, in an order that respects what each needs.

    Args:
        number: the number of an expression; what it is of is said for messages.
    """
    return _Unrolling(plan, number).steps


def _buffers_of_role(plan: PortablePlanIR, role: str) -> set[str]:
    return {buffer.symbol for buffer in plan.buffers if buffer.role == role}


class _Unrolling:
    def __init__(self, plan: PortablePlanIR, number: Callable[[Expr, str], int]) -> None:
        self.tasks = plan.tasks
        self.steps: list[Step] = []
        self.last: dict[tuple[str, int], int] = {}  # the latest run of a task with an index
        self.given: dict[tuple[str, int], tuple[int, ...]] = {}  # the runs that gave an input its content, by index
        self.written: dict[str, tuple[int, ...]] = {}  # the runs that gave a buffer its latest content
        self.inputs = _buffers_of_role(plan, "input")
        self.outputs = _buffers_of_role(plan, "output")
        self.several = {buffer.symbol for buffer in plan.buffers if "times" in buffer.operation.properties}
        sections = plan.sections
        self.by_name = {section.symbol: section for section in sections}
        self.times = {section.symbol: number(section.times, f"how often @{section.symbol} runs") for section in sections}
        self.runs: defaultdict[range, int] = defaultdict(int)  # how often the tasks of an extent have run
        self.in_all: defaultdict[range, int] = defaultdict(int)
        for section in sections:
            self.in_all[section.extent] += self.times[section.symbol]
        if sections:
            self._sections(sections)
        else:
            self._once()

    def _once(self) -> None:
        """Run each task once, in the order of the text."""
        for task in self.tasks:
            self._step(task, 0, repeated=False)

    def _sections(self, sections: Sequence[Section]) -> None:
        for group in self._groups(sections):
            for repetition in range(self.times[group[0].symbol]):
                for place, section in enumerate(group):
                    first = repetition > 0 and place == 0
                    self._run(section, section.carries if first else self._flows(section))

    def _groups(self, sections: Sequence[Section]) -> Iterator[list[Section]]:
        """Sections that are repeated together: from one that carries values to the last one that gives one of them."""
        rest = list(sections)
        while rest:
            used = [{*self._used(section, reads=True), *self._used(section, reads=False)} for section in rest]
            ends = [next((i + 1 for i, names in enumerate(used) if source in names), 1) for source, _ in rest[0].carries]
            size = max(ends, default=1)
            yield rest[:size]
            del rest[:size]

    def _run(self, section: Section, flows: Iterable[Flow]) -> None:
        extent = section.extent
        tasks = [self.tasks[place] for place in extent]
        run, count = self.runs[extent], self.in_all[extent]
        self.runs[extent] += 1
        index = count - 1 - run if any(task.phase in BACKWARD for task in tasks) else run
        given: defaultdict[str, set[int]] = defaultdict(set)
        for source, target in flows:
            given[target].update(self.written.get(source, ()))
        for target, runs in given.items():
            self.given[target, index if target in self.several else 0] = self.written[target] = tuple(sorted(runs))
        for task in tasks:
            self._step(task, index, repeated=count > 1)

    def _step(self, task: Task, index: int, *, repeated: bool) -> None:
        needs = {self.last[name, index] for name in task.after if (name, index) in self.last}
        for name in self.inputs.intersection(task.reads):
            needs.update(self.given.get((name, index if name in self.several else 0), ()))
        place = len(self.steps)
        self.steps.append(Step(task, f"{task.symbol}.{index}" if repeated else task.symbol, tuple(sorted(needs))))
        self.last[task.symbol, index] = place
        for name in task.writes:
            self.written[name] = (place,)

    def _flows(self, section: Section) -> Iterable[Flow]:
        """What a section takes over; where nothing is said, the one value that the sections before it give is the one that it takes.

        A section before it of another part of the same block gives nothing: its values are kept, and read by tasks as such.
        """
        if section.takes:
            return section.takes
        before, kept = self._before(section)
        taken = self._taken(section, kept)
        return [(source, target) for source in self._left(before, kept) for target in taken]

    def _taken(self, section: Section, kept: Iterable[Section]) -> list[str]:
        """The inputs that a section reads and the other parts of its block do not."""
        known = {name for other in kept for name in self._used(other, reads=True)}
        return [name for name in self._used(section, reads=True) if name in self.inputs and name not in known]

    def _left(self, before: Iterable[Section], kept: Sequence[Section]) -> list[str]:
        """The outputs that the sections of other blocks leave."""
        return [name for other in before if other not in kept for name in self._used(other, reads=False) if name in self.outputs]

    def _before(self, section: Section) -> tuple[list[Section], list[Section]]:
        """The sections that a section is after, and those of them that are other parts of its block."""
        before = [self.by_name[name] for name in section.after if name in self.by_name]
        return before, [other for other in before if other.extent != section.extent and self._block(other) == self._block(section)]

    def _used(self, section: Section, *, reads: bool) -> Iterator[str]:
        return iter(dict.fromkeys(n for place in section.extent for n in (self.tasks[place].reads if reads else self.tasks[place].writes)))

    def _block(self, section: Section) -> str:
        source = self.tasks[section.extent.start].source
        return source.partition("/")[0] if "/" in source else ""
