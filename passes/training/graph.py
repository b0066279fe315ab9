"""The layers of a block as training distributes them: operations, forks, and the collectives of tensor-parallel regions.

A value with several uses is a fork. A value whose readers compute a partial gradient (a linear that brings a sharded axis in) passes
the entry of a tensor-parallel region: under sequence parallelism it is gathered there; its gradient is reduced there, once, after the
fork's sum.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from functools import cached_property

import attrs

from bpir.dialects.bp import TensorType, product
from bpir.dialects.model.rules.layer_view import LayerView
from bpir.dialects.model.rules.layers import free_name, group_of, layer_of, origin_of, part_of, tied_to
from bpir.dialects.model.rules.local import settings_of
from bpir.dialects.model.rules.operation import ModelOperation
from bpir.dialects.model.structure import Return
from bpir.dialects.replicas import REPLICAS
from bpir.ir.diagnostic import fail
from bpir.ir.expressions.expression import ONE, ZERO, Expr
from bpir.ir.operation import Operation, Value
from bpir.passes.distribution.expert_rows import shared_batch
from bpir.passes.distribution.late_sums import late_sums
from bpir.passes.distribution.placement import TENSOR
from bpir.passes.distribution.regions import Regions


@attrs.define(eq=False)
class Flow:
    """A value of forward on one rank: its type (with shards), the layer that makes it, and the layers that read it."""

    type: TensorType
    producer: Layer | None
    name: str
    readers: list[Layer] = attrs.field(factory=list)
    returned: bool = False

    @property
    def uses(self) -> int:
        return len(self.readers) + self.returned


@attrs.define(eq=False, slots=False)
class Layer:
    """One layer: an operation of the decomposed block, a fork, or a collective."""

    name: str
    kind: str
    origin: str
    operation: Operation
    rule: ModelOperation | None
    operands: list[Flow]
    results: list[Flow]
    view: LayerView
    mask: Flow | None = None  # of a dropout
    replicas: tuple[str, ...] = ()  # the mesh axes of replicas of the batch

    @property
    def is_collective(self) -> bool:
        return self.kind in ("input_collective", "output_collective")

    @cached_property
    def differentiable(self) -> list[tuple[int, Flow]]:
        """The operands that have a gradient, with their places."""
        return [(i, self.operands[i]) for i in self.rule.with_gradient(self.operation)] if self.rule is not None else []

    @property
    def is_constant(self) -> bool:
        """Whether nothing flows back through it: an operation without gradients and weights, or what is behind such a one."""
        if self.rule is not None:
            return not self.differentiable and self.view.weights is ZERO
        producer = self.operands[0].producer
        return producer is not None and producer.is_constant

    @property
    def tied(self) -> str:
        """The layer whose table it reads; empty if it has weights of its own, or none."""
        return tied_to(self.operation) if self.rule is not None else ""

    @cached_property
    def weight_types(self) -> tuple[TensorType, ...]:
        """The weights, each with the shards that it has in common with what the layer reads and gives."""
        if self.rule is None:
            return ()
        local = self.view.local
        results = [flow.type for flow in self.results]
        return self.rule.weight_types(part_of(self.rule, local.settings, [flow.type for flow in self.operands], results, local.first_use))

    @cached_property
    def partial_weights(self) -> tuple[bool, ...]:
        """Of each weight whether ranks share a dimension of its result that it lacks: tokens, or the heads of a norm over the head size.

        The gradient of the weight, a sum over that dimension, is then a part on each.
        """
        if self.rule is None:
            return ()
        factors = self.rule.factors(self.operation)
        return tuple(
            any(TENSOR in axes and factor not in weight for factor, axes in zip(tensor, flow.type.axes, strict=True))
            for weights, tensor, flow in zip(factors.weights, factors.results, self.results, strict=True)
            for weight in weights
        )

    @cached_property
    def copied_over(self) -> tuple[str, ...]:
        """The mesh axes whose ranks hold the same weights, each with its own part of the batch; none for a layer without weights."""
        own = {axis for type in self.weight_types for names in type.axes for axis in names}
        return tuple(axis for axis in self.replicas if axis not in own) if self.weight_types else ()

    @cached_property
    def summed_weights(self) -> list[TensorType]:
        """The weights whose gradients are summed over the ranks."""
        return [type for type, partial in zip(self.weight_types, self.partial_weights, strict=True) if partial]


class Graph:
    """Builds the layers of a decomposed block in forward order."""

    def __init__(self, block: Operation, regions: Regions, mesh: dict[str, Expr], rows: Container[Value] | None = None) -> None:
        self.rows = rows  # the values that lie with their experts, where ranks share experts and the batch
        self.block = block
        self.regions = regions
        self.mesh = mesh
        self.layers: list[Layer] = []
        self.names = {layer_of(operation) for operation in block.body}
        self.heads: set[Layer] = set()  # the first layer behind the entry of each region
        self.flows: dict[Value, Flow] = {}
        self.entered: dict[Value, Flow] = {}  # the flow behind the entry of a region, by value
        self.late = late_sums(block, regions.axes) if self._collective() else set()
        self.arguments = [self._flow(value, self._type(value), None, f"x{index}") for index, value in enumerate(block.arguments)]
        self.results: list[Flow] = []
        self._uses = _uses(block)
        for operation in block.body:
            if Return.of(operation) is not None:
                if any(len(self._uses[v]) > 1 and {reader for reader, _ in self._uses[v]} == {operation} for v in operation.operands):
                    raise fail("a value is returned twice, and no layer reads it, where its gradients could be summed", operation.span)
                self.results = [self.flows[v] for v in operation.operands]
                for flow in self.results:
                    flow.returned = True
            else:
                self._operation(operation)

    def copy_weights(self, share: Callable[[Expr, Expr], Expr]) -> None:
        """Say of each layer how many ranks hold its weights, and what a rank has where they share them.

        Args:
            share: of elements and the number of ranks.
        """
        replicas = tuple(axis for axis in REPLICAS if axis in self.mesh)
        for layer in self.layers:
            layer.replicas = replicas
            over = layer.copied_over
            if over and layer.rule is not None:
                copies = product(self.mesh[axis] for axis in over)
                view, whole = layer.view, layer.rule.weight_types(layer.view.local)
                shares = tuple(share(type.elements, copies) for type in whole)
                layer.view = LayerView(view.kind, view.rule, view.local, view.uses, view.gradients, copies, shares)

    def _flow(self, value: Value, type: TensorType, producer: Layer | None, name: str) -> Flow:
        found = self.flows[value] = Flow(type, producer, value.name or name)
        return found

    def _type(self, value: Value) -> TensorType:
        assert isinstance(value.type, TensorType)
        owner = value.owner.declaration if isinstance(value.owner, Operation) else None
        type = self.regions.type(value.type, isinstance(owner, ModelOperation) and owner.every_token)
        return type if self.rows is None else shared_batch(type, value in self.rows)

    def _entering(self, value: Value) -> list[Operation]:
        return [reader for reader, index in self._uses[value] if self._enters(reader, index)]

    def _enters(self, operation: Operation, index: int) -> bool:
        """Whether the operation begins a region that has collectives at its borders with the operand.

        So does one that multiplies partial sums with the operand: of the operand's gradient each rank has a part, too.
        """
        if not self._collective():
            return False
        rule = operation.declaration
        factor = isinstance(rule, ModelOperation) and index in rule.factors_of_sums
        return self.regions.enters(operation, index) or (factor and not self.late.isdisjoint(operation.operands))

    # --- layers

    def _operation(self, operation: Operation) -> None:
        rule = operation.declaration
        assert isinstance(rule, ModelOperation)
        for value in dict.fromkeys(operation.operands):
            self._before(operation, value)
        operands = [self.entered[v] if self._enters(operation, i) else self.flows[v] for i, v in enumerate(operation.operands)]
        self._check_tokens(operation, rule, operands)
        types = self._result_types(operation, rule, operands)
        kind = operation.kind
        layer = self._layer(layer_of(operation), kind, operation, rule, operands, types)
        entering = any(self.regions.enters(operation, index) for index in range(len(operands)))
        if entering and not any(flow.producer in self.heads for flow in operands):
            self.heads.add(layer)
        for value, flow in zip(operation.results, layer.results, strict=True):
            flow.name = value.name or flow.name
            leaves = bool(flow.type.unreduced) and value not in self.late
            self.flows[value] = self._exit(operation, value, flow) if leaves else flow

    def _result_types(self, operation: Operation, rule: ModelOperation, operands: Sequence[Flow]) -> list[TensorType]:
        """The types of the results: partial sums where the operation contracts a shared axis, or passes partial sums."""
        types = []
        for index, value in enumerate(operation.results):
            type = self._type(value)
            late = any(operands[i].type.unreduced for i in rule.factors(operation).lane_of_result(index).operands)
            partial = late or (self._collective() and self.regions.contracts(operation, index))
            types.append(type.gathered(TENSOR).partial(TENSOR) if partial else type)
        return types

    def _exit(self, operation: Operation, value: Value, flow: Flow) -> Flow:
        """Put the collective that reduces a partial sum at the end of a region."""
        name = self.free(f"{group_of(layer_of(operation))}.output_collective", operation)
        exit = self._layer(name, "output_collective", operation, None, [flow], [self._type(value)])
        exit.results[0].name = f"{flow.name}_sum"
        return exit.results[0]

    @staticmethod
    def _check_tokens(operation: Operation, rule: ModelOperation, operands: Iterable[Flow]) -> None:
        """Under sequence parallelism an operation between regions works token by token."""
        factors = rule.factors(operation)
        for flow, tensor in zip(operands, factors.operands, strict=True):
            for dim, axes, factor in zip(flow.type.dims, flow.type.axes, tensor, strict=True):
                if axes and factor in factors.whole:
                    raise fail(
                        f"'{layer_of(operation)}' needs the axis {dim.text} whole, and sequence parallelism shards it: use "
                        "communication = all_reduce, or shard the heads",
                        operation.span,
                    )

    def _before(self, operation: Operation, value: Value) -> None:
        """Put the fork and the entry of a region where the first reader of a value stands that has a gradient for it."""
        uses = [(reader, index) for reader, index in self._uses[value] if _has_gradient(reader, index)]
        if not uses or self.flows[value].type.is_index:
            return
        entering = self._entering(value)
        outside = len(uses) - len(entering)
        group = group_of(layer_of(operation))
        if operation is uses[0][0] and outside + bool(entering) > 1:
            region = all(self.regions.enters(*use) for use in uses)  # one rank has no entry before the fork
            name = self._fork_name(value, group, [reader for reader, _ in uses], region)
            self._fork(name, operation, value, outside + bool(entering))
            if region:
                self.heads.add(self.layers[-1])
        if entering and operation is entering[0]:
            self._enter(operation, value, group, len(entering))

    def _fork_name(self, value: Value, group: str, readers: Iterable[Operation], region: bool) -> str:
        """A fork is called after the layer of its group that makes the value, or after the group; before projections `qkv_fork`."""
        producer = self.flows[value].producer
        if producer is None or group_of(producer.name) != group or producer.is_collective:
            return f"{group}.qkv_fork" if region else f"{group}.fork"
        projections = all(isinstance(reader.declaration, ModelOperation) and reader.declaration.brings_axes for reader in readers)
        return f"{group}.qkv_fork" if projections else f"{producer.name}.fork"

    def _fork(self, name: str, operation: Operation, value: Value, uses: int) -> None:
        flow = self.flows[value]
        fork = self._layer(self.free(name, operation), "fork", operation, None, [flow], [flow.type], uses)
        fork.results[0].name = flow.name
        self.flows[value] = fork.results[0]

    def _enter(self, operation: Operation, value: Value, group: str, uses: int) -> None:
        flow = self.flows[value]
        name = self.free(f"{group}.input_collective", operation)
        entry = self._layer(name, "input_collective", operation, None, [flow], [flow.type.gathered(TENSOR)]).results[0]
        entry.name = f"{flow.name}_gathered" if self.regions.sequence_parallel else flow.name
        flow = entry
        if uses > 1:
            fork = self._layer(self.free(f"{group}.qkv_fork", operation), "fork", operation, None, [flow], [flow.type], uses)
            fork.results[0].name = flow.name
            self.heads.add(fork)
            flow = fork.results[0]
        self.entered[value] = flow

    def _collective(self) -> bool:
        """Whether regions have collectives at their borders."""
        return self.regions.parallel and bool(self.regions.axes)

    def free(self, name: str, operation: Operation) -> str:
        """The name of a layer that the model does not have, or another one where the file has taken it."""
        return free_name(name, layer_of(operation), self.names)

    def _layer(
        self,
        name: str,
        kind: str,
        operation: Operation,
        rule: ModelOperation | None,
        operands: list[Flow],
        types: list[TensorType],
        uses: int = 1,
    ) -> Layer:
        seen: set[Flow] = set()
        first = []
        for flow in operands:
            first.append(flow not in seen)
            seen.add(flow)
        settings = settings_of(operation) if rule is not None else ()
        local = part_of(rule, settings, [flow.type for flow in operands], types, first, self.mesh)
        layer = Layer(name, kind, origin_of(operation), operation, rule, operands, [], LayerView(kind, rule, local, uses, uses))
        layer.results = [Flow(t, layer, kind) for t in types]
        if rule is not None and rule.masked:
            layer.mask = Flow(TensorType(types[0].dims, types[0].axes, ONE, ()), layer, "mask")
        for flow in operands:
            flow.readers.append(layer)
        self.layers.append(layer)
        return layer

    def __iter__(self) -> Iterator[Layer]:
        return iter(self.layers)

    def origin(self, flow: Flow) -> Flow:
        """The flow behind forks and entries that change nothing: the value itself."""
        while flow.producer is not None and self.is_identity(flow.producer):
            flow = flow.producer.operands[0]
        return flow

    def is_identity(self, layer: Layer) -> bool:
        """Whether forward does nothing: a fork, or the entry of a region whose gradient is reduced by an all-reduce."""
        return layer.kind == "fork" or (layer.kind == "input_collective" and not self.regions.sequence_parallel)

    def bytes(self, flow: Flow) -> Expr:
        """The bytes of a flow on one rank."""
        return flow.type.local(self.mesh).bytes


def _uses(block: Operation) -> dict[Value, list[tuple[Operation, int]]]:
    """The readers of each value, each with its operand's number, in order."""
    found: dict[Value, list[tuple[Operation, int]]] = {}
    for operation in block.body:
        for index, value in enumerate(operation.operands):
            found.setdefault(value, []).append((operation, index))
    return found


def _has_gradient(reader: Operation, index: int) -> bool:
    """Whether an operation has a gradient for one of its operands, or returns it."""
    rule = reader.declaration
    return not isinstance(rule, ModelOperation) or index in rule.with_gradient(reader)
