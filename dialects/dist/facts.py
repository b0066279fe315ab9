"""Memory facts of training: bytes of a layer by what they hold, and of a block's activations."""

from __future__ import annotations

from collections.abc import Iterable


from bpir.dialects.bp import Vector, vector_action
from bpir.ir.attributes import Attribute
from bpir.ir.declaration import ATTRIBUTE_BODIES, GRAMMARS, Fragment
from bpir.ir.expression import Expr


class LayerMemory(Vector):
    """`#dist.memory<weight = ..., activation = ..., ...>`: the bytes of one layer on one rank.

    `activation` is what the layer's gradients make the block keep (`A_l`), `output` the result (`O_l`); `weight_gradient` is the share after
    sharding, `weight_gradient_unsharded` the fp32 accumulator before.
    """

    mnemonic = "dist.memory"
    weight: Expr
    activation: Expr
    output: Expr
    weight_gradient: Expr
    weight_gradient_unsharded: Expr
    activation_gradient: Expr
    optimizer: Expr


class Activations(Vector):
    """`#dist.activations<working = ..., stored = ..., checkpoint = ...>`: the bytes of a block's activations on one rank."""

    mnemonic = "dist.activations"
    working: Expr
    stored: Expr
    checkpoint: Expr


GRAMMARS.setdefault("dist", []).append(
    Fragment(
        'dist_memory_body: (bp_work_item ("," bp_work_item)*)? -> dist_memory_body\n'
        'dist_activations_body: (bp_work_item ("," bp_work_item)*)? -> dist_activations_body\n',
        {
            "dist_memory_body": vector_action(LayerMemory, "memory fact"),
            "dist_activations_body": vector_action(Activations, "activation fact"),
        },
    )
)
ATTRIBUTE_BODIES.update({"dist.memory": "dist_memory_body", "dist.activations": "dist_activations_body"})
