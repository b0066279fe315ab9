"""The dialects: one module each. Importing a module declares its operations, attributes and types."""

from __future__ import annotations

import importlib
import os
from _thread import RLock
from collections.abc import Iterable
from types import ModuleType

from bpir.ir.dialect import DIALECTS

_loaded: dict[str, ModuleType | None] = {}
_lock = RLock()  # a module that another thread is importing has not declared everything yet
_available: list[str] = []
_ALWAYS = ("builtin", "func")


def modules_in(folders: Iterable[str]) -> list[str]:
    """The names of the modules and packages in the folders of a package, sorted (what `pkgutil` says, which loads `inspect`)."""
    return sorted(name.partition(".")[0] for folder in folders for name in os.listdir(folder) if name[0] not in "_.")


def available() -> tuple[str, ...]:
    """The names of all dialects that exist, sorted."""
    if not _available:
        _available.extend(modules_in(__path__))
    return tuple(_available)


def load(name: str) -> bool:
    """Import the dialect `name` if there is one, and those that it uses; whether there is one."""
    with _lock:
        if name not in _loaded:
            _loaded[name] = None
            if name in available():
                module = importlib.import_module(f"{__name__}.{name}")
                if _declares(module, name):
                    _loaded[name] = module
                    for used in _uses(name):
                        load(used)
        return _loaded[name] is not None


def load_all(names: Iterable[str]) -> tuple[str, ...]:
    """Import those of the dialects that exist, and what they use: their names, sorted, without `builtin` and `func`."""
    for name in _ALWAYS:
        load(name)
    found: set[str] = set()
    pending = [name for name in names if name not in _ALWAYS]
    while pending:
        name = pending.pop()
        if name not in found and load(name):
            found.add(name)
            pending.extend(_uses(name))
    return tuple(sorted(found))


def starts(name: str) -> tuple[str, ...]:
    """Further start symbols of the grammar of a loaded dialect."""
    found = DIALECTS.get(name)
    return found.starts if found is not None else ()


def _uses(name: str) -> tuple[str, ...]:
    found = DIALECTS.get(name)
    return ("bp", *found.uses) if found is not None and name != "bp" else ()


def _declares(module: ModuleType, name: str) -> bool:
    """Whether the module is a dialect: helpers that are beside the dialects declare nothing of their name."""
    from bpir.ir.declaration import DECLARATIONS

    return any(declared.partition(".")[0] == name for declared in DECLARATIONS)
