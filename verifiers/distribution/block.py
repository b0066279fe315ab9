"""One block of a distributed inference module, task by task, against the block of its model."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from bpir.dialects.bp import ExprAttr, TensorType, Work
from bpir.dialects.dist import collective_tasks, one_rank
from bpir.dialects.dist import tasks as dist
from bpir.dialects.dist.all_to_all import AllToAll
from bpir.dialects.model.attention import Attention, Cached, KvAppend
from bpir.dialects.model.rules.operation import Local, ModelOperation, group_of, layer_of
from bpir.dialects.model.structure import Return
from bpir.ir.attributes import Attribute
from bpir.ir.declaration import DECLARATIONS, Place
from bpir.ir.diagnostic import DiagnosticError, note
from bpir.ir.expressions.expression import ONE, ZERO, Expr, maximum, minimum
from bpir.ir.operation import Operation, Value
from bpir.verifiers.distribution.expert_rows import BATCH, ExpertRows
from bpir.verifiers.distribution.partial_sums import PartialSums
from bpir.verifiers.distribution.placed_axes import EXPERT, TENSOR
from bpir.verifiers.distribution.typing_rule import Placed, symbol_name
from bpir.verifiers.distribution.workload import (
    Phase,
    comes_from_append,
    over_new_tokens,
    pairs_counted,
)
from bpir.verifiers.findings import Findings
from bpir.verifiers.planning.forms import verify_routing_and_form
from bpir.verifiers.rulebooks import INFERENCE


class _BlockCheck:
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
        self.uses: dict[Value, list[Operation]] = {}  # of the model
        for operation in model.body:
            for value in operation.operands:
                self.uses.setdefault(value, []).append(operation)
        self.readers: dict[Value, list[dist.Task | dist.Return]] = {}
        self.visible: dict[tuple[Value, ...], list[Value | None]] = {}  # what a cache gives, by the new K and V of the model

    def run(self, whole: bool) -> None:
        """Judge every task; `whole` asks for whole work, which follows from whole shards."""
        self.whole = whole
        for operation in self.block.operation.body:
            task = dist.Task.of(operation)
            made = task or dist.State.of(operation)
            if made is not None:
                self.tasks.setdefault(made.source, []).append(made)
            reader = task or dist.Return.of(operation)
            if reader is not None:
                for value in operation.operands:
                    self.readers.setdefault(value, []).append(reader)
        self._arguments()
        for operation in self.model.body:
            if Return.of(operation) is not None:
                self._images(self.block.ending, [self._lying(operation, index) for index in range(len(operation.operands))])
            elif isinstance(operation.declaration, ModelOperation):
                self._operation(operation, operation.declaration)
        for of_layer in self.tasks.values():
            for made in of_layer:
                if made not in self.claimed:
                    self._unclaimed(made)

    def _arguments(self) -> None:
        ours = self.model.regions[0].blocks[0].arguments
        theirs = self.block.arguments
        if len(ours) != len(theirs):
            self.findings.refuse("R3", self.block, f"the block has {len(theirs)} arguments, its source {len(ours)}")
        for source, image in zip(ours, theirs, strict=False):
            self._type(self.block, image, self._expected(source))
            self.images[source] = image

    def _expected(self, value: Value) -> TensorType:
        assert isinstance(value.type, TensorType)
        marks = (self.placed.axes.get(symbol_name(dim) or "") for dim in value.type.dims)
        axes = [(mark,) if mark is not None else () for mark in marks]
        if self.rows.parallel:
            axes[self.rows.made(value)] = (EXPERT,)
        return TensorType(self.phase.type(value.type, value in self.last).dims, tuple(axes), value.type.element, ())

    # --- one operation of the model

    def _operation(self, operation: Operation, rule: ModelOperation) -> None:
        layer = layer_of(operation)
        if self.phase.is_identity(operation):
            self._bind(operation, [self.images.get(value) for value in operation.operands])
            return
        if not rule.in_inference:
            self.findings.refuse("R2", self.block, f"'{layer}' is a {operation.name}, which is of training")
        kind = operation.kind
        operands = [self._lying(operation, index) for index in range(len(operation.operands))]
        if isinstance(rule, KvAppend):
            self._bind(operation, self._append(operation, layer, operands))
            return
        cached = isinstance(rule, Cached) and over_new_tokens(operation)
        if cached and not comes_from_append(operation):
            new = tuple(operation.operands[-2:])
            operands[-2:] = self.visible[new] if new in self.visible else self._append(operation, layer, operands[-2:])
        task = self._claim(operation, layer, kind)
        if task is None:
            return
        expected = [self._made(v) for v in operation.results]
        self._task(task, operation, rule, operands, expected, "read" if cached else "")
        pairs = zip(operation.results, task.results, strict=False)
        self._bind(operation, [self._reduced(operation, v) if self._is_reduced(value) else v for value, v in pairs])

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
    def _claim(self, operation: Operation, layer: str, kind: str) -> dist.Compute | None:
        """The one compute task of the kind that comes from the layer."""
        found = [t for t in self.tasks.get(layer, []) if isinstance(t, dist.Compute) and t.kind == kind]
        if not found:
            self.findings.refuse("R2", operation, f"the operation '{layer}' has no '{kind}' task", note("in this block", self.block.span))
            return None
        self.claimed.add(found[0])
        self._named(found[0], f".{self.phase.name}", [layer] if operation.kind == kind else _beside(operation, kind))
        return found[0]

    @INFERENCE.rule("R1", "every task comes from a model operation, and is called after it")
    def _named(self, task: dist.Task | dist.State, suffix: str, layers: Iterable[str]) -> None:
        """A task or a state is called after its layer: another name would be read as that of another layer."""
        names = [layer + suffix for layer in layers]
        stem, _, number = task.label.removesuffix(suffix).rpartition(".")
        numbered = number.isdecimal() and stem + suffix in names[1:]  # beside the layer, where that name is taken too
        if task.label not in names and not numbered:
            wanted = " or ".join(f"'{name}'" for name in dict.fromkeys(names))
            source = task.source
            self.findings.refuse("R1", task, f"'{task.label}' is not called after '{source}': expected {wanted}")

    @INFERENCE.rule("R7", "weights and matrix products are those of the rule")
    def _task(
        self,
        task: dist.Task,
        operation: Operation,
        rule: ModelOperation,
        operands: list[Value | None],
        expected: list[TensorType],
        effect: str,
    ) -> None:
        if len(task.results) != len(expected):
            self.findings.refuse("R4", task, f"the task has {len(task.results)} results, expected {len(expected)}")
            return
        self._images(task, operands)
        for found, image in zip(task.operands, operands, strict=False):
            if image is not None and isinstance(image.type, TensorType):
                self._shape(found, image.type)
        for value, type in zip(task.results, expected, strict=True):
            self._type(task, value, type)
        self._phase(task, effect)
        try:
            counted = self._counted(operation) if effect == "read" else ()
            form = self.strategy.get(rule.form_field) if rule.form_field else None
            counted = counted if form is None else (*counted, ("form", form))
            local = one_rank.local(task.operation, operation, self.mesh, counted, self.placed.resized)
            if len(task.operands) != len(operands) or self.misshapen & {*task.operands, *task.results}:
                return
            self._weights(task, operation, rule, local)
            self.findings.equal("R7", task, "'matmul'", task.matmul, rule.matmul_operations(local))
            verify_routing_and_form(self.findings, "R7", task, rule, local)
            self._work(task, rule.forward(local))
        except DiagnosticError as wrong:
            self.findings.refuse("R4", task, wrong.diagnostics[0].message)

    def _weights(self, task: dist.Task, operation: Operation, rule: ModelOperation, local: Local) -> None:
        """As many weights as the rule says, of its bytes where they are quantised, and of the layer that the operation is tied to."""
        self.findings.equal("R7", task, "the number of weights", task.weights, rule.weights(local))
        stored = rule.weight_bytes(local) if operation.properties.get("stored") is not None else ZERO
        if stored is not ZERO or task.weight_bytes is not ZERO:
            self.findings.equal("R7", task, "the size of the weights in bytes", task.weight_bytes, stored)
        if task.operation.properties.get(dist.Task.tied.name) is not operation.properties.get(dist.Task.tied.name):
            self.findings.refuse("R7", task, "the weights are not those of the layer that the operation is tied to")

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
        if len(task.operands) != len(operands):
            self.findings.refuse("R3", task, f"'{task.name}' has {len(task.operands)} operands, expected {len(operands)}")
            return
        for index, (found, expected) in enumerate(zip(task.operands, operands, strict=True)):
            if expected is not None and found is not expected:
                self.findings.refuse("R3", task, f"operand {index} is not the image of what the source operation reads")

    def _shape(self, value: Value, expected: TensorType) -> None:
        if not isinstance(value.type, TensorType) or len(value.type.dims) != len(expected.dims):
            self.misshapen.add(value)

    @INFERENCE.rule("R4", "sizes, shards and partial sums follow from shapes and uses")
    def _type(self, task: Place, value: Value, expected: TensorType) -> None:
        self._shape(value, expected)
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
        if not found:
            message = (
                f"'{layer_of(operation) or operation.name}' reads its operand sharded at dimension {way[1]}: expected a dist.all_to_all"
            )
            self.findings.refuse("R17", image.producer if image.producer is not None else self.block, message)
            return None
        task = found[0]
        self.claimed.add(task)
        side, of = ("input", operation) if way[0] == BATCH else ("output", value.owner)
        assert isinstance(of, Operation)
        if task.source != layer_of(of):
            self.findings.refuse("R1", task, f"the all-to-all comes from '{layer_of(of)}', not from '{task.source}'")
        self._named(task, f".{self.phase.name}", _beside(of, f"{side}_collective"))
        self._phase(task, "")
        assert isinstance(image.type, TensorType)
        marks = list(image.type.axes)
        if max(way) >= len(marks):
            return None  # the type of the image is refused where it was made
        marks[way[0]], marks[way[1]] = (), (EXPERT,)
        expected = TensorType(image.type.dims, tuple(marks), image.type.element, image.type.unreduced)
        self._type(task, task.results[0], expected)
        try:
            self._work(task, one_rank.collective_work(task.operation, self.mesh))
        except DiagnosticError as wrong:
            self.findings.refuse("R17", task, wrong.diagnostics[0].message)
        return task.results[0]

    @INFERENCE.rule("R5", "a partial sum is reduced by one collective, and nothing else is")
    def _reduced(self, operation: Operation, value: Value) -> Value | None:
        """The sum of a partial value: what its one collective gives."""
        readers = self.readers.get(value, [])
        collectives = [t for t in readers if isinstance(t, collective_tasks.Collective) and t.reduces]
        if not collectives or len(readers) != len(collectives):
            self.findings.refuse(
                "R5",
                value.producer if value.producer is not None else self.block,
                f"the partial sum of '{layer_of(operation)}' is not reduced: expected a dist.all_reduce, and no other reader",
            )
        if not collectives:
            return None
        task = collectives[0]
        layer, claimed = layer_of(operation), task.source
        if claimed != layer:
            self.findings.refuse("R1", task, f"the collective comes from '{layer}', whose sum it reduces, not from '{claimed}'")
        self.claimed.add(task)
        if isinstance(task, collective_tasks.AllReduce | collective_tasks.ReduceScatter) and task.reduction != "sum":
            self.findings.refuse("R5", task, f"the partial sums of '{layer}' are reduced by '{task.reduction}', expected sum")
        self._named(task, f".{self.phase.name}", _beside(operation, "output_collective"))
        expected = self._expected(operation.results[value.index])
        self.reduced.append(expected.local({**self.mesh, TENSOR: ONE}))
        self._type(task, task.results[0], expected)
        self._phase(task, "")
        try:
            self._work(task, one_rank.collective_work(task.operation, self.mesh))
        except DiagnosticError as wrong:
            self.findings.refuse("R5", task, wrong.diagnostics[0].message)
        return task.results[0]

    @INFERENCE.rule("R11", "the KV cache holds all visible tokens")
    def _append(self, operation: Operation, layer: str, operands: list[Value | None]) -> list[Value | None]:
        """The KV cache and its append: new K and V go in, all visible tokens come out."""
        new = tuple(operation.operands[-2:])
        if new in self.visible:
            self.findings.refuse("R11", operation, f"'{layer}' appends K and V to a cache that have one already")
            self.claimed.update(self.tasks.get(layer, []))
            return [None, None]
        self.visible[new] = [None, None]
        kept = self._kept(operation.results if isinstance(operation.declaration, KvAppend) else new)
        seen = kept if self.phase.name == "decode" else self.phase.context
        cache, visible = ([self._of_tokens(v, tokens) for v in operands if v is not None] for tokens in (kept, seen))
        state = self._cache(operation, layer, cache)
        if state is None:
            return [None, None]
        task = self._claim(operation, layer, "kv_append")
        if task is None:
            return [None, None]
        rule = DECLARATIONS["model.kv_append"]
        assert isinstance(rule, ModelOperation)
        self._task(task, operation, rule, [*operands, *state.results], visible, "write")
        self.visible[new] = list(task.results)
        return list(task.results)

    def _cache(self, operation: Operation, layer: str, types: Sequence[TensorType]) -> dist.State | None:
        """The state of a layer, with a K and a V of these types; None if it has not one."""
        states = [t for t in self.tasks.get(layer, []) if isinstance(t, dist.State)]
        if len(states) != 1 or len(states[0].results) != 2:
            self.findings.refuse("R11", operation, f"'{layer}' needs one dist.state with the K and the V of the cache")
            self.claimed.update(t for t in self.tasks.get(layer, []) if t in states or _appends(t))
            return None
        state = states[0]
        self.claimed.add(state)
        self._named(state, "", _beside(operation, "kv_cache"))
        for value, type in zip(state.results, types, strict=False):
            self._shape(value, type)
            self.findings.same_type("R11", state, "the KV cache must hold every visible token", value, type)
        return state

    def _kept(self, values: Iterable[Value]) -> Expr:
        """The number of tokens that the cache of new K and V must hold: all, or as far back as the widest window of its readers."""
        windows = []
        for value in values:
            for reader in self.uses.get(value, ()):
                attention = Attention.of(reader)
                if isinstance(reader.declaration, KvAppend):
                    continue
                if attention is None or not attention.says(Attention.window):
                    return self.phase.context
                windows.append(attention.window.substitute(self.phase.sizes))
        return minimum(self.phase.context, maximum(*windows)) if windows else self.phase.context

    def _counted(self, operation: Operation) -> tuple[tuple[str, Attribute], ...]:
        """The pairs of tokens that count in an attention over new tokens; the one new token of decode sees all that the cache holds."""
        attention = Attention.of(operation)
        limited = attention is not None and attention.says(Attention.window)
        size = attention.window.substitute(self.phase.sizes) if attention is not None and limited else None
        pairs = None if self.phase.name == "decode" else pairs_counted(self.phase.causal, self.phase.query, self.phase.context, size)
        return (("pairs", ExprAttr(pairs)),) if pairs is not None else ()

    @staticmethod
    def _of_tokens(value: Value, tokens: Expr) -> TensorType:
        type = value.type
        assert isinstance(type, TensorType)
        return TensorType((type.dims[0], tokens, *type.dims[2:]), type.axes, type.element, ())

    def _unclaimed(self, task: dist.Task | dist.State) -> None:
        name, source = task.label, task.source
        layers = {layer_of(o): o for o in self.model.body}
        if source not in layers or not source:
            self.findings.refuse("R1", task, f"the task '{name}' comes from '{source}', which is no operation of the model")
        elif isinstance(task, AllToAll):
            self.findings.refuse("R17", task, f"'{name}' moves rows that lie where they are read, or moves them again")
        elif isinstance(task, collective_tasks.Collective):
            self.findings.refuse("R5", task, f"the collective '{name}' reduces nothing that '{source}' leaves as a partial sum")
        else:
            self.findings.refuse(
                "R1",
                task,
                f"the operation '{source}' does not make the task '{name}'",
                note("the operation", layers[source].span),
            )


def _beside(operation: Operation, kind: str) -> tuple[str, str]:
    """The names of what is beside a layer: after its group; after the layer itself where its group has several."""
    return f"{group_of(layer_of(operation))}.{kind}", f"{layer_of(operation)}.{kind}"


def _appends(task: dist.Task | dist.State) -> bool:
    return isinstance(task, dist.Task) and isinstance(task.rule, KvAppend)
