"""The parts of a decoder-only Transformer: the one description that families fill in and from which the text is written."""

from __future__ import annotations

import attrs


@attrs.frozen
class Layer:
    """The choices in which the layers of one model may differ."""

    window: bool = False  # it sees the last tokens only
    rotary: bool = True  # it turns queries and keys by their positions
    routed: bool = False  # its MLP is a mixture of experts


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
        experts, chosen: how many experts a routed layer has, and how many a token is sent to; 0 if no layer is routed.
        expert_feed_forward: their width.
        shared_feed_forward: the width of the experts that see every token, together; 0 if there are none.
        scores: what makes weights of a router's scores: `softmax` or `sigmoid`.
        router_bias, expert_bias: whether these have a bias.
        latent, query_latent: the width of the latent that K and V are products of, and that of Q's; 0 if there is none. With a latent
            `rotary` is the rotary part of a head, beside `key_size`; `value_size` is the size of V.
        sinks: whether each head has a learned score that takes part in the softmax.
        stored, stored_matrices: the format of quantised matrices, and which they are: `all` but head and router, or `experts`.
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
    experts: int = 0
    chosen: int = 0
    expert_feed_forward: int = 0
    shared_feed_forward: int = 0
    scores: str = "softmax"
    router_bias: bool = False
    expert_bias: bool = False
    latent: int = 0
    query_latent: int = 0
    key_size: int = 0
    value_size: int = 0
    sinks: bool = False
    stored: str = ""
    stored_matrices: str = ""
    element: str = "bf16"

    @property
    def dense(self) -> bool:
        """Whether a layer has an MLP that is no mixture of experts."""
        return any(not layer.routed for layer in self.layers)

    @property
    def expert_letter(self) -> str:
        """The letter of the width of experts: `F`, unless dense layers have that."""
        return "f" if self.dense else "F"

    @property
    def shared_letter(self) -> str:
        """The letter of the width of shared experts."""
        return self.expert_letter if self.shared_feed_forward == self.expert_feed_forward else "s"

    @property
    def widths(self) -> list[int]:
        """The widths of the feed-forward layers that there are."""
        routed = any(layer.routed for layer in self.layers)
        found = [self.feed_forward] if self.dense else []
        return [*found, *([self.expert_feed_forward] if routed else []), *([self.shared_feed_forward] if self.shared_feed_forward else [])]
