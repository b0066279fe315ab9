"""The `dist` dialect: one rank's tasks of a distributed block."""

from bpir.dialects.dist import all_to_all, facts, forms, memory, network, parts, placement, stages, tasks
from bpir.ir.dialect import Dialect, declare

declare(Dialect("dist", "dist", "DistributedTaskIR", holder="dist.block", uses=("model",), starts=("dist_mesh_body",)))

__all__ = ["all_to_all", "facts", "forms", "memory", "network", "parts", "placement", "stages", "tasks"]
