"""Memory facts of training: bytes of a layer by what they hold, and of a block's activations; and the operations that state them."""

from __future__ import annotations

from bpir.dialects.bp import Vector, vector_action
from bpir.dialects.dist.parts import Components
from bpir.ir.declaration import ATTRIBUTE_BODIES, GRAMMARS, Fragment, OperationDeclaration, Problems
from bpir.ir.expressions.expression import Expr
from bpir.ir.operation import Operation
from bpir.ir.property_parts import Text, Words
from bpir.ir.syntax import Clause, Operands


class LayerMemory(Vector):
    """`#dist.memory<weight = ..., activation = ..., ...>`: the bytes of one layer on one rank.

    `activation` is what the layer's gradients make the block keep (`A_l`), `output` its result (`O_l`); `weight_gradient` the share after
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


DROPPED = ("activation", "output", "reused")


class MemoryFacts(OperationDeclaration):
    """The memory of one layer: bytes by what they hold; `dropped` says what is not stored until backward, or counted elsewhere."""

    layer = Text()
    facts = Components(kind=LayerMemory, keyword="holds", start="dist_memory_body")
    dropped = Words()

    def verify(self, operation: Operation, report: Problems) -> None:
        words = MemoryFacts(operation).dropped
        for word in words:
            if word not in DROPPED:
                report.error(operation, f"unknown word '{word}', expected one of: {', '.join(DROPPED)}")
        if len(set(words)) != len(words):
            report.error(operation, "a word of 'dropped' is said twice")


class Memory(MemoryFacts):
    """`dist.memory "attention.query_key" keeps %q, %k`, then the bytes: what a layer keeps, and the values that are charged to it."""

    name = "dist.memory"
    syntax = (
        MemoryFacts.layer,
        Clause("keeps", (Operands(),), line=False),
        Clause("dropped", (MemoryFacts.dropped,), line=False),
        MemoryFacts.facts,
    )


class ActivationFacts(OperationDeclaration):
    """The activations of a block: the working set, what is stored until backward, and the checkpoint."""

    layer = Text()
    facts = Components(kind=Activations, keyword="holds", start="dist_activations_body")


class BlockActivations(ActivationFacts):
    """`dist.activations "block"`, then the bytes: the working set, what is stored until backward, and the checkpoint."""

    name = "dist.activations"
    syntax = (ActivationFacts.layer, ActivationFacts.facts)
