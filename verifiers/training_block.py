"""Reads one block of a distributed training module: what each value means, and whether each task reads what it must."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bpir.dialects.bp import NO_WORK, TensorType, Work
from bpir.dialects.dist import tasks as dist
from bpir.dialects.model.base import Local, ModelOperation, layer_of, settings_of
from bpir.dialects.model.conventions import LayerView, Standard
from bpir.dialects.model.decompose import origin_of
from bpir.dialects.model.sharding import Regions, partial, reduced, whole
from bpir.dialects.plan import expr_of
from bpir.ir.diagnostic import note
from bpir.ir.expression import ONE, ZERO, Expr
from bpir.ir.operation import Operation, Value
from bpir.ir.syntax import strings
from bpir.verifiers.rules import Findings
from bpir.verifiers.training_meaning import PHASE_ORDER, Meaning, Use, phases_of
from bpir.verifiers.training_names import collective_names, fork_names
from bpir.verifiers.training_needs import Needs


class BlockTrace:
    """Walks the tasks of a block in order and gives each value its meaning."""

    def __init__(
        self,
        findings: Findings,
        model: Operation,
        block: Operation,
        regions: Regions,
        mesh: Mapping[str, Expr],
        convention: Standard,
    ) -> None:
        self.findings = findings
        self.model = model
        self.block = block
        self.regions = regions
        self.mesh = mesh
        self.convention = convention
        self.needs = Needs(model, regions, convention)
        self.layers = {layer_of(o): o for o in model.body if isinstance(o.declaration, ModelOperation)}
        self.place = {operation: index for index, operation in enumerate(model.body)}
        self.meanings: dict[Value, Meaning] = {}
        self.views: dict[str, LayerView] = {}
        self.weights: dict[Expr, None] = {}  # in the order of the layers
        self.tasks: dict[tuple[str, str], Operation] = {}
        self.borders: dict[str, Value] = {}
        self.reduced: list[TensorType] = []  # the values that collectives sum
        self.entries: set[str] = set()  # the forks of values that enter a region
        self.done: set[object] = set()  # borders and sums that have their task
        forward = {self._layer(t) for t in block.body if dist.text_of(t, "phase") == "forward"}
        self.lost = {o for layer, o in self.layers.items() if layer not in forward}  # rule R2 reports them, once
        self.collectives = regions.parallel and bool(regions.axes)
        self.whole = True

    # --- the walk

    def run(self, whole: bool) -> None:
        """Judge every task, then what is missing; `whole` asks for whole work, which follows from whole shards."""
        self.whole = whole
        self._arguments()
        last = 0
        for task in self.block.body:
            if dist.work_of(task) is None:
                if task.name == "dist.state":
                    self.findings.refuse("R1", task, f"training has no state: '{dist.name_of(task)}' comes from no layer of the model")
                continue
            phase = dist.text_of(task, "phase")
            if phase not in phases_of(task):
                self.findings.refuse("R13", task, f"'{dist.name_of(task)}' can't be of phase '{phase}'")
                continue
            if strings(task.properties.get("effects")):
                self.findings.refuse("R13", task, f"no phase of training has a KV cache: '{dist.name_of(task)}' has effects on one")
            order = PHASE_ORDER[phase]
            if order < last:
                self.findings.refuse("R13", task, f"the {phase} task '{dist.name_of(task)}' stands behind a later phase")
            last = max(last, order)
            self._task(task, phase)
        self._missing()
        self._return()

    def _arguments(self) -> None:
        ours = self.model.regions[0].blocks[0].arguments
        results = self.model.body[-1].operands
        theirs = self.block.regions[0].blocks[0].arguments
        if len(theirs) != len(ours) + len(results):
            self.findings.refuse(
                "R3", self.block, f"the block has {len(theirs)} arguments, expected its {len(ours)} inputs and {len(results)} gradients"
            )
        for source, image in zip(ours, theirs, strict=False):
            self.meanings[image] = Meaning(value=source)
            self._type(self.block, image, self.expected(source))
        for index, (source, image) in enumerate(zip(results, theirs[len(ours) :], strict=False)):
            self._gradient(image, source, frozenset({(self.model.body[-1], index)}))
            self._type(self.block, image, self.expected(source))

    def expected(self, value: Value) -> TensorType:
        """The type of the image of a value between regions, or inside one."""
        assert isinstance(value.type, TensorType)
        return self.regions.type(value.type)

    def _layer(self, task: Operation) -> str:
        return dist.name_of(task).removesuffix("." + dist.text_of(task, "phase"))

    def _task(self, task: Operation, phase: str) -> None:
        layer = self._layer(task)
        key = (layer, phase)
        if key in self.tasks:
            self.findings.refuse("R1", task, f"'{layer}' has a second {phase} task", note("the first", self.tasks[key].span))
            return
        self.tasks[key] = task
        if isinstance(task.declaration, dist.Collective):
            self._collective(task, phase)
        elif dist.kind_of(task) == "fork":
            self._fork(task)
        elif layer not in self.layers:
            self.findings.refuse("R1", task, f"the task '{dist.name_of(task)}' comes from no layer of the model")
        else:
            self._of_layer(task, phase, self.layers[layer])

    def _of_layer(self, task: Operation, phase: str, operation: Operation) -> None:
        self._claim(task, phase, operation)
        self._origin(task, operation)
        if phase == "optimizer":
            self._optimizer(task, operation)
        elif dist.kind_of(task) != operation.name.partition(".")[2]:
            self.findings.refuse("R1", task, f"'{layer_of(operation)}' is a {operation.name}, not '{dist.kind_of(task)}'")
        elif phase == "activation_gradient":
            self._activation_gradient(task, operation)
        elif phase == "weight_gradient":
            self._weight_gradient(task, operation)
        else:
            self._forward(task, operation, phase == "recompute")

    def _claim(self, task: Operation, phase: str, operation: Operation) -> None:
        """Give the results the meaning that the task's name claims: whatever is wrong with it, its readers are judged by themselves."""
        if phase == "activation_gradient":
            for index, (image, value) in enumerate(zip(task.results, operation.operands, strict=False)):
                self._gradient(image, value, frozenset({(operation, index)}))
        elif phase == "weight_gradient":
            self.meanings.update((v, Meaning(weight=(operation, i))) for i, v in enumerate(task.results))
        elif phase != "optimizer":
            again = phase == "recompute"
            meanings = [*(Meaning(value=v, again=again) for v in operation.results), Meaning(mask=operation, again=again)]
            self.meanings.update(zip(task.results, meanings, strict=False))

    def _origin(self, task: Operation, operation: Operation) -> None:
        found, expected = dist.text_of(task, "source"), origin_of(operation)
        if found != expected:
            self.findings.refuse("R1", task, f"'{dist.name_of(task)}' comes from '{expected}' of the model, not from '{found}'")

    # --- forward and what is repeated

    def _forward(self, task: Operation, operation: Operation, again: bool) -> None:
        layer = layer_of(operation)
        rule = operation.declaration
        assert isinstance(rule, ModelOperation)
        if again and operation not in self.needs.recomputed:
            self.findings.refuse("R11", task, f"'{layer}' is computed again without need")
        for index, (image, source) in enumerate(zip(task.operands, operation.operands, strict=False)):  # dist.R3: as many, and states
            self._reads(task, index, image, source, self._operand_type(operation, source), again)
        types = [self.expected(v) for v in operation.results]
        if self.collectives and self.regions.contracts(operation):
            types = [partial(whole(type)) for type in types]
        if rule.masked:
            types.append(TensorType(types[0].dims, types[0].axes, ONE, ()))
        if not self._results(task, types):
            return
        view = self._view(task, operation, rule)
        if view is not None:
            self.views.setdefault(layer, view)
            weights = rule.weights(view.local)
            if weights is not ZERO:
                self.weights[weights] = None
            self._numbers(task, self.convention.forward(view), weights, rule.matmul_operations(view.local))

    def _operand_type(self, operation: Operation, source: Value) -> TensorType:
        """Whole if the operation brings a sharded axis in, else as the value lives."""
        type = self.expected(source)
        return whole(type) if self.regions.enters(operation) else type

    def _reads(self, task: Operation, index: int, image: Value, source: Value, type: TensorType, again: bool) -> None:
        meaning = self.meanings.get(image)
        if source.owner in self.lost:
            return
        if meaning is None or meaning.value is not source:
            what = f"'{self._layer(task)}' reads" if dist.name_of(task) else "the block returns"
            self.findings.refuse("R3", task, f"operand {index} is not the image of what {what}")
        elif again and not meaning.again and self.needs.is_repeated(source, whole_type=image.type is not self.expected(source)):
            self.findings.refuse("R12", task, f"operand {index} is not kept until backward: its value is computed again")
        elif not again and meaning.again:
            self.findings.refuse("R3", task, f"operand {index} is a value that is made again for backward")
        else:
            self._type(task, image, type)

    def _view(self, task: Operation, operation: Operation, rule: ModelOperation) -> LayerView | None:
        seen: set[Value] = set()
        first = []
        for value in operation.operands:
            first.append(value not in seen)
            seen.add(value)
        types = [v.type for v in (*task.operands, *task.results[: len(operation.results)])]
        tensors = tuple(t.local(self.mesh) for t in types if isinstance(t, TensorType))
        ranks = [len(v.type.dims) for v in (*operation.operands, *operation.results) if isinstance(v.type, TensorType)]
        if [len(t.dims) for t in tensors] != ranks:
            return None
        count = len(task.operands)
        return LayerView(dist.kind_of(task), rule, Local(settings_of(operation), tensors[:count], tensors[count:], tuple(first)))

    def _collective(self, task: Operation, phase: str) -> None:
        """A collective stands at a border of a region; it changes how a value lies on the mesh, never what it means.

        A partial sum is reduced: behind a contraction in forward, behind the readers that enter a region in backward, once. A shard is
        gathered: where a region is entered in forward, and where one was left in backward.
        """
        if len(task.operands) != 1 or len(task.results) != 1:
            return
        meaning = self.meanings.get(task.operands[0], Meaning())
        operand, result = task.operands[0].type, task.results[0].type
        backward, again = phase == "activation_gradient", phase == "recommunication"
        if not isinstance(operand, TensorType) or not isinstance(result, TensorType):
            return
        summed = bool(operand.unreduced)
        values = [v for v in (meaning.uses if backward else [meaning.value]) if v is not None]
        values = [v for v in values if self._at_border(meaning, v, summed, backward) and (v, summed, phase) not in self.done]
        if not values or not self.collectives:
            what = "is at no border of a tensor-parallel region, or its border has one already"
            self.findings.refuse("R5", task, f"the collective '{dist.name_of(task)}' {what}")
            return
        named = [v for v in values if self._layer(task) in collective_names(self._border(v, summed != backward), summed != backward)]
        value = (named or values)[0]
        self.done.add((value, summed, phase))
        self._comes_from(task, self._border(value, summed != backward), bool(named))
        scattered = self.regions.sequence_parallel
        expected = ("dist.reduce_scatter" if scattered else "dist.all_reduce") if summed else "dist.all_gather"
        if task.name != expected:
            self.findings.refuse("R5", task, f"'{task.name}' is not the collective of this border, or no conjugate: expected {expected}")
            self.meanings[task.results[0]] = meaning if backward else Meaning(value=value, again=again)
            return
        if again and not (self.needs.is_reduced_again(value) if summed else self.needs.is_gathered_again(value)):
            self.findings.refuse("R11", task, f"the collective '{dist.name_of(task)}' is repeated without need")
        if again and meaning.again != (value.owner in self.needs.recomputed):
            self.findings.refuse("R12", task, "a repeated collective reads what is computed again, or what is kept if nothing is")
        self._type(task, task.results[0], self.expected(value) if summed else whole(self.expected(value)))
        self.meanings[task.results[0]] = meaning if backward else Meaning(value=value, again=again)
        sides = (result, operand) if backward else (operand, result)
        local = Local((), (sides[0].local(self.mesh),), (sides[1].local(self.mesh),), (True,))
        view = LayerView("output_collective" if summed != backward else "input_collective", None, local)
        self.views.setdefault(self._layer(task), view)
        self.borders.setdefault(self._layer(task), value)
        if summed:
            self.reduced.append(self.expected(value))
        work = self.convention.activation_gradient(view) if backward else self.convention.forward(view)
        self._work(task, self.convention.repeated(work) if again else work)

    def _border(self, value: Value, exit: bool) -> Operation:
        """The operation that ends a region with the value, or the first that begins one with it."""
        if exit:
            assert isinstance(value.owner, Operation)
            return value.owner
        return min((reader for reader, _ in self.needs.entering(value)), key=self.place.__getitem__)

    def _comes_from(self, task: Operation, operation: Operation, named: bool) -> None:
        """Lineage of a fork or a collective: the layer that it is called after, and the operation of the file."""
        if not named:
            self.findings.refuse("R1", task, f"'{self._layer(task)}' is not what belongs to '{layer_of(operation)}'")
        self._origin(task, operation)

    def _at_border(self, meaning: Meaning, value: Value, summed: bool, backward: bool) -> bool:
        """Whether a value may be reduced, or gathered, here."""
        leaves = isinstance(value.owner, Operation) and self.regions.contracts(value.owner)
        enters = bool(self.needs.entering(value))
        if backward:
            if summed:
                return enters and meaning.sums(value, self.needs.entering(value))
            return leaves and meaning.sums(value, self.needs.uses(value))
        return leaves if summed else enters

    # --- gradients

    def _gradient(self, image: Value, value: Value, uses: frozenset[Use]) -> None:
        """A gradient of a value; complete, it is the gradient of the operands of an operation whose gradient is a copy, too."""
        self.meanings.setdefault(image, Meaning()).uses.setdefault(value, []).append(uses)
        owner = value.owner
        if uses == self.needs.uses(value) and isinstance(owner, Operation) and self._is_alias(owner):
            for index, operand in enumerate(owner.operands):
                self._gradient(image, operand, frozenset({(owner, index)}))

    def _is_alias(self, operation: Operation) -> bool:
        rule = operation.declaration
        return isinstance(rule, ModelOperation) and rule.residual and self.convention.aliases_residual

    def _fork(self, task: Operation) -> None:
        meanings = [self.meanings.get(v, Meaning()) for v in task.operands]
        before = [task.operands[:index].count(image) for index, image in enumerate(task.operands)]
        candidates = [v for v in meanings[0].uses if all(len(m.uses.get(v, ())) > n for m, n in zip(meanings, before, strict=True))]
        summed: list[tuple[Value, frozenset[Use]]] = []  # whole sums of gradients that other forks sum, too
        for value in candidates:
            parts = [m.uses[value][n] for m, n in zip(meanings, before, strict=True)]
            union = frozenset().union(*parts)
            if union not in (self.needs.uses(value), self.needs.entering(value)) or len(parts) < 2 or sum(map(len, parts)) != len(union):
                continue
            if not self.done.isdisjoint((value, part) for part in parts):
                summed.append((value, union))
                continue
            self.done.update((value, part) for part in parts)
            if len(task.results) != 1:
                self.findings.refuse("R4", task, f"the task has {len(task.results)} results, expected 1")
            if task.results:
                reader = min((o for o, _ in union), key=self.place.__getitem__)
                self._comes_from(task, reader, self._layer(task) in fork_names(value, reader))
                self._fork_result(task, value, union)
            return
        for value in list(meanings[0].uses)[:1]:  # what it should be, so that its readers are judged by themselves
            entering = self.needs.entering(value)
            summed.append((value, entering if len(entering) > 1 else self.needs.uses(value)))
        self.findings.refuse("R10", task, f"'{dist.name_of(task)}' does not sum the gradient of each use of one value once")
        if task.results and summed:
            self._fork_result(task, *summed[0])

    def _fork_result(self, task: Operation, value: Value, uses: frozenset[Use]) -> None:
        types = [v.type for v in (*task.operands, *task.results)]
        for operand in task.operands:
            if operand.type is not types[0]:
                self.findings.refuse("R10", task, "the gradients that a fork sums must lie on the mesh in the same way")
        first = types[0]
        assert isinstance(first, TensorType)
        self._type(task, task.results[0], first)
        self._gradient(task.results[0], value, uses)
        part = first.local(self.mesh)
        view = LayerView("fork", None, Local((), (part,), (part,), (True,)), len(task.operands))
        self.views[self._layer(task)] = view
        self.borders[self._layer(task)] = value
        if uses == self.needs.entering(value):
            self.entries.add(self._layer(task))
        self._numbers(task, self.convention.activation_gradient(view), ZERO, ZERO)

    def _activation_gradient(self, task: Operation, operation: Operation) -> None:
        rule = operation.declaration
        assert isinstance(rule, ModelOperation)
        view = self.views.get(layer_of(operation))
        if self._is_alias(operation):
            self.findings.refuse("R8", task, f"the gradient of '{layer_of(operation)}' is a copy, which needs no task")
            return
        self._gradient_reads(task, operation, self.needs.reads(operation, False))
        types = [self._operand_type(operation, v) for v in operation.operands]
        if self.collectives and self.regions.enters(operation):
            types = [partial(type) for type in types]
        if not self._results(task, types) or view is None:
            return
        local = view.local
        self._numbers(task, self.convention.activation_gradient(view), rule.gradient_weights(local), rule.gradient_matmul(local))

    def _weight_gradient(self, task: Operation, operation: Operation) -> None:
        rule = operation.declaration
        assert isinstance(rule, ModelOperation)
        view = self.views.get(layer_of(operation))
        forward = self.tasks.get((layer_of(operation), "forward"))
        if view is None or forward is None or self._view(forward, operation, rule) is None:
            return
        if view.weights is ZERO:
            self.findings.refuse("R9", task, f"'{layer_of(operation)}' has no weights, so no weight gradient")
            return
        self._gradient_reads(task, operation, self.needs.reads(operation, True))
        types = [v.type for v in (*forward.operands, *forward.results[: len(operation.results)])]
        tensors = tuple(reduced(t) for t in types if isinstance(t, TensorType))
        count = len(operation.operands)
        expected = rule.weight_types(Local(view.local.settings, tensors[:count], tensors[count:], view.local.first_use))
        if self._results(task, list(expected)):
            self._numbers(task, self.convention.weight_gradient(view), ZERO, rule.weight_gradient_matmul(view.local))

    def _gradient_reads(self, task: Operation, operation: Operation, needed: Sequence[Value | Operation]) -> None:
        """A gradient task reads the complete gradient of each result, then what its rule needs, kept or made again."""
        layer = layer_of(operation)
        count = len(operation.results)
        if len(task.operands) != count + len(needed):
            self.findings.refuse("R8", task, f"the task has {len(task.operands)} operands, expected {count + len(needed)}")
            return
        for image, value in zip(task.operands, operation.results, strict=False):
            if not self.meanings.get(image, Meaning()).sums(value, self.needs.uses(value)):
                self.findings.refuse("R8", task, f"'{layer}' does not read the complete gradient of its result")
                continue
            type = self.expected(value)
            self._type(task, image, whole(type) if self.regions.contracts(operation) and self.collectives else type)
        for image, need in zip(task.operands[count:], needed, strict=True):
            if (need if isinstance(need, Operation) else need.owner) not in self.lost:
                self._kept(task, operation, image, need)

    def _kept(self, task: Operation, operation: Operation, image: Value, need: Value | Operation) -> None:
        meaning = self.meanings.get(image, Meaning())
        layer = layer_of(operation)
        if (meaning.mask if isinstance(need, Operation) else meaning.value) is not need:
            self.findings.refuse("R8", task, f"the gradient of '{layer}' reads another value than its rule needs")
            return
        if isinstance(need, Operation):
            again = need in self.needs.recomputed
        else:
            type = self._operand_type(operation, need) if need in operation.operands else self.expected(need)
            self._type(task, image, type)
            again = self.needs.is_repeated(need, whole_type=type is not self.expected(need))
        if again != meaning.again:
            what = "is neither kept nor repeated: backward makes it again" if again else "is kept, and need not be repeated"
            self.findings.refuse("R12", task, f"a value that the gradient of '{layer}' reads {what}")

    def _optimizer(self, task: Operation, operation: Operation) -> None:
        view = self.views.get(layer_of(operation))
        if view is None:
            return
        found = [self.meanings.get(v, Meaning()).weight for v in task.operands]
        gradient = self.tasks.get((layer_of(operation), "weight_gradient"))
        expected = [(operation, index) for index in range(len(gradient.results))] if gradient is not None else None
        self._results(task, [])
        if found != expected or not expected or dist.kind_of(task) != "adam":
            self.findings.refuse("R9", task, f"the optimizer of '{layer_of(operation)}' does not read the gradients of its weights")
        self._numbers(task, self.convention.optimizer(view), view.weights, ZERO, "R9")

    # --- what is missing

    def _missing(self) -> None:
        for layer, operation in self.layers.items():
            for phase, rule, wanted in (
                ("forward", "R2", True),
                ("recompute", "R11", operation in self.needs.recomputed),
                ("activation_gradient", "R8", not self._is_alias(operation)),
                ("weight_gradient", "R9", self._has_weights(layer)),
                ("optimizer", "R9", self._has_weights(layer)),
            ):
                if wanted and (layer, phase) not in self.tasks:
                    self.findings.refuse(rule, operation, f"'{layer}' has no {phase} task", note("in this block", self.block.span))
        repeated = [m.value for v, m in self.meanings.items() if m.again and _by_collective(v)]
        for value in self.needs.repeated_collectives():
            if value not in repeated:
                owner = value.owner if isinstance(value.owner, Operation) else None
                what = f"the result of '{layer_of(owner)}'" if owner is not None else f"argument {value.index}"
                self.findings.refuse("R11", owner or self.block, f"the collective of {what} is not repeated")

    def _has_weights(self, layer: str) -> bool:
        return layer in self.views and self.views[layer].weights is not ZERO

    def _return(self) -> None:
        results = self.model.body[-1].operands
        arguments = self.model.regions[0].blocks[0].arguments
        images = self.block.body[-1].operands
        if len(images) != len(results) + len(arguments):
            self.findings.refuse("R8", self.block.body[-1], "the block returns its results, then the gradients of its arguments")
            return
        for index, (image, value) in enumerate(zip(images, results, strict=False)):
            self._reads(self.block.body[-1], index, image, value, self.expected(value), False)
        for image, value in zip(images[len(results) :], arguments, strict=True):
            if not self.meanings.get(image, Meaning()).sums(value, self.needs.uses(value)):
                self.findings.refuse("R8", self.block.body[-1], "the block does not return the complete gradient of an argument")
            else:
                self._type(self.block.body[-1], image, self.expected(value))

    # --- numbers and types

    def _results(self, task: Operation, types: list[TensorType]) -> bool:
        if len(task.results) != len(types):
            self.findings.refuse("R4", task, f"the task has {len(task.results)} results, expected {len(types)}")
            return False
        for image, type in zip(task.results, types, strict=True):
            self._type(task, image, type)
        return True

    def _type(self, operation: Operation, value: Value, expected: TensorType) -> None:
        self.findings.same_type("R4", operation, "the size or shard of a value is wrong", value, expected)

    def _numbers(self, task: Operation, work: Work, weights: Expr, matmul: Expr, rule: str = "R6") -> None:
        self._work(task, work, rule)
        self.findings.equal("R7", task, "the number of weights", dist.weights_of(task), weights)
        self.findings.equal("R7", task, "'matmul'", expr_of(task, "matmul"), matmul)

    def _work(self, task: Operation, expected: Work, rule: str = "R6") -> None:
        if self.whole:
            self.findings.whole("R17", task, dist.name_of(task), expected)
        found = dist.work_of(task) or NO_WORK
        self.findings.components(rule, task, "work", f"of '{dist.name_of(task)}'", found, expected)


def _by_collective(value: Value) -> bool:
    return isinstance(value.owner, Operation) and isinstance(value.owner.declaration, dist.Collective)
