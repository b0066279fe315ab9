"""One spelling of every expression, and no dead values."""

from __future__ import annotations

from bpir.dialects.bp import symbol_table
from bpir.dialects.levels import ModelIR
from bpir.dialects.model.rules.layers import has_effect
from bpir.ir.operation import Operation, uses
from bpir.passes.base import TransformationPass
from bpir.passes.context import PassContext
from bpir.passes.rewriting import rewrite_module


class CanonicalizePass(TransformationPass):
    """Rewrites expressions by the declared relations (`h*d` becomes `H` where `H = h*d`), and drops model operations nobody uses.

    What has an effect stays: `model.kv_append` writes the cache, whoever reads what it gives.
    """

    name = "canonicalize"

    def run(self, module: Operation, context: PassContext) -> Operation:
        facts = symbol_table(module).declared_facts
        result = rewrite_module(module, facts.reduce)
        for block in ModelIR(result).blocks:
            _drop_dead(block.operation)
        return result


def _drop_dead(block: Operation) -> None:
    body = block.regions[0].blocks[0]
    while True:
        used = uses(body.operations)
        kept = [o for o in body.operations if not o.results or has_effect(o) or any(r in used for r in o.results)]
        if len(kept) == len(body.operations):
            return
        body.operations = kept
