"""What a decoder-only Transformer is made of: the one description that families fill in and from which the text is written."""

from __future__ import annotations

import attrs


@attrs.frozen
class Layer:
    """What one layer of a model may have other than its neighbours."""

    window: bool = False  # it sees the last tokens only
    rotary: bool = True  # it turns queries and keys by their positions


@attrs.frozen
class Decoder:
    """A decoder-only Transformer. Sizes are numbers of elements; a fraction or a factor is what a configuration holds.

    Attributes:
        layers: the layers in their order.
        width, vocabulary, heads, kv_heads, head_size, feed_forward: sizes as in the papers (H, V, h, g, d, F).
        window: tokens that a layer with a window sees.
        rotary: how many elements of a head are turned; 0 if positions are not rotary.
        positions: rows of a learned table of positions; 0 if there is none.
        alibi: whether scores get a bias by distance (Press et al. 2022), which has no weights.
        norm: `rms_norm` or `layer_norm`; `norm_weights` is `gamma` if a layer norm has no beta, `none` if it has no weights.
        order: where the norms of a block stand (`importer/blocks.py`): `before`, `after` (of the residual stream), `between`
            (of the sublayers' results), `around` (both sides of a sublayer), `parallel` (one norm, both sublayers read it),
            `parallel_two` (a norm for each).
        query_key_norm: `none`, `head` (over the head size, the same weights for all heads), `heads` (over the head size, weights for
            each head), `whole` (over all heads together).
        activation: the name of an operation of the language: `silu`, `gelu_erf`, ...
        gated: whether a second projection is multiplied with the activation.
        qkv_bias, output_bias, mlp_bias, head_bias: which projections have a bias.
        score_cap, logit_cap: whether scores and logits are capped by a hyperbolic tangent.
        embedding_scale, residual_scale, logit_scale: whether these are multiplied by a number.
        embedding_width: the width of the table of tokens where it is not that of the residual stream; 0 otherwise.
        embedding_norm, final_norm: whether there is a norm after the embedding, before the head.
        tied: whether the head is the embedding's table.
        embedding_dropout, attention_dropout, residual_dropout: whether training has a dropout there.
        element: the type of weights and activations.
    """

    layers: tuple[Layer, ...]
    width: int
    vocabulary: int
    heads: int
    kv_heads: int
    head_size: int
    feed_forward: int
    activation: str
    tied: bool
    window: int = 0
    rotary: int = 0
    positions: int = 0
    alibi: bool = False
    norm: str = "rms_norm"
    norm_weights: str = ""
    order: str = "before"
    query_key_norm: str = "none"
    gated: bool = True
    qkv_bias: bool = False
    output_bias: bool = False
    mlp_bias: bool = False
    head_bias: bool = False
    score_cap: bool = False
    logit_cap: bool = False
    embedding_scale: bool = False
    residual_scale: bool = False
    logit_scale: bool = False
    embedding_width: int = 0
    embedding_norm: bool = False
    final_norm: bool = True
    embedding_dropout: bool = False
    attention_dropout: bool = False
    residual_dropout: bool = False
    element: str = "bf16"
