"""One whole check: choose numbers, run the model, run the block on its ranks, compare, measure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import TypeVar

import attrs
import numpy as np

from bpir.dialects.bind import Strategy, Workload, as_expr, as_word
from bpir.dialects.bp import TensorType
from bpir.dialects.dist import tasks as dist
from bpir.dialects.levels import DistributedTaskIR, ModelIR
from bpir.dialects.model import structure as model
from bpir.dialects.model.embedding import Embedding
from bpir.dialects.model.rules.operation import ModelOperation
from bpir.dialects.network import networks
from bpir.dialects.replicas import REPLICAS, zero_stage
from bpir.ir.diagnostic import Diagnostic, DiagnosticError, error, fail
from bpir.ir.expressions.expression import ONE, ZERO, Expr, constant
from bpir.ir.operation import Operation, Value
from bpir.run.call import Array
from bpir.run.lineage import Lineage
from bpir.run.measure import wrong_work
from bpir.run.memory.activations import Alive, stored_activations
from bpir.run.memory.layers import LayerBytes
from bpir.run.memory.plans import PlanMemory, buffers_of
from bpir.run.model.directions import largest_deviation
from bpir.run.model.graph import Graph, graph_of
from bpir.run.model.reference import Values, differentiate, draw, draw_indices, evaluate
from bpir.run.model.whole import Model, seeds_of
from bpir.run.network import run_network
from bpir.run.numbers import Numbers
from bpir.run.ranks.block import BlockRun
from bpir.run.ranks.mesh import EXPERT, Mesh
from bpir.run.ranks.tasks import Tasks
from bpir.run.ranks.updates import Updates
from bpir.run.ranks.values import Ranks
from bpir.run.sizes import choose, refuse_large
from bpir.run.stages import mesh_of_stage

_N = TypeVar("_N", model.Block, dist.Mesh, Strategy, Workload)

DEVIATION = 1e-7
"""The allowed difference between the model's gradients and the complex step."""
INFERENCE = ("prefill", "decode")


@attrs.define
class Outcome:
    """The outcome of the run of one block.

    Attributes:
        phases: the name of each part of the run with its largest relative difference.
        gradients: the largest deviation of the model's own gradients; None in inference.
        alive: what is alive between tasks, and what the text has for it.
        bytes_measured: whether bytes were compared; a convention of another program counts them in its own way.
        against: what speaks against the block.
        runs: how often a network ran the block; 0 of a block by itself.
    """

    block: str
    ranks: int
    numbers: Mapping[str, int]
    chosen: Mapping[str, int]
    phases: dict[str, float] = attrs.field(factory=dict)
    gradients: float | None = None
    tasks: int = 0
    bytes_measured: bool = True
    alive: list[Alive] = attrs.field(factory=list)
    against: list[Diagnostic] = attrs.field(factory=list)
    runs: int = 0


def check(source: Operation, module: Operation, given: Mapping[str, int], plan: Operation | None = None) -> list[Outcome]:
    """Run each block of a `dist` module against its model; with a plan of it, compare its buffers with what is alive.

    Raises:
        DiagnosticError: it can't be run at all: not such modules, no numbers, too large.
    """
    ir = DistributedTaskIR(module)
    blocks = ir.blocks
    if not blocks:
        raise fail("nothing to run: the module has no dist.block", module.span)
    chosen = choose(module, source, given)
    whole = networks(source)

    def checked(name: str) -> BlockCheck:
        block = next((block for block in blocks if block.source == name), None)
        if block is None:
            raise fail(f"the module has no dist.block of '{name}'", module.span)
        return BlockCheck(ModelIR(source), ir, block, chosen.numbers, chosen.chosen, plan)

    with np.errstate(all="ignore"):  # a number that is none differs from what is expected, and is told as such
        derived = networks(module)
        if whole and derived:
            return run_network(whole[0], derived[0], checked, ir, chosen.numbers)
        return [BlockCheck(ModelIR(source), ir, block, chosen.numbers, chosen.chosen, plan).run() for block in blocks]


class BlockCheck:
    """The check of one block."""

    def __init__(
        self,
        source: ModelIR,
        ir: DistributedTaskIR,
        block: dist.Block,
        numbers: Numbers,
        chosen: Mapping[str, int],
        plan: Operation | None,
    ) -> None:
        self.ir, self.block, self.numbers, self.plan = ir, block, numbers, plan
        self.model_block = _named(source.blocks, model.Block.name, block.source, block).operation
        phases = {task.phase for task in block.tasks}
        self.inference = next((phase for phase in INFERENCE if phase in phases), "")
        mesh = _named(ir.meshes, dist.Mesh.name, block.mesh, block)
        resized = any(placement.resized for placement in ir.placements)
        sizes = mesh_of_stage({name: numbers.size(size) for name, size in mesh.axes.items()})
        self.mesh = Mesh(sizes, resized, self._rows())
        self.strategy = _named(ir.strategies, Strategy.name, block.strategy, block).fields
        self.workload = _named(ir.workloads, Workload.name, block.workload, block).fields if block.workload else {}
        self.fused = as_word(self.strategy.get("fused_activation")) == "true"
        self.outcome = Outcome(block.symbol, len(self.mesh.ranks), numbers.values, chosen)
        self._evaluated: tuple[Graph, list[Array], Values] | None = None
        self._seeds: list[Array] | None = None

    def run(self) -> Outcome:
        refuse_large(self.block.operation, self.numbers, len(self.mesh.ranks))
        outcome, model = self.outcome, self._model()
        ranks, lineage = Ranks(self.mesh, self.numbers, model.floor, self._replicas()), Lineage(model.graph)
        updates = Updates(ranks, model, lineage, self._copies)
        run = BlockRun(self.block, ranks, model, Tasks(ranks, model, lineage, updates))
        try:
            run.run()
        except DiagnosticError as failure:
            outcome.against += failure.diagnostics
        if self.inference:
            outcome.phases = {self.inference: ranks.largest["forward"]}
        else:
            outcome.phases = ranks.largest
            self._own_gradients(model)
        outcome.bytes_measured = as_word(self.strategy.get("convention")) in (None, "standard")
        outcome.tasks = len(run.meters)
        outcome.against += wrong_work(run.meters, self.numbers, self.fused, outcome.bytes_measured)
        if outcome.bytes_measured and not outcome.against:
            self._memory(run, len(model.inputs))
        return outcome

    def _memory(self, run: BlockRun, inputs: int) -> None:
        """The values that are alive between tasks, once all values are right."""
        arrays = run.ranks.arrays
        stage = zero_stage(self.strategy)
        self.outcome.against += LayerBytes(self.block, arrays, run.meters, self.numbers, stage, run.tasks.updates, self.fused).wrong()
        found = [] if self.inference else [stored_activations(self.block, inputs, arrays, self.numbers)]
        if self.plan is not None:
            buffers = buffers_of(self.plan, self.numbers, self.block.symbol)
            found.append(PlanMemory(self.block, buffers, arrays, run.meters, self.numbers).compare())
        for alive, against in found:
            self.outcome.alive += alive
            self.outcome.against += against

    def _copies(self, wide: Value) -> bool:
        """Whether the optimizer keeps an fp32 copy of weights as wide as a value: as the strategy says, else unless known to be f32."""
        chosen = as_word(self.strategy.get("master_copy"))
        if chosen is not None or not isinstance(wide.type, TensorType):
            return chosen == "true"
        return not self.ir.symbols.facts.at_least(wide.type.element_bytes, constant(4)).proved

    def _own_gradients(self, model: Model) -> None:
        assert model.gradients is not None
        worst, place = largest_deviation(model.graph, model.inputs, model.values, model.seeds, model.gradients, model.floor)
        self.outcome.gradients = worst
        if worst > DEVIATION:
            message = f"the model's own gradient of {place} deviates from the complex step by {worst:.2g}: the semantics are wrong"
            self.outcome.against.append(error(message, self.model_block.span))

    # --- the model in numbers

    def forward(self, inputs: Sequence[Array] | None = None) -> list[Array]:
        """Run the model on inputs, drawn where there are none; what it returns."""
        values, context = self._model_numbers()
        causal = "" if self.inference == "decode" else as_word(self.workload.get("causal")) or ""
        experts = self.mesh.sizes.get(EXPERT, 1)
        graph = graph_of(self.model_block, values.size, not self.inference, self._keeps_last_token(), causal, experts)
        given = list(inputs) if inputs is not None else self._drawn(values)
        found = evaluate(graph, given, {}, context)
        self._evaluated = graph, given, found
        return [found.arrays[value] for value in graph.results]

    def backward(self, seeds: Sequence[Array] | None = None) -> list[Array]:
        """Run the model backward from gradients of its results, drawn where there are none; the gradients of its inputs."""
        graph, given, found = self._run_before()
        self._seeds = list(seeds) if seeds is not None else seeds_of(graph, found)
        gradients = differentiate(graph, found, self._seeds).values
        return [gradients.get(value, np.zeros_like(array)) for value, array in zip(graph.inputs, given, strict=True)]

    def _model(self) -> Model:
        graph, inputs, found = self._run_before()
        if self.inference:
            return Model(graph, inputs, [], found, None)
        seeds = self._seeds if self._seeds is not None else seeds_of(graph, found)
        return Model(graph, inputs, seeds, found, differentiate(graph, found, seeds))

    def _run_before(self) -> tuple[Graph, list[Array], Values]:
        if self._evaluated is None:
            self.forward()
        assert self._evaluated is not None
        return self._evaluated

    def _drawn(self, values: Numbers) -> list[Array]:
        types = [a.type for a in self.model_block.arguments if isinstance(a.type, TensorType)]
        draws = [draw_indices if type.is_index else draw for type in types]
        replicas = prod(self.mesh.sizes[axis] for axis in self._replicas())  # each has a batch of its own
        shapes = [(values.size(type.dims[0]) * replicas, *map(values.size, type.dims[1:])) for type in types]
        return [draws[i](f"input {i}", shape) for i, shape in enumerate(shapes)]

    def _replicas(self) -> tuple[str, ...]:
        """The mesh axes along which each rank has a batch of its own: those of replicas that share no dimension of the arguments."""
        types = [a.type for a in self.block.arguments if isinstance(a.type, TensorType)]
        shared = {axis for type in types for names in type.axes for axis in names}
        return tuple(axis for axis in REPLICAS if self.mesh.sizes.get(axis, 1) > 1 and axis not in shared)

    def _keeps_last_token(self) -> bool:
        """Whether the head sees the last token alone: the workload does not say `head = all`, and one token is not all there is."""
        argument = self.block.arguments[0].type
        single = isinstance(argument, TensorType) and argument.dims[1] is ONE
        return self.inference == "prefill" and as_word(self.workload.get("head")) != "all" and not single

    def _rows(self) -> frozenset[int]:
        """The numbers of rows of the model's tables."""
        found = [embedding.rows for embedding in Embedding.each(self.model_block.body)]
        return frozenset(map(self.numbers.size, found))

    def _model_numbers(self) -> tuple[Numbers, int]:
        """The numbers of the model's symbols, and how many tokens are visible: a workload may give an axis another size below the model."""
        changed, tokens = self._changed_sizes()
        values = {**self.numbers.values, **changed}
        named = next((o.context for o in ModelOperation.each(self.model_block.body) if o.context is not ZERO), None)
        wanted = self._context() if self.inference else None
        if self.inference and wanted is None:
            wanted = named
        context = self.numbers.size(wanted) if wanted is not None else tokens
        if named is not None and named.symbols == (named.text,) and named.text not in changed:
            values[named.text] = context
        return Numbers(values), context

    def _context(self) -> Expr | None:
        """How many tokens are visible, as the workload says."""
        query, prefix = (as_expr(self.workload.get(field)) for field in ("query", "prefix"))
        return query + prefix if query is not None and prefix is not None else as_expr(self.workload.get("context"))

    def _changed_sizes(self) -> tuple[dict[str, int], int]:
        """The sizes of the model's dimensions in the block, and the tokens of its first input (1 without one)."""
        changed: dict[str, int] = {}
        tokens: int | None = None
        for ours, theirs in zip(self.model_block.arguments, self.block.arguments, strict=False):
            mine, other = ours.type, theirs.type
            if not isinstance(mine, TensorType) or not isinstance(other, TensorType) or len(mine.dims) != len(other.dims):
                raise fail(f"the block reads {other.text}, the model {mine.text}", self.block.span)
            for index, (dim, image) in enumerate(zip(mine.dims, other.dims, strict=True)):
                size = self.numbers.size(image)
                if dim.symbols == (dim.text,):
                    if changed.setdefault(dim.text, size) != size:
                        raise fail(f"'{dim.text}' of the model is {changed[dim.text]} and {size} in the block", self.block.span)
                elif self.numbers.size(dim) != size:
                    raise fail(f"a dimension of {dim.text} of the model is {size} in the block", self.block.span)
                tokens = size if index == 1 and tokens is None else tokens
        return changed, tokens or 1


def _named(known: Sequence[_N], kind: str, name: str, reader: dist.Block) -> _N:
    """The names of a block.

    Raises:
        DiagnosticError: the module has nothing of the name.
    """
    for one in known:
        if one.symbol == name:
            return one
    raise fail(f"'{reader.symbol}' can't run: there is no {kind} '{name}'", reader.span)
