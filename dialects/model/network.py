"""The network of a model: its blocks, called in order, once or again and again."""

from __future__ import annotations

from bpir.dialects import network
from bpir.dialects.bp.parts import Times
from bpir.dialects.network import Calling, OneOrMore
from bpir.ir.property_parts import Reference
from bpir.ir.syntax import EntryRegion, Operands, ResultTypes


class Network(network.Network):
    """`model.network @llama(%ids: !bp.tensor<B x S, i32>) { ... }`: calls of blocks, and what the whole model returns."""

    name = "model.network"
    syntax = (network.Network.symbol, EntryRegion())


class Call(Calling):
    """`%x = model.call @embedding %ids`: one pass through a block; the results are what the block returns."""

    name = "model.call"
    callee = Reference()
    syntax = (callee, Operands(), ResultTypes("->", inferred=True))
    holders = ("model.network",)

    @property
    def blocks(self) -> tuple[str, ...]:
        return (self.callee,)


class Repeat(Calling):
    """`%y = model.repeat L @layer %x`, `model.repeat 21 [@local, @global] %x`: the blocks in order, `L` times.

    What the last one returns goes to the first one of the next repetition; each repetition has weights, a cache and activations of its own.
    """

    name = "model.repeat"
    times = Times()
    callees = OneOrMore()
    syntax = (times, callees, Operands(), ResultTypes("->", inferred=True))
    holders = ("model.network",)

    @property
    def blocks(self) -> tuple[str, ...]:
        return self.callees
