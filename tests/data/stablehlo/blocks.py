"""Writes what JAX exports of Transformer blocks: NAME.mlir in MLIR's generic form, and facts.json.

Run with JAX 0.10.2 (`pip install jax==0.10.2`): `python blocks.py`. Facts are counted on the jaxpr, before there is StableHLO: the
operations of its matrix products (2 times the elements of the result times those contracted), and the elements of the weights.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from math import prod
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

HERE = Path(__file__).parent
B, S, H, F, h, g, d = 2, 16, 64, 160, 8, 4, 8
Array = Any


def layer_norm(x: Array, gamma: Array, beta: Array) -> Array:
    mean = x.mean(-1, keepdims=True)
    variance = ((x - mean) ** 2).mean(-1, keepdims=True)
    return (x - mean) / jnp.sqrt(variance + 1e-5) * gamma + beta


def layer_norm_var(x: Array, gamma: Array, beta: Array) -> Array:
    """With jnp.var and rsqrt."""
    return (x - jnp.mean(x, -1, keepdims=True)) * jax.lax.rsqrt(jnp.var(x, -1, keepdims=True) + 1e-6) * gamma + beta


def layer_norm_fast(x: Array, gamma: Array, beta: Array) -> Array:
    """As flax has it: the variance is E[x*x] - E[x]*E[x], not below 0, and the scale is multiplied first."""
    mean, square = jnp.mean(x, -1, keepdims=True), jnp.mean(x * x, -1, keepdims=True)
    scale = jax.lax.rsqrt(jnp.maximum(0.0, square - mean * mean) + 1e-6) * gamma
    return (x - mean) * scale + beta


def rms_norm(x: Array, gamma: Array) -> Array:
    """In f32, whatever the operand is."""
    y = x.astype(jnp.float32)
    return (y * jax.lax.rsqrt(jnp.mean(y * y, -1, keepdims=True) + 1e-5)).astype(x.dtype) * gamma


def rms_norm_one(x: Array, gamma: Array) -> Array:
    """With one added to the weight, as Gemma has it."""
    return x / jnp.sqrt(jnp.mean(jnp.square(x), axis=-1, keepdims=True) + 1e-6) * (1 + gamma)


def rope_rotate(x: Array) -> Array:
    """The halves swapped and turned, as in Hugging Face's Llama; x is batch, tokens, heads, size."""
    half = x.shape[-1] // 2
    angle = jnp.arange(x.shape[1])[:, None] * 10000.0 ** (-jnp.arange(half) / half)
    both = jnp.concatenate([angle, angle], -1)[None, :, None, :]
    turned = jnp.concatenate([-x[..., half:], x[..., :half]], -1)
    return (x * jnp.cos(both) + turned * jnp.sin(both)).astype(x.dtype)


def rope_split(x: Array) -> Array:
    """The halves turned one by one, as in Gemma."""
    half = x.shape[-1] // 2
    angle = jnp.arange(x.shape[1], dtype=jnp.float32)[:, None] * 10000.0 ** (-jnp.arange(half) / half)
    sin, cos = jnp.sin(angle)[None, :, None, :], jnp.cos(angle)[None, :, None, :]
    one, two = jnp.split(x, 2, axis=-1)
    return jnp.concatenate([one * cos - two * sin, two * cos + one * sin], axis=-1)


def causal(scores: Array) -> Array:
    tokens = scores.shape[-1]
    return jnp.where(jnp.tril(jnp.ones((tokens, tokens), bool)), scores, -1e30)


def mlp(x: Array, p: dict[str, Array]) -> Array:
    return jax.nn.gelu(x @ p["up"] + p["up_bias"]) @ p["down"] + p["down_bias"]


def mlp_relu(x: Array, p: dict[str, Array]) -> Array:
    """Without batch."""
    return x + jax.nn.relu(x @ p["up"]) @ p["down"]


def gated(x: Array, p: dict[str, Array]) -> Array:
    m = rms_norm_one(x, p["norm"])
    return x + (jax.nn.silu(m @ p["gate"]) * (m @ p["up"])) @ p["down"]


def gpt(x: Array, p: dict[str, Array]) -> Array:
    """GPT-2, with one weight for Q, K and V and the heads in front of the tokens."""
    n = layer_norm(x, p["norm1"], p["norm1_bias"])
    q, k, v = jnp.split(n @ p["qkv"] + p["qkv_bias"], 3, axis=-1)
    q, k, v = (t.reshape(B, S, h, d).transpose(0, 2, 1, 3) for t in (q, k, v))
    weights = jax.nn.softmax(causal(q @ k.transpose(0, 1, 3, 2) / jnp.sqrt(d)), -1)
    o = (weights @ v).transpose(0, 2, 1, 3).reshape(B, S, h * d)
    r = x + o @ p["out"] + p["out_bias"]
    m = layer_norm(r, p["norm2"], p["norm2_bias"])
    return r + jax.nn.gelu(m @ p["up"] + p["up_bias"]) @ p["down"] + p["down_bias"]


def gpt_einsum(x: Array, p: dict[str, Array]) -> Array:
    """Heads as dimensions of the weights, the exact gelu, no biases."""
    n = layer_norm_var(x, p["norm1"], p["norm1_bias"])
    q, k, v = (jnp.einsum("bsm,mhd->bshd", n, p[name]) for name in ("q", "k", "v"))
    weights = jax.nn.softmax(jnp.einsum("bqhd,bkhd->bhqk", q * d**-0.5, k), -1)
    o = jnp.einsum("bhqk,bkhd->bqhd", weights, v)
    r = x + jnp.einsum("bshd,hdm->bsm", o, p["out"])
    m = layer_norm_var(r, p["norm2"], p["norm2_bias"])
    return r + jax.nn.gelu(m @ p["up"], approximate=False) @ p["down"]


def llama(x: Array, p: dict[str, Array]) -> Array:
    """Grouped heads, repeated for the heads of Q."""
    n = rms_norm(x, p["norm1"])
    q, k, v = (n @ p["q"]).reshape(B, S, h, d), (n @ p["k"]).reshape(B, S, g, d), (n @ p["v"]).reshape(B, S, g, d)
    q, k = rope_rotate(q), rope_rotate(k)
    k, v = jnp.repeat(k, h // g, axis=2), jnp.repeat(v, h // g, axis=2)
    scores = causal(jnp.einsum("bqhd,bkhd->bhqk", q, k) / jnp.sqrt(d).astype(x.dtype))
    weights = jax.nn.softmax(scores.astype(jnp.float32), -1).astype(x.dtype)
    o = jnp.einsum("bhqk,bkhd->bqhd", weights, v).reshape(B, S, h * d)
    r = x + o @ p["out"]
    m = rms_norm(r, p["norm2"])
    return r + (jax.nn.silu(m @ p["gate"]) * (m @ p["up"])) @ p["down"]


def llama_grouped(x: Array, p: dict[str, Array]) -> Array:
    """Grouped heads in five dimensions, nothing repeated; norms of Q and K over the size of a head, as in Qwen3."""
    n = rms_norm(x, p["norm1"])
    q, k, v = (n @ p["q"]).reshape(B, S, h, d), (n @ p["k"]).reshape(B, S, g, d), (n @ p["v"]).reshape(B, S, g, d)
    q, k = rope_split(rms_norm(q, p["q_norm"])), rope_split(rms_norm(k, p["k_norm"]))
    scores = jnp.einsum("bqgrd,bkgd->bgrqk", q.reshape(B, S, g, h // g, d), k) * d**-0.5
    weights = jax.nn.softmax(causal(scores), -1)
    o = jnp.einsum("bgrqk,bkgd->bqgrd", weights, v).reshape(B, S, h * d)
    r = x + o @ p["out"]
    m = rms_norm(r, p["norm2"])
    return r + (jax.nn.silu(m @ p["gate"]) * (m @ p["up"])) @ p["down"]


def attention(n: Array, p: dict[str, Array]) -> Array:
    q, k, v = ((n @ p[name]).reshape(B, S, h, d) for name in ("q", "k", "v"))
    o = jax.nn.dot_product_attention(rope_split(q), rope_split(k), v, is_causal=True)
    return o.reshape(B, S, h * d) @ p["out"]


def parallel(x: Array, p: dict[str, Array]) -> Array:
    """Attention and MLP beside each other, of one norm, as in GPT-J; attention by JAX's own function."""
    n = layer_norm_fast(x, p["norm1"], p["norm1_bias"])
    return x + attention(n, p) + jax.nn.gelu(n @ p["up"] + p["up_bias"]) @ p["down"] + p["down_bias"]


def parallel_two(x: Array, p: dict[str, Array]) -> Array:
    """The same of two norms, as in GPT-NeoX."""
    n, m = layer_norm(x, p["norm1"], p["norm1_bias"]), layer_norm(x, p["norm2"], p["norm2_bias"])
    return (jax.nn.gelu(m @ p["up"], approximate=False) @ p["down"]) + attention(n, p) + x


def multi_query(x: Array, p: dict[str, Array]) -> Array:
    """One head of K and V, and a square of a relu, as in PaLM and Primer."""
    n = rms_norm(x, p["norm1"])
    q, k, v = (n @ p["q"]).reshape(B, S, h, d), n @ p["k"], n @ p["v"]
    weights = jax.nn.softmax(jnp.einsum("bqhd,bkd->bhqk", q, k) / d**0.5, -1)
    o = jnp.einsum("bhqk,bkd->bqhd", weights, v).reshape(B, S, h * d)
    r = o @ p["out"] + x
    return r + jnp.square(jax.nn.relu(rms_norm(r, p["norm2"]) @ p["up"])) @ p["down"]


NORMS = {"norm1": (H,), "norm1_bias": (H,), "norm2": (H,), "norm2_bias": (H,)}
RMS = {"norm1": (H,), "norm2": (H,)}
SPLIT = {"q": (H, h * d), "k": (H, h * d), "v": (H, h * d), "out": (h * d, H)}
GROUPED = {**SPLIT, "k": (H, g * d), "v": (H, g * d)}
PLAIN = {"up": (H, F), "down": (F, H)}
BIASED = {**PLAIN, "up_bias": (F,), "down_bias": (H,)}
GATED = {**PLAIN, "gate": (H, F)}
HEADS = {"q": (H, h, d), "k": (H, h, d), "v": (H, h, d), "out": (h, d, H)}
FUSED = {"qkv": (H, 3 * h * d), "qkv_bias": (3 * h * d,), "out": (h * d, H), "out_bias": (H,)}

BLOCKS: dict[str, tuple[Callable[..., Array], dict[str, tuple[int, ...]], tuple[int, ...], str]] = {
    "mlp": (mlp, BIASED, (B, S, H), "float32"),
    "mlp_relu": (mlp_relu, PLAIN, (S, H), "float32"),
    "gated": (gated, {**GATED, "norm": (H,)}, (B, S, H), "float32"),
    "gpt": (gpt, {**NORMS, **FUSED, **BIASED}, (B, S, H), "float32"),
    "gpt_einsum": (gpt_einsum, {**NORMS, **HEADS, **PLAIN}, (B, S, H), "float32"),
    "llama": (llama, {**RMS, **GROUPED, **GATED}, (B, S, H), "bfloat16"),
    "llama_grouped": (llama_grouped, {**RMS, **GROUPED, **GATED, "q_norm": (d,), "k_norm": (d,)}, (B, S, H), "float32"),
    "parallel": (parallel, {"norm1": (H,), "norm1_bias": (H,), **SPLIT, **BIASED}, (B, S, H), "float32"),
    "parallel_two": (parallel_two, {**NORMS, **SPLIT, **PLAIN}, (B, S, H), "float32"),
    "multi_query": (multi_query, {**RMS, **SPLIT, "k": (H, d), "v": (H, d), **PLAIN}, (B, S, H), "float32"),
}


def products(jaxpr: Any) -> Iterator[int]:
    """The operations of each matrix product of a jaxpr, those of the functions that it calls too."""
    for equation in jaxpr.eqns:
        for value in equation.params.values():
            inner = getattr(value, "jaxpr", None)
            if inner is not None:
                yield from products(inner)
        if equation.primitive.name == "dot_general":
            (contracted, _), _ = equation.params["dimension_numbers"]
            sizes = equation.invars[0].aval.shape
            yield 2 * prod(equation.outvars[0].aval.shape) * prod(sizes[i] for i in contracted)


def main() -> None:
    facts = {}
    for name, (block, shapes, shape, dtype) in BLOCKS.items():
        x = jax.ShapeDtypeStruct(shape, dtype)
        weights = {key: jax.ShapeDtypeStruct(size, dtype) for key, size in shapes.items()}
        lowered = jax.jit(block).lower(x, weights).compiler_ir("stablehlo")
        (HERE / f"{name}.mlir").write_text(lowered.operation.get_asm(print_generic_op_form=True))
        counted = list(products(jax.make_jaxpr(block)(x, weights).jaxpr))
        facts[name] = {"operations": sum(counted), "products": len(counted), "weights": sum(map(prod, shapes.values()))}
    (HERE / "facts.json").write_text(json.dumps(facts, indent=1) + "\n")


if __name__ == "__main__":
    main()
