"""The semantics of each operation. A file holds what belongs together, and enters its operations into the table."""

from importlib import import_module
from pkgutil import iter_modules

from bpir.run.operations.base import SEMANTICS, Semantics

for _module in sorted(module.name for module in iter_modules(__path__)):
    import_module(f"{__name__}.{_module}")

__all__ = ["SEMANTICS", "Semantics"]
