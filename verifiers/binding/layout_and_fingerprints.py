"""The contract of every binding, as the gate states it: what a task is bound to, where a buffer lies, what a fingerprint covers.

The passes have `dialects/concrete/contract.py`; a mistake there is no mistake here.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from functools import lru_cache

from bpir.dialects.bp import Symbolic
from bpir.dialects.plan import Buffer, Section, Task
from bpir.ir.attributes import ArrayAttr, StringAttr, dictionary
from bpir.ir.expressions.expression import ONE, Expr, ceildiv
from bpir.ir.operation import Operation
from bpir.ir.property_parts import references

COMMANDS = {"compute": "launch", "collective": "collective", "transfer": "transfer", "barrier": "barrier", "host": "host_call"}
"""The kind of command that each kind of task is bound to."""

OF_THE_TARGET = ("launch", "collective", "host_call")
"""The commands that an implementation of the target runs; the others have none."""

_LEFT_OUT = tuple(part.name for part in (Buffer.live, Buffer.producers, Buffer.consumers, Section.tasks))
"""The parts that the fingerprint of a plan leaves out: the order of the tasks gives the one, the tasks give the others."""

_IN_ORDER = (Task.ranks.name, Task.alternatives.name)
"""The lists in which the order says something."""


def alignment_of(buffer: int, target: int) -> int:
    """`max(16, r)` bytes, with `r` the larger of what the buffer and what the target asks for."""
    return max(16, buffer, target)


def least_multiple(value: Expr, alignment: int) -> Expr:
    """The smallest multiple of the alignment that is not below the value."""
    return ceildiv(value, alignment) * alignment


def taken(size: Expr, times: Expr, alignment: int) -> Expr:
    """The bytes from where the first of a number of buffers begins to where the last one ends: each begins at a multiple."""
    return size if times is ONE else (times - 1) * least_multiple(size, alignment) + size


def next_offset(offset: Expr, size: Expr, times: Expr, before: int, alignment: int) -> Expr:
    """The start of a buffer behind one at `offset` with its `size`, as many `times`, and the alignment `before`.

    If the alignment divides the one before, it divides that offset, too, and the size alone is rounded.
    """
    last = offset + taken(size, times, before) - size
    if before % alignment == 0:
        return last + least_multiple(size, alignment)
    return least_multiple(last + size, alignment)


def implementation_of(task: Task, implements: Mapping[str, str]) -> str | None:
    """The implementation of a task on the target: the one for its operation; else for the first alternative that it knows; else for the
    only capability.
    """
    for key in (task.kind_of_work, *task.alternatives):
        if key in implements:
            return implements[key]
    return implements.get(task.requires[0]) if len(task.requires) == 1 else None


def fingerprint_of(operation: Operation) -> str:
    """Of the operation's generic text."""
    said = dictionary(operation.properties.items())
    return _digest(f'"{operation.name}"() <{said.text}> : () -> ()')


def plan_fingerprint_of(operations: Iterable[Operation]) -> str:
    """Of the tasks and buffers of a plan, in any order: of what numbers for symbols leave as it is."""
    texts = [_text(o) for o in operations if isinstance(o.declaration, Buffer | Section | Task)]
    return _digest("\n".join(sorted(texts)))


@lru_cache(maxsize=1024)
def _told(properties: tuple[str, ...]) -> tuple[str, ...]:
    """Those of an operation's properties that its fingerprint covers, by name."""
    return tuple(sorted(set(properties).difference(_LEFT_OUT)))


def _text(operation: Operation) -> str:
    """An operation as a fingerprint has it: texts with their lengths, lists sorted where their order says nothing, no expressions."""
    lines = [operation.name]
    said = operation.properties
    for name in _told(tuple(said)):
        value = said[name]
        if isinstance(value, StringAttr):
            lines.append(f"{name} {len(value.value)} {value.value}")
        elif isinstance(value, Symbolic):
            continue
        elif isinstance(value, ArrayAttr):
            listed = references(value) or tuple(v.text for v in value.values)
            lines.append(f"{name} {listed if len(listed) < 2 or name in _IN_ORDER else tuple(sorted(listed))}")
        else:
            lines.append(f"{name} {value.text}")
    return "\n".join(lines)


def _digest(text: str) -> str:
    """The first 16 hexadecimal digits of SHA-256."""
    return hashlib.sha256(text.encode("latin-1")).hexdigest()[:16]
