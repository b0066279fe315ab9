"""Writes further exports of JAX beside those of blocks.py, each with something that others do not have: variants/NAME.mlir.

Run as blocks.py. Those that begin with `refused_` can't be imported.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from blocks import BLOCKS, HERE, PLAIN, SPLIT, Array, B, H, S, d, h, rope_split

X = (B, S, H)


def plain(x: Array) -> Array:
    return x


def attention(x: Array, p: dict[str, Array], turn: Callable[[Array], Array] = plain, change: Callable[[Array], Array] = plain) -> Array:
    """Attention whose Q and K are turned, and whose scores are changed."""
    q, k, v = ((x @ p[name]).reshape(B, S, h, d) for name in "qkv")
    scores = change(jnp.einsum("bqhd,bkhd->bhqk", turn(q), turn(k)) * d**-0.5)
    return x + jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores, -1), v).reshape(B, S, h * d) @ p["out"]


def window(scores: Array) -> Array:
    back = jnp.arange(S)[:, None] - jnp.arange(S)[None]
    return jnp.where((back >= 0) & (back < 5), scores, -jnp.inf)


def capped(scores: Array) -> Array:
    return 50.0 * jnp.tanh(scores / 50.0) + jnp.where(jnp.tril(jnp.ones((S, S))) > 0, 0.0, -1e9)


def alibi(scores: Array) -> Array:
    return scores + (jnp.arange(S)[None] - jnp.arange(S)[:, None]) * 0.1


def interleaved(x: Array) -> Array:
    angle = jnp.arange(S)[:, None] * 10000.0 ** (-jnp.arange(d // 2) / (d // 2))
    cos, sin = jnp.cos(angle)[None, :, None], jnp.sin(angle)[None, :, None]
    one, two = x[..., 0::2], x[..., 1::2]
    return jnp.stack([one * cos - two * sin, one * sin + two * cos], -1).reshape(x.shape)


def partial(x: Array) -> Array:
    return jnp.concatenate([rope_split(x[..., :4]), x[..., 4:]], -1)


def tables(x: Array, p: dict[str, Array], cos: Array, sin: Array) -> Array:
    def turn(y: Array) -> Array:
        swapped = jnp.concatenate([-y[..., d // 2 :], y[..., : d // 2]], -1)
        return y * cos[None, :, None, :] + swapped * sin[None, :, None, :]

    return attention(x, p, turn)


def layers(x: Array, weights: Array) -> Array:
    return jax.lax.scan(lambda carry, w: (carry + jax.nn.relu(carry @ w), None), x, weights)[0]


def two(x: Array, p: dict[str, Array]) -> Array:
    """Two blocks in a row, by the same weights."""
    return attention(attention(x, p), p)


VARIANTS: dict[str, tuple[Callable[..., Array], tuple[Any, ...]]] = {
    "window": (lambda x, p: attention(x, p, change=window), (X, SPLIT)),
    "softcap": (lambda x, p: attention(x, p, change=capped), (X, SPLIT)),
    "interleaved": (lambda x, p: attention(x, p, interleaved), (X, SPLIT)),
    "partial": (lambda x, p: attention(x, p, partial), (X, SPLIT)),
    "tables": (tables, (X, SPLIT, (S, d), (S, d))),
    "two": (two, (X, SPLIT)),
    "weights_first": (lambda p, x: x + jax.nn.gelu(x @ p["up"]) @ p["down"], (PLAIN, X)),
    "refused_alibi": (lambda x, p: attention(x, p, change=alibi), (X, SPLIT)),
    "refused_mask": (lambda x, p, mask: attention(x, p, change=lambda scores: scores + mask), (X, SPLIT, (S, S))),
    "refused_layer_scale": (lambda x, p, g: x + g * (x @ p["up"] @ p["down"]), (X, PLAIN, (H,))),
    "refused_scan": (layers, (X, (3, H, H))),
    "refused_norm": (lambda x, p: x + (x - x.mean(-1, keepdims=True)) / x.std(-1, keepdims=True) @ p["up"] @ p["down"], (X, PLAIN)),
}


def shapes(of: Any) -> Any:
    if isinstance(of, dict):
        return {name: shapes(size) for name, size in of.items()}
    return jax.ShapeDtypeStruct(of, "float32")


def main() -> None:
    folder = HERE / "variants"
    folder.mkdir(exist_ok=True)
    for name, (function, arguments) in VARIANTS.items():
        lowered = jax.jit(function).lower(*map(shapes, arguments)).compiler_ir("stablehlo")
        (folder / f"{name}.mlir").write_text(lowered.operation.get_asm(print_generic_op_form=True))
    # What jax.export writes for other programs: the error function is a rational approximation there.
    from jax._src.interpreters import mlir
    from jax._src.lib.mlir import ir

    block, weights, shape, dtype = BLOCKS["gpt_einsum"]
    exported = jax.export.export(jax.jit(block))(jax.ShapeDtypeStruct(shape, dtype), shapes(weights)).mlir_module()
    with mlir.make_ir_context():
        text = ir.Module.parse(exported).operation.get_asm(print_generic_op_form=True)
    (folder / "exported.mlir").write_text(text)


if __name__ == "__main__":
    main()
