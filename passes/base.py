"""What a pass is: a class whose fields are its options, a pure `run` from one level to the next, and a gate that its result must pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, TypeVar, cast, get_args, get_origin

import attrs

from bpir.dialects.levels import ModuleIR
from bpir.ir.diagnostic import Diagnostic, Span
from bpir.ir.operation import Operation

if TYPE_CHECKING:
    from bpir.passes.context import PassContext

_S = TypeVar("_S", bound=ModuleIR)
_T = TypeVar("_T", bound=ModuleIR)

Kind = Literal["word", "flag", "symbol", "expression", "numbers"]
"""What the value of an option is, and the type of its field (None where the option is not given):

word        `str`, one of the choices if there are any
flag        `bool`, spelled `true` or `false`
symbol      `str`, the name in `@name`
expression  `Expr`
numbers     `dict[str, int]`: not one option but all `NAME=INTEGER` that no other field takes; empty if there are none
"""

_KEY = "bpir.option"


@attrs.frozen
class Option:
    """What is known of one option: its name, its meaning, and how its value is spelled."""

    name: str
    help: str
    kind: Kind
    choices: tuple[str, ...]

    @property
    def spelling(self) -> str:
        """The option as a user writes it, with a placeholder for the value."""
        if self.kind == "numbers":
            return "NAME=INTEGER..."
        value = {"flag": "true|false", "symbol": "@NAME", "expression": "EXPRESSION", "word": "WORD"}[self.kind]
        return f"{self.name}={'|'.join(self.choices) or value}"


def option(help: str, kind: Kind = "word", choices: Sequence[str] = (), name: str | None = None) -> Any:
    """A field of a pass that is one of its options; `name` is the option's, where it is not the field's."""
    metadata = {_KEY: (help, kind, tuple(choices))}
    if kind == "numbers":
        return attrs.field(factory=dict, kw_only=True, metadata=metadata)
    return attrs.field(default=None, kw_only=True, alias=name, metadata=metadata)


@attrs.define(eq=False)
class Pass:
    """What a user can name in a pipeline: a derivation from one level to the next, or a transformation that keeps the level.

    A subclass is an attrs class; its fields are made by `option`, and its docstring is what users read of it. It is a subclass of
    `DerivationPass` or of `TransformationPass`.
    """

    name: ClassVar[str] = ""
    source: ClassVar[str] = ""  # the level that it reads; "" for any
    target: ClassVar[str] = ""  # the level that it writes; "" if it keeps the level
    reads: ClassVar[tuple[str, ...]] = ()  # the bindings that it may read: `workload`, `strategy`, `target`, `deployment`

    spans: Mapping[str, Span] = attrs.field(factory=dict, kw_only=True, repr=False)
    """Where each given option was written, for diagnostics about its value."""

    def derived(self, module: Operation, context: PassContext) -> Operation:
        """The module that `run` makes."""
        raise NotImplementedError

    def warnings(self, module: Operation, context: PassContext) -> list[Diagnostic]:
        """What a user should know of a module that `run` accepts: what has no effect, and what is rarely meant. In a fixed order."""
        return []

    def gate(self, source: Operation, target: Operation) -> list[Diagnostic]:
        """What is wrong with `target` as a derivation of `source`. If there is an error, the pass publishes nothing."""
        return []


class DerivationPass(Pass, Generic[_S, _T]):
    """A pass from the level `_S` to the level `_T`: the rules of the boundary judge its result.

    The levels are said once, as types, `DerivationPass[ModelIR, DistributedTaskIR]`; so a type checker refuses passes in the wrong order
    (`bpir.passes.chain`).
    """

    source_type: ClassVar[type[ModuleIR]] = ModuleIR
    target_type: ClassVar[type[ModuleIR]] = ModuleIR

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for base in getattr(cls, "__orig_bases__", ()):
            levels = get_args(base)
            if get_origin(base) is DerivationPass and all(isinstance(level, type) for level in levels):
                cls.source_type, cls.target_type = levels
                cls.source, cls.target = cls.source_type.level, cls.target_type.level

    def run(self, ir: _S, context: PassContext) -> _T:
        """The derived module. The one given is not changed, and the same input gives the same result.

        Raises:
            DiagnosticError: the module cannot be derived from.
        """
        raise NotImplementedError

    def derived(self, module: Operation, context: PassContext) -> Operation:
        return self.run(cast(_S, self.source_type(module)), context).module

    def gate(self, source: Operation, target: Operation) -> list[Diagnostic]:
        from bpir.verifiers.boundary import verify

        return verify(source, target)


class TransformationPass(Pass):
    """A pass that keeps the level of its module, as `canonicalize` does."""

    def run(self, module: Operation, context: PassContext) -> Operation:
        """The changed module. The one given stays as it is, and the same input gives the same result.

        Raises:
            DiagnosticError: the module cannot be changed so.
        """
        raise NotImplementedError

    def derived(self, module: Operation, context: PassContext) -> Operation:
        return self.run(module, context)


def options(cls: type[Pass]) -> dict[str, Option]:
    """The options of a pass by name, in the order of its fields."""
    found = {}
    for field in attrs.fields(cls):
        if _KEY in field.metadata:
            found[field.alias] = Option(field.alias, *field.metadata[_KEY])
    return found
