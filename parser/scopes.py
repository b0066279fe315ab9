"""SSA names and block labels: what is visible where, and what was used before it was defined; how much text aliases stand for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bpir.ir.operation import Block, Operation, Region, Value

if TYPE_CHECKING:
    from bpir.ir.attributes import Attribute
    from bpir.ir.declaration import OperationDeclaration

MAXIMUM_EXPANSION = 20_000_000  # bytes of text that all uses of aliases may stand for


class Forward:
    """A value that was used before its definition: the uses are kept until it is defined."""

    __slots__ = ("name", "number", "offset", "operation", "value", "visible")

    def __init__(self, name: str, number: int, value: Value, offset: int, operation: Operation | None) -> None:
        self.name = name  # with `%`
        self.number = number
        self.value = value  # becomes the defined value
        self.offset = offset  # of the first use
        self.operation = operation
        self.visible: list[str] | None = None  # the names of its region, for suggestions


class NameScope:
    """The values visible where the text is read. A nested region hides no name, even if it is isolated from above: as in LLVM."""

    __slots__ = ("forward", "values")

    def __init__(self) -> None:
        self.values: dict[str, Value | list[Value]] = {}  # by name with `%`; a list where several results share a name
        self.forward: dict[tuple[str, int], Forward] = {}


class RegionScope:
    """A region that is being read."""

    __slots__ = ("block", "blocks", "declaration", "default", "defined", "implicit", "label_uses", "region", "start")

    def __init__(self, declaration: OperationDeclaration | None, start: int, default: str = "builtin") -> None:
        self.region = Region()
        self.block: Block | None = None
        self.blocks: dict[str, Block] = {}  # by label with `^`
        self.label_uses: dict[str, int] = {}  # labels that are used and not yet defined: the offset of the first use
        self.defined: list[str] = []  # names to forget at the end of the region
        self.declaration = declaration  # of the operation that holds the region
        self.default = default  # the dialect whose prefix may be left out
        self.implicit = False  # the entry block was made before anything was read
        self.start = start


class Expansion:
    """The text that the uses of aliases stand for: it is bounded, since an alias of aliases of aliases grows without end."""

    __slots__ = ("size", "sizes")

    def __init__(self) -> None:
        self.size = 0  # bytes, of all uses so far
        self.sizes: dict[Attribute, int] = {}

    def use(self, alias: Attribute) -> bool:
        """Count one more use of an alias; whether all uses are still within the bound."""
        size = self.sizes.get(alias)
        if size is None:
            size = self.sizes[alias] = self._size(alias)
        self.size += size
        return self.size <= MAXIMUM_EXPANSION

    def _size(self, alias: Attribute) -> int:
        """The length of an alias's text, counted no further than needed."""
        size = 0
        stack = [iter(alias.pieces())]
        while stack and size <= MAXIMUM_EXPANSION:
            for piece in stack[-1]:
                if isinstance(piece, str):
                    size += len(piece)
                elif piece in self.sizes:
                    size += self.sizes[piece]
                else:
                    stack.append(iter(piece.pieces()))
                    break
            else:
                stack.pop()
        return size
