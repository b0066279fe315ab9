"""Operations of an earlier version of a text, taken over where nothing has changed: what an editor asks of a large file at each key.

An operation depends on nothing but its text if it has neither operands, results, regions nor a location, is in a module, and stands in a
text without aliases: those of plans are of this kind. It is taken over if its text and the token behind it are before the change, or if
it is behind the change; all else is read by the grammar.
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING

from bpir.ir.diagnostic import Source, Span
from bpir.ir.operation import Operation
from bpir.parser.lexer import TOKEN

if TYPE_CHECKING:
    from collections.abc import Callable

    from bpir.parser.scopes import RegionScope
    from bpir.parser.state import ParserState

    Reader = Callable[[int, int], int | None]

_SHARED = re.compile(r"[#!][\w$.\-]+[ \t\r\n]*=|\bdistinct\[")
"""What may say something of operations elsewhere in the text: aliases, and attributes that are told apart by their number."""


class Earlier:
    """A text that was read before, and its module.

    Attributes:
        source: the text.
        steps: what it took to read it (`ir/effort.py`), what that took over included.
        operations: those that may be taken over, by their places.
        taken: how many were, by all texts read since.
    """

    def __init__(self, source: Source, module: Operation, steps: int = 0) -> None:
        self.source, self.steps, self.taken = source, steps, 0
        text = source.text
        shared = ("#" in text or "!" in text or "distinct" in text) and _SHARED.search(text) is not None
        held = module.walk() if not shared else ()
        self.operations = {operation.span.start: operation for operation in held if operation.span is not None and _is_flat(operation)}

    def reader(self, parser: ParserState, other: Reader | None) -> ReuseReader:
        """What reads another text by taking over what it can of this one."""
        return ReuseReader(parser, self, other)


def _is_flat(operation: Operation) -> bool:
    """Whether an operation is its text, and nothing else."""
    holder = operation.parent.parent.parent if operation.parent is not None and operation.parent.parent is not None else None
    nothing = not (operation.operands or operation.results or operation.regions or operation.successors or operation.location)
    return nothing and (holder is None or holder.name == "builtin.module")


def _in_module(region: RegionScope) -> bool:
    """Whether the operations of a region are those of a module, or of the text."""
    return region.default == "builtin" and (
        region.start == 0 or (region.declaration is not None and region.declaration.name == "builtin.module")
    )


class ReuseReader:
    """Reads operations of one text by taking them over from an earlier one; others are read by another reader, if there is one."""

    def __init__(self, parser: ParserState, earlier: Earlier, other: Reader | None) -> None:
        self.parser, self.earlier, self.other = parser, earlier, other
        self.by = len(parser.text) - len(earlier.source.text)  # how far what is behind the change has moved

    @cached_property
    def changed(self) -> int:
        """Where the change begins."""
        old, new = self.earlier.source.text, self.parser.text
        return _common(min(len(old), len(new)), lambda length: new.startswith(old[:length]))

    @cached_property
    def unchanged(self) -> int:
        """Where it ends."""
        old, new = self.earlier.source.text, self.parser.text
        most = min(len(old), len(new)) - self.changed
        return len(new) - _common(most, lambda length: new.endswith(old[len(old) - length :]))

    def read(self, position: int, end: int) -> int | None:
        """Read the operation at an offset, and put it into its block; where it ends. None: the grammar must read what is there."""
        finish = self._take(position, end)
        return finish if finish is not None or self.other is None else self.other(position, end)

    def _take(self, position: int, end: int) -> int | None:
        parser = self.parser
        region = parser.regions[-1]
        start = parser.skip(position)
        by = self.by if start >= self.unchanged else 0
        model = self.earlier.operations.get(start - by)
        if model is None or model.span is None or parser.attribute_aliases or parser.type_aliases or not _in_module(region):
            return None
        finish = model.span.end + by
        if start < self.unchanged and not self._is_before(finish, end):
            return None
        block = region.block or parser.block()
        block.operations.append(
            Operation(
                model.name,
                [],
                [],
                [],
                model.properties.copy(),
                [],
                model.attributes.copy(),
                None,
                Span(parser.source, start, finish),
                model.declaration,
                block,
            )
        )
        self.earlier.taken += 1
        return finish

    def _is_before(self, finish: int, end: int) -> bool:
        """Whether the change begins behind the token that follows an operation."""
        if finish >= self.changed:
            return False
        token = TOKEN.match(self.parser.text, finish, end)
        return token is not None and token.end() < self.changed


def _common(most: int, agree: Callable[[int], bool]) -> int:
    """The greatest length up to which two texts agree."""
    least = 0
    while least < most:
        middle = (least + most + 1) // 2
        if agree(middle):
            least = middle
        else:
            most = middle - 1
    return least
