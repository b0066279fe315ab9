"""The parts of a report that are about whole models: runs of tasks, blocks and sections, and the bytes of a cache a token."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from bpir.dialects.bind import as_expr
from bpir.dialects.bp import TensorType, product
from bpir.dialects.dist.tasks import Block
from bpir.dialects.levels import DistributedTaskIR, ModuleIR, PortablePlanIR
from bpir.dialects.network import called, calls, networks
from bpir.dialects.sections import Section
from bpir.ir.expressions.expression import ONE, ZERO, Expr, constant, symbol, total
from bpir.ir.operation import Operation
from bpir.tools.reports.report import SectionRow
from bpir.verifiers.distribution.network_calls import runs


class Multiplicity:
    """For each task the number of its runs, and its block, as the sections say."""

    def __init__(self, sections: Sequence[Section], count: int) -> None:
        self._times = [ZERO if sections else ONE] * count
        self._blocks = [""] * count
        for section in sections:
            for place in section.extent:
                self._times[place] += section.times
                self._blocks[place] = self._blocks[place] or section.symbol

    def times(self, place: int) -> Expr:
        return self._times[place]

    def block(self, place: int) -> str:
        """The first section that runs the task, which is called like its block; empty where there are no sections."""
        return self._blocks[place]


def times_by_block(plan: PortablePlanIR) -> Callable[[str], Expr]:
    """Says of an origin in a plan, such as `layer/attention.query`, how often its block runs."""
    repeated = Multiplicity(plan.sections, len(plan.tasks))
    found: dict[str, Expr] = {}
    for place, task in enumerate(plan.tasks):
        found.setdefault(task.source.partition("/")[0] if "/" in task.source else "", repeated.times(place))
    return lambda origin: found.get(origin.partition("/")[0], found.get("", ONE))


def section_rows(sections: Iterable[Section]) -> tuple[SectionRow, ...]:
    """The sections as a report says them."""
    return tuple(SectionRow(s.symbol, s.times, tuple(s.extent), s.after) for s in sections)


def blocks_that_run(ir: DistributedTaskIR) -> list[Block]:
    """The blocks in the order in which they run; all of them where there is no network."""
    return [Block(block) for block in called(ir.module).values()]


def often(module: Operation) -> dict[str, Expr]:
    """How often each block of a network runs, and what goes between its stages; nothing of a module without one."""
    found, ir = networks(module), DistributedTaskIR(module)
    between = constant(max(len(ir.stages) - 1, 0))
    return {**runs(calls(found[0])), **{border.symbol: between for border in ir.borders}} if found else {}


def cache_of_blocks(ir: DistributedTaskIR) -> Expr | None:
    """The bytes of K and V of one token of one sequence on one rank, in all layers; None if no block has a cache."""
    found = []
    meshes = {mesh.symbol: mesh.axes for mesh in ir.meshes}
    times = often(ir.module)
    for block in blocks_that_run(ir):
        for state in block.states:
            types = [value.type for value in state.operation.results if isinstance(value.type, TensorType)]
            tokens = [product(type.local_dims(meshes[block.mesh])[2:]) * type.element_bytes for type in types]
            found.append(times.get(block.symbol, ONE) * total(tokens))
    return total(found) if found else None


def cache_of_plan(plan: PortablePlanIR) -> Expr | None:
    """The same of a plan, from the sizes of its caches and the sequences and visible tokens of its workload.

    Where the workload does not say how many sequences there are, that is the one symbol which every input, output and cache is
    proportional to; None if there is no such symbol.
    """
    caches = [buffer for buffer in plan.buffers if buffer.role == "state"]
    sequences, context = _sequences(plan), _context(plan)
    if not caches or sequences is None or context is None:
        return None
    return total(buffer.times * _of_one_token(buffer.size, context) for buffer in caches) / sequences


def _of_one_token(size: Expr, context: Expr) -> Expr:
    """The bytes of a cache with one visible token, which every window sees; where the context is a number its share of them."""
    name = next(iter(context.symbols), "")
    return size.substitute({name: ONE}) if name and context is symbol(name) else size / context


def _context(plan: ModuleIR) -> Expr | None:
    return next((as_expr(w.fields.get("context")) for w in plan.workloads if "context" in w.fields), None)


def _sequences(plan: PortablePlanIR) -> Expr | None:
    said = next((as_expr(w.fields.get("batch")) for w in plan.workloads if "batch" in w.fields), None)
    if said is not None:
        return said
    sizes = [buffer.size for buffer in plan.buffers if buffer.role in ("input", "output", "state")]
    names = [name for name in (sizes[0].symbols if sizes else ()) if all(_proportional(size, name) for size in sizes)]
    return symbol(names[0]) if len(names) == 1 else None


def _proportional(size: Expr, name: str) -> bool:
    """Whether a size is a symbol times something without it."""
    return name in size.symbols and name not in (size / symbol(name)).symbols
