"""Is one module a correct derivation of another? Chooses the rules by the levels of the two."""

from __future__ import annotations

from typing import Protocol

from bpir.dialects.levels import DistributedTaskIR
from bpir.ir.diagnostic import Diagnostic, fail
from bpir.ir.operation import Operation
from bpir.verifiers.findings import Findings
from bpir.verifiers.statements import Claim
from bpir.verifiers.structure.levels import level_of, place_of

LEVELS = ("model", "dist", "plan", "concrete")
"""Every level, each derived from the one before."""


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
    """The verifier of the boundary of two modules; it adds every claim that it makes to `claims`.

    Raises:
        DiagnosticError: no derivation leads from the level of the one to that of the other.
    """
    boundary = (level_of(source), level_of(target))
    if boundary == ("model", "dist"):
        if any(block.is_training or block.memory for block in DistributedTaskIR(target).blocks):
            from bpir.verifiers.training.module import TrainingVerifier

            return TrainingVerifier(source, target, claims)
        from bpir.verifiers.distribution.module import DistributionVerifier

        return DistributionVerifier(source, target, claims)
    if boundary == ("dist", "plan"):
        from bpir.verifiers.planning.module import PlanVerifier

        return PlanVerifier(source, target, claims)
    if boundary == ("plan", "concrete"):
        from bpir.verifiers.binding.module import BindingVerifier

        return BindingVerifier(source, target, claims)
    raise fail(_no_boundary(*boundary), place_of(target))


def _no_boundary(source: str, target: str) -> str:
    """Why no derivation leads from one level to the other, and what could be verified instead."""
    for which, level in (("first", source), ("second", target)):
        if not level:
            return f"the {which} module holds no operation of a level ({', '.join(LEVELS)}), so nothing is derived there"
    places = LEVELS.index(source), LEVELS.index(target)
    if places[0] == places[1]:
        return f"both modules are of the level {source}, and a derivation leads from one level to the next"
    if places[0] > places[1]:
        return f"a {target} module is not derived from a {source} module: name the {target} module first, as SOURCE"
    between = LEVELS[places[0] + 1 : places[1]]
    steps = ", ".join(f"{one} against {other}" for one, other in zip((*between, target), (source, *between), strict=True))
    lies = " and ".join(f"a {level} module" for level in between)
    return f"between a {source} and a {target} module lie{'s' * (len(between) == 1)} {lies}; verify each step: {steps}"
