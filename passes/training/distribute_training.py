"""Training: one block of a model becomes one rank's forward, recomputation, backward and optimizer tasks."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping

from bpir.dialects import bind as bind
from bpir.dialects.bind import CAUSAL, GRADIENTS, RECOMPUTE, ZERO_STAGES, as_word
from bpir.dialects.bp import symbol_table
from bpir.dialects.dist import tasks as dist
from bpir.dialects.dist.parts import mesh_attribute
from bpir.dialects.levels import DistributedTaskIR, ModelIR
from bpir.dialects.model.rules.conventions import CONVENTIONS, OPTIMIZER_STATES
from bpir.dialects.model.rules.conventions import GRADIENTS as SHARED_GRADIENTS
from bpir.dialects.model.rules.layer_view import Choices
from bpir.dialects.model.rules.layers import layer_of
from bpir.dialects.model.rules.operation import ModelOperation
from bpir.dialects.model.rules.sizes import TOKEN_RANK
from bpir.dialects.replicas import REPLICAS, zero_stage
from bpir.ir.attributes import Attribute, StringAttr, SymbolRefAttr
from bpir.ir.diagnostic import Diagnostic, Span, fail
from bpir.ir.expressions.expression import ONE, ZERO, Expr, ceildiv, symbol
from bpir.ir.operation import Operation, Region
from bpir.ir.property_parts import symbol_of
from bpir.passes.base import DerivationPass, option
from bpir.passes.context import PassContext
from bpir.passes.distribution.distribution import Assumptions, new_module, resized
from bpir.passes.distribution.expert_rows import Experts, with_exchanges
from bpir.passes.distribution.networks import blocks_to_derive, unused_blocks
from bpir.passes.distribution.placement import TENSOR, axes_in, lone_symbol, placement, shared_axes, tables
from bpir.passes.distribution.regions import Regions
from bpir.passes.distribution.stages import pipeline, schedule_of
from bpir.passes.distribution.strategy_fields import mesh_of_strategy, unheeded_in_training
from bpir.passes.distribution.unnamed_axes import padding, refuse_unsharded, whole_weights
from bpir.passes.inference.phases import input_axis, training_axes
from bpir.passes.inputs import Binding, inputs_of
from bpir.passes.training.decompose import decompose
from bpir.passes.training.graph import Graph
from bpir.passes.training.memory import Memory
from bpir.passes.training.networks import training_networks
from bpir.passes.training.tasks import Tasks


class DistributeTransformerTrainingPass(DerivationPass[ModelIR, DistributedTaskIR]):
    r"""Distributes the training of a block over the ranks of tensor parallelism: forward, what is repeated, backward, reduction of the
    gradients of weights, optimizer.

    Boundary: ModelIR to distributed-task IR.

    Input invariant: a `model.block` in which every result reaches a result of the block; a strategy that says the tensor-parallel
    degree `t`. Gradients come from each operation's rule and from the graph: a value with `u` uses is a fork whose `u` gradients
    are summed, the gradient of a collective is its conjugate, and a layer keeps what its gradients read.

    Equations (one block, one rank; `B` sequences of `S` tokens, `h` heads of size `d`, hidden `H`, feed-forward `F`, `e` bytes, `D`
    optimizer shards; layer `l` keeps $A_l$ bytes and has a result of $O_l$; $R$ is the residual stream on a rank):

    - E1: $W_{gemm} = 2mnk$, each linear layer
    - E2: $W_{QKV} = 6BSHhd/t$
    - E3: $W_{attn} = 4BS^2hd/t$, the two matrix products of attention
    - E4: $W_{MLP} = 4BSHF/t$
    - E5: $M_{TP} = BSHe$, the message of each collective
    - E6: $W_{reduce} = BSH(t-1)/t$, the additions of each that reduces
    - E7: $C_{act} = \sum_l (A_l - O_l [\neg \mathrm{storeOutput}_l] - A_l [\neg \mathrm{storeActivation}_l])$
    - E8: $W_{fork} = (u-1)n$, the sum of the gradients of `n` elements with `u` uses
    - E9: $w = 4Hhd/t + 2HF/t + 4H$, the weights
    - E10: $W_{Adam} = 11w/D$
    - E11: $C_{Adam} = 12w/D$ with a master copy, $C_{Adam} = 8w/D$ without one
    - E12: $R = BSH$, $R = BSH/t$ under sequence parallelism
    - E13: $W_{forward} = 8BSHhd/t + 4BS^2hd/t + 4BSHF/t + 8BSF/t + 6BhS^2/t + 22R + 2BSH(t-1)/t$
    - E14: $W_{dX} = 8BSHhd/t + 8BS^2hd/t + 4BSHF/t + 13BSF/t + 9BhS^2/t + 32R + 2BSH + 2BSH(t-1)/t$
    - E15: $W_{dW} = 8BSHhd/t + 4BSHF/t + 14R$
    - E16: $M_{weights} = 4He$, the messages that sum the gradients of the norms under sequence parallelism

    Conserved: every layer has one forward task (none for a fork or an identity), one activation gradient (none for an alias), one
    weight gradient and one optimizer task where it has weights; `t = 1` has no collective.

    Recomputation: `attention` repeats scores, softmax and probability dropout of an attention, fused or written by hand: a softmax that
    a batched product feeds and that feeds one, with operations element by element between; any other softmax is not repeated.
    `core_attention` repeats the product with V as well, whose result is kept: the repeated one is `unread`. `full` repeats all on
    which a kept value depends. What a repeated layer reads and nobody repeats is kept; under `full` it is the checkpoint.

    Restrictions: every operation and every argument reaches a result of the block. Quantised weights are not trained. Under
    sequence parallelism no operation between regions needs the token axis whole. A value that is returned twice is read by a layer too.

    Deviations from the papers: elementwise work is counted where the papers count matrix products alone. The convention of
    Calculon is reproduced by `convention=calculon`; `docs/conventions.md` has the reason for each difference.

    Evidence (executable lineage rules and deterministic replay): rules distribute-training.R1 to R18 are the gate of every run; each
    reads a task as what it computes. E1 to E16 are proved from this text against derived tasks in `tests/project/equations/`, closed
    forms of the papers in `tests/passes/training/test_training_closed_forms.py`, Calculon's facts integer by integer in
    `tests/passes/training/test_training_calculon.py`, replay in `tests/passes/test_pipeline.py`. Stages are judged by rules stages.R1 to
    R6. Unverified: nothing was measured on a machine.

    Example:

        $ bp-opt examples/transformer_block.bpir --pass='distribute-training{tensor=t recompute=attention}'

    References: Shoeybi et al. 2019 (1909.08053); Narayanan et al. 2021 (2104.04473); Korthikanti et al. 2022 (2205.05198);
    Rajbhandari et al. 2019 (1910.02054).
    """

    name = "distribute-training"
    reads = ("workload", "strategy")

    workload: str | None = option("the bind.workload to use, where there are several", "symbol")
    strategy: str | None = option("the bind.strategy to use, where there are several", "symbol")
    batch: Expr | None = option("sequences: replaces the batch axis", "expression")
    context: Expr | None = option("tokens of a sequence: replaces the token axis", "expression")
    causal: str | None = option("which pairs of query and key attention counts", "word", CAUSAL)
    tensor: Expr | None = option("tensor-parallel degree", "expression")
    pipeline: Expr | None = option("pipeline-parallel degree", "expression")
    stages: tuple[Expr, ...] | None = option("layers of each stage", "expressions")
    interleaving: Expr | None = option("chunks of layers of each stage", "expression")
    microbatches: Expr | None = option("runs of forward and backward in a step", "expression")
    data: Expr | None = option("data-parallel degree", "expression")
    expert: Expr | None = option("expert-parallel degree", "expression")
    latent: str | None = option("the form of latent attention: of inference", "word", ("expanded", "absorbed"))
    communication: str | None = option("collectives", "word", ("all_reduce", "reduce_scatter_all_gather"))
    recompute: str | None = option("what backward computes again", "word", RECOMPUTE)
    all_gather_redo: bool | None = option("gather again in backward", "flag")
    fused_activation: bool | None = option("the activation moves no bytes", "flag")
    zero: str | None = option("what replicas share: optimizer states (1), gradients (2), weights (3)", "word", ZERO_STAGES)
    optimizer_sharding: bool | None = option("share optimizer states and gradients among replicas: zero = 2", "flag")
    gradients: str | None = option("the element in which gradients of weights are kept", "word", GRADIENTS)
    master_copy: bool | None = option("the optimizer keeps an fp32 copy of the weights", "flag")
    convention: str | None = option("the table of work rules", "word", tuple(CONVENTIONS))

    def run(self, ir: ModelIR, context: PassContext) -> DistributedTaskIR:
        workload, strategy = context.optional_workload("training"), context.strategy()
        schedule = schedule_of(strategy, ir.symbols.facts, ir.module, self.spans)
        derivation = _Derivation(ir, strategy, workload)
        blocks = [derivation.block(operation) for operation in derivation.models]
        derivation.require_degrees()
        stages = pipeline(schedule, ir.expanded.module, blocks, derivation.assumptions, strategy, training=True)
        return DistributedTaskIR(
            new_module(
                ir.module,
                [
                    *derivation.inputs(),
                    *derivation.assumptions.operations(),
                    *derivation.layout(),
                    *blocks,
                    *training_networks(ir.module, blocks, derivation.replaced),
                    *stages,
                ],
            )
        )

    def warnings(self, module: Operation, context: PassContext) -> list[Diagnostic]:
        strategy = context.strategy()
        table = symbol_table(module)
        degree = strategy.expr("tensor", "distribution")
        found = unused_blocks(module)
        models = blocks_to_derive(ModelIR(module).expanded.module)
        assumptions, padded = Assumptions(table), tables(models)
        divided = assumptions.may_divide(degree)
        placed = shared_axes(models, lambda name: name in padded or divided(name))
        rows = [name for name in placed if name in padded and assumptions.leaves_rest(degree, symbol(name))]
        found += [padding(name, degree, table, strategy.operation.span) for name in rows]
        found += unheeded_in_training(strategy, self, table.facts, [decompose(operation) for operation in models])
        for operation in models:
            if not table.facts.equal(degree, ONE).proved:
                found += whole_weights(operation, placed, degree, table)
        return found


class _Derivation:
    """The derivation of one module's blocks under one strategy: what it reads, and what the blocks assume, replace and resize."""

    def __init__(self, ir: ModelIR, strategy: Binding, workload: Binding | None) -> None:
        self.module, self.strategy, self.workload = ir.module, strategy, workload
        self.table = ir.symbols
        self.degree = strategy.expr("tensor", "distribution")
        self.parallel = not self.table.facts.equal(self.degree, ONE).proved
        self.choices = choices_of(strategy, self.parallel)
        self.assumptions = Assumptions(self.table)
        self.convention = CONVENTIONS[as_word(strategy.fields.get("convention")) or "standard"](self.choices, self.table.facts)
        self.experts = Experts.of(strategy, self.table)
        self.spanned = mesh_of_strategy(strategy, self.table.facts)
        self.mesh = {**self.spanned, TENSOR: self.degree}
        self.models = blocks_to_derive(ir.expanded.module)
        self.of_experts = self.experts.place(self.models, strategy)
        refuse_with_experts(self.experts, self.choices, strategy)
        self.padded = tables(self.models)
        divided = self.assumptions.may_divide(self.degree)
        self.placed = shared_axes(self.models, lambda name: name in self.padded or divided(name))
        self.replaced: set[str] = set()  # axes of the model that the workload gives another size
        self.resizing: dict[str, Expr] = {}  # of tables whose rows the ranks do not divide
        self.between: dict[str, None] = {}  # axes of tokens that are shards between regions

    def block(self, operation: Operation) -> Operation:
        """The training step of one block of the model.

        Raises:
            DiagnosticError: it has no gradient, or the ranks do not divide what they share.
        """
        refuse_without_gradient(operation)
        axes = tuple(axes_in(operation, self.placed))
        sizes = self._sizes(operation)
        model = decompose(operation, sizes, as_word(self._workload_fields.get("causal")) or "dense")
        self._divide(operation, model, axes, sizes)
        graph = self._graph(model, axes)
        body = Tasks(graph, Memory(graph, self.choices, self.convention), self.convention).block()
        properties = _says(operation, self.strategy, self.workload)
        derived = dist.Block.build(properties=properties, regions=[Region([body])], span=operation.span)
        return resized(derived, {axis: size for axis, size in self.resizing.items() if axis in axes})

    @property
    def _workload_fields(self) -> Mapping[str, Attribute]:
        return self.workload.fields if self.workload is not None else {}

    def _sizes(self, operation: Operation) -> dict[str, Expr]:
        """The sizes that the workload gives the axes of a block."""
        sizes = training_axes(operation, self._workload_fields)
        self.replaced.update(sizes)
        return sizes

    def _divide(self, operation: Operation, model: Operation, axes: tuple[str, ...], sizes: Mapping[str, Expr]) -> None:
        """Have the ranks divide the axes of a block, its tokens between regions, and its experts."""
        assumptions, degree = self.assumptions, self.degree
        self.resizing.update(_shared_out(assumptions, degree, axes if self.parallel else (), self.padded, operation.span))
        if self.parallel and not self.choices.sequence_parallel:
            refuse_unsharded(operation, axes, degree, self.table)
        if self.choices.sequence_parallel:
            assumptions.assume_divides(degree, input_axis(model, TOKEN_RANK - 1))
            self.between.update(dict.fromkeys(filter(None, (lone_symbol(input_axis(operation, TOKEN_RANK - 1)),))))
        self.experts.require(assumptions, operation, lambda expr: expr.substitute(sizes))

    def _graph(self, model: Operation, axes: tuple[str, ...]) -> Graph:
        """The layers of a block as one rank has them, with the shares of weights and of what is exchanged assumed to be whole."""
        rows = with_exchanges(model) if self.experts.parallel else None
        graph = Graph(model, Regions(axes, self.parallel, self.choices.sequence_parallel), self.mesh, rows)
        graph.copy_weights(share_with(self.assumptions, self.resizing, self.convention.name, self.choices.zero))
        if self.convention.name == "standard":
            _assume_shares(self.assumptions, graph, self.degree, self.choices, self.mesh)
        return graph

    def require_degrees(self) -> None:
        """Assume that each degree that the blocks are shared out by is above 1."""
        if self.parallel:
            self.assumptions.require_parallel(self.degree)
        for axis in REPLICAS:
            if axis in self.spanned:
                self.assumptions.require_parallel(self.spanned[axis])

    def inputs(self) -> list[Operation]:
        """The symbols, relations and bindings of the module that the derived one keeps."""
        return inputs_of(self.module, *([self.workload] if self.workload is not None else []), self.strategy)

    def layout(self) -> list[Operation]:
        """The mesh, and the placement of axes on it."""
        place = self.strategy.operation.span
        sizes: dict[str, Attribute] = {"sym_name": StringAttr("mesh"), "axes": mesh_attribute(self.spanned)}
        placed, resizing = (self.placed, self.resizing) if self.parallel else ((), None)
        return [
            dist.Mesh.build(properties=sizes, span=place),
            *placement(placed, place, tuple(self.between), resizing, self.of_experts),
        ]


def _says(operation: Operation, strategy: Binding, workload: Binding | None) -> dict[str, Attribute]:
    """The properties of the block that a block of the model becomes."""
    name = StringAttr(symbol_of(operation))
    bindings = {"strategy": strategy.reference} | ({"workload": workload.reference} if workload is not None else {})
    return {"sym_name": name, "source": name, "mesh": SymbolRefAttr(("mesh",)), **bindings}


def _shared_out(
    assumptions: Assumptions, degree: Expr, axes: Iterable[str], padded: Collection[str], place: Span | None
) -> dict[str, Expr]:
    """Have the ranks divide the axes; the sizes of those of tables that leave a rest."""
    divided = assumptions.may_divide(degree)
    resizing: dict[str, Expr] = {}
    for axis in axes:
        if axis in padded and assumptions.leaves_rest(degree, symbol(axis)):
            resizing[axis] = assumptions.resize(degree, axis, False, place)
        elif axis in padded and not divided(axis):
            assumptions.assume_divides(degree, symbol(axis))
        else:
            assumptions.require_divides(degree, symbol(axis), place)
    return resizing


def _assume_shares(assumptions: Assumptions, graph: Graph, degree: Expr, choices: Choices, mesh: Mapping[str, Expr]) -> None:
    """Assume that the ranks have whole shares of what they exchange."""
    for layer in graph:
        if layer.is_collective and not choices.sequence_parallel:
            assumptions.assume_share(degree, layer.results[0].type.local_dims({**mesh, TENSOR: ONE}))
        if layer.view.weights is not ZERO:
            for type in layer.summed_weights:
                assumptions.assume_share(degree, type.dims)


def choices_of(strategy: Binding, parallel: bool) -> Choices:
    """The choices of a strategy; what it leaves out is the plainest: nothing recomputed, all-reduce, an unsharded optimizer with a copy.

    Raises:
        DiagnosticError: the choices contradict each other, and why.
    """
    fields = strategy.fields
    span = strategy.operation.span

    def flag(name: str) -> bool:
        return as_word(fields.get(name)) == "true"

    recompute = as_word(fields.get("recompute")) or "none"
    if recompute == "core_attention" and as_word(fields.get("convention")) == "calculon":
        raise fail("Calculon does not repeat the product with V: use recompute = attention with convention = calculon", span)
    scattered = as_word(fields.get("communication")) == "reduce_scatter_all_gather"
    if flag("all_gather_redo") and not scattered:
        raise fail(
            "all_gather_redo gathers a sequence shard again, and communication = all_reduce shards no sequence: use "
            "communication = reduce_scatter_all_gather",
            span,
        )
    if flag("all_gather_redo") and recompute == "full":
        raise fail("all_gather_redo keeps a shard to gather again, and recompute = full keeps nothing: choose one", span)
    return Choices(
        strategy.expr("tensor", "distribution"),
        stage_of(strategy),
        scattered and parallel,
        recompute,
        flag("all_gather_redo"),
        flag("fused_activation"),
        flag("master_copy") if "master_copy" in fields else None,
        as_word(fields.get("gradients")) == "f32",
    )


def stage_of(strategy: Binding) -> int:
    """The ZeRO stage that a strategy says, in one way or the other.

    Raises:
        DiagnosticError: its fields contradict each other, or nothing says how many replicas there are.
    """
    fields, span = strategy.fields, strategy.operation.span
    zero, sharding = as_word(fields.get("zero")), as_word(fields.get("optimizer_sharding"))
    stage = zero_stage(fields)
    if zero is not None and sharding is not None and (sharding == "true") != (stage == SHARED_GRADIENTS):
        raise fail(
            f"optimizer_sharding = {sharding} contradicts zero = {zero}: it shares optimizer states and gradients, which is zero = 2; "
            "leave it out",
            span,
        )
    if stage and all(name not in fields for name in REPLICAS):
        said = f"zero = {zero}" if zero is not None else "optimizer_sharding"
        raise fail(f"{said} shards the optimizer over data-parallel ranks: say how many with 'data'", span)
    if as_word(fields.get("convention")) == "calculon":
        if stage not in (0, SHARED_GRADIENTS):
            why = "Calculon shares optimizer states and gradients or nothing"
            raise fail(f"{why}: with convention = calculon zero is 0 or 2, not {zero}", span)
        if as_word(fields.get("gradients")) == "f32":
            raise fail("Calculon keeps gradients as wide as the weights: leave gradients = f32 out with convention = calculon", span)
    return stage


def share_with(assumptions: Assumptions, resizing: Mapping[str, Expr], convention: str, zero: int) -> Callable[[Expr, Expr], Expr]:
    """What a rank has of elements that so many replicas share: `ceildiv(n, D)` of `n`.

    Where they lie shared, a whole share is assumed unless the numbers say that it is none. Calculon's may be fractions.
    """

    def share(elements: Expr, copies: Expr) -> Expr:
        size = elements.substitute(resizing)
        if convention == "standard" and (zero < OPTIMIZER_STATES or assumptions.leaves_rest(copies, size)):
            return ceildiv(elements, copies)
        if convention == "standard":
            assumptions.assume_whole(copies, size)
        return elements / copies

    return share


def refuse_with_experts(experts: Experts, choices: Choices, strategy: Binding) -> None:
    """Refuse what is not derived together with ranks of experts.

    Raises:
        DiagnosticError: the strategy shards the sequence between regions, or counts as Calculon does.
    """
    calculon = as_word(strategy.fields.get("convention")) == "calculon"
    if experts.parallel and (choices.sequence_parallel or calculon):
        other = "convention = calculon" if calculon else "communication = reduce_scatter_all_gather"
        what = f"training with expert = {experts.degree.text} is not derived with {other}: leave one of them out"
        raise fail(what, strategy.operation.span)


def refuse_without_gradient(block: Operation) -> None:
    """Refuse a block with weights that are not trained."""
    for operation in block.body:
        rule = operation.declaration
        if isinstance(rule, ModelOperation) and operation.properties.get("stored") is not None:
            raise fail(f"the weights of '{layer_of(operation)}' are quantised ('stored'), and such weights are not trained", operation.span)
