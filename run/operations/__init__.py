"""What each operation computes. A file holds what belongs together; importing it enters its operations into the table."""

from bpir.run.operations import attention, elementwise, linear, macro, norm
from bpir.run.operations.base import SEMANTICS, Semantics

__all__ = ["SEMANTICS", "Semantics", "attention", "elementwise", "linear", "macro", "norm"]
