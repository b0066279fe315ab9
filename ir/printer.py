"""IR to text: MLIR's generic form to the letter, or the custom forms that the operations declare.

Custom printing is sugar over the generic rule: an operation that its custom form cannot express is printed in generic form.
Nothing here recurses; printing what was parsed is a fixed point.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import accumulate
from operator import itemgetter
from typing import Any

from bpir.ir.attributes import (
    ArrayAttr,
    Attribute,
    FunctionType,
    StringAttr,
    SymbolRefAttr,
    Type,
    UnitAttr,
    is_bare_word,
    quoted,
    render,
)
from bpir.ir.declaration import Inexpressible, OperationDeclaration, Piece, Signature
from bpir.ir.names import Names
from bpir.ir.operation import Block, Operation, Region, Value, types_of

_Step = Any  # a text, or an iterator of steps
_EACH_ITS_OWN = frozenset((StringAttr, SymbolRefAttr, ArrayAttr))  # names, of which each operation has its own
_PIECE = 1000  # texts of operations or less that make a piece of the output
_REMEMBERED = 20_000  # texts, of what is said again and again


def print_module(module: Operation, generic: bool = False, locations: bool = False) -> str:
    """The text of a module (or of any operation), with a line feed at its end.

    Args:
        module: the operation; a root module without a name or attributes is left out of the custom form.
        generic: print every operation in generic form.
        locations: print `loc(...)` where an operation or a block argument has one.
    """
    return _Printer(module, generic, locations).text()


def printed(module: Operation, generic: bool = False, locations: bool = False) -> Iterator[str]:
    """The same text in pieces, each made when it is asked for: all of it at once may be as large as the module."""
    return _Printer(module, generic, locations).pieces()


def print_with_places(module: Operation, generic: bool = False) -> tuple[str, list[tuple[Operation, int]]]:
    """The text of a module with its locations, and where in it the name of each operation begins, in the order of the text."""
    printer = _PlacedPrinter(module, generic, True)
    text = printer.text()
    lengths = [0, *accumulate(map(len, printer.out))]
    return text, [(operation, lengths[index] + more) for operation, index, more in printer.places]


class _Printer:
    def __init__(self, root: Operation, generic: bool, locations: bool) -> None:
        self.root = root
        self.generic = generic
        self.locations = locations
        self.names = Names(root)
        self.out: list[str] = []
        self._names: dict[str, str] = {}
        self._texts: dict[Attribute, str] = {}
        self._function_types: dict[tuple[tuple[Type, ...], tuple[Type, ...]], str] = {}
        self._dictionaries: dict[tuple[tuple[str, Attribute], ...], str] = {}

    def text(self) -> str:
        for _ in self._steps():
            pass
        return "".join(self.out)

    def pieces(self) -> Iterator[str]:
        """The text, forgotten piece by piece."""
        for _ in self._steps():
            yield "".join(self.out)
            self.out.clear()
        yield "".join(self.out)

    def _steps(self) -> Iterator[None]:
        """Print the root; stops where there is a piece or more."""
        root = self.root
        if not self.generic and _is_bare(root):
            for operation in root.body:
                yield from self._drive(self.operation(operation, "", "builtin"))
                self.out.append("\n")
        else:
            yield from self._drive(self.operation(root, "", "builtin"))
            self.out.append("\n")
        if root.metadata:
            self.out.append(f"\n{root.metadata}\n")

    def _drive(self, first: str | Iterator[_Step]) -> Iterator[None]:
        """Run the generators of nested regions with a stack of our own."""
        if isinstance(first, str):
            self.out.append(first)
            if len(self.out) > _PIECE:
                yield
            return
        out = self.out
        stack = [first]
        while stack:
            for step in stack[-1]:
                if step.__class__ is str:
                    out.append(step)
                    if len(out) > _PIECE:
                        yield
                else:
                    stack.append(step)
                    break
            else:
                stack.pop()

    # --- operations ---

    def operation(self, operation: Operation, indent: str, default: str) -> str | Iterator[_Step]:
        """The text of an operation after `indent`, which is printed too; steps if it has regions.

        Args:
            default: the default dialect at its place.
        """
        declaration = operation.declaration
        if not self.generic and declaration is not None and declaration.syntax is not None:
            pieces = custom_pieces(operation, declaration)
            if pieces is not None:
                return self._custom(operation, declaration, pieces, indent, default)
        if operation.regions:
            return self._with_regions(operation, indent)
        return f"{indent}{self._head(operation)}{self._tail(operation)}"

    def _head(self, operation: Operation) -> str:
        values = self.names.values
        text = self.names.results[operation] if operation.results else ""
        operands = ", ".join([values.get(v) or "%<unknown>" for v in operation.operands]) if operation.operands else ""
        name = self._names.get(operation.name)
        if name is None:
            name = self._names[operation.name] = quoted(operation.name)
        text = f"{text}{name}({operands})"
        if operation.successors:
            text += "[" + ", ".join(self.names.blocks.get(b, "^<unknown>") for b in operation.successors) + "]"
        if operation.properties:
            free = operation.properties.get("")  # any attribute, of an operation without a declaration
            text += f" <{self._dictionary(operation.properties) if free is None else self._text(free)}>"
        return text

    def _tail(self, operation: Operation) -> str:
        text = f" {self._dictionary(operation.attributes)}" if operation.attributes else ""
        key = (types_of(operation.operands), types_of(operation.results))
        type_ = self._function_types.get(key)
        if type_ is None:
            type_ = self._function_types[key] = render(FunctionType(*key))
        text = f"{text} : {type_}"
        return text + self._location(operation.location) if self.locations else text

    def _with_regions(self, operation: Operation, indent: str) -> Iterator[_Step]:
        yield f"{indent}{self._head(operation)} ("
        for index, region in enumerate(operation.regions):
            yield ", {\n" if index else "{\n"
            yield self._region(region, indent, True, "")
            yield indent + "}"
        yield ")" + self._tail(operation)

    def _region(self, region: Region, indent: str, entry_label: bool, default: str) -> Iterator[_Step]:
        inner = indent + "  "
        for index, block in enumerate(region.blocks):
            if index or (entry_label and (block.arguments or not block.operations or block in self.names.targets)):
                yield f"{indent}{self.names.blocks[block]}{self._arguments(block)}:\n"
            for operation in block.operations:
                yield self.operation(operation, inner, default)
                yield "\n"

    def _arguments(self, block: Block, attributes: Sequence[str] = ()) -> str:
        if not block.arguments:
            return ""
        shown = []
        said = iter(attributes)
        for argument in block.arguments:
            text = f"{self.names.values[argument]}: {self._text(argument.type)}{next(said, '')}"
            shown.append(text + self._location(argument.location) if self.locations else text)
        return "(" + ", ".join(shown) + ")"

    def _custom(
        self, operation: Operation, declaration: OperationDeclaration, pieces: list[Piece], indent: str, default: str
    ) -> str | Iterator[_Step]:
        results = self.names.results[operation] if operation.results else ""
        head = f"{indent}{results}{declaration.word(default)}"
        if operation.regions:
            return self._custom_steps(operation, head, pieces, indent, declaration.default_dialect)
        text = head + "".join([self._piece(piece, indent) for piece in pieces])
        return text + self._location(operation.location) if self.locations else text

    def _custom_steps(self, operation: Operation, head: str, pieces: list[Piece], indent: str, default: str) -> Iterator[_Step]:
        yield head
        signed = False
        for piece in pieces:
            if isinstance(piece, Signature):
                yield self._arguments(piece.block, piece.attributes) or "()"
                signed = True
            elif isinstance(piece, Region):
                yield f"{'' if signed else self._arguments(piece.blocks[0])} {{\n"
                yield self._region(piece, indent, False, default)
                yield indent + "}"
            else:
                yield self._piece(piece, indent)
        if self.locations:
            yield self._location(operation.location)

    def _piece(self, piece: Piece, indent: str) -> str:
        if isinstance(piece, str):
            return f"\n{indent}  " if piece == "\n" else piece
        if isinstance(piece, Value):
            return self.names.values.get(piece) or "%<unknown>"
        assert isinstance(piece, Attribute)
        custom = getattr(piece, "custom_pieces", None)
        return self._text(piece) if custom is None else "".join(self._piece(part, indent) for part in custom())

    # --- attributes ---

    def _text(self, attribute: Attribute) -> str:
        found = self._texts.get(attribute)
        if found is None:
            found = render(attribute)
            if len(self._texts) < _REMEMBERED:
                self._texts[attribute] = found
        return found

    def _dictionary(self, entries: dict[str, Attribute]) -> str:
        key = tuple(entries.items())
        found = self._dictionaries.get(key)
        if found is None:
            said = [self._entry(name, attribute) for name, attribute in sorted(key, key=itemgetter(0))]
            found = f"{{{', '.join(said)}}}"
            if len(self._dictionaries) < _REMEMBERED:
                self._dictionaries[key] = found
        return found

    def _entry(self, name: str, attribute: Attribute) -> str:
        word = name if is_bare_word(name) else quoted(name)
        kind = attribute.__class__
        if kind is UnitAttr:
            return word
        return f"{word} = {attribute.text if kind in _EACH_ITS_OWN else self._text(attribute)}"

    def _location(self, location: Attribute | None) -> str:
        return "" if location is None else " " + self._text(location)


class _PlacedPrinter(_Printer):
    """A printer that notes where each operation begins: after how many pieces of the output, and how many characters more."""

    def __init__(self, root: Operation, generic: bool, locations: bool) -> None:
        super().__init__(root, generic, locations)
        self.places: list[tuple[Operation, int, int]] = []

    def operation(self, operation: Operation, indent: str, default: str) -> str | Iterator[_Step]:
        results = self.names.results[operation] if operation.results else ""
        self.places.append((operation, len(self.out), len(indent) + len(results)))
        return super().operation(operation, indent, default)


@cache
def _shown(declaration: OperationDeclaration) -> frozenset[str]:
    """The properties that the custom form of an operation shows."""
    return frozenset(name for part in declaration.syntax or () for name in part.names())


def custom_pieces(operation: Operation, declaration: OperationDeclaration) -> list[Piece] | None:
    """The pieces that the custom form is printed from; None if it cannot express the operation."""
    parts = declaration.syntax
    if parts is None or not _expressible(operation, declaration):
        return None
    try:
        pieces = [piece for part in parts for piece in part.pieces(operation)]
    except (Inexpressible, AttributeError, IndexError, KeyError, TypeError, ValueError):
        return None  # the properties are not what the parts expect
    return pieces if not operation.regions or _shows_regions(operation, parts, pieces) else None


def _shows_regions(operation: Operation, parts: Iterable[object], pieces: Iterable[Piece]) -> bool:
    """Whether the pieces show each region of the operation, but for an empty one that a part hides."""
    shown = [piece for piece in pieces if isinstance(piece, Region)]
    expected = operation.regions
    if any(getattr(part, "hides_empty_region", False) for part in parts):
        expected = [region for region in expected if region.blocks]
    return shown == expected and all(region.blocks for region in shown)


def _expressible(operation: Operation, declaration: OperationDeclaration) -> bool:
    """Whether the custom form has a place for each property, and for attributes if there are any."""
    if operation.successors or not _shown(declaration).issuperset(operation.properties):
        return False
    parts = declaration.syntax or ()
    return not operation.attributes or any(getattr(part, "prints_attributes", False) for part in parts)


def _is_bare(root: Operation) -> bool:
    """Whether a root is a module that says nothing itself, so that its operations alone are printed."""
    if root.name != "builtin.module" or root.properties or root.attributes or root.location is not None:
        return False
    body = root.body  # a module in it alone would be read back as the root
    return _has_plain_block(root) and [operation.name for operation in body[:2]] != ["builtin.module"]


def _has_plain_block(root: Operation) -> bool:
    """Whether an operation has one region of one block without arguments."""
    return len(root.regions) == 1 and len(root.blocks) == 1 and not root.arguments
