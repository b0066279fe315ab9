"""Corruptions that only a model can have. A model is no target: what is corrupted is the source that a valid target is judged against."""

from __future__ import annotations

from corruptions.corruption import Corruption, Found, at, declared_as, name_of

from bpir.ir.declaration import DECLARATIONS
from bpir.ir.operation import Operation


def others(operations: list[Operation]) -> Found:
    """Make an operation of the model each other one."""
    names = sorted(name for name in DECLARATIONS if name.startswith("model."))
    for index, operation in enumerate(operations):
        if operation.name.startswith("model."):
            for name in names:
                if name != operation.name:
                    yield Corruption(f"becomes {name}", name_of(operation), at(index, lambda o, n=name: declared_as(o, n)))
