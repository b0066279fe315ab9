"""The collectives of blocks under tensor parallelism, as JAX's shard_map and automatic differentiation have them.

    XLA_FLAGS=--xla_force_host_platform_device_count=4 python collectives.py > collectives.json

Each block is written as one rank's part, with the collectives of forward in place (Shoeybi et al. 2019; Korthikanti et al. 2022); those of
backward are what JAX derives. `shard_map` checks which values vary over the mesh axis, so a missing sum is an error of JAX.
Written with jax 0.10.2; bytes are those of float32. Sizes: B = 2, S = 8, H = 16, F = 32, 4 heads of size 4, 4 ranks.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax.sharding import PartitionSpec as P

B, S, H, F, h, d, RANKS = 2, 8, 16, 32, 4, 4, 4
MESH = jax.make_mesh((RANKS,), ("tensor",), axis_types=(jax.sharding.AxisType.Auto,))
COLUMN, ROW, WHOLE = P(None, "tensor"), P("tensor", None), P()
KINDS = {
    "psum": "all_reduce",
    "psum_invariant": "all_reduce",
    "all_gather": "all_gather",
    "all_gather_invariant": "all_gather",
    "reduce_scatter": "reduce_scatter",
}


class Region:
    """The borders of a tensor-parallel region, with the sequence sharded outside it or not."""

    def __init__(self, scattered: bool) -> None:
        self.scattered = scattered

    def enter(self, x: jax.Array) -> jax.Array:
        if self.scattered:
            return jax.lax.all_gather(x, "tensor", axis=1, tiled=True)
        return jax.lax.pcast(x, "tensor", to="varying")

    def leave(self, y: jax.Array) -> jax.Array:
        if self.scattered:
            return jax.lax.psum_scatter(y, "tensor", scatter_dimension=1, tiled=True)
        return jax.lax.psum(y, "tensor")

    def replicated(self, weight: jax.Array) -> jax.Array:
        """A whole weight as the layer reads it: where the tokens are sharded, each rank computes with it on its own."""
        return jax.lax.pcast(weight, "tensor", to="varying") if self.scattered else weight


def norm(region: Region, x: jax.Array, gamma: jax.Array) -> jax.Array:
    return x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-6) * region.replicated(gamma)


def attention(x: jax.Array, w: dict[str, jax.Array]) -> jax.Array:
    """A partial sum of the output projection; x is whole, as it entered the region."""
    q, k, v = ((x @ w[name]).reshape(B, S, h // RANKS, d) for name in ("q", "k", "v"))
    scores = jax.nn.softmax(jnp.einsum("bshd,bchd->bshc", q, k), -1)
    return jnp.einsum("bshc,bchd->bshd", scores, v).reshape(B, S, -1) @ w["o"]


def mlp(region: Region, x: jax.Array, w: dict[str, jax.Array]) -> jax.Array:
    return region.leave(jax.nn.gelu(region.enter(x) @ w["expand"]) @ w["contract"])


def gated(region: Region, x: jax.Array, w: dict[str, jax.Array]) -> jax.Array:
    whole = region.enter(x)
    return region.leave((jax.nn.silu(whole @ w["gate"]) * (whole @ w["up"])) @ w["contract"])


def serial(region: Region, x: jax.Array, w: dict[str, jax.Array]) -> jax.Array:
    x = x + region.leave(attention(region.enter(norm(region, x, w["gamma1"])), w))
    return x + mlp(region, norm(region, x, w["gamma2"]), w)


def parallel(region: Region, x: jax.Array, w: dict[str, jax.Array]) -> jax.Array:
    whole = region.enter(norm(region, x, w["gamma1"]))
    return x + region.leave(attention(whole, w) + jax.nn.gelu(whole @ w["expand"]) @ w["contract"])


def two_inputs(region: Region, x: jax.Array, z: jax.Array, w: dict[str, jax.Array]) -> jax.Array:
    return region.leave(((region.enter(x) @ w["gate"]) * (region.enter(z) @ w["up"])) @ w["contract"])


WEIGHTS = {
    **dict.fromkeys(("q", "k", "v"), ((H, h * d), COLUMN)),
    "o": ((h * d, H), ROW),
    **dict.fromkeys(("expand", "gate", "up"), ((H, F), COLUMN)),
    "contract": ((F, H), ROW),
    **dict.fromkeys(("gamma1", "gamma2"), ((H,), WHOLE)),
}
BLOCKS: dict[str, tuple[Callable[..., Any], int, tuple[str, ...]]] = {
    "mlp": (mlp, 1, ("expand", "contract")),
    "gated_mlp": (gated, 1, ("gate", "up", "contract")),
    "serial": (serial, 1, ("gamma1", "q", "k", "v", "o", "gamma2", "expand", "contract")),
    "parallel": (parallel, 1, ("gamma1", "q", "k", "v", "o", "expand", "contract")),
    "two_inputs": (two_inputs, 2, ("gate", "up", "contract")),
}


def collectives(jaxpr: Any) -> list[dict[str, Any]]:
    """Kind and bytes of every collective in a program, inner ones too: of the whole tensor, before a reduction or after a gather."""
    found = []
    for equation in jaxpr.eqns:
        kind = KINDS.get(equation.primitive.name)
        if kind:
            for source, result in zip(equation.invars, equation.outvars, strict=True):
                side = result if kind == "all_gather" else source
                found.append({"kind": kind, "bytes": side.aval.size * side.aval.dtype.itemsize})
        for value in equation.params.values():
            for inner in value if isinstance(value, (list, tuple)) else (value,):
                if hasattr(inner, "eqns") or hasattr(inner, "jaxpr"):
                    found += collectives(getattr(inner, "jaxpr", inner))
    return found


def facts(name: str, scattered: bool) -> dict[str, Any]:
    block, inputs, names = BLOCKS[name]
    weights = {w: jnp.ones(WEIGHTS[w][0], jnp.float32) for w in names}
    data = [jnp.ones((B, S, H), jnp.float32)] * inputs
    stream = P(None, "tensor", None) if scattered else P()

    @partial(jax.shard_map, mesh=MESH, in_specs=(*[stream] * inputs, {w: WEIGHTS[w][1] for w in names}), out_specs=stream)
    def local(*arguments: Any) -> Any:
        return block(Region(scattered), *arguments)

    def step(dy: jax.Array, *arguments: Any) -> Any:
        y, backward = jax.vjp(local, *arguments)
        return y, backward(dy)

    forward = collectives(jax.make_jaxpr(local)(*data, weights).jaxpr)
    both = collectives(jax.make_jaxpr(step)(data[0], *data, weights).jaxpr)
    for one in forward:
        both.remove(one)
    order = lambda found: sorted(found, key=lambda c: (c["kind"], c["bytes"]))  # noqa: E731
    return {"block": name, "sequence_parallel": scattered, "forward": order(forward), "backward": order(both)}


if __name__ == "__main__":
    sizes = {"B": B, "S": S, "H": H, "F": F, "h": h, "d": d, "ranks": RANKS, "element": 4}
    found = [facts(name, scattered) for name in BLOCKS for scattered in (False, True)]
    lines = ",\n".join("  " + json.dumps(one) for one in found)
    print(f'{{"jax": "{jax.__version__}", "sizes": {json.dumps(sizes)}, "facts": [\n{lines}\n]}}')
