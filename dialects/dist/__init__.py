"""The `dist` dialect: one rank's tasks of a distributed block."""

from bpir.dialects.dist import facts, memory, parts, tasks

USES = ("bp", "model")
STARTS = ("dist_mesh_body",)

__all__ = ["facts", "memory", "parts", "tasks"]
