"""Is one module a correct derivation of another? Chooses the rules by the levels of the two."""

from __future__ import annotations

from typing import Protocol

from bpir.ir.diagnostic import Diagnostic, fail
from bpir.ir.operation import Operation
from bpir.verifiers.claims import Claim
from bpir.verifiers.levels import level_of
from bpir.verifiers.rules import Findings


class Verifier(Protocol):
    """The rules of one boundary, about two modules."""

    findings: Findings

    def verify(self) -> list[Diagnostic]:
        """Every violated rule."""


def verify(source: Operation, target: Operation) -> list[Diagnostic]:
    """Every violated rule of the boundary, by name; empty if the derivation is proved for every admissible binding.

    The rules read the two modules and the work rules of the operations, never a pass.
    """
    return verifier(source, target).verify()


def verifier(source: Operation, target: Operation, claims: list[Claim] | None = None) -> Verifier:
    """What verifies the boundary of two modules; it adds every claim that it makes to `claims`.

    Raises:
        DiagnosticError: no derivation leads from the level of the one to that of the other.
    """
    boundary = (level_of(source), level_of(target))
    if boundary == ("model", "dist"):
        if any(operation.name in ("dist.activations", "dist.memory") for operation in target.walk()):
            from bpir.verifiers.training import Training

            return Training(source, target, claims)
        from bpir.verifiers.distribution import Distribution

        return Distribution(source, target, claims)
    if boundary == ("dist", "plan"):
        from bpir.verifiers.planning import Planning

        return Planning(source, target, claims)
    if boundary == ("plan", "concrete"):
        from bpir.verifiers.binding import Binding

        return Binding(source, target, claims)
    names = " and ".join(name or "none" for name in boundary)
    raise fail(f"no derivation leads from the level of the first module to that of the second: {names}", target.span)
