"""Passes: one file per derivation. A pass is found by the class in a file of this folder that says its name, and is imported when it is
named.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bpir.passes.base import Pass

_CLASS = re.compile(r"^class (\w+)", re.MULTILINE)
_NAME = re.compile(r'^    name = "([a-z][a-z0-9-]*)"$', re.MULTILINE)


def _found() -> dict[str, str]:
    """Every class of this folder that says a name, read from the text: to look for a pass imports nothing."""
    found = {}
    for folder in __path__:
        for path in sorted(Path(folder).glob("*.py")):
            text = path.read_text(encoding="utf-8")
            for name in _NAME.finditer(text):
                cls = [match.group(1) for match in _CLASS.finditer(text, 0, name.start())]
                if cls:
                    found[name.group(1)] = f"{__name__}.{path.stem}:{cls[-1]}"
    return found


PASSES: dict[str, str] = _found()
"""Each pass by its command: the module and the class."""


def load_pass(name: str) -> type[Pass]:
    """The class of a registered pass."""
    from importlib import import_module

    module, _, cls = PASSES[name].partition(":")
    found: type[Pass] = getattr(import_module(module), cls)
    return found
