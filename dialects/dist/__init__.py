"""The `dist` dialect: one rank's tasks of a distributed block."""

from bpir.dialects.dist import memory, parts, tasks

__all__ = ["memory", "parts", "tasks"]
