"""Macros to operations."""

from __future__ import annotations

from bpir.dialects.model.macro import expand
from bpir.ir.operation import Operation, clone
from bpir.passes.base import TransformationPass
from bpir.passes.context import PassContext


class ExpandBlocksPass(TransformationPass):
    """Replaces each `model.transformer_block` by the operations that it stands for; distribution does so by itself."""

    name = "expand-blocks"
    source = "model"

    def run(self, module: Operation, context: PassContext) -> Operation:
        result = expand(module)
        return clone(result) if result is module else result
