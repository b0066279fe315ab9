"""The network of a distributed model: what each rank runs of its blocks, in order."""

from __future__ import annotations

from bpir.dialects import network
from bpir.dialects.bp.parts import Times
from bpir.dialects.network import Calling, OneOrMore
from bpir.ir.property_parts import Reference, Text
from bpir.ir.syntax import Clause, EntryRegion, Operands, ResultTypes


class Network(network.Network):
    """`dist.network @llama from "llama" (%ids: T) { ... }`: calls of distributed blocks, in the order of the model's network.

    In training each block is called twice, `dist.repeat L @layer forward %x` and, in reverse order, `dist.repeat L @layer backward %dy`:
    that part takes the gradients of what the block returned, and gives those of what it took. Weights are updated after all calls.
    """

    name = "dist.network"
    source = Text()
    syntax = (network.Network.symbol, Clause("from", (source,), optional=False, line=False), EntryRegion())


class Call(Calling):
    """`%x = dist.call @embedding %ids : T`: one pass through a block, whose border types are those of the values."""

    name = "dist.call"
    callee = Reference()
    syntax = (callee, Calling.part, Operands(), ResultTypes(optional=True))
    holders = ("dist.network",)

    @property
    def blocks(self) -> tuple[str, ...]:
        return (self.callee,)


class Repeat(Calling):
    """`%y = dist.repeat L @layer %x : T`: the blocks in order, `L` times; each repetition has its own weights, cache and activations."""

    name = "dist.repeat"
    times = Times()
    callees = OneOrMore()
    syntax = (times, callees, Calling.part, Operands(), ResultTypes(optional=True))
    holders = ("dist.network",)

    @property
    def blocks(self) -> tuple[str, ...]:
        return self.callees
