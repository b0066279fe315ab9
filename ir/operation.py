"""Operations, values, blocks and regions: the tree that every level, pass and verifier works on.

A pass never changes the operations it was given: it builds new ones (`clone` copies a tree).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING

from bpir.ir.attributes import Attribute, Type
from bpir.ir.diagnostic import Span

if TYPE_CHECKING:
    from bpir.ir.declaration import OperationDeclaration


class Value:
    """A result of an operation or an argument of a block.

    Attributes:
        owner, index: what gives it, and its place among the results or arguments.
        name: the name it was written with, without `%`; a hint for printing.
        location: a block argument's `loc(...)`.
    """

    __slots__ = ("index", "location", "name", "owner", "type")

    def __init__(
        self, type: Type, owner: Operation | Block | None = None, index: int = 0, name: str | None = None, location: Attribute | None = None
    ) -> None:
        self.type, self.owner, self.index, self.name, self.location = type, owner, index, name, location

    def __repr__(self) -> str:
        return f"Value({self.type}, index={self.index}, name={self.name!r})"

    @property
    def producer(self) -> Operation | None:
        """The operation that gives it; None for an argument of a block."""
        return self.owner if isinstance(self.owner, Operation) else None


class Operation:
    """One operation, in the order of MLIR's generic form.

    `properties` are the inherent attributes (`<{...}>`), `attributes` the discardable ones (`{...}`). `span` is where it was
    written, or where the operation that it was derived from was written; `location` is an explicit `loc(...)`; `metadata` is a root's
    `{-# ... #-}` section, as it was written.
    """

    __slots__ = (
        "attributes",
        "declaration",
        "location",
        "metadata",
        "name",
        "operands",
        "parent",
        "properties",
        "regions",
        "results",
        "span",
        "successors",
    )

    def __init__(
        self,
        name: str,
        operands: list[Value] | None = None,
        results: list[Value] | None = None,
        successors: list[Block] | None = None,
        properties: dict[str, Attribute] | None = None,
        regions: list[Region] | None = None,
        attributes: dict[str, Attribute] | None = None,
        location: Attribute | None = None,
        span: Span | None = None,
        declaration: OperationDeclaration | None = None,
        parent: Block | None = None,
        metadata: str = "",
    ) -> None:
        self.name = name
        self.operands = [] if operands is None else operands
        self.results = [] if results is None else results
        self.successors = [] if successors is None else successors
        self.properties = {} if properties is None else properties
        self.regions = [] if regions is None else regions
        self.attributes = {} if attributes is None else attributes
        self.location, self.span, self.declaration, self.parent, self.metadata = location, span, declaration, parent, metadata
        for index, result in enumerate(self.results):
            result.owner, result.index = self, index
        for region in self.regions:
            region.parent = self

    def __repr__(self) -> str:
        return f"Operation({self.name!r})"

    def walk(self) -> Iterator[Operation]:
        """This operation and all below it, in the order of the text."""
        stack = [self]
        while stack:
            operation = stack.pop()
            yield operation
            for region in reversed(operation.regions):
                for block in reversed(region.blocks):
                    stack.extend(reversed(block.operations))

    @property
    def dialect(self) -> str:
        """The dialect that its name begins with."""
        return self.name.partition(".")[0]

    @property
    def kind(self) -> str:
        """Its name without the dialect."""
        return self.name.partition(".")[2]

    @property
    def blocks(self) -> list[Block]:
        """The blocks of all its regions."""
        return [block for region in self.regions for block in region.blocks]

    @property
    def body(self) -> list[Operation]:
        """The operations of the first block of the first region; none if there is no such block."""
        return self.regions[0].blocks[0].operations if self.regions and self.regions[0].blocks else []

    @property
    def arguments(self) -> list[Value]:
        """The arguments of the first block of the first region; none if there is no such block."""
        return self.regions[0].blocks[0].arguments if self.regions and self.regions[0].blocks else []


class Block:
    """A list of operations with typed arguments; `name` is the label it was written with, without `^`."""

    __slots__ = ("arguments", "name", "operations", "parent")

    def __init__(
        self,
        arguments: list[Value] | None = None,
        operations: list[Operation] | None = None,
        name: str | None = None,
        parent: Region | None = None,
    ) -> None:
        self.arguments = [] if arguments is None else arguments
        self.operations = [] if operations is None else operations
        self.name, self.parent = name, parent
        for index, argument in enumerate(self.arguments):
            argument.owner, argument.index = self, index
        for operation in self.operations:
            operation.parent = self

    def append(self, operation: Operation) -> Operation:
        operation.parent = self
        self.operations.append(operation)
        return operation


class Region:
    """A list of blocks; the first is the entry."""

    __slots__ = ("blocks", "parent")

    def __init__(self, blocks: list[Block] | None = None, parent: Operation | None = None) -> None:
        self.blocks = [] if blocks is None else blocks
        self.parent = parent
        for block in self.blocks:
            block.parent = self


def clone(operation: Operation, values: dict[Value, Value] | None = None) -> Operation:
    """A copy of the tree. `values` maps values defined outside (operands not in it are kept) and receives the new ones."""
    values = {} if values is None else values
    blocks: dict[Block, Block] = {}
    pending: list[tuple[Operation, Operation]] = []

    def shallow(old: Operation) -> Operation:
        new = Operation(
            old.name,
            [],
            [Value(r.type, name=r.name, location=r.location) for r in old.results],
            [],
            dict(old.properties),
            [Region() for _ in old.regions],
            dict(old.attributes),
            old.location,
            old.span,
            old.declaration,
            metadata=old.metadata,
        )
        values.update(zip(old.results, new.results, strict=True))
        pending.append((old, new))
        return new

    root = shallow(operation)
    stack = [(operation, root)]
    while stack:
        old, new = stack.pop()
        for old_region, new_region in zip(old.regions, new.regions, strict=True):
            for old_block in old_region.blocks:
                arguments = [Value(a.type, name=a.name, location=a.location) for a in old_block.arguments]
                values.update(zip(old_block.arguments, arguments, strict=True))
                new_block = Block(arguments, [], old_block.name, new_region)
                new_region.blocks.append(new_block)
                blocks[old_block] = new_block
                for child in old_block.operations:
                    stack.append((child, new_block.append(shallow(child))))
    for old, new in pending:
        new.operands = [values.get(v, v) for v in old.operands]
        new.successors = [blocks.get(b, b) for b in old.successors]
    return root


def uses(operations: Iterable[Operation]) -> dict[Value, list[Operation]]:
    """Each value used by the operations (not those nested in them), with its users in order, once a use."""
    found: dict[Value, list[Operation]] = {}
    for operation in operations:
        for operand in operation.operands:
            found.setdefault(operand, []).append(operation)
    return found


def types_of(values: Sequence[Value]) -> tuple[Type, ...]:
    return tuple(value.type for value in values)


def top_level(module: Operation) -> Sequence[Operation]:
    """The operations of the module that are in no other operation than modules."""
    return outermost(module.body)


def outermost(operations: Sequence[Operation]) -> Sequence[Operation]:
    """The operations, with those that modules among them hold in the place of the modules."""
    if "builtin.module" not in map(attrgetter("name"), operations):  # most calls: passes and rules ask dozens of times
        return operations
    found: list[Operation] = []
    stack = list(reversed(operations))
    while stack:
        operation = stack.pop()
        if operation.name == "builtin.module":
            stack.extend(reversed(operation.body))
        else:
            found.append(operation)
    return found
