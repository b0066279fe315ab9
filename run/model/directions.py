"""Whether the model's own gradients are right: directional derivatives by the complex step, which no gradient rule takes part in.

For an analytic function `f` the imaginary part of `f(x + ihv)/h` is the derivative along `v` up to `h**2`, without any cancellation
(Squire and Trapp 1998), so `h` is tiny. Where an operation chooses by comparison, its semantics compare real parts.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bpir.run.call import Array
from bpir.run.model.graph import Graph
from bpir.run.model.reference import Gradients, Values, draw, evaluate

STEP = 1e-30


def largest_deviation(
    graph: Graph, inputs: Sequence[Array], values: Values, seeds: Sequence[Array], found: Gradients, floor: float
) -> tuple[float, str]:
    """The largest relative deviation along one random direction of each input and weight alone, and where it is."""
    worst, place = 0.0, ""
    for index, value in enumerate(graph.inputs):
        if inputs[index].dtype.kind == "i":
            continue
        direction = draw(f"direction {index}", inputs[index].shape)
        moved = [a + 1j * STEP * direction if i == index else a for i, a in enumerate(inputs)]
        slope = _slope(graph, evaluate(graph, moved, values.weights, 0), seeds)
        worst, place = max((worst, place), (_deviation(slope, found.values.get(value), direction, floor), f"input {index}"))
    for key, weight in values.weights.items():
        step = graph.steps[key[0]]
        direction = draw(f"direction {key[1]} {step.name}", weight.shape)
        moved_weights = {**values.weights, key: weight + 1j * STEP * direction}
        slope = _slope(graph, evaluate(graph, inputs, moved_weights, 0), seeds)
        name = f"weight {key[1]} of '{step.layer}'"
        worst, place = max((worst, place), (_deviation(slope, found.weights.get(key), direction, floor), name))
    return worst, place


def _slope(graph: Graph, values: Values, seeds: Sequence[Array]) -> float:
    """The derivative of the weighted sum of results."""
    return float(sum(np.sum(seed * values.arrays[v].imag) for v, seed in zip(graph.results, seeds, strict=True)) / STEP)


def _deviation(slope: float, gradient: Array | None, direction: Array, floor: float) -> float:
    """The distance of the slope from that of the gradient, relative to the usual size of a sum of such terms."""
    terms = np.zeros(1) if gradient is None else gradient * direction
    usual = max(float(np.sqrt(np.sum(terms * terms))), floor)
    deviation = abs(slope - float(np.sum(terms))) / usual
    return deviation if deviation == deviation else float("inf")
