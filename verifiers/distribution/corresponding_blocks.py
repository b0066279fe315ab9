"""Which block of a model each distributed block comes from, and whether every one has its own."""

from __future__ import annotations

from collections.abc import Iterator

from bpir.dialects.dist.tasks import Block
from bpir.dialects.levels import DistributedTaskIR
from bpir.dialects.network import blocks, called
from bpir.ir.diagnostic import note
from bpir.ir.operation import Operation
from bpir.verifiers.findings import Findings


def corresponding_blocks(findings: Findings, rule: str, model: Operation, target: DistributedTaskIR) -> Iterator[tuple[Operation, Block]]:
    """Each block of the model that is called, with the distributed one; at the end, refuse those of the model that have none."""
    models = called(model)
    seen: dict[str, Block] = {}
    for block in target.blocks:
        name = block.source
        if name not in models:
            what = "which the network does not call" if name in blocks(model) else "which is no block of the model"
            findings.refuse(rule, block, f"the block comes from '{name}', {what}")
        elif name in seen:
            findings.refuse(rule, block, f"the block '{name}' is distributed twice", note("the first is here", seen[name].span))
        else:
            seen[name] = block
            yield models[name], block
    for name, alone in models.items():
        findings.require(rule, name in seen, alone, f"the block '{name}' of the model has no distributed block")


def verify_used_meshes(findings: Findings, rule: str, target: DistributedTaskIR) -> None:
    """Refuse a mesh on which no block is."""
    used = {block.mesh for block in target.blocks}
    for mesh in target.meshes:
        findings.require(rule, mesh.symbol in used, mesh, f"no block is on the mesh @{mesh.symbol}")
