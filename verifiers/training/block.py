"""Reads one block of a distributed training module: what each value means, and whether each task reads what it must."""

from __future__ import annotations

from collections.abc import Mapping

from bpir.dialects.bp import TensorType, Work
from bpir.dialects.dist import collective_tasks
from bpir.dialects.dist import tasks as dist
from bpir.dialects.dist.all_to_all import AllToAll
from bpir.dialects.model.rules.conventions import Standard
from bpir.dialects.model.rules.layer_view import LayerView
from bpir.dialects.model.rules.layers import layer_of, origin_of, part_of, tied_to
from bpir.dialects.model.rules.local import settings_of
from bpir.dialects.model.rules.operation import ModelOperation
from bpir.ir.declaration import Place
from bpir.ir.diagnostic import note
from bpir.ir.expressions.expression import ONE, ZERO, Expr
from bpir.ir.operation import Operation, Value
from bpir.verifiers.distribution.placed_axes import TENSOR
from bpir.verifiers.findings import Findings
from bpir.verifiers.model_operations import rule_of, tensors_of
from bpir.verifiers.planning.forms import verify_routing_and_form
from bpir.verifiers.rulebooks import TRAINING
from bpir.verifiers.training.borders import Borders
from bpir.verifiers.training.gradients import Gradients, differentiable
from bpir.verifiers.training.kept_values import Needs
from bpir.verifiers.training.layout import Layout
from bpir.verifiers.training.meaning import Meaning, phases_of, place_of_task
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
        self.gradients = Gradients(self)
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
            if (shares := dist.Shares.of(operation)) is not None:
                self.of_weights.replicas.gathered.lie(shares)
            if task is not None and self._has_phase(task, last):
                last = max(last, place_of_task(task))
                self._task(task, task.phase)
        self._missing()
        self.of_weights.replicas.gathered.run()
        self._return()

    def _has_phase(self, task: dist.Task, last: int) -> bool:
        """Whether a task is of a phase that its kind can be of; it is behind none of a later phase, and has no effect on a cache then."""
        phase = task.phase
        if phase not in phases_of(task):
            self.findings.refuse("R13", task, f"'{task.label}' can't be of phase '{phase}'")
            return False
        if task.effects:
            self.findings.refuse("R13", task, f"no phase of training has a KV cache: '{task.label}' has effects on one")
        if place_of_task(task) < last:
            self.findings.refuse("R13", task, f"the {phase} task '{task.label}' is behind a later phase")
        return True

    def _arguments(self) -> None:
        ours, results = self.model.arguments, self.model.body[-1].operands
        theirs = self.block.arguments
        message = f"the block has {len(theirs)} arguments, expected its {len(ours)} inputs and {len(results)} gradients"
        self.findings.require("R3", len(theirs) == len(ours) + len(results), self.block, message)
        for source, image in zip(ours, theirs, strict=False):
            self.meanings[image] = Meaning(value=source)
            self.type(self.block, image, self.expected(source))
        for index, (source, image) in enumerate(zip(results, theirs[len(ours) :], strict=False)):
            self.gradients.mean(image, source, frozenset({(self.model.body[-1], index)}))
            self.type(self.block, image, self.expected(source))

    def expected(self, value: Value) -> TensorType:
        """The type of the image of a value between regions, or inside one."""
        return self.layout.type(value)

    @TRAINING.rule("R1", "every task comes from a layer of the block")
    def _task(self, task: dist.Task, phase: str) -> None:
        layer = task.layer
        first = self.tasks.setdefault((layer, phase), task)
        if first is not task:
            self.findings.refuse("R1", task, f"'{layer}' has a second {phase} task", note("the first", first.span))
        elif task.kind_of_work == "fork":
            self.at_borders.fork(task)
        elif not self._judged_as_collective(task, phase):
            self._of_layer(task, phase)

    def _judged_as_collective(self, task: dist.Task, phase: str) -> bool:
        """Whether a task is a collective between replicas or at a border of a region, which it is judged as then."""
        if not isinstance(task, collective_tasks.Collective) or isinstance(task, AllToAll):
            return False
        replicas = self.of_weights.replicas
        if replicas.concern(task):
            replicas.collective(task, phase)
        elif phase != "gradient_reduction":
            self.at_borders.collective(task, phase)
        else:
            return False
        return True

    def _of_layer(self, task: dist.Task, phase: str) -> None:
        operation = self.layers.get(task.layer)
        if operation is None:
            self.findings.refuse("R1", task, f"the task '{task.label}' comes from no layer of the model")
            return
        self._claim(task, phase, operation)
        self.origin(task, operation)
        owner = tied_to(operation) if task.weights is not ZERO and phase != "optimizer" else ""
        self.findings.require("R7", task.tied == owner, task, "the weights are not those of the layer that the operation is tied to")
        if phase == "optimizer":
            self.of_weights.optimizer(task, operation)
        elif phase == "gradient_reduction":
            self.of_weights.reduction(task, operation)
        elif self._is_of_kind(task, operation):
            self._computes(task, phase, operation)

    def _is_of_kind(self, task: dist.Task, operation: Operation) -> bool:
        if task.kind_of_work == operation.kind:
            return True
        self.findings.refuse("R1", task, f"'{layer_of(operation)}' is a {operation.name}, not '{task.kind_of_work}'")
        return False

    def _computes(self, task: dist.Task, phase: str, operation: Operation) -> None:
        """Judge a task that computes an operation, or a gradient of it."""
        if phase == "activation_gradient":
            self.gradients.task(task, operation)
        elif phase == "weight_gradient":
            self.of_weights.gradient(task, operation)
        else:
            self._forward(task, operation, phase == "recompute")

    def _claim(self, task: dist.Task, phase: str, operation: Operation) -> None:
        """Give the results the meaning that the task's name claims: whatever is wrong with it, its readers are judged by themselves."""
        if phase == "activation_gradient":
            for image, index in zip(task.results, differentiable(operation), strict=False):
                self.gradients.mean(image, operation.operands[index], frozenset({(operation, index)}))
        else:
            self.meanings.update(zip(task.results, self._claimed(phase, operation, len(task.results)), strict=False))

    def _claimed(self, phase: str, operation: Operation, count: int) -> list[Meaning]:
        """The meanings that the first results of a task of a phase claim, at least `count` if there are so many."""
        if phase == "optimizer":
            return []
        if phase in ("weight_gradient", "gradient_reduction"):
            places = range(count) if phase == "weight_gradient" else self.of_weights.summed(operation)
            return [Meaning(weight=(operation, place)) for place in places]
        again = phase == "recompute"
        return [*(Meaning(value=v, again=again) for v in operation.results), Meaning(mask=operation, again=again)]

    def origin(self, task: dist.Task, operation: Operation) -> None:
        found, expected = task.source, origin_of(operation)
        if found != expected:
            self.findings.refuse("R1", task, f"'{task.label}' comes from '{expected}' of the model, not from '{found}'")

    # --- forward and what is repeated

    def _forward(self, task: dist.Task, operation: Operation, again: bool) -> None:
        rule = rule_of(operation)
        self._repeated(task, operation, again)
        for index, (image, source) in enumerate(zip(task.operands, operation.operands, strict=False)):  # dist.R3: as many, and states
            self._reads(task, index, image, source, self.operand_type(operation, index), again)
        types = [self.made(v) for v in operation.results]
        if rule.masked:
            types.append(TensorType(types[0].dims, types[0].axes, ONE, ()))
        view = self.view(task, operation, rule) if self.results(task, types) else None
        if view is not None:
            self._work(task, operation, view)

    def _work(self, task: dist.Task, operation: Operation, view: LayerView) -> None:
        """Judge the work of a forward task, by the first view of its layer."""
        self.views.setdefault(layer_of(operation), self.of_weights.replicas.shared(view, operation, task))
        view, rule = self.views[layer_of(operation)], rule_of(operation)
        weights = rule.weights(view.local)
        if weights is not ZERO:
            self.weights[weights] = None
        self.numbers(task, self.convention.forward(view), weights, rule.matmul_operations(view.local))
        verify_routing_and_form(self.findings, "R7", task, rule, view.local)

    @TRAINING.rule("R11", "what is repeated is what the strategy says")
    def _repeated(self, task: dist.Task, operation: Operation, again: bool) -> None:
        """An operation is computed again where that is needed; it is marked unread exactly if nobody reads it then."""
        layer, unread = layer_of(operation), again and operation in self.needs.unread
        needless = again and operation not in self.needs.recomputed
        self.findings.require("R11", not needless, task, f"'{layer}' is computed again without need")
        if unread and not task.unread:
            self.findings.refuse("R11", task, f"'{layer}' is repeated, and backward reads nothing of it: mark the task 'unread'")
        elif task.unread and not unread:
            self.findings.refuse("R11", task, f"'{layer}' is marked unread, and backward reads it")

    def operand_type(self, operation: Operation, index: int) -> TensorType:
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
        if source.owner in self.lost:
            return
        meaning = self.meanings.get(image)
        if meaning is None or meaning.value is not source:
            what = f"'{task.layer}' reads" if isinstance(task, dist.Task) else "the block returns"
            self.findings.refuse("R3", task, f"operand {index} is not the image of what {what}")
        elif self._is_at_its_time(task, index, meaning, source, type, again):
            self.type(task, image, type)

    def _is_at_its_time(
        self, task: dist.Task | dist.Return, index: int, meaning: Meaning, source: Value, type: TensorType, again: bool
    ) -> bool:
        """Whether a task of forward reads what forward made, and one of backward what is kept, or what is made again."""
        if not again:
            return self.findings.require("R3", not meaning.again, task, f"operand {index} is a value that is made again for backward")
        gathered = type is not self.expected(source) and not self.layout.passes(source)
        what = "is kept, and need not be repeated" if meaning.again else "is not kept until backward: its value is computed again"
        expected = self.needs.is_made_again((source, gathered))
        return self.findings.require("R12", meaning.again == expected, task, f"operand {index} {what}")

    def view(self, task: dist.Task, operation: Operation, rule: ModelOperation) -> LayerView | None:
        """A layer as a convention counts it, by the types of its task; None if these have not the ranks of the operation's."""
        first = [value not in operation.operands[:index] for index, value in enumerate(operation.operands)]
        tensors = tensors_of((*task.operands, *task.results[: len(operation.results)]))
        ranks = [len(type.dims) for type in tensors_of((*operation.operands, *operation.results))]
        if [len(t.dims) for t in tensors] != ranks:
            return None
        count = len(task.operands)
        local = part_of(rule, settings_of(operation), tensors[:count], tensors[count:], first, self.mesh)
        return LayerView(task.kind_of_work, rule, local)

    # --- what is missing

    @TRAINING.rule("R2", "every layer has its forward task, once")
    def _missing(self) -> None:
        for layer, operation in self.layers.items():
            for phase, rule in self._wanted(layer, operation):
                message = f"'{layer}' has no {phase} task"
                self.findings.require(rule, (layer, phase) in self.tasks, operation, message, note("in this block", self.block.span))
            self.of_weights.replicas.missing(operation)
        repeated = [m.value for v, m in self.meanings.items() if m.again and _by_collective(v)]
        for value in self.needs.repeated_collectives():
            self._has_repeated(value, repeated)

    def _wanted(self, layer: str, operation: Operation) -> list[tuple[str, str]]:
        """The phases of which a layer must have a task, each with the rule that says so."""
        rows = (
            ("forward", "R2", True),
            ("recompute", "R11", operation in self.needs.recomputed),
            ("activation_gradient", "R8", not self.gradients.is_copy(operation) and bool(differentiable(operation))),
            ("weight_gradient", "R9", self.has_weights(layer)),
            ("gradient_reduction", "R9", bool(self.of_weights.summed(operation))),
            ("optimizer", "R9", self.has_weights(layer) and not tied_to(operation)),
        )
        return [(phase, rule) for phase, rule, wanted in rows if wanted]

    def _has_repeated(self, value: Value, repeated: list[Value | None]) -> None:
        """The collective of a value is among those that are repeated."""
        owner = value.owner if isinstance(value.owner, Operation) else None
        what = f"the result of '{layer_of(owner)}'" if owner is not None else f"argument {value.index}"
        self.findings.require("R11", value in repeated, owner or self.block, f"the collective of {what} is not repeated")

    def has_weights(self, layer: str) -> bool:
        return layer in self.views and self.views[layer].weights is not ZERO

    def _return(self) -> None:
        results, ending = self.model.body[-1].operands, self.block.ending
        arguments = [v for v in self.model.arguments if isinstance(v.type, TensorType) and not v.type.is_index]
        images = ending.operands
        counted = len(images) == len(results) + len(arguments)
        if not self.findings.require("R8", counted, ending, "the block returns its results, then the gradients of its arguments"):
            return
        for index, (image, value) in enumerate(zip(images, results, strict=False)):
            self._reads(ending, index, image, value, self.expected(value), False)
        for image, value in zip(images[len(results) :], arguments, strict=True):
            complete = self.gradients.is_complete(image, value)
            if self.findings.require("R8", complete, ending, "the block does not return the complete gradient of an argument"):
                self.type(ending, image, self.expected(value))

    # --- numbers and types

    def results(self, task: dist.Task, types: list[TensorType]) -> bool:
        """Whether a task has as many results as there are types; each is judged by its type then."""
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


def _by_collective(value: Value) -> bool:
    return collective_tasks.Collective.of(value.producer) is not None
