"""SSA names and block labels: what is visible where, and what was used before it was defined."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bpir.ir.operation import Block, Operation, Region, Value

if TYPE_CHECKING:
    from bpir.ir.declaration import OperationDeclaration


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
