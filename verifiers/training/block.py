"""Reads one block of a distributed training module: what each value means, and whether each task reads what it must."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bpir.dialects.bp import TensorType, Work
from bpir.dialects.dist import collective_tasks
from bpir.dialects.dist import tasks as dist
from bpir.dialects.dist.all_to_all import AllToAll
from bpir.dialects.model.rules.conventions import LayerView, Standard
from bpir.dialects.model.rules.operation import ModelOperation, layer_of, origin_of, part_of, settings_of, tied_to
from bpir.ir.declaration import Place
from bpir.ir.diagnostic import note
from bpir.ir.expressions.expression import ONE, ZERO, Expr
from bpir.ir.operation import Operation, Value
from bpir.verifiers.distribution.placed_axes import TENSOR
from bpir.verifiers.findings import Findings
from bpir.verifiers.planning.forms import verify_routing_and_form
from bpir.verifiers.rulebooks import TRAINING
from bpir.verifiers.training.borders import Borders
from bpir.verifiers.training.kept_values import Needs
from bpir.verifiers.training.layout import Layout
from bpir.verifiers.training.meaning import Meaning, Use, phases_of, place_of_task
from bpir.verifiers.training.weights import Weights


class BlockTrace:
    """Walks the tasks of a block in order and gives each value its meaning."""

    def __init__(
        self,
        findings: Findings,
        model: Operation,
        block: dist.Block,
        layout: Layout,
        mesh: Mapping[str, Expr],
        convention: Standard,
    ) -> None:
        self.findings = findings
        self.model = model
        self.block = block
        self.layout = layout
        self.mesh = mesh
        self.convention = convention
        self.needs = Needs(model, layout, convention)
        self.layers = {layer_of(o): o for o in model.body if isinstance(o.declaration, ModelOperation)}
        self.place = {operation: index for index, operation in enumerate(model.body)}
        self.meanings: dict[Value, Meaning] = {}
        self.views: dict[str, LayerView] = {}
        self.weights: dict[Expr, None] = {}  # in the order of the layers
        self.tasks: dict[tuple[str, str], dist.Task] = {}
        self.borders: dict[str, Value] = {}
        self.reduced: list[TensorType] = []  # the values that collectives sum
        self.entries: set[str] = set()  # the forks of values that enter a region
        forward = {task.layer for task in block.tasks if task.phase == "forward"}
        self.at_borders = Borders(self)
        self.of_weights = Weights(self)
        self.lost = {o for layer, o in self.layers.items() if layer not in forward}  # rule R2 reports them, once
        self.whole = True

    # --- the walk

    @TRAINING.rule("R13", "phases are in order")
    def run(self, whole: bool) -> None:
        """Judge every task, then what is missing; `whole` asks for whole work, which follows from whole shards."""
        self.whole = whole
        self._arguments()
        last = 0
        for operation in self.block.operation.body:
            state, task = dist.State.of(operation), dist.Task.of(operation)
            if state is not None:
                self.findings.refuse("R1", state, f"training has no state: '{state.label}' comes from no layer of the model")
            if task is None:
                continue
            phase = task.phase
            if phase not in phases_of(task):
                self.findings.refuse("R13", task, f"'{task.label}' can't be of phase '{phase}'")
                continue
            if task.effects:
                self.findings.refuse("R13", task, f"no phase of training has a KV cache: '{task.label}' has effects on one")
            order = place_of_task(task)
            if order < last:
                self.findings.refuse("R13", task, f"the {phase} task '{task.label}' is behind a later phase")
            last = max(last, order)
            self._task(task, phase)
        self._missing()
        self._return()

    def _arguments(self) -> None:
        ours = self.model.regions[0].blocks[0].arguments
        results = self.model.body[-1].operands
        theirs = self.block.arguments
        if len(theirs) != len(ours) + len(results):
            self.findings.refuse(
                "R3", self.block, f"the block has {len(theirs)} arguments, expected its {len(ours)} inputs and {len(results)} gradients"
            )
        for source, image in zip(ours, theirs, strict=False):
            self.meanings[image] = Meaning(value=source)
            self.type(self.block, image, self.expected(source))
        for index, (source, image) in enumerate(zip(results, theirs[len(ours) :], strict=False)):
            self.gradient(image, source, frozenset({(self.model.body[-1], index)}))
            self.type(self.block, image, self.expected(source))

    def expected(self, value: Value) -> TensorType:
        """The type of the image of a value between regions, or inside one."""
        return self.layout.type(value)

    @TRAINING.rule("R1", "every task comes from a layer of the block")
    def _task(self, task: dist.Task, phase: str) -> None:
        layer = task.layer
        key = (layer, phase)
        if key in self.tasks:
            self.findings.refuse("R1", task, f"'{layer}' has a second {phase} task", note("the first", self.tasks[key].span))
            return
        self.tasks[key] = task
        collective = task if isinstance(task, collective_tasks.Collective) and not isinstance(task, AllToAll) else None
        if collective is not None and self.of_weights.replicas.concern(collective):
            self.of_weights.replicas.collective(collective, phase)
        elif collective is not None and phase != "gradient_reduction":
            self.at_borders.collective(collective, phase)
        elif task.kind_of_work == "fork":
            self.at_borders.fork(task)
        elif layer not in self.layers:
            self.findings.refuse("R1", task, f"the task '{task.label}' comes from no layer of the model")
        else:
            self._of_layer(task, phase, self.layers[layer])

    def _of_layer(self, task: dist.Task, phase: str, operation: Operation) -> None:
        self._claim(task, phase, operation)
        self.origin(task, operation)
        if task.tied != (tied_to(operation) if task.weights is not ZERO and phase != "optimizer" else ""):
            self.findings.refuse("R7", task, "the weights are not those of the layer that the operation is tied to")
        if phase == "optimizer":
            self.of_weights.optimizer(task, operation)
        elif phase == "gradient_reduction":
            self.of_weights.reduction(task, operation)
        elif task.kind_of_work != operation.kind:
            self.findings.refuse("R1", task, f"'{layer_of(operation)}' is a {operation.name}, not '{task.kind_of_work}'")
        elif phase == "activation_gradient":
            self._activation_gradient(task, operation)
        elif phase == "weight_gradient":
            self.of_weights.gradient(task, operation)
        else:
            self._forward(task, operation, phase == "recompute")

    def _claim(self, task: dist.Task, phase: str, operation: Operation) -> None:
        """Give the results the meaning that the task's name claims: whatever is wrong with it, its readers are judged by themselves."""
        if phase == "activation_gradient":
            for image, index in zip(task.results, differentiable(operation), strict=False):
                self.gradient(image, operation.operands[index], frozenset({(operation, index)}))
        elif phase == "weight_gradient":
            self.meanings.update((v, Meaning(weight=(operation, i))) for i, v in enumerate(task.results))
        elif phase == "gradient_reduction":
            places = self.of_weights.summed(operation)
            self.meanings.update((v, Meaning(weight=(operation, i))) for i, v in zip(places, task.results, strict=False))
        elif phase != "optimizer":
            again = phase == "recompute"
            meanings = [*(Meaning(value=v, again=again) for v in operation.results), Meaning(mask=operation, again=again)]
            self.meanings.update(zip(task.results, meanings, strict=False))

    def origin(self, task: dist.Task, operation: Operation) -> None:
        found, expected = task.source, origin_of(operation)
        if found != expected:
            self.findings.refuse("R1", task, f"'{task.label}' comes from '{expected}' of the model, not from '{found}'")

    # --- forward and what is repeated

    def _forward(self, task: dist.Task, operation: Operation, again: bool) -> None:
        layer = layer_of(operation)
        rule = operation.declaration
        assert isinstance(rule, ModelOperation)
        self._repeated(task, operation, again)
        for index, (image, source) in enumerate(zip(task.operands, operation.operands, strict=False)):  # dist.R3: as many, and states
            self._reads(task, index, image, source, self._operand_type(operation, index), again)
        types = [self.made(v) for v in operation.results]
        if rule.masked:
            types.append(TensorType(types[0].dims, types[0].axes, ONE, ()))
        if not self.results(task, types):
            return
        view = self.view(task, operation, rule)
        if view is not None:
            self.views.setdefault(layer, self.of_weights.replicas.shared(view, operation, task))
            view = self.views[layer]
            weights = rule.weights(view.local)
            if weights is not ZERO:
                self.weights[weights] = None
            self.numbers(task, self.convention.forward(view), weights, rule.matmul_operations(view.local))
            verify_routing_and_form(self.findings, "R7", task, rule, view.local)

    @TRAINING.rule("R11", "what is repeated is what the strategy says")
    def _repeated(self, task: dist.Task, operation: Operation, again: bool) -> None:
        """An operation is computed again where that is needed; it is marked unread exactly if nobody reads it then."""
        layer, unread = layer_of(operation), again and operation in self.needs.unread
        if again and operation not in self.needs.recomputed:
            self.findings.refuse("R11", task, f"'{layer}' is computed again without need")
        if unread and not task.unread:
            self.findings.refuse("R11", task, f"'{layer}' is repeated, and backward reads nothing of it: mark the task 'unread'")
        elif task.unread and not unread:
            self.findings.refuse("R11", task, f"'{layer}' is marked unread, and backward reads it")

    def _operand_type(self, operation: Operation, index: int) -> TensorType:
        """Whole if the operation brings a sharded axis in, a partial sum if that passes it, else as the value lives."""
        source = operation.operands[index]
        if self.layout.passes(source):
            return self.made(source)
        type = self.expected(source)
        return type.gathered(TENSOR) if self.layout.enters(operation, index) else type

    def made(self, value: Value) -> TensorType:
        """The type of a value as its operation makes it."""
        type = self.expected(value)
        return type.gathered(TENSOR).partial(TENSOR) if self.layout.is_partial(value) else type

    @TRAINING.rule("R3", "forward reads the images of the source's operands")
    def _reads(self, task: dist.Task | dist.Return, index: int, image: Value, source: Value, type: TensorType, again: bool) -> None:
        meaning = self.meanings.get(image)
        gathered = type is not self.expected(source) and not self.layout.passes(source)
        if source.owner in self.lost:
            return
        if meaning is None or meaning.value is not source:
            what = f"'{task.layer}' reads" if isinstance(task, dist.Task) else "the block returns"
            self.findings.refuse("R3", task, f"operand {index} is not the image of what {what}")
        elif again and meaning.again != self.needs.is_made_again((source, gathered)):
            what = "is kept, and need not be repeated" if meaning.again else "is not kept until backward: its value is computed again"
            self.findings.refuse("R12", task, f"operand {index} {what}")
        elif not again and meaning.again:
            self.findings.refuse("R3", task, f"operand {index} is a value that is made again for backward")
        else:
            self.type(task, image, type)

    def view(self, task: dist.Task, operation: Operation, rule: ModelOperation) -> LayerView | None:
        seen: set[Value] = set()
        first = []
        for value in operation.operands:
            first.append(value not in seen)
            seen.add(value)
        types = [v.type for v in (*task.operands, *task.results[: len(operation.results)])]
        tensors = [t for t in types if isinstance(t, TensorType)]
        ranks = [len(v.type.dims) for v in (*operation.operands, *operation.results) if isinstance(v.type, TensorType)]
        if [len(t.dims) for t in tensors] != ranks:
            return None
        count = len(task.operands)
        local = part_of(rule, settings_of(operation), tensors[:count], tensors[count:], first, self.mesh)
        return LayerView(task.kind_of_work, rule, local)

    # --- gradients

    def gradient(self, image: Value, value: Value, uses: frozenset[Use]) -> None:
        """A gradient of a value; complete, it is the gradient of the operands of an operation whose gradient is a copy, too."""
        claims = self.meanings.setdefault(image, Meaning()).uses
        stack = [(value, uses)]
        while stack:
            value, uses = stack.pop()
            if uses in claims.get(value, ()):
                continue
            claims.setdefault(value, []).append(uses)
            owner = value.owner
            if uses == self.needs.uses(value) and isinstance(owner, Operation) and self._is_alias(owner):
                stack += [(owner.operands[index], frozenset({(owner, index)})) for index in reversed(self._made_of(owner, value))]

    @staticmethod
    def _made_of(operation: Operation, result: Value) -> tuple[int, ...]:
        """The operands that a result depends on."""
        rule = operation.declaration
        assert isinstance(rule, ModelOperation)
        return rule.factors(operation).lane_of_result(result.index).operands

    def _is_alias(self, operation: Operation) -> bool:
        rule = operation.declaration
        return isinstance(rule, ModelOperation) and rule.residual and self.convention.aliases_residual

    def _activation_gradient(self, task: dist.Task, operation: Operation) -> None:
        rule = operation.declaration
        assert isinstance(rule, ModelOperation)
        view = self.views.get(layer_of(operation))
        if self._is_alias(operation):
            self.findings.refuse("R8", task, f"the gradient of '{layer_of(operation)}' is a copy, which needs no task")
            return
        self.gradient_reads(task, operation, self.needs.reads(operation, False))
        types = []
        for index in differentiable(operation):
            type = self._operand_type(operation, index).reduced
            types.append(type.partial(TENSOR) if self.layout.enters(operation, index) else type)
        if not self.results(task, types) or view is None:
            return
        local = view.local
        self.numbers(task, self.convention.activation_gradient(view), rule.gradient_weights(local), rule.gradient_matmul(local))

    @TRAINING.rule("R8", "a gradient task reads the complete gradient of its result, and what its rule needs")
    def gradient_reads(self, task: dist.Task, operation: Operation, needed: Sequence[Value | Operation], more: int = 0) -> None:
        """A gradient task reads the complete gradient of each result, then what its rule needs, kept or made again, then so many more."""
        layer = layer_of(operation)
        count = len(operation.results)
        if len(task.operands) != count + len(needed) + more:
            self.findings.refuse("R8", task, f"the task has {len(task.operands)} operands, expected {count + len(needed) + more}")
            return
        for image, value in zip(task.operands, operation.results, strict=False):
            if not self.meanings.get(image, Meaning()).sums(value, self.needs.uses(value)):
                self.findings.refuse("R8", task, f"'{layer}' does not read the complete gradient of its result")
                continue
            type = self.expected(value)
            self.type(task, image, type.gathered(TENSOR) if self.layout.is_partial(value) else type)
        for image, need in zip(task.operands[count:], needed, strict=False):
            if (need if isinstance(need, Operation) else need.owner) not in self.lost:
                self._kept(task, operation, image, need)

    @TRAINING.rule("R12", "backward reads what is kept or repeated")
    def _kept(self, task: dist.Task, operation: Operation, image: Value, need: Value | Operation) -> None:
        meaning = self.meanings.get(image, Meaning())
        layer = layer_of(operation)
        if (meaning.mask if isinstance(need, Operation) else meaning.value) is not need:
            self.findings.refuse("R8", task, f"the gradient of '{layer}' reads another value than its rule needs")
            return
        if isinstance(need, Operation):
            again = self.needs.is_made_again((need, False))
        else:
            type = self._operand_type(operation, operation.operands.index(need)) if need in operation.operands else self.expected(need)
            self.type(task, image, type)
            again = self.needs.is_made_again(self.needs.read_as(operation, need))
        if again != meaning.again:
            what = "is neither kept nor repeated: backward makes it again" if again else "is kept, and need not be repeated"
            self.findings.refuse("R12", task, f"a value that the gradient of '{layer}' reads {what}")

    # --- what is missing

    @TRAINING.rule("R2", "every layer has its forward task, once")
    def _missing(self) -> None:
        for layer, operation in self.layers.items():
            for phase, rule, wanted in (
                ("forward", "R2", True),
                ("recompute", "R11", operation in self.needs.recomputed),
                ("activation_gradient", "R8", not self._is_alias(operation) and bool(differentiable(operation))),
                ("weight_gradient", "R9", self.has_weights(layer)),
                ("gradient_reduction", "R9", bool(self.of_weights.summed(operation))),
                ("optimizer", "R9", self.has_weights(layer) and not tied_to(operation)),
            ):
                if wanted and (layer, phase) not in self.tasks:
                    self.findings.refuse(rule, operation, f"'{layer}' has no {phase} task", note("in this block", self.block.span))
            self.of_weights.replicas.missing(operation)
        repeated = [m.value for v, m in self.meanings.items() if m.again and _by_collective(v)]
        for value in self.needs.repeated_collectives():
            if value not in repeated:
                owner = value.owner if isinstance(value.owner, Operation) else None
                what = f"the result of '{layer_of(owner)}'" if owner is not None else f"argument {value.index}"
                where = owner if owner is not None else self.block
                self.findings.refuse("R11", where, f"the collective of {what} is not repeated")

    def has_weights(self, layer: str) -> bool:
        return layer in self.views and self.views[layer].weights is not ZERO

    def _return(self) -> None:
        results = self.model.body[-1].operands
        arguments = self.model.regions[0].blocks[0].arguments
        ending = self.block.ending
        images = ending.operands
        arguments = [value for value in arguments if isinstance(value.type, TensorType) and not value.type.is_index]
        if len(images) != len(results) + len(arguments):
            self.findings.refuse("R8", ending, "the block returns its results, then the gradients of its arguments")
            return
        for index, (image, value) in enumerate(zip(images, results, strict=False)):
            self._reads(ending, index, image, value, self.expected(value), False)
        for image, value in zip(images[len(results) :], arguments, strict=True):
            if not self.meanings.get(image, Meaning()).sums(value, self.needs.uses(value)):
                self.findings.refuse("R8", ending, "the block does not return the complete gradient of an argument")
            else:
                self.type(ending, image, self.expected(value))

    # --- numbers and types

    def results(self, task: dist.Task, types: list[TensorType]) -> bool:
        if len(task.results) != len(types):
            self.findings.refuse("R4", task, f"the task has {len(task.results)} results, expected {len(types)}")
            return False
        for image, type in zip(task.results, types, strict=True):
            self.type(task, image, type)
        return True

    @TRAINING.rule("R4", "sizes, shards and partial sums follow from shapes and uses")
    def type(self, operation: Place, value: Value, expected: TensorType) -> None:
        self.findings.same_type("R4", operation, "the size or shard of a value is wrong", value, expected)

    @TRAINING.rule("R7", "weights and matrix products")
    def numbers(self, task: dist.Task, work: Work, weights: Expr, matmul: Expr, rule: str = "R6") -> None:
        self.work(task, work, rule)
        self.findings.equal("R7", task, "the number of weights", task.weights, weights)
        self.findings.equal("R7", task, "'matmul'", task.matmul, matmul)

    @TRAINING.rule("R6", "work is that of the convention")
    @TRAINING.rule("R17", "under the standard convention work is a whole number, not negative, for every admissible binding")
    def work(self, task: dist.Task, expected: Work, rule: str = "R6") -> None:
        if self.whole:
            self.findings.whole("R17", task, task.label, expected)
        self.findings.components(rule, task, "work", f"of '{task.label}'", task.work, expected)


def differentiable(operation: Operation) -> list[int]:
    """The operands of an operation that have a gradient: numbers of rows have none, nor what it takes as a constant."""
    rule = operation.declaration
    return rule.with_gradient(operation) if isinstance(rule, ModelOperation) else []


def _by_collective(value: Value) -> bool:
    return collective_tasks.Collective.of(value.producer) is not None
