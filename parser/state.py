"""The state of one parse: names, aliases, memos; what the actions of the grammar work on."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from bpir.ir.attributes import Attribute, Type
from bpir.ir.declaration import ATTRIBUTE_BODIES, DECLARATIONS, TYPE_BODIES, VECTORS, OperationDeclaration, Raw
from bpir.ir.diagnostic import Diagnostic, DiagnosticError, Source, Span, error, fail, note, suggestion
from bpir.ir.operation import Block, Operation, Value
from bpir.parser.engine import Program, run
from bpir.parser.lexer import SPACE, TOKEN, describe_bad_token
from bpir.parser.namespaces import _CLOSED, UPSTREAM
from bpir.parser.scopes import MAXIMUM_EXPANSION, Expansion, Forward, NameScope, RegionScope
from bpir.parser.shortcuts.sums import Sums

if TYPE_CHECKING:
    from bpir.ir.builtin.attributes import Location
    from bpir.ir.expressions.expression import Expr
    from bpir.parser.shortcuts.reuse import Earlier


_MEMO_TEXT = 4096  # longer texts are not remembered
_MEMO_SIZE = 100_000
_NAMESPACE = re.compile(r"[A-Za-z_][A-Za-z0-9_$]*")
_MAXIMUM_REPORTED = 20


class UnknownType(Type):
    """The type of a value that was used in a custom form before its definition."""

    def pieces(self) -> Iterable[str | Attribute]:
        return ("?",)


class ParserState:
    """The state that the engine and the actions share while one text is parsed."""

    def __init__(self, source: Source, program: Program, allow_unregistered: bool, earlier: Earlier | None = None) -> None:
        self.source = source
        self.text = source.text
        self.program = program
        self.allow_unregistered = allow_unregistered
        self.memo: list[dict[str, Any]] = [{}, {}, {}]
        self.sums = Sums(self)
        self.types: dict[str, Type] = {}  # by the whole text of a `!name<...>` token
        self.attributes: dict[str, Attribute] = {}
        self.strings: dict[str, str] = {}
        self.operation_names: dict[str, tuple[str, OperationDeclaration | None]] = {}
        self.attribute_aliases: dict[str, Attribute] = {}
        self.type_aliases: dict[str, Type] = {}
        self.expansion = Expansion()
        self.metadata: list[str] = []
        self.distinct: dict[int, Attribute | None] = {}
        self.location_uses: list[tuple[Operation | Value, str, int]] = []
        self.current: OperationDeclaration | None = None  # of the operation whose parts are being read
        self.names = NameScope()
        self.regions: list[RegionScope] = [RegionScope(None, 0)]
        self.unresolved: list[Diagnostic] = []
        self.late: list[Operation] = []  # whose result types follow where the whole text has been read
        self.earlier = earlier
        has_generic = '"(' in source.text  # whether an operation in generic form may be in it
        self.wholes = program.wholes if has_generic or earlier is not None else frozenset()
        self.read_whole = program.whole_reader(self) if has_generic else None
        if earlier is not None:
            self.read_whole = earlier.reader(self, self.read_whole).read
        self._bodies: dict[tuple[str, str], Any] = {}

    # --- places ---

    def span(self, start: int, end: int) -> Span:
        return Span(self.source, start, end)

    def skip(self, offset: int) -> int:
        """The offset of the next token."""
        found = SPACE.match(self.text, offset)
        return found.end() if found is not None else offset

    def bad_token(self, offset: int) -> DiagnosticError:
        message, place = describe_bad_token(self.text, offset, len(self.text))
        return fail(message, self.span(place, place + 1))

    def syntax_error(self, program: Program, states: list[int], row: dict[str | int, int], token: Any, finish: int) -> DiagnosticError:
        from bpir.parser.errors import syntax_error  # imported when a user errs

        return syntax_error(self, program, states, row, token, finish)

    # --- memos and bodies ---

    def remember(self, number: int, start: int, end: int, value: Any) -> None:
        if end - start < _MEMO_TEXT and len(self.memo[number]) < _MEMO_SIZE:
            self.memo[number][self.text[start:end]] = value

    def read(self, start: str, begin: int, end: int) -> Any:
        """Parse a part of the text by the start symbol `start`.

        Raises:
            DiagnosticError: the part does not fit, or an action refused it.
        """
        return run(self.program, self, start, begin, end)

    def body(self, start: str, raw: Raw) -> Any:
        """Parse the inside of a body by the start symbol `start`; each distinct text is parsed once."""
        key = (start, raw.text)
        if key in self._bodies:
            return self._bodies[key]
        value = self._vector(start, raw.span.start, raw.span.end)
        if value is None:
            value = self.read(start, raw.span.start, raw.span.end)
        self._bodies[key] = value
        return value

    def _vector(self, start: str, begin: int, end: int) -> Attribute | None:
        """The value of a body `name = expression, ...` that can be read at once; None if the grammar must read it."""
        make = self._vectors.get(start)
        found = self.sums.named(begin, end) if make is not None else None
        return make(found) if make is not None and found is not None else None

    @cached_property
    def _vectors(self) -> dict[str, Callable[[Mapping[str, Expr]], Attribute | None]]:
        """What makes the values of such bodies, by their start symbols."""
        return {ATTRIBUTE_BODIES[mnemonic]: make for mnemonic, make in VECTORS.items() if mnemonic in ATTRIBUTE_BODIES}

    def own_body(self, kind: str, token: str, offset: int, bodies: dict[str, str]) -> Any:
        """The value of `#dialect.name<body>` or `!dialect.name<body>` of one of our dialects."""
        name, _, inside = token[1:].partition("<")
        start = bodies.get(name)
        if start is None:
            raise fail(
                f"unknown {kind} '{token[0]}{name}'{suggestion(token[0] + name, [token[0] + b for b in bodies])}",
                self.span(offset, offset + 1 + len(name)),
            )
        begin = offset + len(name) + 2
        if not inside:
            raise fail(f"expected '<' right after '{token[0]}{name}'", self.span(offset, begin - 1))
        return self.body(start, Raw(inside[:-1], self.span(begin, begin + len(inside) - 1)))

    def own_attribute(self, token: str, offset: int) -> Attribute:
        found: Attribute = self.own_body("attribute", token, offset, ATTRIBUTE_BODIES)
        return found

    def own_type(self, token: str, offset: int) -> Type:
        found: Type = self.own_body("type", token, offset, TYPE_BODIES)
        return found

    def dialect_of(self, name: str, kind: str, offset: int) -> str:
        """The dialect of `#dialect.name` or `!dialect.name`."""
        dialect = name[1:].partition(".")[0]
        if not _NAMESPACE.fullmatch(dialect):
            raise fail(f"'{dialect}' cannot be the name of a dialect", self.span(offset, offset + len(name)))
        if dialect == "builtin":
            raise fail(f"the builtin dialect has no {kind} '{name}'", self.span(offset, offset + len(name)))
        return dialect

    def expand(self, alias: Attribute, offset: int) -> Attribute:
        """Use an alias; refused where all uses so far stand for too much text."""
        if not self.expansion.use(alias):
            raise fail(f"the aliases used so far stand for more than {MAXIMUM_EXPANSION} bytes", self.span(offset, offset + 1))
        return alias

    # --- operation names ---

    def operation_name(self, literal: str, name: str, offset: int) -> tuple[str, OperationDeclaration | None]:
        """The name of a generic operation and its declaration."""
        place = self.span(offset, offset + len(literal))
        if not name:
            raise fail("an operation's name cannot be empty", place)
        if "\0" in name:
            raise fail("an operation's name cannot hold a NUL byte", place)
        declaration = DECLARATIONS.get(name)
        if declaration is None:
            dialect = name.partition(".")[0]
            if dialect in _CLOSED and dialect != name:
                raise fail(f"unknown operation '{name}'{suggestion(name, DECLARATIONS)}", place)
            if dialect in UPSTREAM and dialect != name and self.allow_unregistered:
                self._check_upstream(dialect, name, place)
            if not self.allow_unregistered:
                raise fail(
                    f"operation '{name}' is not registered; use --allow-unregistered-dialect"
                    f" to accept operations of unknown dialects{suggestion(name, DECLARATIONS)}",
                    place,
                )
        self.operation_names[literal] = found = (name, declaration)
        return found

    def _check_upstream(self, dialect: str, name: str, place: Span) -> None:
        from bpir.parser.upstream import OPERATIONS  # a large table, for files that name such a dialect

        known = OPERATIONS.get(dialect, frozenset((name,)))
        if name not in known:
            raise fail(f"the dialect '{dialect}' has no operation '{name}'{suggestion(name, known)}", place)

    def check_owner(self, kind: str, token: str, dialect: str, offset: int) -> None:
        """Refuse a type or attribute of an upstream dialect that has none of that kind."""
        from bpir.parser.upstream import WITHOUT_ATTRIBUTES, WITHOUT_TYPES

        place = self.span(offset, offset + len(token))
        if dialect in (WITHOUT_TYPES if kind == "type" else WITHOUT_ATTRIBUTES):
            raise fail(f"the dialect '{dialect}' has no {kind}s", place)
        if dialect == "quant" and "<" not in token:
            raise fail(f"expected '<' after '{token}'", place)

    # --- values ---

    def use(self, text: str, number: int, offset: int, type_: Type | None, operation: Operation | None) -> Value:
        """The value `text#number`; a placeholder if it is not yet defined. `type_` is the type it must have."""
        found = self.names.values.get(text)
        if found is None:
            key = (text, number)
            forward = self.names.forward.get(key)
            if forward is None:
                value = Value(type_ or UnknownType(), name=text[1:])
                self.names.forward[key] = Forward(text, number, value, offset, operation)
                return value
            value = forward.value
        elif isinstance(found, list):
            if number >= len(found):
                raise fail(f"'{text}' has {len(found)} values, so there is no {text}#{number}", self._use_span(text, offset))
            value = found[number]
        elif number:
            raise fail(f"'{text}' has one value, so there is no {text}#{number}", self._use_span(text, offset))
        else:
            value = found
        if type_ is not None and isinstance(value.type, UnknownType):
            value.type = type_  # what it must turn out to have
        if type_ is not None and value.type is not type_:
            raise fail(
                f"'{text}' has type {value.type} where it is defined or first used, but {type_} is expected here",
                self._use_span(text, offset),
                *self._origin(text, number, value),
            )
        return value

    def _use_span(self, text: str, offset: int) -> Span:
        return self.span(offset, offset + len(text))

    def _origin(self, text: str, number: int, value: Value) -> tuple[Diagnostic, ...]:
        if isinstance(value.owner, Operation):
            return (note(f"'{text}' is defined here", value.owner.span),)
        forward = self.names.forward.get((text, number))
        return (note("it was first used here", self._use_span(text, forward.offset)),) if forward is not None else ()

    def define(self, text: str, values: list[Value], offset: int, single: bool) -> None:
        """Bind a name to the results (or block argument) `values`; placeholders of earlier uses become them."""
        scope = self.names
        name = text[1:]
        if text in scope.values:
            found = scope.values[text]
            first = found[0] if isinstance(found, list) else found
            notes = [note(n.message.replace("is defined", "is first defined"), n.span) for n in self._origin(text, 0, first)]
            raise fail(f"redefinition of value '{text}'", self._use_span(text, offset), *notes)
        if scope.forward:
            for number, value in enumerate(values):
                forward = scope.forward.pop((text, number), None)
                if forward is None:
                    continue
                placeholder = forward.value
                if placeholder.type is not value.type and not isinstance(placeholder.type, UnknownType):
                    raise fail(
                        f"'{text}' is defined with type {value.type}, but was used as {placeholder.type}",
                        self._use_span(text, offset),
                        note("it was used here", self._use_span(text, forward.offset)),
                    )
                placeholder.type, placeholder.owner, placeholder.index = value.type, value.owner, value.index
                placeholder.location = value.location
                values[number] = placeholder
        for value in values:
            value.name = name
        scope.values[text] = values[0] if single else values
        self.regions[-1].defined.append(text)

    # --- regions ---

    def open_region(self, start: int) -> None:
        declaration = self.current
        self.regions.append(RegionScope(declaration, start, self.regions[-1].default))

    def close_region(self) -> RegionScope:
        """Leave a region: labels must be defined by now, and names defined in it are forgotten."""
        scope = self.regions.pop()
        self._check_labels(scope)
        names = self.names.values
        if self.names.forward:
            visible = list(names)  # for suggestions: the names of this region are forgotten now
            for forward in self.names.forward.values():
                if forward.visible is None and forward.offset >= scope.start:
                    forward.visible = visible
        for name in scope.defined:
            del names[name]
        self.current = scope.declaration
        return scope

    def _check_labels(self, scope: RegionScope) -> None:
        for label, offset in scope.label_uses.items():
            raise fail(
                f"use of undefined block '{label}'{suggestion(label, set(scope.blocks) - set(scope.label_uses))}",
                self.span(offset, offset + len(label)),
            )

    def _report_undeclared(self) -> None:
        scope = self.names
        for forward in list(scope.forward.values())[:_MAXIMUM_REPORTED]:
            text = forward.name + (f"#{forward.number}" if forward.number else "")
            self.unresolved.append(
                error(
                    f"use of undeclared value '{text}'{suggestion(forward.name, forward.visible or scope.values)}",
                    self._use_span(forward.name, forward.offset),
                )
            )

    def block(self) -> Block:
        """The block to which operations are added; the entry block is made when it is first needed."""
        scope = self.regions[-1]
        if scope.block is None:
            scope.block = Block([], [], None, scope.region)
            scope.region.blocks.append(scope.block)
        return scope.block

    def block_use(self, label: str, offset: int) -> Block:
        """The block of a label, made if it is not yet defined."""
        scope = self.regions[-1]
        found = scope.blocks.get(label)
        if found is None:
            found = scope.blocks[label] = Block([], [], label[1:], scope.region)
            scope.label_uses[label] = offset
        return found

    def begin_block(self, label: str, offset: int) -> Block:
        """Start the block of a label."""
        scope = self.regions[-1]
        if label in scope.blocks and label not in scope.label_uses:
            raise fail(f"redefinition of block '{label}'", self.span(offset, offset + len(label)))
        found = scope.blocks.get(label) or Block([], [], label[1:], scope.region)
        scope.blocks[label] = found
        scope.label_uses.pop(label, None)
        if scope.implicit and len(scope.region.blocks) == 1 and not scope.region.blocks[0].operations:
            if scope.region.blocks[0].arguments:
                raise fail("the first block has its arguments already, and needs no label", self.span(offset, offset + len(label)))
            scope.region.blocks.clear()  # the label names the entry block itself
            scope.implicit = False
        scope.region.blocks.append(found)
        scope.block = found
        return found

    def locate(self, holder: Operation | Value, location: Any) -> None:
        """Give an operation or argument its location, or remember the alias that it is to have."""
        if isinstance(location, Attribute):
            holder.location = location
        else:
            self.location_uses.append((holder, *location))

    # --- the end ---

    def finish(self) -> None:
        """At the end of the text: nothing may be left undefined.

        Raises:
            DiagnosticError: with every use of an undeclared value and of an undefined location alias.
        """
        self._check_labels(self.regions[-1])
        self._report_undeclared()
        self._resolve_locations()
        if self.unresolved:
            raise DiagnosticError(*sorted(self.unresolved, key=lambda d: d.span.start if d.span is not None else 0))

    def _resolve_locations(self) -> None:
        from bpir.ir.builtin.attributes import Location as LocationClass

        for holder, name, offset in self.location_uses:
            location: Location | Attribute | None = self.attribute_aliases.get(name)
            place = self.span(offset, offset + len(name))
            if location is None:
                self.unresolved.append(error(f"location alias '{name}' is never defined{suggestion(name, self.attribute_aliases)}", place))
            elif not isinstance(location, LocationClass):
                self.unresolved.append(error(f"'{name}' is not a location but {str(location)[:60]}", place))
            else:
                holder.location = location

    def locate_operand(self, offset: int, index: int) -> int:
        """The offset of the operand `index` of an operand list that starts at `offset` (scanned only for a diagnostic)."""
        while True:
            token = TOKEN.match(self.text, offset)
            if token is None or token.lastindex is None or token.end() == len(self.text):
                return offset
            if token.lastindex == 3:
                if index == 0:
                    return token.start(3)
                index -= 1
            offset = token.end()
