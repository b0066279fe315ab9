"""The `concrete` dialect: one rank's plan bound to a machine. The envelope is common; `extension.py` says how a target adds its own."""

from bpir.dialects.concrete import contract, envelope, extension
from bpir.ir.dialect import Dialect, declare

declare(Dialect("concrete", "concrete", "ConcretePlanIR", uses=("plan",)))

__all__ = ["contract", "envelope", "extension"]
