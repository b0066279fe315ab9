"""Attention: the fused operation of inference, the parts of training, and the KV cache."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import attrs
import numpy as np

from bpir.dialects.model.rules.reads import operand
from bpir.run.call import Array, Call
from bpir.run.operations.base import TOKEN_RANK, Semantics, T
from bpir.run.operations.elementwise import CAP, softmax

if TYPE_CHECKING:
    from bpir.run.model.graph import Builder, Node


def _by_head(array: Array) -> Array:
    """`batch x tokens x heads x size` as `batch x heads x tokens x size`, and back."""
    return array.transpose(0, 2, 1, 3)


def _repeated(shared: Array, heads: int) -> Array:
    """`batch x heads x ...` with each head as often as query heads share it (Ainslie et al. 2023)."""
    return np.repeat(shared, heads // shared.shape[1], axis=1)


def _summed(gradient: Array, heads: int) -> Array:
    """The gradient of what `_repeated` took: the sum over the query heads that share a head."""
    batch, all_heads, *matrix = gradient.shape
    return np.asarray(gradient.reshape(batch, heads, all_heads // heads, *matrix).sum(axis=2))


HEADS = 2
"""The place of the heads among the dimensions."""


class BatchMatmul(Semantics):
    """One matrix product for each sequence and head; `transposed`, the second operand is `batch x n x heads x k`.

    Query heads may share heads of the second operand, each of which then has the sum of their gradients.
    """

    kind = "batch_matmul"
    gradient_reads = (operand(0), operand(1))

    def forward(self, call: Call) -> list[Array]:
        call.between(call.operands[0].array.shape[1], call.operands[1].array.shape[1])
        a = _by_head(call.read(0))
        b = _repeated(_by_head(call.read(1)), a.shape[1])
        return [_by_head(call.matmul(a, b.swapaxes(2, 3) if "transposed" in call.says else b))]

    def gradient(self, call: Call) -> list[Array]:
        call.between(call.operands[1].array.shape[1], call.operands[2].array.shape[1])
        dc, a, shared = (_by_head(call.read(i)) for i in range(3))
        b = _repeated(shared, a.shape[1])
        if "transposed" in call.says:
            da, db = call.matmul(dc, b), call.matmul(dc.swapaxes(2, 3), a)
        else:
            da, db = call.matmul(dc, b.swapaxes(2, 3)), call.matmul(a.swapaxes(2, 3), dc)
        return [_by_head(da), _by_head(_summed(db, shared.shape[1]))]


class Attention(Semantics):
    """Scores, softmax, dropout of the probabilities in training, product with V (Vaswani et al. 2017, equation 1).

    Every query token sees every visible token: a mask would change values, and no size; which scores count is counted token by token.
    In inference K and V of the block's own new tokens, or with a `context`, go to a cache first; others (an encoder's) are all that is
    visible. Nothing divides the scores: a factor belongs to Q.
    """

    kind = "attention"
    roles = ("query", "key", "value")
    in_place = (0,)

    def expand(self, builder: Builder, node: Node) -> list[int]:
        query, key, value = node.operands
        new, window = "context" in node.sizes or node.new_tokens, node.windows[0]
        if not builder.training:
            if builder.maker(key) != "kv_append" and new:
                key, value = builder.append(node, key, value, window)
            cached = builder.maker(key) == "kv_append"
            return [builder.step(self.kind, node, (query, key, value), causal=cached, window=window)]
        scores = builder.step("batch_matmul", node, (query, key), "query_key", frozenset({"transposed"}), causal=new, window=window)
        if "softcap" in node.says:
            scores = builder.step("softcap", node, (scores,), "softcap")
        weights = builder.step("softmax", node, (scores,), "softmax", node.says & {"sinks"})
        if "dropout" in node.says:
            weights = builder.step("dropout", node, (weights,), "probability_dropout")
        return [builder.step("batch_matmul", node, (weights, value), "probability_value", frozenset(), causal=new, window=window)]

    def weight_dims(self, x: Sequence[T], y: Sequence[T], says: frozenset[str], own: Sequence[T] = ()) -> tuple[tuple[T, ...], ...]:
        return (tuple(x[HEADS : HEADS + 1]),) if "sinks" in says else ()

    def forward(self, call: Call) -> list[Array]:
        call.between(call.operands[0].array.shape[1], call.operands[1].array.shape[1])
        query = _by_head(call.read(0))
        key, value = (_repeated(_by_head(call.read(i)), query.shape[1]) for i in (1, 2))
        scores = call.matmul(query, key.swapaxes(2, 3))
        call.meter.scratch += scores.size * call.operands[0].width
        if "softcap" in call.says:
            scores = CAP * np.tanh(scores / CAP)
        sinks = call.weight(0)[:, np.newaxis, np.newaxis] if "sinks" in call.says else None
        return [_by_head(call.matmul(softmax(scores, sinks), value))]


class LatentAttention(Semantics):
    """K and V of each head are products of the latent, which all heads share, as they do the rotary key (DeepSeek-AI 2024, section 2.1).

    Absorbed, the products are with Q and with the result.
    """

    kind = "latent_attention"
    own_sizes = ("latent",)
    roles = ("query", "rotary_query", "latent", "rotary_key")
    forms = ("absorbed",)

    def expand(self, builder: Builder, node: Node) -> list[int]:
        query, turned, latent, key = node.operands
        if builder.training:
            new, none = "context" in node.sizes or node.new_tokens, frozenset[str]()
            keys = builder.step("linear", node, (latent,), "key_up", none, features=node.read[0])
            values = builder.step("linear", node, (latent,), "value_up", none, features=node.made[0])
            scores = builder.step("latent_scores", node, (query, turned, keys, key), "query_key", none, causal=new)
            weights = builder.step("softmax", node, (scores,), "softmax", none)
            return [builder.step("batch_matmul", node, (weights, values), "probability_value", none, causal=new)]
        if builder.maker(latent) != "kv_append" and ("context" in node.sizes or node.new_tokens):
            latent, key = builder.append(node, latent, key)
        node = attrs.evolve(node, sizes={**node.sizes, "latent": node.read[2][0]})
        return [builder.step(self.kind, node, (query, turned, latent, key), features=node.made[0])]

    def weight_dims(self, x: Sequence[T], y: Sequence[T], says: frozenset[str], own: Sequence[T] = ()) -> tuple[tuple[T, ...], ...]:
        return ((*own, *x[TOKEN_RANK:]), (*own, *y[TOKEN_RANK:]))

    def forward(self, call: Call) -> list[Array]:
        query, turned = _by_head(call.read(0)), _by_head(call.read(1))
        latent, key = call.read(2)[:, np.newaxis], call.read(3)[:, np.newaxis]
        to_keys, to_values = (call.weight(i, 1).transpose(1, 0, 2) for i in (0, 1))  # heads x latent x size
        held = call.meter.scratch
        if "absorbed" in call.says:
            absorbed = call.matmul(query, to_keys.swapaxes(1, 2))
            scores = call.matmul(absorbed, latent.swapaxes(2, 3)) + call.matmul(turned, key.swapaxes(2, 3))
            seen = call.matmul(softmax(scores), latent)
            result, held = call.matmul(seen, to_values), held + (absorbed.size + seen.size) * call.operands[0].width
        else:
            keys, values = call.matmul(latent, to_keys), call.matmul(latent, to_values)
            scores = call.matmul(query, keys.swapaxes(2, 3)) + call.matmul(turned, key.swapaxes(2, 3))
            result, held = call.matmul(softmax(scores), values), held + (keys.size + values.size) * call.operands[0].width
        call.meter.scratch = held + scores.size * call.operands[0].width
        return [_by_head(result)]


class LatentScores(Semantics):
    """Scores by heads, and with the rotary key that all heads share, whose gradient is the sum over them."""

    kind = "latent_scores"
    gradient_reads = (operand(0), operand(1), operand(2), operand(3))

    def forward(self, call: Call) -> list[Array]:
        call.between(call.operands[0].array.shape[1], call.operands[2].array.shape[1])
        query, turned, keys = (_by_head(call.read(i)) for i in range(3))
        key = call.read(3)[:, np.newaxis]
        return [_by_head(call.matmul(query, keys.swapaxes(2, 3)) + call.matmul(turned, key.swapaxes(2, 3)))]

    def gradient(self, call: Call) -> list[Array]:
        call.between(call.operands[1].array.shape[1], call.operands[3].array.shape[1])
        ds, query, turned, keys = (_by_head(call.read(i)) for i in range(4))
        key = call.read(4)[:, np.newaxis]
        of_query, of_turned = call.matmul(ds, keys), call.matmul(ds, key)
        of_keys = call.matmul(ds.swapaxes(2, 3), query)
        of_key = call.matmul(ds.swapaxes(2, 3), turned).sum(axis=1)
        return [_by_head(of_query), _by_head(of_turned), _by_head(of_keys), of_key]


class KvAppend(Semantics):
    """The new K and V go behind what the cache holds; all visible tokens come out (Pope et al. 2022, section 3.3).

    Of new tokens more than the cache can hold all are visible, and the last are held.
    """

    kind = "kv_append"
    roles = ("key", "value")

    def expand(self, builder: Builder, node: Node) -> list[int]:
        known = [window for window in node.windows if window is not None]
        window = max(known) if known and len(known) == len(node.windows) else None
        return list(node.operands) if builder.training else builder.append(node, node.operands[0], node.operands[1], window)

    def forward(self, call: Call) -> list[Array]:
        found, written = [], Fraction(0)
        for index in range(2):
            new, cache = call.read(index), call.operands[index + 2]
            before = max(cache.array.shape[1] - new.shape[1], 0)
            written += new.size * cache.width
            found.append(np.concatenate([cache.array[:, :before], new], axis=1))
        call.meter.written = written
        return found
