"""Words that a level must never hold: names of devices, queues, kernels and addresses at portable levels, and times at any level."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain

from bpir.dialects.bp import TensorType
from bpir.ir.attributes import ArrayAttr, Attribute, DictAttr, IntegerAttr, StringAttr, SymbolRefAttr
from bpir.ir.diagnostic import Diagnostic, error
from bpir.ir.dialect import is_input, level_of_operation
from bpir.ir.operation import Operation
from bpir.verifiers.model_operations import tensors_of
from bpir.verifiers.rulebooks import FORBIDDEN as RULES
from bpir.verifiers.ssa.distinct_properties import DistinctProperty, own_names
from bpir.verifiers.structure.levels import level_of

TIME = frozenset(
    [
        "time",
        "times",
        "seconds",
        "second",
        "latency",
        "duration",
        "microseconds",
        "nanoseconds",
        "milliseconds",
        "ms",
        "ns",
        "us",
        "deadline",
    ]
)
MACHINE = frozenset(
    [
        "device",
        "devices",
        "queue",
        "queues",
        "kernel",
        "kernels",
        "address",
        "addresses",
        "offset",
        "offsets",
        "cycle",
        "slot",
        "route",
        "routes",
        "stream",
    ]
)
AMBIGUOUS = frozenset(("second", "times", "us"))
"""Words of time in a name, but not in a text."""
PARALLEL = frozenset(["mesh", "rank", "ranks", "shard", "sharding", "parallel", "parallelism"])

FORBIDDEN = {
    "model": {"time": TIME, "a machine": MACHINE, "parallelism": PARALLEL},
    "dist": {"time": TIME, "a machine": MACHINE},
    "plan": {"time": TIME, "a machine": MACHINE},
    "concrete": {"time": TIME},
}


def verify(module: Operation, operations: Iterable[Operation], properties: Iterable[DistinctProperty]) -> list[Diagnostic]:
    """Attributes whose name, or whose text, says what the level of their operation must not know.

    A name is split into words at dots, underscores and digits, so that `hw.device`, `device_id` and `launch_time` are found.
    """
    found: list[Diagnostic] = []
    of_module = level_of(module)
    faulty = any(_judge(operation, _level(operation), name, value, False) for operation, name, value in properties)
    for operation in operations:
        if faulty:
            found.extend(_in(operation, _level(operation), operation.properties, False))
        if operation.attributes:
            found.extend(_in(operation, _level(operation) or of_module, operation.attributes, True))
        if operation.name.startswith("model."):
            found.extend(_sharded(operation))
    return found


def _in(operation: Operation, level: str, attributes: Mapping[str, Attribute], free: bool) -> Iterator[Diagnostic]:
    """The faults in the words of an operation's properties, or of its free attributes."""
    for name, value in attributes.items():
        for message in _judge(operation, level, name, value, free):
            yield error(message, operation.span)


def _level(operation: Operation) -> str:
    """The level of the operation; empty for an input of a derivation: it may say what the level may not, its free attributes may not."""
    dialect = operation.dialect
    return "" if dialect == "builtin" or is_input(operation.name) else dialect


@RULES.rule("F1", "no machine and no parallelism above the level that knows them")
@RULES.rule("F2", "no time at any level")
def _judge(operation: Operation, level: str, name: str, value: Attribute, free: bool) -> list[str]:
    """The forbidden words in one attribute; `free` are the attributes that no declaration names."""
    own = not free and name in own_names(operation.declaration)
    if own and not _may_say(value):
        return []
    words_of = set() if own else _words(name)
    forbidden = FORBIDDEN.get(level_of_operation(level), {}).items()
    found = [what for what, words in forbidden if not words_of.isdisjoint(words) or _says(value, words, free)]
    return [f"'{operation.name}' must not hold {what} at this level, found '{name}' [{level}.{_rule(what)}]" for what in found]


def _rule(what: str) -> str:
    return "F2" if what == "time" else "F1"


def _sharded(operation: Operation) -> list[Diagnostic]:
    """A tensor of a model names no axis of a mesh: a strategy shards it."""
    arguments = chain.from_iterable(block.arguments for block in operation.blocks)
    sharded = filter(_names_axes, tensors_of((*operation.results, *arguments)))
    message = f"'{operation.name}' must not hold parallelism at this level, found {{}}: say it in bind.strategy [model.F1]"
    return [error(message.format(type.text), operation.span) for type in dict.fromkeys(sharded)]


def _names_axes(type: TensorType) -> bool:
    """Whether a type names an axis of a mesh."""
    return any(type.axes) or bool(type.unreduced or type.shared)


_NAMES_OR_NUMBERS = frozenset((SymbolRefAttr, IntegerAttr))


def _may_say(value: Attribute) -> bool:
    """Whether a declared property can say anything: the many others are names, lists of references, and numbers."""
    if isinstance(value, ArrayAttr):
        return not _NAMES_OR_NUMBERS.issuperset(map(type, value.values))
    return isinstance(value, DictAttr)


def _words(name: str) -> set[str]:
    return set(re.split(r"[^a-zA-Z]+", name.lower()))


def _says(value: Attribute, words: frozenset[str], text: bool) -> bool:
    """Whether the attribute names something forbidden: a list of words, a dictionary, or a text where that is free (no name)."""
    if isinstance(value, DictAttr):
        return any(_words(key) & words or _says(inner, words, text) for key, inner in value.entries)
    if isinstance(value, StringAttr):
        return text and bool(_words(value.value) & (words - AMBIGUOUS))
    return isinstance(value, ArrayAttr) and any(_says(v, words, True) for v in value.values)
