"""The base of every pass: a class whose fields are its options, a pure `run` from one level to the next, and a gate for its result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, TypeVar, cast, get_args, get_origin

from bpir.dialects.levels import ModuleIR
from bpir.ir.diagnostic import Diagnostic, Span
from bpir.ir.operation import Operation
from bpir.ir.records import Record, evolved

if TYPE_CHECKING:
    from bpir.passes.context import PassContext

_S = TypeVar("_S", bound=ModuleIR)
_T = TypeVar("_T", bound=ModuleIR)

Kind = Literal["word", "flag", "symbol", "expression", "expressions", "numbers"]
"""The reader of an option's value, and the type of its field (None where the option is not given):

word        `str`, one of the choices if there are any
flag        `bool`, spelled `true` or `false`
symbol      `str`, the name in `@name`
expression  `Expr`
expressions `tuple[Expr, ...]`, spelled `[EXPRESSION,...]`
numbers     `dict[str, int]`: not one option but all `NAME=INTEGER` that no other field takes; empty if there are none
"""


class Option(metaclass=Record):
    """One option: its name, its meaning, and the spelling of its value."""

    name: str
    help: str
    kind: Kind
    choices: tuple[str, ...]

    @property
    def spelling(self) -> str:
        """The option as a user writes it, with a placeholder for the value."""
        if self.kind == "numbers":
            return "NAME=INTEGER..."
        value = {"flag": "true|false", "symbol": "@NAME", "expression": "EXPRESSION", "expressions": "[EXPRESSION,...]", "word": "WORD"}[
            self.kind
        ]
        return f"{self.name}={'|'.join(self.choices) or value}"


def option(help: str, kind: Kind = "word", choices: Sequence[str] = (), name: str = "") -> Any:
    """A field of a pass that is one of its options; `name` is the option's, where it is not the field's."""
    return Option(name, help, kind, tuple(choices))


class Pass:
    """A unit that a user can name in a pipeline: a derivation from one level to the next, or a transformation that keeps the level.

    The fields of a subclass that are made by `option` are its options, and its docstring is what users read of it. It is a subclass of
    `DerivationPass` or of `TransformationPass`.

    Args:
        spans: where each given option was written, for diagnostics about its value.
        given: the options by name; a field is None (a dictionary of numbers empty) where its option is not given.
    """

    name: ClassVar[str] = ""
    source: ClassVar[str] = ""  # the level that it reads; "" for any
    target: ClassVar[str] = ""  # the level that it writes; "" if it keeps the level
    reads: ClassVar[tuple[str, ...]] = ()  # the bindings that it may read: `workload`, `strategy`, `target`, `deployment`

    fields: ClassVar[Mapping[str, Option]] = {}
    """The options by the field that holds each, in the order in which the class says them."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "__attrs_attrs__" in cls.__dict__:
            raise TypeError(f"the options of {cls.__name__} are its fields; attrs has nothing to add")
        own = {field: value for field, value in cls.__dict__.items() if isinstance(value, Option)}
        cls.fields = {**cls.fields, **{field: evolved(value, name=value.name or field) for field, value in own.items()}}
        for field in own:
            setattr(cls, field, None)

    def __init__(self, *, spans: Mapping[str, Span] | None = None, **given: Any) -> None:
        self.spans: Mapping[str, Span] = spans or {}
        for field, described in self.fields.items():
            setattr(self, field, given.pop(described.name, {} if described.kind == "numbers" else None))
        if given:
            raise TypeError(f"{type(self).__name__} has no option {', '.join(given)}")

    def derived(self, module: Operation, context: PassContext) -> Operation:
        """The module that `run` makes."""
        raise NotImplementedError

    def warnings(self, module: Operation, context: PassContext) -> list[Diagnostic]:
        """Warnings about a module that `run` accepts: what has no effect, and what is rarely meant. Their order is fixed."""
        return []

    def gate(self, source: Operation, target: Operation) -> list[Diagnostic]:
        """The faults of `target` as a derivation of `source`. If one is an error, the pass publishes nothing."""
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
        from bpir.verifiers.derivation import verify

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
    return {described.name: described for described in cls.fields.values()}
