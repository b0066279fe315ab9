"""The `dist` dialect: one rank's tasks of a distributed block."""

from bpir.dialects.dist import memory, parts, tasks

USES = ("bp", "model")
STARTS = ("dist_mesh_body",)

__all__ = ["memory", "parts", "tasks"]
