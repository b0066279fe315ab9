"""The model on whole arrays: its values, and its gradients by the same steps backwards."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence

import attrs
import numpy as np

from bpir.dialects.model.rules.reads import MASK, Read
from bpir.run.call import Array, Call, Operand
from bpir.run.model.graph import Graph, Step
from bpir.run.operations import SEMANTICS
from bpir.run.operations.elementwise import DROPPED

WeightKey = tuple[int, int]
"""A step, and which of its weights."""


def draw(name: str, shape: Sequence[int]) -> Array:
    """Random numbers that depend on the name alone, of mean 0 and variance 1."""
    return np.random.Generator(np.random.PCG64(zlib.crc32(name.encode()))).standard_normal(tuple(shape))


def draw_indices(name: str, shape: Sequence[int]) -> Array:
    """Random numbers of rows that depend on the name alone."""
    return np.random.Generator(np.random.PCG64(zlib.crc32(name.encode()))).integers(0, 1000, tuple(shape))


def drawn_mask(step: Step, shape: Sequence[int]) -> Array:
    """The mask of a dropout over a whole tensor: every rank cuts its part from it, in every phase."""
    uniform = np.random.Generator(np.random.PCG64(zlib.crc32(f"mask {step.name}".encode()))).random(tuple(shape))
    return uniform >= DROPPED


def drawn_cache(step: Step, index: int, shape: Sequence[int], new: int) -> Array:
    """K or V as the cache holds it before the run: nothing (NaN) where the `new` tokens will be.

    Two attentions that read the same K and V see the same past, whether the text has one cache for them or two.
    """
    cache = draw(f"cache {step.operands[index]}", shape)
    cache[:, max(cache.shape[1] - new, 0) :] = np.nan
    return cache


def drawn_weight(step: Step, index: int, shape: tuple[int, ...]) -> Array:
    """A weight: vectors near 1, matrices such that a product keeps the size of its operand."""
    values = draw(f"weight {index} {step.name}", shape)
    return 1 + values / 4 if len(shape) == 1 else values / float(np.sqrt(values.size / shape[-1]))


@attrs.define(eq=False)
class Values:
    """One run of a graph.

    Attributes:
        arrays: by the number of the value.
        masks: of the dropouts, by step.
        weights: what was used; a weight is drawn where none was given.
        context: the number of visible tokens of inference, of which the block's own are the last.
    """

    arrays: dict[int, Array]
    weights: dict[WeightKey, Array]
    masks: dict[int, Array] = attrs.field(factory=dict)
    context: int = 0

    def position(self, array: Array) -> int:
        """The position in the sequence of the first token of a whole array."""
        return max(self.context - int(array.shape[1]), 0)

    def read(self, step: Step, what: Read) -> Array:
        """The values that a gradient reads."""
        if what is MASK:
            return self.masks[step.index]
        return self.arrays[what.choose(step.operands, step.results, -1)]


def evaluate(graph: Graph, inputs: Sequence[Array], weights: Mapping[WeightKey, Array], context: int) -> Values:
    """Run the steps; `context` is the number of visible tokens of inference."""
    values = Values(dict(zip(graph.inputs, inputs, strict=True)), dict(weights), context=context)
    for step in graph.steps:
        operands = [values.arrays[v] for v in step.operands]
        positions = [values.position(array) for array in operands]
        if step.kind == "kv_append":
            new, held = operands[0].shape[1], context if step.window is None else min(context, step.window)
            operands += [drawn_cache(step, i, (a.shape[0], held, *a.shape[2:]), new) for i, a in enumerate(operands)]
            positions += [0] * len(positions)
        call = Call(
            [Operand(array, position=position) for array, position in zip(operands, positions, strict=True)],
            _weights(graph, step, operands[0], values.weights),
            step.says,
            step.features,
            lambda step=step, shape=operands[0].shape: drawn_mask(step, shape),  # type: ignore[misc]
            own=[(0, size, size) for size in step.own],
            causal=step.causal,
            window=step.window,
            sizes=step.sizes,
        )
        results = SEMANTICS[step.kind].forward(call)
        if step.kind == "dropout":
            values.masks[step.index] = results.pop()
        values.arrays.update(zip(step.results, results, strict=True))
    return values


def _weights(graph: Graph, step: Step, x: Array, known: dict[WeightKey, Array]) -> list[Array]:
    features = step.features or x.shape[2:]
    shapes = SEMANTICS[step.kind].weight_dims(x.shape, (*x.shape[:2], *features), step.says, step.own)
    if step.tied and (step.index, 0) not in known:
        known[step.index, 0] = _table(graph, step, (*features, *x.shape[2:]), known)
    for index, shape in enumerate(shapes):
        if (step.index, index) not in known:
            known[step.index, index] = drawn_weight(step, index, shape)
    return [known[step.index, index] for index in range(len(shapes))]


def _table(graph: Graph, step: Step, shape: tuple[int, ...], known: dict[WeightKey, Array]) -> Array:
    """The table of the layer that a step is tied to."""
    owner = next((other for other in graph.steps if other.layer == step.tied), None)
    key = (owner.index, 0) if owner is not None else (-1, 0)
    table = known[key] if key in known else drawn_weight(owner or step, 0, shape)
    if owner is not None:
        known[key] = table
    return table


def with_gradient(step: Step, indices: Sequence[bool]) -> list[int]:
    """The operands of a step that have a gradient: no numbers of rows (`indices`), and not what it takes as constants."""
    return [index for index, wrong in enumerate(indices) if not wrong and index not in SEMANTICS[step.kind].constants]


@attrs.frozen(eq=False)
class Gradients:
    """Of a sum of results, each weighted by its seed.

    Attributes:
        values: the gradient of each value.
        parts: what each step adds to the gradient of each of its operands.
        weights: the gradient of each weight.
    """

    values: dict[int, Array]
    parts: dict[tuple[int, int], Array]
    weights: dict[WeightKey, Array]


def differentiate(graph: Graph, values: Values, seeds: Sequence[Array]) -> Gradients:
    """Run the steps backwards, from a seed for each result."""
    found = Gradients({}, {}, {})

    def add(value: int, part: Array) -> None:
        found.values[value] = found.values[value] + part if value in found.values else part

    for value, seed in zip(graph.results, seeds, strict=True):
        add(value, seed)
    for step in reversed(graph.steps):
        if not any(result in found.values for result in step.results):
            continue
        dy = [found.values.get(result, np.zeros_like(values.arrays[result])) for result in step.results]
        semantics = SEMANTICS[step.kind]
        weights = [values.weights[step.index, i] for i in range(len(semantics.weight_dims((0, 0, 0), (0, 0, 0), step.says)))]
        reads = [*dy, *(values.read(step, what) for what in semantics.gradient_reads)]
        places = with_gradient(step, [values.arrays[v].dtype.kind == "i" for v in step.operands])
        own = [(0, size, size) for size in step.own]
        call = Call([Operand(a, position=values.position(a)) for a in reads], weights, step.says, own=own, sizes=step.sizes)
        for index, part in zip(places, semantics.gradient(call) if places else (), strict=True):
            found.parts[step.index, index] = part
            add(step.operands[index], part)
        if weights:
            gradients = _of_weights(step, values, dy)
            found.weights.update({(step.index, i): gradient for i, gradient in enumerate(gradients)})
    return found


def _of_weights(step: Step, values: Values, dy: Sequence[Array]) -> Sequence[Array]:
    """The gradients of the weights of a step, from those of its results."""
    semantics = SEMANTICS[step.kind]
    reads = [*dy, *(values.read(step, what) for what in semantics.weight_gradient_reads)]
    own = [(0, size, size) for size in step.own]
    return semantics.weight_gradient(Call([Operand(a) for a in reads], (), step.says, own=own, sizes=step.sizes))
