"""The contract of every binding, whatever the target: what a command is bound to, where a buffer lies, what a fingerprint covers.

The passes ask it; the gate states the same in its own words (`verifiers/binding/layout_and_fingerprints.py`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from functools import cache

from bpir.dialects.bp import Symbolic
from bpir.dialects.plan import Buffer, Section, Task
from bpir.ir.attributes import ArrayAttr, Attribute, DictAttr, StringAttr, dictionary
from bpir.ir.expressions.expression import ONE, ZERO, Expr, ceildiv
from bpir.ir.operation import Operation
from bpir.ir.property_parts import references

COMMAND_OF_KIND = {
    "compute": "launch",
    "collective": "collective",
    "transfer": "transfer",
    "barrier": "barrier",
    "host": "host_call",
}
"""The kind of command that each kind of task is bound to."""

IMPLEMENTED = ("launch", "collective", "host_call")
"""The commands that need an implementation from the target; no other has one."""

LEAST_ALIGNMENT = 16  # bytes

_DIGITS = 16  # of a fingerprint, hexadecimal


def aligned(buffer: int, target: int) -> int:
    """`a_i = max(16, r_i)`, `r_i` the larger of the buffer's and the target's alignment, in bytes."""
    return max(LEAST_ALIGNMENT, buffer, target)


def offsets(sizes: Sequence[Expr], alignments: Sequence[int], times: Sequence[Expr] = ()) -> list[Expr]:
    """`o_0 = 0`, `o_i = ceildiv(o_{i-1} + s_{i-1}, a_i)*a_i`: where each buffer begins, in bytes.

    Where `a_i` divides `a_{i-1}`, it divides `o_{i-1}`, and `o_i = o_{i-1} + ceildiv(s_{i-1}, a_i)*a_i`: only the size is rounded, and each
    size but once. Of `n` buffers (`times`) `s` is all but the last at strides of `ceildiv(s, a)*a`, and the size of the last.
    """
    found: list[Expr] = []
    rounded: dict[tuple[Expr, int], Expr] = {}

    def multiple(size: Expr, alignment: int) -> Expr:
        known = rounded.get((size, alignment))
        if known is None:
            known = rounded[size, alignment] = rounded_up(size, alignment)
        return known

    for index, alignment in enumerate(alignments):
        if index == 0:
            found.append(ZERO)
            continue
        size, own = sizes[index - 1], alignments[index - 1]
        count = times[index - 1] if times else ONE
        last = found[-1] if count is ONE else found[-1] + (count - 1) * multiple(size, own)
        found.append(rounded_up(last + size, alignment) if own % alignment else last + multiple(size, alignment))
    return found


def rounded_up(value: Expr, alignment: int) -> Expr:
    """The smallest multiple of the alignment that is not below the value."""
    return ceildiv(value, alignment) * alignment


def implementation(task: Task, implements: Mapping[str, str]) -> str | None:
    """The implementation of a task: that of its operation, of the first of its alternatives, or of its only capability; None if there
    is none.
    """
    own = implements.get(task.kind_of_work)  # nearly always: the other keys come after it
    return own if own is not None else next((implements[key] for key in implementation_keys(task) if key in implements), None)


def implementation_keys(task: Task) -> list[str]:
    """Under what a target may have an implementation of the task, in order of preference."""
    return [task.kind_of_work, *task.alternatives, *(task.requires if len(task.requires) == 1 else ())]


def fingerprint(operation: Operation) -> str:
    """The SHA-256 of the operation's generic text, shortened."""
    return _digest([_generic(operation.name, operation.properties)])


def plan_fingerprint(operations: Iterable[Operation]) -> str:
    """The fingerprint of the tasks, buffers and sections of a plan: of all that numbers for symbols can't change.

    The order of independent tasks and of the names in a list is left out, and lifetimes, which count in that order: two texts of the same
    plan have the same fingerprint. Sizes and work are left out too, so that a plan is the same before and after `bind-symbols`;
    rules compare them one by one.
    """
    told = [o for o in operations if isinstance(o.declaration, Task | Buffer | Section)]
    return _digest(sorted(_structure(o.name, o.properties) for o in told))


_SAID_ELSEWHERE = frozenset(part.name for part in (Buffer.live, Buffer.producers, Buffer.consumers, Section.tasks))
_ORDERED = frozenset((Task.ranks.name, Task.alternatives.name))  # lists in which the order says something


@cache
def _in_order(names: tuple[str, ...]) -> list[str]:
    """The properties that are told, sorted: thousands of operations have the same ones."""
    return sorted(name for name in names if name not in _SAID_ELSEWHERE)


def _structure(operation: str, properties: Mapping[str, Attribute]) -> str:
    """A text of an operation without expressions and lifetimes; parts carry their lengths, so that different operations have different
    texts.

    Who writes and reads a buffer, the tasks say.
    """
    said = [operation]
    for name in _in_order(tuple(properties)):
        attribute = properties[name]
        kind = attribute.__class__
        if kind is StringAttr:
            text = attribute.value  # type: ignore[attr-defined]
            said.append(f"{name} {len(text)} {text}")
        elif kind is ArrayAttr:
            listed = references(attribute) or tuple(v.text for v in attribute.values)  # type: ignore[attr-defined]
            said.append(f"{name} {listed if len(listed) == 1 or name in _ORDERED else tuple(sorted(listed))}")
        elif not isinstance(attribute, Symbolic):
            said.append(f"{name} {attribute.text}")
    return "\n".join(said)


def _generic(name: str, properties: Mapping[str, Attribute]) -> str:
    text: DictAttr = dictionary(properties.items())
    return f'"{name}"() <{text.text}> : () -> ()'


def _digest(lines: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(lines).encode("latin-1")).hexdigest()[:_DIGITS]
