"""Files that one run keeps for the next: beside the sources, or in the user's own cache folder (`XDG_CACHE_HOME`, else `~/.cache/bpir`).

A kept file can always be made again: one that is missing, damaged, or of something else is not used.
"""

from __future__ import annotations

import os
import sys
from _imp import source_hash

DIGEST = 8
"""Bytes of a check sum."""
_SEED = 0x62706972


def digest(data: bytes) -> bytes:
    """A check sum, against damage only: whoever may write the file may write the sources as well."""
    return source_hash(_SEED, data)


def places(name: str) -> list[str]:
    """The paths where a file of this name may be kept, the best first."""
    own = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return [os.path.join(os.path.dirname(__file__), "__pycache__", name), os.path.join(own, "bpir", name)]


def keep(name: str, data: bytes) -> None:
    """Write the file at the first place that can be written.

    That is beside the sources, unless the interpreter is told to write nothing there (`PYTHONDONTWRITEBYTECODE`).
    """
    any(_write(path, data) for path in places(name)[1 if sys.dont_write_bytecode else 0 :])


def _write(path: str, data: bytes) -> bool:
    """Write a file, whole or not at all; whether that could be done."""
    part = f"{path}.{os.getpid()}"
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(part, "xb") as file:
            file.write(data)
        os.replace(part, path)
    except OSError:
        return False
    return True
