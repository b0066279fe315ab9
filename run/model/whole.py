"""The model on whole arrays, with which a block is compared."""

from __future__ import annotations

from collections.abc import Sequence

import attrs
import numpy as np

from bpir.run.call import Array
from bpir.run.model.graph import Graph
from bpir.run.model.reference import Gradients, Values, draw

NOISE = 1e-3


@attrs.frozen(eq=False)
class Model:
    """The graph, the whole inputs and seeds, the values and, in training, the gradients."""

    graph: Graph
    inputs: Sequence[Array]
    seeds: Sequence[Array]
    values: Values
    gradients: Gradients | None

    @property
    def floor(self) -> float:
        """A thousandth of the largest number that occurs: what is smaller in a sum with it may be nothing but rounding."""
        gradients = [] if self.gradients is None else [*self.gradients.values.values(), *self.gradients.weights.values()]
        arrays = [array for array in (*self.values.arrays.values(), *gradients) if array.dtype.kind != "i"]
        largest = max((float(np.max(np.abs(array))) for array in arrays), default=0.0)
        return NOISE * max(1.0, largest) if np.isfinite(largest) else NOISE

    def returned(self) -> list[tuple[str, Array]]:
        """The returned values of a block: the results, then in training the gradient of each input."""
        found = [(f"result {i}", self.values.arrays[v]) for i, v in enumerate(self.graph.results)]
        if self.gradients is not None:
            inputs = [v for v in self.graph.inputs if self.values.arrays[v].dtype.kind != "i"]
            gradients = [self.gradients.values.get(v, np.zeros_like(self.values.arrays[v])) for v in inputs]
            found += [(f"the gradient of input {i}", gradient) for i, gradient in enumerate(gradients)]
        return found

    def weight_gradient(self, step: int, index: int) -> Array | None:
        """The gradient of a weight of a step, with those of the steps that are tied to it; None if nothing says it."""
        own = None if self.gradients is None else self.gradients.weights.get((step, index))
        if own is None or self.gradients is None:
            return own
        layer = self.graph.steps[step].layer
        return sum((self.gradients.weights[other.index, 0] for other in self.graph.steps if other.tied == layer), own)

    def part(self, step: int, index: int) -> Array | None:
        """The amount that a step adds to the gradient of one of its operands."""
        return None if self.gradients is None else self.gradients.parts.get((step, index))


def seeds_of(graph: Graph, values: Values) -> list[Array]:
    """The gradient that backward begins with, for each result."""
    return [draw(f"seed {i}", values.arrays[v].shape) for i, v in enumerate(graph.results)]
