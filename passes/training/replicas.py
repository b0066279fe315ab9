"""The tasks of training that replicas of the batch have together: gradients summed over them, updated weights gathered from them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bpir.dialects.bp import TensorType, Work
from bpir.dialects.dist import collective_tasks
from bpir.dialects.dist import tasks as dist
from bpir.dialects.model.rules.conventions import OPTIMIZER_STATES, WEIGHTS
from bpir.dialects.replicas import F32
from bpir.ir.attributes import ArrayAttr, Attribute, StringAttr, UnitAttr
from bpir.ir.diagnostic import fail
from bpir.ir.expressions.expression import ZERO, Expr
from bpir.ir.operation import Value
from bpir.passes.training.graph import Layer

if TYPE_CHECKING:
    from bpir.passes.training.tasks import Tasks


class Replicas:
    """Emits the collectives between the ranks that hold the same weights: one message for all weights of a layer.

    Under ZeRO 0 gradients are summed by an all-reduce. From ZeRO 1 on a reduce-scatter gives each rank a share of their elements, which it
    updates; then the weights are gathered (Rajbhandari et al. 2019, section 7.1). Under ZeRO 3 each rank has a share of the weights, too:
    they are gathered for forward, and again for backward (section 7.2.2).
    """

    def __init__(self, tasks: Tasks) -> None:
        self.tasks = tasks
        self.choices = tasks.convention.choices
        self.shares: dict[Layer, list[Value]] = {}  # the updated weights of a rank that has a share of them
        self.lying: dict[Layer, list[Value]] = {}  # the shares of weights that are gathered for each use
        self.names: dict[tuple[Layer, str], str] = {}
        self.again: dict[Layer, list[Value]] = {}  # the weights that were gathered for what is repeated

    def gradient_type(self, type: TensorType) -> TensorType:
        """The type of the gradient of a weight, as it is kept."""
        return type.of(F32) if self.choices.f32_gradients else type

    def reduce(self, layer: Layer) -> None:
        """Sum the gradients of a layer's weights over the ranks that hold them."""
        over = layer.copied_over
        if not over:
            return
        shares = over if self.choices.zero >= OPTIMIZER_STATES else ()
        operands = self.tasks.weight_gradients[layer]
        results = [Value(self.gradient_type(type).share(*shares)) for type in layer.weight_types]
        kind: type[collective_tasks.Collective] = collective_tasks.ReduceScatter if shares else collective_tasks.AllReduce
        work = self.tasks.convention.replica_reduction(layer.view)
        self._collective(layer, "gradients", kind, operands, results, work, {"reduction": StringAttr("sum")})
        self.tasks.weight_gradients[layer] = results

    def updated(self, layer: Layer) -> list[Value]:
        """What the optimizer gives of a layer: its share of the weights, where they are gathered then."""
        if layer.copied_over and OPTIMIZER_STATES <= self.choices.zero < WEIGHTS:
            self.shares[layer] = [Value(type.share(*layer.copied_over)) for type in layer.weight_types]
        return self.shares.get(layer, [])

    def gather(self, layer: Layer) -> None:
        """Gather the updated weights of a layer."""
        if layer in self.shares:
            results = [Value(type) for type in layer.weight_types]
            work = self.tasks.convention.weight_gather(layer.view)
            self._collective(layer, "weights", collective_tasks.AllGather, self.shares[layer], results, work, {})

    def gathered(self, layer: Layer, phase: str, weights: Expr) -> list[Value]:
        """Gather a layer's weights for a task that reads so many; backward reads those that were gathered for what is repeated."""
        if self.choices.zero < WEIGHTS or not layer.copied_over or weights is ZERO:
            return []
        if phase == "activation_gradient" and layer in self.again:
            return self.again[layer]
        if layer not in self.lying:
            self.lying[layer] = self._shares_of(layer)
        results = [Value(type) for type in layer.weight_types]
        gather_phase = "recommunication" if phase == "recompute" else phase
        work = self.tasks.convention.weight_gather(layer.view)
        self._collective(layer, "weights", collective_tasks.AllGather, self.lying[layer], results, work, {}, gather_phase)
        if phase == "recompute":
            self.again[layer] = results
        return results

    def _shares_of(self, layer: Layer) -> list[Value]:
        """Where the shares of a layer's weights lie."""
        if layer.tied:
            raise fail(f"the weights of '{layer.name}' are tied, and zero = 3 gathers no layer's weights for another", layer.operation.span)
        shares = [Value(type.share(*layer.copied_over)) for type in layer.weight_types]
        properties: dict[str, Attribute] = {"task": StringAttr(self._named(layer, "shares")), "source": StringAttr(layer.origin)}
        properties["layer"] = StringAttr(layer.name)
        self.tasks.out.append(dist.Shares.build((), shares, properties, span=layer.operation.span))
        return shares

    def _named(self, layer: Layer, what: str) -> str:
        """The name of what replicas exchange of a layer, the same in each phase."""
        if (layer, what) not in self.names:
            self.names[layer, what] = self.tasks.graph.free(f"{layer.name}.{what}", layer.operation)
        return self.names[layer, what]

    def _collective(
        self,
        layer: Layer,
        what: str,
        kind: type[collective_tasks.Collective],
        operands: list[Value],
        results: list[Value],
        work: Work,
        said: dict[str, Attribute],
        phase: str = "gradient_reduction",
    ) -> None:
        name = self._named(layer, what)
        properties = {**said, **self.tasks.names(layer, phase, work), "task": StringAttr(f"{name}.{phase}")}
        properties["axes"] = ArrayAttr((ArrayAttr(tuple(map(StringAttr, layer.copied_over))),))
        if kind is not collective_tasks.AllReduce:
            properties["elements"] = UnitAttr()
        self.tasks.out.append(kind.build(operands, results, properties, span=layer.operation.span))
