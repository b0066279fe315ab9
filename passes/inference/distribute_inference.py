"""Inference: one phase of each block of a model becomes one rank's tasks."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from bpir.dialects import bind as bind
from bpir.dialects.bind import CAUSAL
from bpir.dialects.bp import symbol_table
from bpir.dialects.dist import tasks as dist
from bpir.dialects.dist.parts import mesh_attribute
from bpir.dialects.levels import DistributedTaskIR, ModelIR
from bpir.dialects.model.macro import expand
from bpir.ir.attributes import Attribute, StringAttr, SymbolRefAttr
from bpir.ir.diagnostic import Diagnostic, Span
from bpir.ir.expressions.expression import ONE, Expr, symbol
from bpir.ir.operation import Operation, Region
from bpir.ir.property_parts import symbol_of
from bpir.passes.base import DerivationPass, option
from bpir.passes.context import PassContext
from bpir.passes.distribution.distribution import Assumptions, new_module, resized
from bpir.passes.distribution.expert_rows import Experts
from bpir.passes.distribution.networks import blocks_to_derive, distributed_networks, unused_blocks, with_context
from bpir.passes.distribution.placement import TENSOR, axes_in, placement, shared_axes, shared_heads, tables
from bpir.passes.distribution.stages import pipeline, schedule_of
from bpir.passes.distribution.strategy_fields import mesh_of_strategy, unheeded_in_inference
from bpir.passes.distribution.unnamed_axes import padding, refuse_unsharded, whole_weights
from bpir.passes.inference.block import _Distribution
from bpir.passes.inference.phases import phase_of, token_axes
from bpir.passes.inference.warnings import attention_without_cache, dead_operations
from bpir.passes.inputs import inputs_of


class DistributeTransformerInferencePass(DerivationPass[ModelIR, DistributedTaskIR]):
    """Distributes one inference phase of a block over the ranks of tensor parallelism.

    Boundary: ModelIR to distributed-task IR.

    Input invariant: a `model.block` whose first argument is batch x token x hidden; a workload that says phase and context; a
    strategy that says the tensor-parallel degree `t`. Its other fields change no task here: each that is not at its neutral value
    gets a warning; pipeline and data are axes of the mesh: each replica has a batch of its own.

    Equations (one block, one rank; `b` sequences, `q` query and `c` visible tokens, `h` heads of size `d`, hidden `H`, feed-forward
    `F`, `e` bytes an element):

    - E1: $q = c$ in prefill, $q = 1$ in decode
    - E2: $W_{attention} = 4bqchd/t + 5b(h/t)qc$
    - E3: $W_{QKV} = 6bqHhd/t$
    - E4: $W_{out} = 2bqHhd/t$
    - E5: $W_{MLP} = 4bqHF/t$, the two matrix products
    - E6: $C_{KV} = 2bc(hd/t)e$
    - E7: $M_{TP} = bqHe$, the message of each all-reduce
    - E8: $W_{reduce} = bqH(t-1)/t$, its additions

    Conserved: every model operation is one compute task, except dropout, which inference erases; a contraction over a sharded axis is
    followed by one all-reduce, at once or behind the additions of such sums; `t = 1` has none. No axis, weight or operation is
    lost: the work of all ranks is that of the model.

    Deviations from the papers: attention is dense, a causal mask removes nothing; softmax is counted, 5 operations a score, where the
    papers leave it out; fused and paged attention are named as alternatives at the plan level, never assumed.

    Evidence (executable lineage rules and exact work tests): rules distribute-inference.R1 to R14 are the gate of every run, and read
    the work rules, never the pass. E1 to E8 are proved from this text against the derived tasks in `tests/project/equations/`; the
    sums of whole models agree with an oracle in `tests/passes/test_models_oracle.py`. Unverified: nothing here was compared with a
    measurement on a machine.

    Example:

        $ bp-opt examples/transformer_block.bpir --pass='distribute-inference{phase=prefill}'

    References: Vaswani et al. 2017 (1706.03762); Shoeybi et al. 2019 (1909.08053); Dao et al. 2022 (2205.14135).
    """

    name = "distribute-inference"
    reads = ("workload", "strategy")

    workload: str | None = option("the bind.workload to use, where there are several", "symbol")
    strategy: str | None = option("the bind.strategy to use, where there are several", "symbol")
    phase: str | None = option("the inference phase", "word", ("prefill", "decode"))
    batch: Expr | None = option("sequences: replaces the batch axis", "expression")
    context: Expr | None = option("visible KV tokens", "expression")
    query: Expr | None = option("new tokens of a prefill", "expression")
    prefix: Expr | None = option("tokens in the cache before a prefill", "expression")
    causal: str | None = option("which pairs of query and key attention counts", "word", CAUSAL)
    head: str | None = option("which tokens go through model.last_token", "word", ("last", "all"))
    tensor: Expr | None = option("tensor-parallel degree", "expression")
    data: Expr | None = option("data-parallel degree: replicas, each with a batch of its own", "expression")
    expert: Expr | None = option("expert-parallel degree", "expression")
    latent: str | None = option("the form of latent attention", "word", ("expanded", "absorbed"))
    pipeline: Expr | None = option("pipeline-parallel degree", "expression")
    stages: tuple[Expr, ...] | None = option("layers of each stage", "expressions")
    interleaving: Expr | None = option("chunks of layers of each stage", "expression")
    microbatches: Expr | None = option("runs of the network in a step", "expression")

    def run(self, ir: ModelIR, context: PassContext) -> DistributedTaskIR:
        module = ir.module
        workload = context.workload("inference")
        strategy = context.strategy()
        degree = strategy.expr("tensor", "distribution")
        table = ir.symbols
        assumptions = Assumptions(table)
        parallel = not table.facts.equal(degree, ONE).proved
        experts = Experts.of(strategy, table)
        mesh = {TENSOR: degree, **experts.mesh}
        schedule = schedule_of(strategy, table.facts, module, self.spans)
        models = blocks_to_derive(expand(module))
        placed = experts.place(models, strategy)
        divided, padded, copied = assumptions.may_divide(degree), tables(models), shared_heads(models)
        axes = shared_axes(models, lambda name: name in padded or divided(name)) if parallel else ()
        sizes: dict[str, Expr] = {}  # of axes that the ranks do not divide
        blocks = []
        replaced: set[str] = set()
        for operation in models:
            phase = phase_of(operation, with_context(workload.fields, operation, models))
            replaced.update(phase.substitution)
            for relation in phase.assumed:
                assumptions.require_sizes(relation, workload.operation.span)
            experts.require(assumptions, operation, phase.rewrite)
            if parallel:
                refuse_unsharded(operation, axes, degree, table)
            sizes.update(_shared_out(assumptions, degree, axes_in(operation, axes), padded, copied, operation.span))
            properties: dict[str, Attribute] = {
                "sym_name": StringAttr(symbol_of(operation)),
                "source": StringAttr(symbol_of(operation)),
                "mesh": SymbolRefAttr(("mesh",)),
                "workload": workload.reference,
                "strategy": strategy.reference,
            }
            body = _Distribution(phase, axes, mesh, assumptions, experts, strategy.fields).block(operation)
            block = dist.Block.build(properties=properties, regions=[Region([body])], span=operation.span)
            blocks.append(resized(block, {axis: sizes[axis] for axis in axes_in(operation, axes) if axis in sizes}))
        if parallel:
            assumptions.require_parallel(degree)
        if experts.parallel:
            assumptions.require_parallel(experts.degree)
        stages = pipeline(schedule, expand(module), blocks, assumptions, strategy, training=False)
        of_mesh = {"sym_name": StringAttr("mesh"), "axes": mesh_attribute(mesh_of_strategy(strategy, table.facts))}
        return DistributedTaskIR(
            new_module(
                module,
                [
                    *inputs_of(module, workload, strategy),
                    *assumptions.operations(),
                    dist.Mesh.build(properties=of_mesh, span=strategy.operation.span),
                    *placement(axes, strategy.operation.span, resized=sizes, experts=placed),
                    *blocks,
                    *distributed_networks(module, blocks, replaced),
                    *stages,
                ],
            )
        )

    def warnings(self, module: Operation, context: PassContext) -> list[Diagnostic]:
        workload = context.workload("inference")
        strategy = context.strategy()
        table = symbol_table(module)
        degree = strategy.expr("tensor", "distribution")
        models = blocks_to_derive(expand(module))
        found = [*unheeded_in_inference(strategy, self, table.facts, models), *unused_blocks(module)]
        assumptions, padded = Assumptions(table), tables(models)
        divided = assumptions.may_divide(degree)
        axes = shared_axes(models, lambda name: name in padded or divided(name))
        rows = [name for name in axes if name in padded and assumptions.leaves_rest(degree, symbol(name))]
        found += [padding(name, degree, table, strategy.operation.span) for name in rows]
        for operation in models:
            if not table.facts.equal(degree, ONE).proved:
                found += whole_weights(operation, axes, degree, table)
            found += dead_operations(operation)
            found += attention_without_cache(operation, token_axes(operation, workload.fields)[1])
        return found


def _shared_out(
    assumptions: Assumptions, degree: Expr, axes: Iterable[str], padded: Collection[str], copied: Collection[str], place: Span | None
) -> dict[str, Expr]:
    """Have the ranks divide the axes; the sizes of those that get another one: copied heads, and tables with a rest."""
    divided = assumptions.may_divide(degree)
    sizes: dict[str, Expr] = {}
    for axis in axes:
        rest = assumptions.leaves_rest(degree, symbol(axis))
        if not divided(axis) and (axis in copied or (axis in padded and rest)):
            sizes[axis] = assumptions.resize(degree, axis, axis in copied, place)
        elif axis in padded and not divided(axis):
            assumptions.assume_divides(degree, symbol(axis))
        else:
            assumptions.require_divides(degree, symbol(axis), place)
    return sizes
