"""What a fork or a collective of a training block is called, and which layer of the file it comes from."""

from __future__ import annotations

from bpir.dialects.model.base import group_of, layer_of
from bpir.ir.operation import Operation, Value


def collective_names(operation: Operation, exit: bool) -> tuple[str, ...]:
    """The names of the layer at the exit of the region that the operation ends, or at the entry of the one that it begins.

    `<group>.output_collective`, `<group>.input_collective`; with the name of the operation where the group has several.
    """
    kind = "output_collective" if exit else "input_collective"
    return (f"{group_of(layer_of(operation))}.{kind}", f"{layer_of(operation)}.{kind}")


def fork_names(value: Value, reader: Operation) -> tuple[str, ...]:
    """The names of the fork of a value whose first reader is given: after its group, or after what makes the value."""
    prefixes = [group_of(layer_of(reader)), layer_of(reader)]
    if isinstance(value.owner, Operation):
        prefixes.append(layer_of(value.owner))
    return tuple(f"{prefix}.{kind}" for prefix in prefixes for kind in ("fork", "qkv_fork"))
