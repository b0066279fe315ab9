"""The names of forks and collectives of a training block, and the layer of the file that each comes from."""

from __future__ import annotations

from collections.abc import Iterable

from bpir.dialects.model.rules.layers import group_of, layer_of
from bpir.ir.operation import Operation, Value


def is_collective_of(name: str, operation: Operation, exit: bool) -> bool:
    """Whether a layer can be the collective at the exit of the region that the operation ends, or at the entry of the one that it begins.

    `<group>.output_collective`, `<group>.input_collective`; with the name of the operation where the group has several.
    """
    part = "output_collective" if exit else "input_collective"
    return _is_called(name, part, (group_of(layer_of(operation)), layer_of(operation)))


def is_fork_of(name: str, value: Value, reader: Operation) -> bool:
    """Whether a layer can be the fork of a value whose first reader is given: called after its group, or after what makes the value."""
    prefixes = [group_of(layer_of(reader)), layer_of(reader)]
    if isinstance(value.owner, Operation):
        prefixes.append(layer_of(value.owner))
    return any(_is_called(name, part, prefixes) for part in ("fork", "qkv_fork"))


def is_exchange_of(name: str, operation: Operation, what: str) -> bool:
    """Whether a layer can be the exchange of the `weights` or `gradients` of an operation, where replicas exchange them."""
    return _is_called(name, what, (layer_of(operation),))


def _is_called(name: str, part: str, prefixes: Iterable[str]) -> bool:
    """Whether the name is a prefix with the part behind it; behind it again where the name was taken."""
    suffix = "." + part
    while name.endswith(suffix):
        name = name.removesuffix(suffix)
        if name in prefixes:
            return True
    return False
