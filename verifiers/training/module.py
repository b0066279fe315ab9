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
from bpir.dialects.model.rules.conventions import CONVENTIONS, Choices
from bpir.dialects.network import blocks, called
from bpir.dialects.replicas import REPLICAS, zero_stage
from bpir.ir.attributes import Attribute
from bpir.ir.diagnostic import Diagnostic, note
from bpir.ir.expressions.expression import ONE, Expr
from bpir.ir.operation import Operation
from bpir.ir.records import evolved
from bpir.ir.relations.facts import Facts, Relation
from bpir.verifiers.chosen_bindings import Options, candidates, verify_choice, verify_mesh
from bpir.verifiers.distribution.expert_rows import exchanging, shared_by_experts
from bpir.verifiers.distribution.network_calls import CallLabels, verify_network
from bpir.verifiers.distribution.placed_axes import EXPERT, TENSOR, verify_placement
from bpir.verifiers.distribution.typing_rule import Placed, largest_placement, symbol_name
from bpir.verifiers.distribution.workload import UnreadableWorkload, token_axis, training_sizes
from bpir.verifiers.findings import Findings, shares
from bpir.verifiers.inputs import fields_named, verify_kept
from bpir.verifiers.rulebooks import TRAINING
from bpir.verifiers.stages.module import StageCheck
from bpir.verifiers.statements import Claim, Statement
from bpir.verifiers.training.block import BlockTrace
from bpir.verifiers.training.layout import Layout
from bpir.verifiers.training.memory import MemoryCheck
from bpir.verifiers.training.model import training_model

OPTIONS: Options = {Workload: ("batch", "context", "causal"), Strategy: tuple(f.name for f in STRATEGY)}
"""The fields of bindings that are options of the pass, and may be overridden."""


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
        self.models: list[Operation] = []
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
        models = called(self.model.module)
        self.models = list(models.values())
        overridable: dict[str, Collection[str]] = {}
        assumable: set[Relation] = set()
        seen: dict[str, dist.Block] = {}
        for block in self.distributed.blocks:
            name = block.source
            if name not in models:
                what = "which the network does not call" if name in blocks(self.model.module) else "which is no block of the model"
                self.findings.refuse("R16", block, f"the block comes from '{name}', {what}")
                continue
            if name in seen:
                self.findings.refuse("R16", block, f"the block '{name}' is distributed twice", note("the first is here", seen[name].span))
                continue
            seen[name] = block
            overridable |= verify_choice(self.findings, "R15", self.model, self.distributed, block, "training", OPTIONS)
            assumable |= self._block(models[name], block)
        for name, model in models.items():
            if name not in seen:
                self.findings.refuse("R16", model, f"the block '{name}' of the model has no distributed block")
        if self.distributed.blocks:
            strategy = fields_named(self.distributed.strategies, self.distributed.blocks[0].strategy)
            assumable |= StageCheck(self.findings, self.source, self.distributed, strategy or {}, training=True).run()
        verify_network(self.findings, CallLabels("R19", "R20"), self.model.module, self.target, training=True)
        used = {block.mesh for block in self.distributed.blocks}
        for mesh in self.distributed.meshes:
            if mesh.symbol not in used:
                self.findings.refuse("R15", mesh, f"no block is on the mesh @{mesh.symbol}")
        verify_kept(self.findings, "R15", self.source, self.target, overridable, assumable)
        return self.findings.diagnostics

    def _block(self, model: Operation, block: dist.Block) -> set[Relation]:
        """Verify one block; the relations that its derivation may assume."""
        quantised = next((operation for operation in model.body if operation.properties.get("stored") is not None), None)
        if quantised is not None:
            self.findings.refuse("R8", quantised, "nothing says what the gradient of a quantised weight is")
            return set()
        strategy = fields_named(self.distributed.strategies, block.strategy)
        degree = as_expr((strategy or {}).get("tensor"))
        mesh = verify_mesh(self.findings, "R15", self.distributed, block, strategy)
        if strategy is None or degree is None or mesh is None:
            return set()
        parallel = not self.declared.equal(degree, ONE).proved
        if self._wrong_inputs(block, strategy):
            return set()
        choices = _choices(strategy, degree, parallel)
        convention = CONVENTIONS[as_word(strategy.get("convention")) or "standard"](choices, self.declared)
        try:
            workload = fields_named(self.distributed.workloads, block.workload)
            sizes = training_sizes(model, workload or {})
        except UnreadableWorkload as wrong:
            self.findings.refuse("R16", block, str(wrong))
            return set()
        experts = as_expr(strategy.get(EXPERT)) or ONE
        experts = ONE if self.declared.equal(experts, ONE).proved else experts
        placed = self._placement(parallel, choices, experts)
        if placed is None:
            return set()
        sized = training_model(model, {**sizes, **placed.resized}, as_word((workload or {}).get("causal")) or "dense")
        named = training_model(model, training_sizes(model, {}), "dense")
        for each in (sized, named) if placed.experts else ():
            exchanging(each)
        layout = Layout(sized, named, placed, parallel, choices.sequence_parallel)
        trace = BlockTrace(self.findings, sized, block, layout, mesh, convention)
        of_experts = [(experts, size) for size in shared_by_experts(model, sizes)] if placed.experts else []
        shared = [*((degree, size) for size in _shared(sized, layout)), *of_experts]
        self._run(trace, shared)
        return self._allowed(shared, block, choices, trace)

    def _run(self, trace: BlockTrace, shared: Sequence[tuple[Expr, Expr]]) -> None:
        """Verify the tasks of a block and what they keep; so many ranks share each of the sizes."""
        divided = all(self.findings.facts.divides(ranks, size).proved for ranks, size in shared)
        trace.run(whole=divided and trace.convention.name == "standard")  # Calculon's shares may be fractions
        MemoryCheck(self.findings, trace).run()

    def _wrong_inputs(self, block: dist.Block, strategy: Mapping[str, Attribute]) -> bool:
        """Whether the strategy contradicts itself, or the block does not name the workload that the source has."""
        contradiction = _contradiction(strategy)
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
    def _placement(self, parallel: bool, choices: Choices, experts: Expr) -> Placed | None:
        """The placement of the module, judged once; of one rank, the one that several would have."""
        if not self.judged:
            self.judged = True
            tokens = {dim.text for dim in map(token_axis, self.models) if symbol_name(dim)} if choices.sequence_parallel else set()
            degree = choices.ranks
            ranks = degree if parallel else ONE
            self.placed = verify_placement(self.findings, "R18", self.target, self.models, ranks, tokens, experts=experts)
        if parallel or self.placed is None:
            return self.placed
        alone = Placed(dict.fromkeys(largest_placement(self.models), TENSOR))
        return evolved(alone, experts=self.placed.experts, batches=self.placed.batches)

    def _allowed(self, shared: Sequence[tuple[Expr, Expr]], block: dist.Block, choices: Choices, trace: BlockTrace) -> set[Relation]:
        """The assumptions of the block; each must be proved, or recorded as an assumption."""
        degree, facts = choices.ranks, self.findings.facts
        required = [(ranks, size, "R4", "which is sharded") for ranks, size in shared]
        reduced: set[Relation] = set()
        if trace.convention.name == "standard":  # Calculon's shares may be fractions
            reduced = shares(degree, trace.reduced, self.relations)
        for divisor, size, rule, what in required:
            whole = Statement(divisor, "|", size)
            self.findings.claim(
                rule,
                block,
                f"nothing says that {divisor.text} divides {size.text}, {what}: record it with bp.assume",
                f"the share of {size.text}",
                whole,
                whole.decide(facts),
            )
        allowed = {Relation("divides", divisor, size) for divisor, size, _, _ in required} | reduced | trace.of_weights.replicas.assumable
        for ranks in (degree, *(size for axis, size in trace.mesh.items() if axis in REPLICAS)):
            if self.declared.equal(ranks, ONE).proved:
                continue
            allowed.add(Relation("greater", ranks, ONE))
            several = Statement(ranks, ">", ONE)
            self.findings.claim(
                "R15",
                block,
                f"the block has collectives, which assume '{ranks.text} > 1': record it with bp.assume",
                "the degree of a block with collectives",
                several,
                several.decide(facts),
            )
        return allowed


def _shared(model: Operation, layout: Layout) -> list[Expr]:
    """The axes that the ranks share out among them: the sharded ones, and the tokens where the sequence is sharded."""
    axes = [layout.size(axis) for axis in layout.axes] if layout.collectives else []
    return [*axes, token_axis(model)] if layout.scattered else axes


def _contradiction(strategy: Mapping[str, Attribute]) -> str:
    """Which of its choices exclude each other; empty if none do."""
    names = ("all_gather_redo", "communication", "recompute", "optimizer_sharding", "convention", "zero", "gradients")
    words = {name: as_word(strategy.get(name)) for name in names}
    if words["all_gather_redo"] == "true" and words["communication"] != "reduce_scatter_all_gather":
        return "all_gather_redo gathers shards of the sequence again, and there are none"
    if words["all_gather_redo"] == "true" and words["recompute"] == "full":
        return "all_gather_redo keeps a shard, and recompute = full keeps none"
    if words["recompute"] == "core_attention" and words["convention"] == "calculon":
        return "Calculon does not repeat the product with V"
    stage = zero_stage(strategy)
    if words["zero"] and words["optimizer_sharding"] and (words["optimizer_sharding"] == "true") != (stage == 2):
        return "optimizer_sharding is zero = 2, and zero says another stage"
    if stage and all(as_expr(strategy.get(axis)) is None for axis in REPLICAS):
        said = "optimizer_sharding" if words["zero"] is None else f"zero = {stage}"
        return f"{said} shards over data-parallel ranks, and nothing says how many"
    if words["convention"] == "calculon" and (stage not in (0, 2) or words["gradients"] == "f32"):
        return "Calculon shares optimizer states and gradients or nothing, and keeps gradients as wide as the weights"
    return ""


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
