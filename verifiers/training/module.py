"""Boundary of `distribute-training`: does a distributed module train the model? Rules distribute-training.R1 to R20.

The target is read as what it computes: every value gets a meaning. A value of forward means a value of the model; a gradient means the uses
of a value whose contributions it sums. Then each task is judged by what it reads.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from bpir.dialects.bind import STRATEGY, Strategy, Workload, as_expr, as_word
from bpir.dialects.bp import symbol_table
from bpir.dialects.dist import tasks as dist
from bpir.dialects.levels import DistributedTaskIR, ModelIR
from bpir.dialects.model.macro import expand
from bpir.dialects.model.rules.conventions import CONVENTIONS, Standard
from bpir.dialects.model.rules.layer_view import Choices
from bpir.dialects.network import called
from bpir.dialects.replicas import REPLICAS
from bpir.ir.attributes import Attribute
from bpir.ir.diagnostic import Diagnostic, note
from bpir.ir.expressions.expression import ONE, Expr
from bpir.ir.operation import Operation
from bpir.ir.records import Record, evolved
from bpir.ir.relations.facts import Facts, Relation
from bpir.verifiers.chosen_bindings import Options, candidates, verify_choice, verify_mesh
from bpir.verifiers.distribution.corresponding_blocks import corresponding_blocks, verify_used_meshes
from bpir.verifiers.distribution.expert_rows import exchanging, shared_by_experts
from bpir.verifiers.distribution.network_calls import CallLabels, verify_network
from bpir.verifiers.distribution.placed_axes import EXPERT, TENSOR, verify_placement
from bpir.verifiers.distribution.possible_placements import largest_placement
from bpir.verifiers.distribution.typing_rule import Placed, symbol_name
from bpir.verifiers.distribution.workload import UnreadableWorkload, token_axis, training_sizes
from bpir.verifiers.findings import Findings, shares
from bpir.verifiers.inputs import fields_named, verify_kept
from bpir.verifiers.rulebooks import TRAINING
from bpir.verifiers.stages.module import verify_stages
from bpir.verifiers.statements import Claim, Statement
from bpir.verifiers.training.block import BlockTrace
from bpir.verifiers.training.contradictions import contradiction_of
from bpir.verifiers.training.layout import Layout
from bpir.verifiers.training.memory import MemoryCheck
from bpir.verifiers.training.model import training_model
from bpir.verifiers.zero_stages import zero_stage

OPTIONS: Options = {Workload: ("batch", "context", "causal"), Strategy: tuple(f.name for f in STRATEGY)}
"""The fields of bindings that are options of the pass, and may be overridden."""


class _Parallelism(metaclass=Record):
    """The choices that the strategy of a block makes.

    Attributes:
        mesh: the size of each axis.
        parallel: whether there are several tensor-parallel ranks.
        experts: the degree of expert parallelism; 1 if there is one rank.
    """

    mesh: Mapping[str, Expr]
    choices: Choices
    convention: Standard
    parallel: bool
    experts: Expr


class TrainingVerifier:
    """Verifies a distributed training module against its model."""

    def __init__(self, source: Operation, target: Operation, claims: list[Claim] | None = None) -> None:
        self.source = expand(source)
        self.target = target
        self.model, self.distributed = ModelIR(self.source), DistributedTaskIR(target)
        declared, derived = symbol_table(source), symbol_table(target)
        self.findings = Findings(
            "distribute-training",
            Facts((*declared.relations, *declared.assumptions, *derived.assumptions), dict(declared.bindings)),
            claims,
        )
        self.declared = declared.facts
        self.relations = declared.relations
        self.models = list(called(self.source).values())
        self.judged = False
        self.placed: Placed | None = None

    @TRAINING.rule("R15", "symbols, numbers, bindings and the mesh are kept")
    @TRAINING.rule("R16", "blocks correspond")
    @TRAINING.rule(
        "R19", "the network calls forward what that of the model calls, then backward the same in reverse, as many times, on gradients"
    )
    @TRAINING.rule("R20", "each block is run forward and backward as often as in the model, in all")
    def verify(self) -> list[Diagnostic]:
        """Every violated rule."""
        overridable: dict[str, Collection[str]] = {}
        assumable: set[Relation] = set()
        for model, block in corresponding_blocks(self.findings, "R16", self.source, self.distributed):
            overridable |= verify_choice(self.findings, "R15", self.model, self.distributed, block, "training", OPTIONS)
            assumable |= self._block(model, block)
        assumable |= verify_stages(self.findings, self.source, self.distributed, training=True)
        verify_network(self.findings, CallLabels("R19", "R20"), self.source, self.target, training=True)
        verify_used_meshes(self.findings, "R15", self.distributed)
        verify_kept(self.findings, "R15", self.source, self.target, overridable, assumable)
        return self.findings.diagnostics

    def _block(self, model: Operation, block: dist.Block) -> set[Relation]:
        """Verify one block; the relations that its derivation may assume."""
        quantised = next((operation for operation in model.body if operation.properties.get("stored") is not None), None)
        if quantised is not None:
            self.findings.refuse("R8", quantised, "nothing says what the gradient of a quantised weight is")
            return set()
        plan = self._read_strategy(block)
        sizes = self._sizes(model, block) if plan is not None else None
        placed = self._placement(plan) if plan is not None and sizes is not None else None
        if plan is None or sizes is None or placed is None:
            return set()
        return self._tasks(model, block, plan, sizes, placed)

    def _tasks(self, model: Operation, block: dist.Block, plan: _Parallelism, sizes: Mapping[str, Expr], placed: Placed) -> set[Relation]:
        """Verify the tasks of a block; the relations that its derivation may assume."""
        sized = training_model(model, {**sizes, **placed.resized}, as_word(self._workload(block).get("causal")) or "dense")
        named = training_model(model, training_sizes(model, {}), "dense")
        for each in (sized, named) if placed.experts else ():
            exchanging(each)
        layout = Layout(sized, named, placed, plan.parallel, plan.choices.sequence_parallel)
        trace = BlockTrace(self.findings, sized, block, layout, plan.mesh, plan.convention)
        shared = [(plan.choices.ranks, size) for size in _shared(sized, layout)]
        if placed.experts:
            shared += [(plan.experts, size) for size in shared_by_experts(model, sizes)]
        self._run(trace, shared)
        return self._allowed(shared, block, plan.choices, trace)

    def _read_strategy(self, block: dist.Block) -> _Parallelism | None:
        """The choices that the strategy of a block makes; None, and a finding, if it can't be that of the block."""
        strategy = fields_named(self.distributed.strategies, block.strategy)
        mesh = verify_mesh(self.findings, "R15", self.distributed, block, strategy)
        degree = as_expr((strategy or {}).get("tensor"))
        if strategy is None or degree is None or mesh is None or self._wrong_inputs(block, strategy):
            return None
        parallel = not self._is_one(degree)
        choices = _choices(strategy, degree, parallel)
        convention = CONVENTIONS[as_word(strategy.get("convention")) or "standard"](choices, self.declared)
        experts = as_expr(strategy.get(EXPERT)) or ONE
        return _Parallelism(mesh, choices, convention, parallel, ONE if self._is_one(experts) else experts)

    def _is_one(self, ranks: Expr) -> bool:
        return self.declared.equal(ranks, ONE).proved

    def _workload(self, block: dist.Block) -> Mapping[str, Attribute]:
        return fields_named(self.distributed.workloads, block.workload) or {}

    def _sizes(self, model: Operation, block: dist.Block) -> dict[str, Expr] | None:
        """The sizes that the workload puts in the place of symbols; None, and a finding, if it can't be that of the block."""
        try:
            return training_sizes(model, self._workload(block))
        except UnreadableWorkload as wrong:
            self.findings.refuse("R16", block, str(wrong))
            return None

    def _run(self, trace: BlockTrace, shared: Sequence[tuple[Expr, Expr]]) -> None:
        """Verify the tasks of a block and what they keep; so many ranks share each of the sizes."""
        divided = all(self.findings.facts.divides(ranks, size).proved for ranks, size in shared)
        trace.run(whole=divided and trace.convention.name == "standard")  # Calculon's shares may be fractions
        MemoryCheck(self.findings, trace).run()

    def _wrong_inputs(self, block: dist.Block, strategy: Mapping[str, Attribute]) -> bool:
        """Whether the strategy contradicts itself, or the block does not name the workload that the source has."""
        contradiction = contradiction_of(strategy)
        if contradiction:
            self.findings.refuse("R15", block, f"the strategy contradicts itself: {contradiction}")
            return True
        given = candidates(self.model, Workload, "training")
        if given and not block.says(dist.Block.workload):
            names = " or ".join(f"@{workload.symbol}" for workload in given)
            self.findings.refuse("R15", block, f"the block names no bind.workload, expected {names}", note("it is here", given[0].span))
            return True
        return False

    @TRAINING.rule("R18", "the placement can be computed, and no further axis of a weight could be sharded")
    def _placement(self, plan: _Parallelism) -> Placed | None:
        """The placement of the module, judged once; of one rank, the one that several would have."""
        if not self.judged:
            self.judged = True
            tokens = self._token_axes() if plan.choices.sequence_parallel else set()
            ranks = plan.choices.ranks if plan.parallel else ONE
            self.placed = verify_placement(self.findings, "R18", self.target, self.models, ranks, tokens, experts=plan.experts)
        if plan.parallel or self.placed is None:
            return self.placed
        alone = Placed(dict.fromkeys(largest_placement(self.models), TENSOR))
        return evolved(alone, experts=self.placed.experts, batches=self.placed.batches)

    def _token_axes(self) -> set[str]:
        """The symbols of the axes that sequence parallelism shards."""
        return {dim.text for dim in map(token_axis, self.models) if symbol_name(dim)}

    def _allowed(self, shared: Sequence[tuple[Expr, Expr]], block: dist.Block, choices: Choices, trace: BlockTrace) -> set[Relation]:
        """The assumptions of the block; each must be proved, or recorded as an assumption."""
        for divisor, size in shared:
            self._claim_share(block, divisor, size)
        several = [ranks for ranks in (choices.ranks, *_replicas(trace.mesh)) if not self._is_one(ranks)]
        for ranks in several:
            self._claim_several(block, ranks)
        allowed = {Relation("divides", divisor, size) for divisor, size in shared} | trace.of_weights.replicas.assumable
        allowed.update(Relation("greater", ranks, ONE) for ranks in several)
        if trace.convention.name == "standard":  # Calculon's shares may be fractions
            allowed |= shares(choices.ranks, trace.reduced, self.relations)
        return allowed

    def _claim_share(self, block: dist.Block, divisor: Expr, size: Expr) -> None:
        """Refuse unless so many ranks are proved to have whole shares of a size."""
        whole = Statement(divisor, "|", size)
        message = f"nothing says that {divisor.text} divides {size.text}, which is sharded: record it with bp.assume"
        self.findings.claim("R4", block, message, f"the share of {size.text}", whole, whole.decide(self.findings.facts))

    def _claim_several(self, block: dist.Block, ranks: Expr) -> None:
        """Refuse unless the ranks of a block with collectives are proved to be more than one."""
        several = Statement(ranks, ">", ONE)
        message = f"the block has collectives, which assume '{ranks.text} > 1': record it with bp.assume"
        what = "the degree of a block with collectives"
        self.findings.claim("R15", block, message, what, several, several.decide(self.findings.facts))


def _replicas(mesh: Mapping[str, Expr]) -> list[Expr]:
    """The sizes of the mesh axes of replicas."""
    return [size for axis, size in mesh.items() if axis in REPLICAS]


def _shared(model: Operation, layout: Layout) -> list[Expr]:
    """The axes that the ranks share out among them: the sharded ones, and the tokens where the sequence is sharded."""
    axes = [layout.size(axis) for axis in layout.axes] if layout.collectives else []
    return [*axes, token_axis(model)] if layout.scattered else axes


def _choices(strategy: Mapping[str, Attribute], degree: Expr, parallel: bool) -> Choices:
    def flag(name: str) -> bool:
        return as_word(strategy.get(name)) == "true"

    scattered = as_word(strategy.get("communication")) == "reduce_scatter_all_gather"
    return Choices(
        degree,
        zero_stage(strategy),
        scattered and parallel,
        as_word(strategy.get("recompute")) or "none",
        flag("all_gather_redo"),
        flag("fused_activation"),
        flag("master_copy") if "master_copy" in strategy else None,
        as_word(strategy.get("gradients")) == "f32",
    )
