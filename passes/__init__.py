"""Passes: one file per derivation. A pass is found by the class that says its name, in a file of this folder or of one of its
sub-packages, and is imported when it is named.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, MutableMapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bpir.passes.base import Pass

_CLASS = re.compile(r"^class (\w+)", re.MULTILINE)
_NAME = re.compile(r'^    name = "([a-z][a-z0-9-]*)"$', re.MULTILINE)


class _Passes(MutableMapping[str, str]):
    """Every class of this folder that says a name, read from the text when it is asked for: to look for a pass imports nothing.

    Most passes are in the file of their name, which is read first; the others are read where it has none.
    """

    def __init__(self) -> None:
        self._known: dict[str, str] = {}
        self._unread = dict(_modules())

    def __getitem__(self, name: str) -> str:
        if name not in self._known:
            own = "." + name.replace("-", "_")
            self._read([module for module in self._unread if module.endswith(own)])
        if name not in self._known:
            self._read(self._unread)
        return self._known[name]

    def __setitem__(self, name: str, where: str) -> None:
        self._known[name] = where

    def __delitem__(self, name: str) -> None:
        del self._known[name]

    def __iter__(self) -> Iterator[str]:
        self._read(self._unread)
        return iter(sorted(self._known))

    def __len__(self) -> int:
        self._read(self._unread)
        return len(self._known)

    def _read(self, modules: Iterable[str]) -> None:
        for module in sorted(modules):
            with open(self._unread.pop(module), encoding="utf-8") as stream:
                text = stream.read()
            for name in _NAME.finditer(text):
                cls = [match.group(1) for match in _CLASS.finditer(text, 0, name.start())]
                if cls:
                    self._known[name.group(1)] = f"{module}:{cls[-1]}"


def _modules() -> Iterator[tuple[str, str]]:
    """Every module of this folder and of its sub-packages, with its file."""
    for folder in __path__:
        for entry in os.scandir(folder):
            if entry.name.endswith(".py"):
                yield f"{__name__}.{entry.name.removesuffix('.py')}", entry.path
            elif entry.is_dir() and not entry.name.startswith("__"):
                for file in os.scandir(entry.path):
                    if file.name.endswith(".py"):
                        yield f"{__name__}.{entry.name}.{file.name.removesuffix('.py')}", file.path


PASSES: MutableMapping[str, str] = _Passes()
"""Each pass by its command: the module and the class."""


def load_pass(name: str) -> type[Pass]:
    """The class of a registered pass."""
    from importlib import import_module

    module, _, cls = PASSES[name].partition(":")
    found: type[Pass] = getattr(import_module(module), cls)
    return found
