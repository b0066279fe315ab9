"""Number, kind and bytes of collectives, against what JAX's shard_map and its automatic differentiation have (`data/jax/`)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support import DATA, read, report, run

ATTENTION = """
    %q, %k, %v = model.linear "attention.qkv" %n : [h x d], [h x d], [h x d]
    %o = model.attention "attention.core" %q, %k, %v context S
    %a = model.linear "attention.output_projection" %o : [H]"""
MLP = """
    %u = model.linear "mlp.expand" {0} : [F]
    %g = model.gelu "mlp.gelu" %u
    %m = model.linear "mlp.contract" %g : [H]"""
BLOCKS = {
    "mlp": (1, MLP.format("%x"), "%m"),
    "gated_mlp": (
        1,
        """
    %g = model.linear "mlp.gate" %x : [F]
    %u = model.linear "mlp.up" %x : [F]
    %a = model.silu "mlp.silu" %g
    %p = model.mul "mlp.multiply" %a, %u
    %m = model.linear "mlp.contract" %p : [H]""",
        "%m",
    ),
    "serial": (
        1,
        f"""
    %n = model.rms_norm "attention.norm" %x{ATTENTION}
    %r = model.add "attention.residual" %a, %x
    %l = model.rms_norm "mlp.norm" %r{MLP.format("%l")}
    %y = model.add "mlp.residual" %m, %r""",
        "%y",
    ),
    "parallel": (
        1,
        f"""
    %n = model.rms_norm "block.norm" %x{ATTENTION}{MLP.format("%n")}
    %s = model.add "block.sum" %a, %m
    %y = model.add "block.residual" %s, %x""",
        "%y",
    ),
    "two_inputs": (
        2,
        """
    %g = model.linear "mlp.gate" %x : [F]
    %u = model.linear "mlp.up" %z : [F]
    %p = model.mul "mlp.multiply" %g, %u
    %m = model.linear "mlp.contract" %p : [H]""",
        "%m",
    ),
}
"""The same blocks as `data/jax/collectives.py` has: inputs, operations, result."""

RECORDED = json.loads((DATA / "jax" / "collectives.json").read_text())


def derived(block: str, scattered: bool) -> dict[str, list[dict[str, Any]]]:
    """The collectives that the derivation has, with the sizes of the recorded run."""
    inputs, operations, result = BLOCKS[block]
    sizes = RECORDED["sizes"]
    arguments = ", ".join(f"%{name}: !bp.tensor<B x S x H, e>" for name in "xz"[:inputs])
    text = f"""
      bp.symbols B, S, H, F, h, d, t, e where t | h, t | F, t | S
      bp.bind B = {sizes["B"]}, S = {sizes["S"]}, H = {sizes["H"]}, F = {sizes["F"]}, h = {sizes["h"]}, d = {sizes["d"]}
      bp.bind t = {sizes["ranks"]}, e = {sizes["element"]}
      bind.strategy @s {{tensor = t, communication = {"reduce_scatter_all_gather" if scattered else "all_reduce"}}}
      model.block @block({arguments}) {{{operations}
        model.return {result}
      }}"""
    rows = report(run(read(text), "distribute-training", "bind-symbols")).tasks
    found: dict[str, list[dict[str, Any]]] = {"forward": [], "backward": []}
    for row in rows:
        if row.collective is not None:
            phase = "forward" if row.phase == "forward" else "backward"
            found[phase].append({"kind": row.collective, "bytes": row.work.msg.integer})
    return {phase: sorted(rows, key=lambda c: (c["kind"], c["bytes"])) for phase, rows in found.items()}


@pytest.mark.parametrize("fact", RECORDED["facts"], ids=lambda f: f"{f['block']}{'-scattered' if f['sequence_parallel'] else ''}")
def test_collectives_are_those_of_jax(fact: dict[str, Any]) -> None:
    found = derived(fact["block"], fact["sequence_parallel"])
    assert found == {"forward": fact["forward"], "backward": fact["backward"]}
