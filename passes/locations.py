"""Locations (`loc(...)`) follow derivations: a task has the location of the operation that it was made from."""

from __future__ import annotations

from collections.abc import Mapping

from bpir.ir.attributes import Attribute
from bpir.ir.diagnostic import Span
from bpir.ir.operation import Operation


def inherit_locations(source: Operation, derived: Operation) -> None:
    """Give the operations and block arguments of a derived module the locations of those of the source that they came from.

    A derived operation has the span of the one that it came from, and an argument its name; what has a location keeps it.
    """
    sources: dict[Span, Operation] = {}
    for operation in source.walk():
        if operation.span is not None and (operation.location is not None or _located_arguments(operation)):
            sources.setdefault(operation.span, operation)
    if not sources:
        return
    for operation in derived.walk():
        origin = sources.get(operation.span) if operation.span is not None else None
        if origin is None or origin is operation:
            continue
        if operation.location is None:
            operation.location = origin.location
        _locate_arguments(operation, _located_arguments(origin))


def _locate_arguments(operation: Operation, locations: Mapping[str | None, Attribute]) -> None:
    """Give the arguments of an operation's blocks the locations of their names."""
    for region in operation.regions:
        for block in region.blocks:
            for argument in block.arguments:
                if argument.location is None and argument.name in locations:
                    argument.location = locations[argument.name]


def _located_arguments(operation: Operation) -> dict[str | None, Attribute]:
    return {a.name: a.location for r in operation.regions for b in r.blocks for a in b.arguments if a.location is not None}
