"""Derivations in a row, as a program spells them: a type checker refuses those whose levels don't meet.

    chain(DistributeTransformerInferencePass()).then(PlanTransformerInferencePass()).run(ModelIR(module))

is a plan; with the two exchanged mypy says that a pass from `ModelIR` is wanted behind one to `PortablePlanIR`, and finds none.
"""

from __future__ import annotations

from typing import Generic, TypeVar, cast, overload

from bpir.dialects.levels import ModuleIR
from bpir.ir.records import Record
from bpir.passes.base import DerivationPass, Pass, TransformationPass

_S = TypeVar("_S", bound=ModuleIR)
_T = TypeVar("_T", bound=ModuleIR)
_U = TypeVar("_U", bound=ModuleIR)


class Chain(Generic[_S, _T], metaclass=Record):
    """Passes that lead from the level `_S` to the level `_T`.

    Attributes:
        passes: in order.
        target: the type of what comes out.
    """

    passes: tuple[Pass, ...]
    target: type[_T]

    @overload
    def then(self, following: DerivationPass[_T, _U]) -> Chain[_S, _U]: ...

    @overload
    def then(self, following: TransformationPass) -> Chain[_S, _T]: ...

    def then(self, following: DerivationPass[_T, _U] | TransformationPass) -> Chain[_S, _U] | Chain[_S, _T]:
        """The chain with another pass behind it."""
        if isinstance(following, DerivationPass):
            return Chain[_S, _U]((*self.passes, following), _target(following))
        return Chain((*self.passes, following), self.target)

    def run(self, ir: _S) -> _T:
        """The results of the passes on the module; each is verified as `bp-opt` does.

        Raises:
            DiagnosticError: the module is malformed, or a pass, the structure of its result or its gate failed.
        """
        from bpir.ir.printer import print_module
        from bpir.passes.manager import PassManager

        return self.target(PassManager(self.passes, print_module).run(ir.module))


def chain(first: DerivationPass[_S, _T]) -> Chain[_S, _T]:
    """A chain of one pass."""
    return Chain((first,), _target(first))


def _target(derivation: DerivationPass[_S, _T]) -> type[_T]:
    """The level that a derivation leads to, which its class names second."""
    return cast(type[_T], derivation.target_type)
