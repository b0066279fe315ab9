"""Which layers backward repeats: attention's, those of its core, or all on which a kept value depends."""

from __future__ import annotations

from collections.abc import Iterable

from bpir.dialects.model.attention import BatchMatmul
from bpir.ir.records import Interned
from bpir.passes.training.graph import Flow, Graph, Layer


class Attention(metaclass=Interned):
    """The attention of a block, fused or written by hand: a softmax between two batched products, with operations element by element only.

    Attributes:
        repeated: the products that give scores, softmax, and the dropout of its result (Korthikanti et al. 2022, section 5).
        products: the products that read the probabilities; Megatron-LM's checkpoint of the core repeats them as well.
    """

    repeated: frozenset[Layer]
    products: frozenset[Layer]


def attention_of(graph: Graph) -> Attention:
    """Every attention of a block; any other softmax is not repeated."""
    scored, multiplied = _behind_products(graph), _before_products(graph)
    softmaxes = [s for s in graph if s.kind == "softmax" and s.operands[0] in scored and s.results[0] in multiplied]
    behind, products = _followed(softmaxes)
    dropouts = {
        layer for layer in behind if layer.rule is not None and layer.rule.masked and graph.origin(layer.operands[0]).producer in softmaxes
    }
    repeated = {*softmaxes, *_scores(softmaxes), *(layer for layer in dropouts if layer.results[0] in multiplied)}
    return Attention(frozenset(repeated), frozenset(products))


def _behind_products(graph: Graph) -> set[Flow]:
    """What comes from a batched product, element by element."""
    found: set[Flow] = set()
    for layer in graph:
        if _is_product(layer) or (_is_pointwise(layer) and not found.isdisjoint(layer.operands)):
            found.update(layer.results)
    return found


def _before_products(graph: Graph) -> set[Flow]:
    """What reaches a batched product, element by element."""
    found: set[Flow] = set()
    for layer in reversed(graph.layers):
        if _is_product(layer) or (_is_pointwise(layer) and not found.isdisjoint(layer.results)):
            found.update(layer.operands)
    return found


def _is_pointwise(layer: Layer) -> bool:
    """Whether the layer works element by element, or is a fork, which does nothing in forward."""
    return layer.kind == "fork" if layer.rule is None else layer.rule.pointwise


def _is_product(layer: Layer) -> bool:
    """Whether the layer is a batched product, as of Q and K, or of probabilities and V."""
    return isinstance(layer.rule, BatchMatmul)


def _scores(softmaxes: Iterable[Layer]) -> set[Layer]:
    """The products that feed a softmax."""
    found: set[Layer] = set()
    seen: set[Flow] = set()
    stack = [softmax.operands[0] for softmax in softmaxes]
    while stack:
        flow = stack.pop()
        producer = flow.producer
        if flow in seen or producer is None:
            continue
        seen.add(flow)
        if _is_product(producer):
            found.add(producer)
        elif _is_pointwise(producer):
            stack.extend(producer.operands)
    return found


def _followed(softmaxes: Iterable[Layer]) -> tuple[set[Layer], set[Layer]]:
    """The operations element by element on the result of a softmax, and the products at their end."""
    passed: set[Layer] = set()
    products: set[Layer] = set()
    stack = [softmax.results[0] for softmax in softmaxes]
    while stack:
        for reader in stack.pop().readers:
            if _is_product(reader):
                products.add(reader)
            elif _is_pointwise(reader) and reader not in passed:
                passed.add(reader)
                stack.extend(reader.results)
    return passed, products


def closure(flows: Iterable[Flow]) -> frozenset[Layer]:
    """Every layer on which one of the flows depends: all that is computed again from the block's inputs."""
    found: set[Layer] = set()
    stack = [flow.producer for flow in flows]
    while stack:
        layer = stack.pop()
        if layer is not None and layer not in found:
            found.add(layer)
            stack.extend(flow.producer for flow in layer.operands)
    return frozenset(found)
