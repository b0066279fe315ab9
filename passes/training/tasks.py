"""The tasks of training in order: forward, what is repeated, backward from the last layer, reductions, optimizer; then what is kept."""

from __future__ import annotations

from collections.abc import Sequence

from bpir.dialects.bp import NO_WORK, ExprAttr, TensorType, Work
from bpir.dialects.dist import collective_tasks
from bpir.dialects.dist import facts as facts_of
from bpir.dialects.dist import tasks as dist
from bpir.dialects.dist.forms import routing_of
from bpir.dialects.model.exchange import Exchange
from bpir.dialects.model.rules.conventions import Standard
from bpir.dialects.model.rules.layer_view import LayerView
from bpir.ir.attributes import I64, ArrayAttr, Attribute, IntegerAttr, StringAttr, UnitAttr
from bpir.ir.diagnostic import fail
from bpir.ir.expressions.expression import ZERO, Expr
from bpir.ir.operation import Block, Value
from bpir.ir.property_parts import symbol_of
from bpir.passes.distribution.expert_rows import all_to_all
from bpir.passes.distribution.placement import TENSOR
from bpir.passes.training.graph import Flow, Graph, Layer
from bpir.passes.training.memory import Memory
from bpir.passes.training.replicas import Replicas


class Tasks:
    """Emits the tasks of a graph into a block."""

    def __init__(self, graph: Graph, memory: Memory, convention: Standard) -> None:
        self.graph = graph
        self.memory = memory
        self.convention = convention
        self.out = Block()
        self.forward: dict[Flow, Value] = {}
        self.again: dict[Flow, Value] = {}
        self.gradients: dict[Flow, list[Value]] = {}
        self.weight_gradients: dict[Layer, list[Value]] = {}
        self.tied: dict[str, list[Layer]] = {}  # those with weight gradients, by the layer whose table they read
        self.gathered: dict[Value, Value] = {}  # the gradients that backward gathers, each once
        self.copied: set[Layer] = set()  # the collectives whose gradient another one has gathered
        self.replicas = Replicas(self)

    def block(self) -> Block:
        arguments = [Value(flow.type, name=flow.name) for flow in self.graph.arguments]
        self.forward.update(zip(self.graph.arguments, arguments, strict=True))
        for flow in self.graph.results:
            gradient = Value(flow.type, name=f"d{flow.name}")
            arguments.append(gradient)
            self.gradients.setdefault(flow, []).append(gradient)
        self.out = Block(arguments)
        for layer in self.graph:
            self._run(layer, "forward", self.forward, {})
        for layer in self.graph:
            if layer in self.memory.repeated:
                self._run(layer, "recommunication" if layer.is_collective else "recompute", self.again, self.forward)
        for layer in reversed(self.graph.layers):
            self._backward(layer)
        self._mark_unread()
        self._update_weights()
        self._memory()
        results = [self._value(flow, self.forward, {}) for flow in self.graph.results]
        results += [self._argument_gradient(index, flow) for index, flow in enumerate(self.graph.arguments) if not flow.type.is_index]
        self.out.append(dist.Return.build(results, span=self.graph.block.span))
        return self.out

    def _update_weights(self) -> None:
        """Sum the gradients of weights, and update the weights."""
        for layer in self.graph:
            if layer.summed_weights:
                self._reduce_weight_gradients(layer)
        trained = [layer for layer in self.graph if layer.view.owned is not ZERO]
        for layer in trained:
            self.replicas.reduce(layer)
        for layer in trained:
            updated = self.replicas.updated(layer)
            self._task(layer, "optimizer", self.weight_gradients[layer], updated, self.convention.optimizer(layer.view), "adam")
        for layer in trained:
            self.replicas.gather(layer)

    def _argument_gradient(self, index: int, flow: Flow) -> Value:
        """The gradient of an argument; a fork has summed those of one with several uses."""
        found = self.gradients.get(flow, [])
        if not found:
            name = f"'%{flow.name}'" if flow.name else str(index)
            block = self.graph.block
            raise fail(f"argument {name} of the block reaches no result, so it has no gradient: remove it", block.span)
        return found[0]

    # --- forward

    def _value(self, flow: Flow, values: dict[Flow, Value], fallback: dict[Flow, Value]) -> Value:
        origin = self.graph.origin(flow)
        found = values.get(origin)
        return found if found is not None else fallback[origin]

    def _run(self, layer: Layer, phase: str, values: dict[Flow, Value], fallback: dict[Flow, Value]) -> None:
        """Emit a layer's forward task, in forward or again."""
        if self.graph.is_identity(layer):
            return
        operands = [self._value(flow, values, fallback) for flow in layer.operands]
        flows = [*layer.results, *([layer.mask] if layer.mask is not None else [])]
        work = self.convention.forward(layer.view)
        if phase == "recommunication":
            work = self.convention.repeated(work)
        matmul = layer.rule.matmul_operations(layer.view.local) if layer.rule is not None else ZERO
        results = [Value(flow.type, name=flow.name if phase == "forward" else f"{flow.name}_again") for flow in flows]
        if layer.is_collective:
            self._collective(layer, phase, operands[0], results[0], work, layer.kind == "output_collective")
        elif isinstance(layer.rule, Exchange):
            self._exchange(layer, phase, operands[0], results[0], work, layer.rule.way(layer.operation))
        else:
            gathered = self.replicas.gathered(layer, phase, layer.view.weights)
            self._task(layer, phase, operands, results, work, layer.kind, layer.view.weights, matmul, gathered)
            if layer.rule is not None:
                self.out.operations[-1].properties |= routing_of(layer.rule, layer.view.local)
        if phase == "forward" or self.memory.replaces(layer):
            values.update(zip(flows, results, strict=True))

    def _mark_unread(self) -> None:
        """A repeated layer of which backward reads nothing is counted, and says so."""
        read = {value for task in self.out.operations for value in task.operands}
        for task in dist.Task.each(self.out.operations):
            if task.phase == "recompute" and read.isdisjoint(task.results):
                task.operation.properties[dist.Task.unread.name] = UnitAttr()

    # --- backward

    def _backward(self, layer: Layer) -> None:
        if layer.is_constant:
            return
        gradients = [self._gradient(layer, flow) for flow in layer.results] if layer.kind != "fork" else []
        if layer.kind == "fork":
            self._fork(layer)
        elif layer.is_collective:
            self._backward_collective(layer, gradients[0])
        else:
            self._operation(layer, gradients)

    def _gradient(self, layer: Layer, flow: Flow) -> Value:
        """The gradient of a flow; forks have summed those of values with several uses."""
        found = self.gradients.get(flow, [])
        if len(found) != 1:
            raise fail(
                f"the result of '{layer.name}' reaches no result of the block, so it has no gradient: remove it, or run canonicalize",
                layer.operation.span,
            )
        return found[0]

    def _give(self, flow: Flow, gradient: Value) -> None:
        self.gradients.setdefault(flow, []).append(gradient)

    def _fork(self, layer: Layer) -> None:
        gradients = self.gradients.get(layer.results[0], [])
        if len(gradients) != layer.view.uses:  # every reader is behind, and a reader without a gradient was refused there
            raise ValueError(f"'{layer.name}' has {len(gradients)} gradients of {layer.view.uses} uses")
        type = gradients[0].type
        view = layer.view
        layer.view = LayerView(view.kind, view.rule, view.local, view.uses, len(set(gradients)))
        total = Value(type, name=f"d{layer.results[0].name}")
        work = self.convention.activation_gradient(layer.view)
        self._task(layer, "activation_gradient", gradients, [total], work, "fork")
        self._give(layer.operands[0], total)

    def _backward_collective(self, layer: Layer, gradient: Value) -> None:
        work = self.convention.activation_gradient(layer.view)
        if work is NO_WORK:
            self._give(layer.operands[0], gradient)
            return
        if gradient in self.gathered and layer.kind == "output_collective":
            self.copied.add(layer)
            self._give(layer.operands[0], self.gathered[gradient])
            return
        result = Value(layer.operands[0].type, name=gradient.name)
        if layer.kind == "output_collective":
            result.type = layer.operands[0].type.reduced
            self.gathered[gradient] = result
        self._collective(layer, "activation_gradient", gradient, result, work, layer.kind == "input_collective")
        self._give(layer.operands[0], result)

    def _operation(self, layer: Layer, gradients: list[Value]) -> None:
        rule = layer.rule
        assert rule is not None
        work = self.convention.activation_gradient(layer.view)
        if work is NO_WORK:
            for index, flow in layer.differentiable:
                self._give(flow, gradients[rule.factors(layer.operation).lane_of_operand(index).results[0]])
        else:
            needed = [self._kept(flow) for flow in self.memory.reads(layer, False)]
            flows = [flow for _, flow in layer.differentiable]
            results = [Value(self._gradient_type(layer, flow), name=f"d{flow.name}") for flow in flows]
            weights = rule.gradient_weights(layer.view.local)
            matmul = rule.gradient_matmul(layer.view.local)
            if isinstance(rule, Exchange):
                self._exchange(layer, "activation_gradient", gradients[0], results[0], work, rule.way(layer.operation)[::-1])
            else:
                gathered = self.replicas.gathered(layer, "activation_gradient", weights)
                self._task(layer, "activation_gradient", [*gradients, *needed], results, work, layer.kind, weights, matmul, gathered)
            for flow, value in zip(flows, results, strict=True):
                self._give(flow, value)
        if layer.view.weights is not ZERO:
            needed = [self._kept(flow) for flow in self.memory.reads(layer, True)]
            needed += [value for tied in self._tied_to(layer) for value in self.weight_gradients[tied]]
            parts = zip(layer.weight_types, layer.partial_weights, strict=True)
            over = layer.copied_over
            gradients_of = (self.replicas.gradient_type(type).partial(*over, *((TENSOR,) if partial else ())) for type, partial in parts)
            results = list(map(Value, gradients_of))
            work = self.convention.weight_gradient(layer.view)
            matmul = rule.weight_gradient_matmul(layer.view.local)
            self._task(layer, "weight_gradient", [*gradients, *needed], results, work, layer.kind, ZERO, matmul)
            self.weight_gradients[layer] = results
            self.tied.setdefault(layer.tied, []).append(layer)

    def _tied_to(self, layer: Layer) -> list[Layer]:
        """The layers of the block that read the table of a layer: its gradient is added to theirs, which backward has by then."""
        return self.tied.get(layer.name, [])

    def _reduce_weight_gradients(self, layer: Layer) -> None:
        """One all-reduce of those gradients of a layer's weights of which each rank has a part."""
        parts = zip(self.weight_gradients[layer], layer.partial_weights, strict=True)
        operands = [value for value, partial in parts if partial]
        types = [self.replicas.gradient_type(type) for type in layer.summed_weights]
        results = [Value(type.partial(*layer.copied_over)) for type in types]
        over = ArrayAttr((ArrayAttr((StringAttr(TENSOR),)),))
        properties: dict[str, Attribute] = {"reduction": StringAttr("sum"), "axes": over}
        work = self.convention.gradient_reduction(type.local(self.graph.mesh) for type in types)
        properties |= self.names(layer, "gradient_reduction", work)
        self.out.append(collective_tasks.AllReduce.build(operands, results, properties, span=layer.operation.span))
        summed = dict(zip(operands, results, strict=True))
        self.weight_gradients[layer] = [summed.get(value, value) for value in self.weight_gradients[layer]]

    def _kept(self, flow: Flow) -> Value:
        return self._value(flow, self.again, self.forward)

    def _gradient_type(self, layer: Layer, flow: Flow) -> TensorType:
        """The gradient of an operand has its type; behind the entry of a region it is a partial sum."""
        producer = flow.producer
        while producer is not None and producer.kind == "fork":
            producer = producer.operands[0].producer
        if producer is not None and producer.kind == "input_collective":
            return flow.type.partial(TENSOR)
        return flow.type.reduced

    # --- what the tasks look like

    def names(self, layer: Layer, phase: str, work: Work) -> dict[str, Attribute]:
        return {
            "task": StringAttr(f"{layer.name}.{phase}"),
            "phase": StringAttr(phase),
            "source": StringAttr(layer.origin),
            "work": work,
        }

    def _task(
        self,
        layer: Layer,
        phase: str,
        operands: list[Value],
        results: list[Value],
        work: Work,
        kind: str,
        weights: Expr | None = None,
        matmul: Expr = ZERO,
        gathered: Sequence[Value] = (),
    ) -> None:
        properties = {**self.names(layer, phase, work), "kind": StringAttr(kind)}
        weights = layer.view.weights if weights is None else weights
        if weights is not ZERO:
            properties["weights"] = ExprAttr(weights)
            if layer.tied:
                properties["tied"] = StringAttr(layer.tied)
        if matmul is not ZERO:
            properties["matmul"] = ExprAttr(matmul)
        if gathered:
            properties["gathered"] = IntegerAttr(len(gathered), I64)
        self.out.append(dist.Compute.build([*operands, *gathered], results, properties, span=layer.operation.span))

    def _collective(self, layer: Layer, phase: str, operand: Value, result: Value, work: Work, reduces: bool) -> None:
        properties = self.names(layer, phase, work)
        types = (operand.type, result.type)
        assert isinstance(types[0], TensorType) and isinstance(types[1], TensorType)
        marks = [
            ArrayAttr(tuple(StringAttr(a) for a in (*old, *new) if (a in old) != (a in new)))
            for old, new in zip(types[0].axes, types[1].axes, strict=True)
        ]
        cls: type[collective_tasks.Collective] = collective_tasks.AllGather
        if reduces:
            cls = collective_tasks.ReduceScatter if types[0].axes != types[1].axes else collective_tasks.AllReduce
            producer = layer.operands[0].producer
            ends = producer is not None and producer.rule is not None and layer.kind == "output_collective"
            properties["reduction"] = StringAttr(producer.rule.reduction if ends else "sum")  # type: ignore[union-attr]
        if cls is collective_tasks.AllReduce:
            marks = [ArrayAttr((StringAttr(TENSOR),))]
        properties["axes"] = ArrayAttr(tuple(marks))
        self.out.append(cls.build([operand], [result], properties, span=layer.operation.span))

    def _exchange(self, layer: Layer, phase: str, operand: Value, result: Value, work: Work, ends: tuple[int, int]) -> None:
        self.out.append(all_to_all(operand, result, ends, self.names(layer, phase, work), layer.operation))

    def _memory(self) -> None:
        for layer in self.graph:
            kept = self.memory.kept[layer]
            properties: dict[str, Attribute] = {"layer": StringAttr(layer.name), "facts": self.memory.facts(layer, layer in self.copied)}
            if kept.dropped:
                properties["dropped"] = ArrayAttr(tuple(map(StringAttr, kept.dropped)))
            operands = [self._value(flow, self.forward, {}) for flow in kept.flows]
            self.out.append(facts_of.Memory.build(operands, properties=properties, span=layer.operation.span))
        facts: dict[str, Attribute] = {"layer": StringAttr(symbol_of(self.graph.block)), "facts": self.memory.activations()}
        self.out.append(facts_of.BlockActivations.build(properties=facts, span=self.graph.block.span))
