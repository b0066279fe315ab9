"""Whether some positive integers satisfy relations: a witness, a proof that there is none, or neither within the effort."""

from __future__ import annotations

from bpir.ir.satisfiability.decision import Answer, decide

__all__ = ["Answer", "decide"]
