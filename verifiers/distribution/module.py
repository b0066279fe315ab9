"""Boundary of `distribute-inference`: is a distributed module one rank's part of a model? Rules distribute-inference.R1 to R17."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from bpir.dialects.bind import Strategy, Workload, as_expr
from bpir.dialects.bp import symbol_table
from bpir.dialects.dist import tasks as dist
from bpir.dialects.levels import DistributedTaskIR, ModuleIR
from bpir.dialects.model.macro import expand
from bpir.dialects.network import called, networks
from bpir.ir.diagnostic import Diagnostic
from bpir.ir.expressions.expression import ONE, Expr, symbol
from bpir.ir.operation import Operation, Value
from bpir.ir.relations.facts import Facts, Relation
from bpir.ir.relations.verdict import Verdict
from bpir.verifiers.chosen_bindings import Options, verify_choice, verify_mesh
from bpir.verifiers.distribution.block import InferenceBlockCheck
from bpir.verifiers.distribution.corresponding_blocks import corresponding_blocks, verify_used_meshes
from bpir.verifiers.distribution.expert_rows import shared_by_experts
from bpir.verifiers.distribution.placed_axes import EXPERT, verify_placement
from bpir.verifiers.distribution.possible_placements import axes_of, copied_axes
from bpir.verifiers.distribution.typing_rule import Placed
from bpir.verifiers.distribution.workload import (
    Phase,
    UnreadableWorkload,
    behind_last_token,
    inference_phase,
    with_visible,
)
from bpir.verifiers.findings import Findings, shares
from bpir.verifiers.inputs import fields_named, verify_kept
from bpir.verifiers.rulebooks import INFERENCE
from bpir.verifiers.stages.module import verify_stages
from bpir.verifiers.statements import Claim, Statement

OPTIONS: Options = {
    Workload: ("phase", "batch", "context", "query", "prefix", "causal", "head"),
    Strategy: ("tensor", "expert", "latent", "data", "pipeline", "stages", "interleaving", "microbatches"),
}
"""The fields of bindings that are options of the pass, and may be overridden."""


class DistributionVerifier:
    """Verifies a distributed module against its model."""

    def __init__(self, source: Operation, target: Operation, claims: list[Claim] | None = None) -> None:
        self.source = expand(source)
        self.target = target
        self.distributed = DistributedTaskIR(target)
        declared, derived = symbol_table(source), symbol_table(target)
        self.findings = Findings(
            "distribute-inference",
            Facts((*declared.relations, *declared.assumptions, *derived.assumptions), dict(declared.bindings)),
            claims,
        )
        self.declared = declared.facts
        self.relations = declared.relations
        self.placements: dict[tuple[Expr, Expr], Placed | None] = {}

    @INFERENCE.rule("R9", "symbols, numbers and bindings are kept")
    @INFERENCE.rule("R12", "blocks correspond")
    @INFERENCE.rule("R15", "the network calls what the model's network calls, in its order, as many times, with the images of its values")
    @INFERENCE.rule("R16", "each block is run as often as in the model, in all")
    def verify(self) -> list[Diagnostic]:
        overridable: dict[str, Collection[str]] = {}
        assumable: set[Relation] = set()
        models = list(called(self.source).values())
        for model, block in corresponding_blocks(self.findings, "R12", self.source, self.distributed):
            overridable |= verify_choice(self.findings, "R9", ModuleIR(self.source), self.distributed, block, "inference", OPTIONS)
            assumable |= self._block(model, block, models)
        assumable |= verify_stages(self.findings, self.source, self.distributed, training=False)
        if networks(self.source) or networks(self.target):
            from bpir.verifiers.distribution.network_calls import CallLabels, verify_network

            verify_network(self.findings, CallLabels("R15", "R16"), self.source, self.target)
        verify_used_meshes(self.findings, "R10", self.distributed)
        verify_kept(self.findings, "R9", self.source, self.target, overridable, assumable)
        return self.findings.diagnostics

    @INFERENCE.rule("R10", "the mesh is the strategy's")
    def _block(self, model: Operation, block: dist.Block, models: list[Operation]) -> set[Relation]:
        """Verify one block; the relations that its derivation may assume."""
        strategy = fields_named(self.distributed.strategies, block.strategy) or {}
        degree = as_expr(strategy.get("tensor"))
        mesh = verify_mesh(self.findings, "R10", self.distributed, block, strategy)
        tensor, experts = self._several(degree), self._several(as_expr(strategy.get(EXPERT)))
        placed = self._placement(models, tensor, experts)
        if placed is None:
            return set()
        axes = _placed_axes(model, placed)
        allowed = self._of_several_ranks(tensor, axes)
        read = self._phase(model, block, models) if mesh is not None and degree is not None else None
        if mesh is None or degree is None or read is None:
            return allowed
        phase, last = read
        allowed |= self._sizes(block, phase)
        sizes = {axis: placed.resized[axis] for axis in axes if axis in placed.resized}
        check = InferenceBlockCheck(self.findings, model, block, phase.with_sizes(sizes), last, placed, mesh, strategy)
        allowed |= self._shares(check, degree, experts, axes, sizes)
        return allowed | self._claim_several(block, [ranks for ranks in (tensor, experts) if ranks is not ONE])

    @staticmethod
    def _of_several_ranks(tensor: Expr, axes: Sequence[str]) -> set[Relation]:
        """The assumptions of a block of several tensor-parallel ranks: that there are several, and that they divide the placed axes."""
        if tensor is ONE:
            return set()
        return {Relation("greater", tensor, ONE), *_divisions(tensor, map(symbol, axes))}

    def _phase(self, model: Operation, block: dist.Block, models: list[Operation]) -> tuple[Phase, set[Value]] | None:
        """The phase of a block, and the values behind its last token; None, and a finding, if the workload can't be that of the block."""
        workload = fields_named(self.distributed.workloads, block.workload)
        if workload is None:
            self.findings.refuse("R9", block, "the block names no bind.workload of the module")
            return None
        try:
            phase = inference_phase(model, with_visible(workload, model, models))
            return phase, behind_last_token(model, phase)
        except UnreadableWorkload as wrong:
            self.findings.refuse("R8", block, str(wrong))
            return None

    def _shares(
        self, check: InferenceBlockCheck, degree: Expr, experts: Expr, axes: Sequence[str], sizes: Mapping[str, Expr]
    ) -> set[Relation]:
        """Verify the block, whose ranks have whole shares of its axes; the relations that may be assumed for that."""
        of_experts = [] if experts is ONE else shared_by_experts(check.model, check.phase.sizes)
        shards = _shards(check.model, degree, axes, sizes) + [Statement(experts, "|", size) for size in of_experts]
        divided = [statement.decide(self.findings.facts) for statement in shards]
        check.run(whole=all(verdict.proved for verdict in divided))
        self._claim_shares(check.block, zip(shards, divided, strict=True), (degree, experts))
        allowed = shares(degree, check.reduced, self.relations) | _divisions(experts, of_experts)
        return allowed.union(*(_divisions(symbol(axis), [size]) for axis, size in sizes.items()))

    def _several(self, degree: Expr | None) -> Expr:
        """The degree of parallelism, 1 if there is none, or it is declared to be 1."""
        return ONE if degree is None or self.declared.equal(degree, ONE).proved else degree

    def _claim_shares(self, block: dist.Block, shards: Iterable[tuple[Statement, Verdict]], degrees: tuple[Expr, Expr]) -> None:
        """Each rank has a whole share of what is sharded, and as many copies as each other of what is copied."""
        for statement, verdict in shards:
            what, copied = statement.right.text, statement.left not in degrees
            which = "so that each has as many copies" if copied else "which is sharded"
            message = f"nothing says that {statement.left.text} divides {what}, {which}"
            self.findings.claim("R4", block, message, f"the share of {what}", statement, verdict)

    def _claim_several(self, block: dist.Block, degrees: Sequence[Expr]) -> set[Relation]:
        """A block with collectives is of several ranks; that it is may be assumed."""
        for ranks in degrees:
            several = Statement(ranks, ">", ONE)
            self.findings.claim(
                "R9",
                block,
                f"the block has collectives, which assume '{ranks.text} > 1': record it with bp.assume",
                "the degree of a block with collectives",
                several,
                several.decide(self.findings.facts),
            )
        return {Relation("greater", ranks, ONE) for ranks in degrees}

    def _sizes(self, block: dist.Block, phase: Phase) -> set[Relation]:
        """The relations that the workload demands of its sizes must hold; they may be assumed."""
        for relation in phase.needs:
            statement = Statement.of(relation)
            message = f"the workload needs '{relation.text}', which nothing says"
            self.findings.claim("R8", block, message, "the sizes of the workload", statement, statement.decide(self.findings.facts))
        return set(phase.needs)

    @INFERENCE.rule("R14", "the placement can be computed, and no further axis of a weight could be sharded")
    def _placement(self, models: list[Operation], degree: Expr, experts: Expr) -> Placed | None:
        """The placement, judged once for each degree."""
        key = (degree, experts)
        if key not in self.placements:
            self.placements[key] = verify_placement(self.findings, "R14", self.target, models, degree, copies=True, experts=experts)
        return self.placements[key]


def _placed_axes(model: Operation, placed: Placed) -> list[str]:
    """The axes of the placement that a block has."""
    own = {name for operation in model.body for name in axes_of(operation)}
    return [name for name in placed.axes if name in own]


def _divisions(ranks: Expr, sizes: Iterable[Expr]) -> set[Relation]:
    return {Relation("divides", ranks, size) for size in sizes}


def _shards(model: Operation, degree: Expr, axes: Sequence[str], sizes: Mapping[str, Expr]) -> list[Statement]:
    """The ranks divide each placed axis, in its other size where it has one; a copied axis divides that size."""
    copied = copied_axes([model])
    shards = [Statement(degree, "|", sizes.get(axis, symbol(axis))) for axis in axes]
    return shards + [Statement(symbol(axis), "|", size) for axis, size in sizes.items() if axis in copied]
