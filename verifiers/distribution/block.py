"""One block of a distributed inference module, task by task, against the block of its model."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from itertools import chain

from bpir.dialects.bp import ExprAttr, TensorType, Work
from bpir.dialects.dist import collective_tasks, one_rank
from bpir.dialects.dist import tasks as dist
from bpir.dialects.dist.all_to_all import AllToAll
from bpir.dialects.model.attention import Cached, KvAppend
from bpir.dialects.model.rules.layers import layer_of
from bpir.dialects.model.rules.local import Local
from bpir.dialects.model.rules.operation import ModelOperation
from bpir.dialects.model.structure import Return
from bpir.ir.attributes import Attribute
from bpir.ir.declaration import Place
from bpir.ir.diagnostic import DiagnosticError, note
from bpir.ir.expressions.expression import ONE, ZERO, Expr
from bpir.ir.operation import Block as ModelBlock
from bpir.ir.operation import Operation, Value, uses
from bpir.verifiers.distribution.expert_rows import BATCH, ExpertRows
from bpir.verifiers.distribution.kv_cache import CacheCheck, beside
from bpir.verifiers.distribution.partial_sums import PartialSums
from bpir.verifiers.distribution.placed_axes import EXPERT, TENSOR
from bpir.verifiers.distribution.typing_rule import Placed, symbol_name
from bpir.verifiers.distribution.workload import (
    Phase,
    comes_from_append,
    over_new_tokens,
    pairs_counted,
    window_of,
)
from bpir.verifiers.findings import Findings
from bpir.verifiers.model_operations import tensor_of
from bpir.verifiers.planning.forms import verify_routing_and_form
from bpir.verifiers.rulebooks import INFERENCE


class InferenceBlockCheck:
    """Walks the model's operations in order, and finds the image of each value in the distributed block."""

    def __init__(
        self,
        findings: Findings,
        model: Operation,
        block: dist.Block,
        phase: Phase,
        last: Collection[Value],
        placed: Placed,
        mesh: Mapping[str, Expr],
        strategy: Mapping[str, Attribute],
    ) -> None:
        self.findings = findings
        self.strategy = strategy
        self.model = model
        self.block = block
        self.phase = phase
        self.placed = placed
        self.sums = PartialSums(model, placed, phase.is_identity)
        self.rows = ExpertRows(model, bool(placed.experts))
        self.moved: dict[Value, Value | None] = {}  # what an all-to-all gives, by the image that it reads
        self.last = last  # what depends on the last token alone
        self.mesh = mesh
        self.images: dict[Value, Value] = {}
        self.tasks: dict[str, list[dist.Task | dist.State]] = {}
        self.claimed: set[dist.Task | dist.State] = set()
        self.misshapen: set[Value] = set()  # refused, and no work rule can read them
        self.reduced: list[TensorType] = []
        self.whole = True
        self.uses = uses(model.body)
        self.readers: dict[Value, list[dist.Task | dist.Return]] = {}
        self.caches = CacheCheck(self)

    def run(self, whole: bool) -> None:
        """Judge every task; `whole` asks for whole work, which follows from whole shards."""
        self.whole = whole
        for operation in self.block.operation.body:
            self._index(operation)
        self._arguments()
        for operation in self.model.body:
            if Return.of(operation) is not None:
                self._images(self.block.ending, self._operands(operation))
            elif isinstance(operation.declaration, ModelOperation):
                self._operation(operation, operation.declaration)
        for made in chain.from_iterable(self.tasks.values()):
            if made not in self.claimed:
                self._unclaimed(made)

    def _index(self, operation: Operation) -> None:
        """Note from which operation of the model something comes, and what it reads."""
        task = dist.Task.of(operation)
        made = task or dist.State.of(operation)
        if made is not None:
            self.tasks.setdefault(made.source, []).append(made)
        reader = task or dist.Return.of(operation)
        if reader is not None:
            for value in operation.operands:
                self.readers.setdefault(value, []).append(reader)

    def _arguments(self) -> None:
        ours, theirs = self.model.arguments, self.block.arguments
        message = f"the block has {len(theirs)} arguments, its source {len(ours)}"
        self.findings.require("R3", len(ours) == len(theirs), self.block, message)
        for source, image in zip(ours, theirs, strict=False):
            self._type(self.block, image, self._expected(source))
            self.images[source] = image

    def _expected(self, value: Value) -> TensorType:
        type = tensor_of(value)
        marks = (self.placed.axes.get(symbol_name(dim) or "") for dim in type.dims)
        axes = [(mark,) if mark is not None else () for mark in marks]
        if self.rows.parallel:
            axes[self.rows.made(value)] = (EXPERT,)
        return TensorType(self.phase.type(type, value in self.last).dims, tuple(axes), type.element, ())

    # --- one operation of the model

    def _operation(self, operation: Operation, rule: ModelOperation) -> None:
        layer = layer_of(operation)
        if self.phase.is_identity(operation):
            self._bind(operation, [self.images.get(value) for value in operation.operands])
            return
        self.findings.require("R2", rule.in_inference, self.block, f"'{layer}' is a {operation.name}, which is of training")
        operands = self._operands(operation)
        if isinstance(rule, KvAppend):
            self._bind(operation, self.caches.append(operation, operands))
            return
        cached = isinstance(rule, Cached) and over_new_tokens(operation)
        if cached and not comes_from_append(operation):
            operands[-2:] = self.caches.visible(operation, operands[-2:])
        task = self.claimed_task(operation, layer, operation.kind)
        if task is not None:
            self.task(task, operation, rule, operands, list(map(self._made, operation.results)), "read" if cached else "")
            self._bind(operation, self._results(operation, task))

    def _operands(self, operation: Operation) -> list[Value | None]:
        """The images of the operands of an operation, as it reads them."""
        return [self._lying(operation, index) for index in range(len(operation.operands))]

    def _results(self, operation: Operation, task: dist.Task) -> list[Value | None]:
        """The images of the results of an operation: those of its task, summed where they are partial sums that are not passed on."""
        pairs = zip(operation.results, task.results, strict=False)
        return [self._reduced(operation, image) if self._is_reduced(value) else image for value, image in pairs]

    def _made(self, value: Value) -> TensorType:
        """The type of what the task of an operation gives: sharded as the value is, and what is still to be summed."""
        type = self._expected(value)
        return TensorType(type.dims, type.axes, type.element, self.sums.over(value))

    def _is_reduced(self, value: Value) -> bool:
        return bool(self.sums.over(value)) and not self.sums.passes(value)

    def _bind(self, operation: Operation, images: Iterable[Value | None]) -> None:
        for value, image in zip(operation.results, images, strict=False):
            if image is not None:
                self.images[value] = image

    @INFERENCE.rule("R2", "every model operation has its task, once")
    def claimed_task(self, operation: Operation, layer: str, kind: str) -> dist.Compute | None:
        """The one compute task of the kind that comes from the layer."""
        found = [t for t in self.tasks.get(layer, []) if isinstance(t, dist.Compute) and t.kind == kind]
        if not found:
            self.findings.refuse("R2", operation, f"the operation '{layer}' has no '{kind}' task", note("in this block", self.block.span))
            return None
        self.claimed.add(found[0])
        self.named(found[0], f".{self.phase.name}", [layer] if operation.kind == kind else beside(operation, kind))
        return found[0]

    @INFERENCE.rule("R1", "every task comes from a model operation, and is called after it")
    def named(self, task: dist.Task | dist.State, suffix: str, layers: Iterable[str]) -> None:
        """A task or a state is called after its layer: another name would be read as that of another layer."""
        names = [layer + suffix for layer in layers]
        stem, _, number = task.label.removesuffix(suffix).rpartition(".")
        numbered = number.isdecimal() and stem + suffix in names[1:]  # beside the layer, where that name is taken too
        if task.label not in names and not numbered:
            wanted = " or ".join(f"'{name}'" for name in dict.fromkeys(names))
            self.findings.refuse("R1", task, f"'{task.label}' is not called after '{task.source}': expected {wanted}")

    @INFERENCE.rule("R7", "weights and matrix products are those of the rule")
    def task(
        self,
        task: dist.Task,
        operation: Operation,
        rule: ModelOperation,
        operands: list[Value | None],
        expected: list[TensorType],
        effect: str,
    ) -> None:
        """Judge a task that computes an operation of the model from these operands, with results of the expected types."""
        message = f"the task has {len(task.results)} results, expected {len(expected)}"
        if not self.findings.require("R4", len(task.results) == len(expected), task, message):
            return
        self._images(task, operands)
        for found, image in zip(task.operands, operands, strict=False):
            if image is not None and isinstance(image.type, TensorType):
                self.note_shape(found, image.type)
        for value, type in zip(task.results, expected, strict=True):
            self._type(task, value, type)
        self._phase(task, effect)
        try:
            local = one_rank.local(task.operation, operation, self.mesh, self._settings(operation, rule, effect), self.placed.resized)
            if len(task.operands) == len(operands) and self.misshapen.isdisjoint((*task.operands, *task.results)):
                self._counts(task, operation, rule, local)
        except DiagnosticError as wrong:
            self.findings.refuse("R4", task, wrong.diagnostics[0].message)

    def _settings(self, operation: Operation, rule: ModelOperation, effect: str) -> tuple[tuple[str, Attribute], ...]:
        """The settings of an operation by the workload and the strategy: the pairs of tokens that count, and its form."""
        counted = self._counted(operation) if effect == "read" else ()
        form = self.strategy.get(rule.form_field) if rule.form_field else None
        return counted if form is None else (*counted, ("form", form))

    def _counts(self, task: dist.Task, operation: Operation, rule: ModelOperation, local: Local) -> None:
        """Judge the numbers of a task: weights, matrix products and work."""
        self._weights(task, operation, rule, local)
        self.findings.equal("R7", task, "'matmul'", task.matmul, rule.matmul_operations(local))
        verify_routing_and_form(self.findings, "R7", task, rule, local)
        self._work(task, rule.forward(local))

    def _weights(self, task: dist.Task, operation: Operation, rule: ModelOperation, local: Local) -> None:
        """As many weights as the rule says, of its bytes where they are quantised, and of the layer that the operation is tied to."""
        self.findings.equal("R7", task, "the number of weights", task.weights, rule.weights(local))
        stored = rule.weight_bytes(local) if operation.properties.get("stored") is not None else ZERO
        if stored is not ZERO or task.weight_bytes is not ZERO:
            self.findings.equal("R7", task, "the size of the weights in bytes", task.weight_bytes, stored)
        name = dist.Task.tied.name
        tied = task.operation.properties.get(name) is operation.properties.get(name)
        self.findings.require("R7", tied, task, "the weights are not those of the layer that the operation is tied to")

    @INFERENCE.rule("R6", "work is that of the operation's rule")
    @INFERENCE.rule("R13", "work is a whole number, not negative, for every admissible binding")
    def _work(self, task: dist.Task, expected: Work) -> None:
        if self.whole:
            self.findings.whole("R13", task, task.label, expected)
        self.findings.components("R6", task, "work", f"of '{task.label}'", task.work, expected)

    @INFERENCE.rule("R8", "phase and names of effects are the workload's")
    def _phase(self, task: dist.Task, effect: str) -> None:
        if task.phase != self.phase.name:
            self.findings.refuse("R8", task, f"the phase is '{task.phase}', the workload's is '{self.phase.name}'")
        if task.effects != ((effect,) if effect else ()):
            self.findings.refuse("R8", task, f"the effects on the KV cache must be [{effect}]")

    @INFERENCE.rule("R3", "operands are the images of the source's operands")
    def _images(self, task: dist.Task | dist.Return, operands: list[Value | None]) -> None:
        message = f"'{task.name}' has {len(task.operands)} operands, expected {len(operands)}"
        if not self.findings.require("R3", len(task.operands) == len(operands), task, message):
            return
        for index, (found, expected) in enumerate(zip(task.operands, operands, strict=True)):
            if expected is not None and found is not expected:
                self.findings.refuse("R3", task, f"operand {index} is not the image of what the source operation reads")

    def note_shape(self, value: Value, expected: TensorType) -> None:
        """Note a value that is no tensor of as many dimensions as expected: no work rule can read it."""
        if not isinstance(value.type, TensorType) or len(value.type.dims) != len(expected.dims):
            self.misshapen.add(value)

    @INFERENCE.rule("R4", "sizes, shards and partial sums follow from shapes and uses")
    def _type(self, task: Place, value: Value, expected: TensorType) -> None:
        self.note_shape(value, expected)
        self.findings.same_type("R4", task, "the size or shard of a value is wrong", value, expected)

    # --- collectives and state

    @INFERENCE.rule("R17", "the rows of tokens go to their experts and come back by one all-to-all each, and nothing else moves")
    def _lying(self, operation: Operation, index: int) -> Value | None:
        """The image of an operand as the operation reads it: what an all-to-all gives where that lies otherwise than it was made."""
        value = operation.operands[index]
        image = self.images.get(value)
        if image is None or not self.rows.parallel or not self.rows.moves(operation, index):
            return image
        if image not in self.moved:
            self.moved[image] = self._all_to_all(operation, value, image, (self.rows.made(value), self.rows.read(operation, index)))
        return self.moved[image]

    def _all_to_all(self, operation: Operation, value: Value, image: Value, way: tuple[int, int]) -> Value | None:
        """The result of the all-to-all that moves the shares of a value from one dimension to another."""
        found = [task for task in self.readers.get(image, []) if isinstance(task, AllToAll) and (task.given, task.taken) == way]
        reader = layer_of(operation) or operation.name
        message = f"'{reader}' reads its operand sharded at dimension {way[1]}: expected a dist.all_to_all"
        if not self.findings.require("R17", bool(found), image.producer or self.block, message):
            return None
        task = found[0]
        self.claimed.add(task)
        self._belongs(task, operation if way[0] == BATCH else value.owner, "input" if way[0] == BATCH else "output")
        self._phase(task, "")
        expected = _moved(tensor_of(image), way)
        if expected is None:
            return None  # the type of the image is refused where it was made
        self._type(task, task.results[0], expected)
        self._collective_work(task, "R17")
        return task.results[0]

    def _belongs(self, task: dist.Task, of: Operation | ModelBlock | None, side: str) -> None:
        """An all-to-all comes from the operation that it moves rows for, and is called after it."""
        assert isinstance(of, Operation)
        message = f"the all-to-all comes from '{layer_of(of)}', not from '{task.source}'"
        self.findings.require("R1", task.source == layer_of(of), task, message)
        self.named(task, f".{self.phase.name}", beside(of, f"{side}_collective"))

    def _collective_work(self, task: dist.Task, rule: str) -> None:
        """Judge the work of a collective."""
        try:
            self._work(task, one_rank.collective_work(task.operation, self.mesh))
        except DiagnosticError as wrong:
            self.findings.refuse(rule, task, wrong.diagnostics[0].message)

    @INFERENCE.rule("R5", "a partial sum is reduced by one collective, and nothing else is")
    def _reduced(self, operation: Operation, value: Value) -> Value | None:
        """The sum of a partial value: what its one collective gives."""
        layer, readers = layer_of(operation), self.readers.get(value, [])
        collectives = [t for t in readers if isinstance(t, collective_tasks.Collective) and t.reduces]
        alone = bool(collectives) and len(readers) == len(collectives)
        message = f"the partial sum of '{layer}' is not reduced: expected a dist.all_reduce, and no other reader"
        self.findings.require("R5", alone, value.producer or self.block, message)
        if not collectives:
            return None
        task = collectives[0]
        message = f"the collective comes from '{layer}', whose sum it reduces, not from '{task.source}'"
        self.findings.require("R1", task.source == layer, task, message)
        self.claimed.add(task)
        self._sums(task, layer)
        self.named(task, f".{self.phase.name}", beside(operation, "output_collective"))
        expected = self._expected(operation.results[value.index])
        self.reduced.append(expected.local({**self.mesh, TENSOR: ONE}))
        self._type(task, task.results[0], expected)
        self._phase(task, "")
        self._collective_work(task, "R5")
        return task.results[0]

    def _sums(self, task: collective_tasks.Collective, layer: str) -> None:
        """A collective that reduces takes the sum."""
        if isinstance(task, collective_tasks.AllReduce | collective_tasks.ReduceScatter):
            message = f"the partial sums of '{layer}' are reduced by '{task.reduction}', expected sum"
            self.findings.require("R5", task.reduction == "sum", task, message)

    def _counted(self, operation: Operation) -> tuple[tuple[str, Attribute], ...]:
        """The pairs of tokens that count in an attention over new tokens; the one new token of decode sees all that the cache holds."""
        if self.phase.name == "decode":
            return ()
        window = window_of(operation)
        size = window.substitute(self.phase.sizes) if window is not None else None
        pairs = pairs_counted(self.phase.causal, self.phase.query, self.phase.context, size)
        return (("pairs", ExprAttr(pairs)),) if pairs is not None else ()

    def _unclaimed(self, task: dist.Task | dist.State) -> None:
        """Refuse a task that no operation of the model makes."""
        name, source = task.label, task.source
        layers = {layer_of(o): o for o in self.model.body}
        if source not in layers or not source:
            self.findings.refuse("R1", task, f"the task '{name}' comes from '{source}', which is no operation of the model")
        elif isinstance(task, AllToAll):
            self.findings.refuse("R17", task, f"'{name}' moves rows that lie where they are read, or moves them again")
        elif isinstance(task, collective_tasks.Collective):
            self.findings.refuse("R5", task, f"the collective '{name}' reduces nothing that '{source}' leaves as a partial sum")
        else:
            there = note("the operation", layers[source].span)
            self.findings.refuse("R1", task, f"the operation '{source}' does not make the task '{name}'", there)


def _moved(type: TensorType, way: tuple[int, int]) -> TensorType | None:
    """The type of what an all-to-all gives that moves the shares from one dimension to another; None if there is no such dimension."""
    marks = list(type.axes)
    if max(way) >= len(marks):
        return None
    marks[way[0]], marks[way[1]] = (), (EXPERT,)
    return TensorType(type.dims, tuple(marks), type.element, type.unreduced)
