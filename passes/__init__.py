"""Passes: one file per derivation. A pass is found by the class in a file of this folder that says its name, and is imported when it is
named.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, MutableMapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bpir.passes.base import Pass

_CLASS = re.compile(r"^class (\w+)", re.MULTILINE)
_NAME = re.compile(r'^    name = "([a-z][a-z0-9-]*)"$', re.MULTILINE)


class _Passes(MutableMapping[str, str]):
    """Every class of this folder that says a name, read from the text when it is asked for: to look for a pass imports nothing.

    Most passes stand in the file of their name, which is read first; the others are read where it has none.
    """

    def __init__(self) -> None:
        self._known: dict[str, str] = {}
        self._unread = {file for folder in __path__ for file in os.listdir(folder) if file.endswith(".py")}

    def __getitem__(self, name: str) -> str:
        if name not in self._known:
            self._read({f"{name.replace('-', '_')}.py"})
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

    def _read(self, files: set[str]) -> None:
        for file in sorted(files & self._unread):
            self._unread.discard(file)
            for folder in __path__:
                with open(os.path.join(folder, file), encoding="utf-8") as stream:
                    text = stream.read()
                for name in _NAME.finditer(text):
                    cls = [match.group(1) for match in _CLASS.finditer(text, 0, name.start())]
                    if cls:
                        self._known[name.group(1)] = f"{__name__}.{file.removesuffix('.py')}:{cls[-1]}"


PASSES: MutableMapping[str, str] = _Passes()
"""Each pass by its command: the module and the class."""


def load_pass(name: str) -> type[Pass]:
    """The class of a registered pass."""
    from importlib import import_module

    module, _, cls = PASSES[name].partition(":")
    found: type[Pass] = getattr(import_module(module), cls)
    return found
