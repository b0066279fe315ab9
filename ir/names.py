"""Names of values and blocks for printing: as written where that is legal and unique, numbers for the others."""

from __future__ import annotations

import re
from collections.abc import Iterator

from bpir.ir.operation import Block, Operation, Region, Value

_LEGAL = re.compile(r"[0-9]+|[A-Za-z_$.\-][A-Za-z0-9_$.\-]*")
_ARGUMENT = re.compile(r"arg[0-9]+")
_ILLEGAL = re.compile(r"[^A-Za-z0-9_$.\-]")


class Names:
    """The printed names of all values and blocks of a tree.

    A value is named uniquely among all values of its region and of those around it, so that the text reads back to the same uses.
    """

    def __init__(self, root: Operation) -> None:
        self.values: dict[Value, str] = {}  # as an operand: `%name`, or `%name#1`
        self.results: dict[Operation, str] = {}  # `%a, %b:2 = `
        self.blocks: dict[Block, str] = {}
        self.targets: set[Block] = set()  # blocks that some operation branches to
        self._groups: dict[Operation, list[list[Value]]] = {}
        self._assign(root)

    def _assign(self, root: Operation) -> None:
        # Outer names first, so that a nested name never hides one that is defined later in an enclosing region.
        pending: list[tuple[Operation, _Visible]] = [(root, _Visible(None))]
        self._hints([[root]], pending[0][1])
        while pending:
            operation, visible = pending.pop()
            if not operation.regions:
                continue
            for region in operation.regions:
                inner = _Visible(visible)
                self._labels(region)
                for block in region.blocks:
                    for argument in block.arguments:
                        self._hint([argument], argument.name, inner)
                self._hints([block.operations for block in region.blocks], inner)
                for block in region.blocks:
                    pending.extend((child, inner) for child in block.operations if child.regions)
        self._number(root)

    def _hints(self, operations: list[list[Operation]], visible: _Visible) -> None:
        for group in operations:
            for operation in group:
                self.targets.update(operation.successors)
                results = operation.results
                if len(results) == 1:
                    value = results[0]
                    if value.name is not None:
                        self._hint(results, value.name, visible)
                elif results:
                    for values in self._grouped(operation):
                        self._hint(values, values[0].name, visible)

    def _grouped(self, operation: Operation) -> list[list[Value]]:
        """Consecutive results that were written with one name."""
        groups: list[list[Value]] = []
        for value in operation.results:
            if groups and groups[-1][0].name == value.name:
                groups[-1].append(value)
            else:
                groups.append([value])
        self._groups[operation] = groups
        return groups

    def _hint(self, values: list[Value], hint: str | None, visible: _Visible) -> None:
        if not hint or hint.isdigit() or _ARGUMENT.fullmatch(hint):
            return  # `%0` and `%arg0` are names that this class gives
        self._name(values, visible.unique(hint if _LEGAL.fullmatch(hint) else legal(hint)))

    def _name(self, values: list[Value], name: str) -> None:
        if len(values) == 1:
            self.values[values[0]] = "%" + name
        else:
            for index, value in enumerate(values):
                self.values[value] = f"%{name}#{index}"

    def _labels(self, region: Region) -> None:
        used: set[str] = set()
        free: list[tuple[int, Block]] = []
        for index, block in enumerate(region.blocks):
            name = block.name
            if name and _LEGAL.fullmatch(name) and name not in used:
                used.add(name)
                self.blocks[block] = "^" + name
            else:
                free.append((index, block))
        for index, block in free:
            name = f"bb{index}"
            while name in used:
                name += "_"
            used.add(name)
            self.blocks[block] = "^" + name

    def _number(self, root: Operation) -> None:
        """Number what has no name, in the order of the text; arguments and results count separately.

        What is isolated from above counts on from all that is around it, so that two functions of a module count alike.
        """
        isolated: list[tuple[Iterator[Operation | Block], _Counters]] = [(iter((root,)), _Counters())]
        while isolated:
            items, around = isolated.pop()
            counters = _Counters(around)
            nested = self._number_visible(items, counters)
            isolated.extend((_contents(operation), counters) for operation in nested)

    def _number_visible(self, items: Iterator[Operation | Block], counters: _Counters) -> list[Operation]:
        """Number what is not isolated from above; the operations that are."""
        isolated: list[Operation] = []
        stack = [items]
        while stack:
            for item in stack[-1]:
                if isinstance(item, Block):
                    for argument in item.arguments:
                        if argument not in self.values:
                            self.values[argument] = f"%arg{counters.argument()}"
                    continue
                if item.results:
                    self._number_results(item, counters)
                if item.regions:
                    if item.declaration is not None and item.declaration.isolated:
                        isolated.append(item)
                        continue
                    stack.append(_contents(item))
                    break
            else:
                stack.pop()
        return isolated

    def _number_results(self, operation: Operation, counters: _Counters) -> None:
        results = operation.results
        if len(results) == 1:
            name = self.values.get(results[0])
            if name is None:
                name = self.values[results[0]] = f"%{counters.value()}"
            self.results[operation] = name + " = "
            return
        shown = []
        for values in self._groups.pop(operation, None) or self._grouped(operation):
            if values[0] not in self.values:
                self._name(values, str(counters.value()))
            name = self.values[values[0]]
            shown.append(name if len(values) == 1 else f"{name[: name.rindex('#')]}:{len(values)}")
        self.results[operation] = ", ".join(shown) + " = "


def legal(hint: str) -> str:
    """A legal name near the hint."""
    name = _ILLEGAL.sub("_", hint)
    return "_" + name if name[0].isdigit() else name


def _contents(operation: Operation) -> Iterator[Operation | Block]:
    for region in operation.regions:
        for block in region.blocks:
            yield block
            yield from block.operations


class _Visible:
    """The names used in a region and in those around it."""

    def __init__(self, outer: _Visible | None) -> None:
        self.outer = outer
        self.names: set[str] = set()
        self.next: dict[str, int] = {}

    def unique(self, hint: str) -> str:
        name = hint
        number = self.next.get(hint, 0)
        while self._has(name):
            number += 1
            name = f"{hint}_{number}"
        self.next[hint] = number
        self.names.add(name)
        return name

    def _has(self, name: str) -> bool:
        scope: _Visible | None = self
        while scope is not None:
            if name in scope.names:
                return True
            scope = scope.outer
        return False


class _Counters:
    def __init__(self, around: _Counters | None = None) -> None:
        self._values: int = around._values if around is not None else -1
        self._arguments: int = around._arguments if around is not None else -1

    def value(self) -> int:
        self._values += 1
        return self._values

    def argument(self) -> int:
        self._arguments += 1
        return self._arguments
