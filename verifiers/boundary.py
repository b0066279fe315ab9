"""Is one module a correct derivation of another? Chooses the rules by the levels of the two."""

from __future__ import annotations

from bpir.ir.diagnostic import Diagnostic, fail
from bpir.ir.operation import Operation
from bpir.verifiers.levels import level_of


def verify(source: Operation, target: Operation) -> list[Diagnostic]:
    """Every violated rule of the boundary, by name; empty if the derivation is proved for every admissible binding.

    The rules read the two modules and the work rules of the operations, never a pass.
    """
    boundary = (level_of(source), level_of(target))
    if boundary == ("model", "dist"):
        if any(operation.name in ("dist.activations", "dist.memory") for operation in target.walk()):
            from bpir.verifiers.training import Training

            return Training(source, target).verify()
        from bpir.verifiers.distribution import Distribution

        return Distribution(source, target).verify()
    if boundary == ("dist", "plan"):
        from bpir.verifiers.planning import Planning

        return Planning(source, target).verify()
    if boundary == ("plan", "concrete"):
        from bpir.verifiers.binding import Binding

        return Binding(source, target).verify()
    names = " and ".join(name or "none" for name in boundary)
    raise fail(f"no derivation leads from the level of the first module to that of the second: {names}", target.span)
