"""The declarations of a dialect: each operation once, and the bodies of its attributes and types.

An operation is a subclass of `OperationDeclaration`; its list of syntax parts (`ir/syntax.py`) drives the lark rule, the custom
printer and the generic encoding. Defining the subclass registers it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self, TypeVar

from bpir.ir.attributes import ArrayAttr, Attribute, Type
from bpir.ir.diagnostic import Diagnostic, Span, error, note
from bpir.ir.operation import Block, Operation, Region, Value
from bpir.ir.records import Record

if TYPE_CHECKING:
    from bpir.ir.expressions.expression import Expr
    from bpir.ir.property_parts import Property
    from bpir.ir.syntax_part import Part

_A = TypeVar("_A", bound=Attribute)

Piece = Any
"""A piece of a printed custom form: `str`, `Value`, `Attribute`, `Region`, or the `Signature` of a region whose arguments do not stand
directly before it. A string "\\n" starts a clause line."""


class Signature(metaclass=Record):
    """The arguments of an entry block; `attributes` are the texts that follow their types."""

    block: Block
    attributes: Sequence[str] = ()


class Inexpressible(Exception):
    """A custom form cannot express the operation, which is printed in generic form."""


def wanted(attribute: Attribute | None, kind: type[_A]) -> _A:
    """The attribute of the kind that a custom form can spell.

    Raises:
        Inexpressible: it is of another kind.
    """
    if not isinstance(attribute, kind):
        raise Inexpressible
    return attribute


def wanted_items(attribute: Attribute | None, kind: type[_A]) -> tuple[_A, ...]:
    """The items of an array, one or more, all of the kind that a custom form can spell.

    Raises:
        Inexpressible: it is something else.
    """
    items = tuple(v for v in wanted(attribute, ArrayAttr).values if isinstance(v, kind))
    if not items or len(items) != len(wanted(attribute, ArrayAttr).values):
        raise Inexpressible
    return items


class Raw(metaclass=Record):
    """The inside of a balanced body, as it was written."""

    text: str
    span: Span


class ParseContext(Protocol):
    """The services of the parser for the action of a grammar rule."""

    def body(self, start: str, raw: Raw) -> Any:
        """Parse the inside of a body by the start symbol `start`; each distinct text is parsed once."""


Action = Callable[[ParseContext, list[Any], Span], Any]
"""Called when a rule is reduced: the context, the values of its symbols (keywords and punctuation left out), its place."""


class Fragment(metaclass=Record):
    """A piece of grammar: lark rules, and the actions of their alternatives by alias (`rule: ... -> alias`)."""

    rules: str
    actions: Mapping[str, Action] = MappingProxyType({})


class Draft:
    """The parts of an operation's custom syntax that have been read so far."""

    __slots__ = ("attributes", "operands", "properties", "regions", "result_types", "span")

    def __init__(self, span: Span) -> None:
        self.span = span
        self.operands: list[Value] = []
        self.properties: dict[str, Attribute] = {}
        self.result_types: list[Type] | None = None
        self.regions: list[Region] = []
        self.attributes: dict[str, Attribute] = {}


class Problems:
    """Collects the diagnostics of a verifier."""

    def __init__(self) -> None:
        self.diagnostics: list[Diagnostic] = []

    def error(self, operation: Place | None, message: str, *notes: Diagnostic) -> None:
        self.diagnostics.append(error(message, operation.span if operation is not None else None, *notes))

    @staticmethod
    def note(operation: Place, message: str) -> Diagnostic:
        return note(message, operation.span)


class OperationDeclaration:
    """One kind of operation. Subclasses set the class variables; the docstring is what `--explain` shows.

    The class is a view of its operations, too: the properties that it declares are attributes of `Task(operation)`.

    Attributes:
        operation: the operation that is looked at; the declaration itself (in `DECLARATIONS`) looks at none.
    """

    __slots__ = ("operation",)
    operation: Operation

    name: ClassVar[str] = ""
    syntax: ClassVar[tuple[Part, ...] | None] = None  # None: generic form only
    spelling: ClassVar[str] = ""  # the word that opens the custom form where the dialect is the default, if it is not the name
    default_dialect: ClassVar[str] = "builtin"  # in the regions of the custom form: there a `spelling` may take the place of a name
    graph_region: ClassVar[bool] = False  # forward references are legal inside; else dominance is checked
    in_module: ClassVar[bool] = False  # is in a module, whatever holds the other operations of its dialect
    holders: ClassVar[tuple[str, ...]] = ()  # the operations that it is in, where that is not what its dialect says
    isolated: ClassVar[bool] = False  # values of enclosing regions are not visible inside
    symbol_table: ClassVar[bool] = False  # holds operations with unique `sym_name`
    terminator: ClassVar[bool] = False
    late: ClassVar[bool] = False  # its result types follow from operations that may be behind it (`infer_late`)
    declared: ClassVar[tuple[str, ...]] = ()  # the properties that are attributes of the class, in order
    required: ClassVar[tuple[str, ...]] = ()  # properties without which the operation makes no sense; they follow from the syntax
    optional: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if cls.syntax is not None and cls.__dict__.keys().isdisjoint(("required", "optional")):
            spelled = [name for part in cls.syntax for name in part.names()]
            demanded = {name for part in cls.syntax for name in part.demanded()}
            names = dict.fromkeys((*(name for name in cls.declared if name in spelled), *spelled))
            cls.required = tuple(name for name in names if name in demanded)
            cls.optional = tuple(name for name in names if name not in demanded)
        if "name" in cls.__dict__ and cls.name:
            DECLARATIONS[cls.name] = cls.__new__(cls)

    def __init__(self, operation: Operation) -> None:
        self.operation = operation

    @classmethod
    def of(cls, operation: Operation | None) -> Self | None:
        """The view of the operation, if it is declared by this class or one below."""
        declaration = operation.declaration if operation is not None else None
        return declaration.__class__(operation) if isinstance(declaration, cls) and operation is not None else None

    @classmethod
    def each(cls, operations: Iterable[Operation]) -> list[Self]:
        """The views of those of the operations that are declared by this class or one below, in order."""
        return [o.declaration.__class__(o) for o in operations if isinstance(o.declaration, cls)]

    @classmethod
    def build(
        cls,
        operands: Sequence[Value] = (),
        results: Iterable[Value] = (),
        properties: Mapping[str, Attribute] | None = None,
        regions: Iterable[Region] = (),
        span: Span | None = None,
    ) -> Operation:
        """A new operation that this class declares."""
        declaration = DECLARATIONS[cls.name]
        return Operation(
            cls.name, list(operands), list(results), [], dict(properties or {}), list(regions), span=span, declaration=declaration
        )

    def attributes(self, *parts: Property[Any]) -> dict[str, Attribute]:
        """Those of the properties that the operation has, for another operation that has the same ones."""
        properties = self.operation.properties
        return {part.name: properties[part.name] for part in parts if part.name in properties}

    def says(self, part: Property[Any]) -> bool:
        """Whether the operation has the property: `task.says(Task.matmul)`."""
        return part.name in self.operation.properties

    @property
    def span(self) -> Span | None:
        """The place of the operation in its source text."""
        return self.operation.span

    @property
    def operands(self) -> list[Value]:
        """The operands of the operation."""
        return self.operation.operands

    @property
    def results(self) -> list[Value]:
        """The results of the operation."""
        return self.operation.results

    @property
    def dialect(self) -> str:
        return self.name.partition(".")[0]

    @property
    def short_name(self) -> str:
        """The name without the dialect."""
        return self.name.partition(".")[2]

    def word(self, default: str) -> str:
        """The word that opens the custom form where `default` is the default dialect."""
        return self.spelling if self.spelling and self.dialect == default else self.name

    def infer(self, operation: Operation) -> list[Type] | None:
        """The result types, from operands and properties; None if they must be written.

        Called before the results exist, and by the structural verifier to check those that were written.

        Raises:
            DiagnosticError: the operands do not fit, with the place of the operation.
        """
        return None

    def states_types(self, operation: Operation) -> bool:
        """Whether the text has to say the result types, although they can be inferred: they say more."""
        return False

    def infer_late(self, operations: Sequence[Operation], file: Sequence[Operation]) -> Sequence[Sequence[Type]]:
        """The result types of operations of this kind, which says `late`, once the whole text has been read.

        Args:
            operations: those whose types were left out.
            file: the outermost operations of the text.

        Raises:
            DiagnosticError: they name something that is not there, with their places.
        """
        raise NotImplementedError

    def verify(self, operation: Operation, report: Problems) -> None:
        """Report what is wrong with the operation by itself (its operands, properties, results and regions)."""


Place = Operation | OperationDeclaration
"""The place of a diagnostic: an operation, or a view of one."""


def looked_at(place: Place | None) -> Operation | None:
    """The operation that a diagnostic is about."""
    return place.operation if isinstance(place, OperationDeclaration) else place


DECLARATIONS: dict[str, OperationDeclaration] = {}
"""Every declared operation of the dialects loaded so far, by name."""

GRAMMARS: dict[str, list[Fragment]] = {}
"""Per dialect: grammar that its operations share (bodies of attributes, of types, of clauses)."""

ATTRIBUTE_BODIES: dict[str, str] = {}
"""`dialect.name` of each attribute (`#dialect.name<...>`) to the start symbol that parses its body."""

VECTORS: dict[str, Callable[[Mapping[str, Expr]], Attribute | None]] = {}
"""`dialect.name` of each attribute whose body is `name = expression, ...`, and what makes it; None if a name is not one of its own."""

TYPE_BODIES: dict[str, str] = {}
"""`dialect.name` of each type (`!dialect.name<...>`) to the start symbol that parses its body."""


def declared(dialects: Iterable[str]) -> list[OperationDeclaration]:
    """The operations of the dialects, in order of name."""
    wanted = set(dialects)
    return [DECLARATIONS[name] for name in sorted(DECLARATIONS) if DECLARATIONS[name].dialect in wanted]
