"""What a level must never hold: names of devices, queues, kernels, addresses at portable levels, and time at any level."""

from __future__ import annotations

import re

from bpir.ir.attributes import Attribute, DictAttr, StringAttr
from bpir.ir.diagnostic import Diagnostic, error
from bpir.ir.operation import Operation

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
PARALLEL = frozenset(["mesh", "rank", "ranks", "shard", "sharding", "parallel", "parallelism"])

FORBIDDEN = {
    "model": {"time": TIME, "a machine": MACHINE, "parallelism": PARALLEL},
    "dist": {"time": TIME, "a machine": MACHINE},
    "plan": {"time": TIME, "a machine": MACHINE},
    "concrete": {"time": TIME},
    "queue": {"time": TIME},
    "slot": {"time": TIME},
}


def verify(module: Operation) -> list[Diagnostic]:
    """Attributes whose name, or whose text, says what the level of their operation must not know (rules LEVEL.F1, LEVEL.F2).

    A name is split into words at dots, underscores and digits, so that `hw.device`, `device_id` and `launch_time` are
    found.
    """
    found = []
    for operation in module.walk():
        level = operation.name.partition(".")[0]
        for what, words in FORBIDDEN.get(level, {}).items():
            for name, value in (*operation.properties.items(), *operation.attributes.items()):
                if (name not in _own_names(operation) and _words(name) & words) or _says(value, words):
                    rule = f"{level}.{'F2' if what == 'time' else 'F1'}"
                    message = f"'{operation.name}' must not hold {what} at this level, found '{name}' [{rule}]"
                    found.append(error(message, operation.span))
    return found


def _own_names(operation: Operation) -> frozenset[str]:
    declaration = operation.declaration
    if declaration is None:
        return frozenset()
    return frozenset((*declaration.required, *declaration.optional))


def _words(name: str) -> set[str]:
    return set(re.split(r"[^a-zA-Z]+", name.lower()))


def _says(value: Attribute, words: frozenset[str]) -> bool:
    """Whether a list of words or a dictionary in the attribute names something forbidden."""
    if isinstance(value, DictAttr):
        return any(_words(key) & words or _says(inner, words) for key, inner in value.entries)
    values = getattr(value, "values", ())
    return any(isinstance(v, StringAttr) and bool(_words(v.value) & words) for v in values)
