"""The image: one file with the code of our modules, and the programs of the regular expressions that they compile.

A short run loads some two hundred modules. To find, open and check the file of each was a tenth of it, and to compile what they look for
as much again. A run that loads a module from elsewhere writes it to the image; those after it read it from there, as long as its source
has the time and the size that it had, which is what the interpreter asks of its own compiled files. So a run is as fast where no compiled
files can be written (an installation that is read-only), or none shall be (`PYTHONDONTWRITEBYTECODE`).

Only a tool that is the whole process has an image. Without one, or with one that is damaged, all is as it is without it.
"""

from __future__ import annotations

import marshal
import os
import sys
from io import FileIO

from bpir.startup.kept import DIGEST, digest, keep, places
from bpir.startup.patterns import Patterns

TYPE_CHECKING = False  # without `typing`, which is a part of every start
if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import CodeType, ModuleType
    from typing import Any

    Stamp = tuple[int, int]
    Entry = tuple[str, bool, Stamp, int, int, bytes]  # source, is a package, stamp, offset, length and check sum of the code

_PREFIX = __name__.partition(".")[0] + "."
_FORMAT = 1
_LENGTH = 8  # bytes of the length of the index


class Image:
    """The modules and patterns that earlier runs kept, and those that this one adds."""

    def __init__(self) -> None:
        self._key = (_FORMAT, sys.version, sys.flags.optimize, os.path.dirname(os.path.dirname(__file__)))
        self._name = f"image-{digest(repr(self._key).encode()).hex()}.bin"
        self._file: FileIO | None = None
        self._begin = 0  # of the code in the file
        self._kept: dict[str, Entry] = {}
        self._added: dict[str, tuple[str, bool, Stamp, CodeType]] = {}
        self._patterns = Patterns({})
        self._machinery: Any = None

    def install(self) -> None:
        """Let modules and patterns come from the image from now on."""
        import importlib.machinery  # not for `--help`

        self._machinery = importlib.machinery
        for path in places(self._name):
            if self._open(path):
                break
        sys.meta_path.insert(0, self)
        self._patterns.install()

    def _open(self, path: str) -> bool:
        """Read the index of a file; whether it is whole, and of this installation and interpreter."""
        try:
            file = FileIO(path)
            head = file.read(DIGEST + _LENGTH)
            index = file.read(min(int.from_bytes(head[DIGEST:], "little"), os.stat(path).st_size))
        except OSError:
            return False
        if not index or digest(index) != head[:DIGEST]:
            return False
        key, kept, patterns = marshal.loads(index)
        if key != self._key:
            return False
        self._file, self._kept, self._patterns = file, kept, Patterns(patterns)
        self._begin = len(head) + len(index)
        return True

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        """How to load one of our modules; of others nothing."""
        if not name.startswith(_PREFIX):
            return None
        entry = self._kept.get(name)
        if entry is not None and _stamp(entry[0]) == entry[2]:
            kept: ModuleSpec = self._machinery.ModuleSpec(name, self, origin=entry[0], is_package=entry[1])
            if entry[1]:
                kept.submodule_search_locations = [os.path.dirname(entry[0])]
            return kept
        found: ModuleSpec | None = self._machinery.PathFinder.find_spec(name, path)
        if found is not None and type(found.loader) is self._machinery.SourceFileLoader:
            found.loader_state = found.loader
            found.loader = self  # type: ignore[assignment]
        return found

    def create_module(self, spec: ModuleSpec) -> None:
        """As usual."""

    def exec_module(self, module: ModuleType) -> None:
        """Run the code of a module."""
        spec = module.__spec__
        assert spec is not None and spec.origin is not None
        module.__file__ = spec.origin
        code = self._code(spec.name) if spec.loader_state is None else None
        if code is None:
            code = self._compiled(spec)
        exec(code, module.__dict__)

    def _code(self, name: str) -> CodeType | None:
        """The code of a kept module; None if it is damaged."""
        assert self._file is not None
        *_, offset, length, total = self._kept[name]
        self._file.seek(self._begin + offset)
        data = self._file.read(length)
        if digest(data) != total:
            return None
        code: CodeType = marshal.loads(data)
        return code

    def _compiled(self, spec: ModuleSpec) -> CodeType:
        """The code of a module as the interpreter finds it, which is kept."""
        assert spec.origin is not None
        stamp = _stamp(spec.origin)
        loader = spec.loader_state or self._machinery.SourceFileLoader(spec.name, spec.origin)
        code: CodeType = loader.get_code(spec.name)
        if stamp is not None:
            self._added[spec.name] = spec.origin, spec.submodule_search_locations is not None, stamp, code
        return code

    def keep(self) -> None:
        """Write the image again, if this run has loaded what was not in it."""
        patterns = self._patterns.added()
        if not self._added and not patterns:
            return
        entries: dict[str, Entry] = {}
        parts: list[bytes] = []
        offset = 0
        for name, source, package, stamp, data in self._all():
            entries[name] = source, package, stamp, offset, len(data), digest(data)
            parts.append(data)
            offset += len(data)
        index = marshal.dumps((self._key, entries, self._patterns.kept | patterns))
        keep(self._name, b"".join([digest(index), len(index).to_bytes(_LENGTH, "little"), index, *parts]))

    def _all(self) -> list[tuple[str, str, bool, Stamp, bytes]]:
        """What was kept and is still true, and what was added."""
        found = [(name, source, package, stamp, marshal.dumps(code)) for name, (source, package, stamp, code) in self._added.items()]
        for name, (source, package, stamp, offset, length, total) in self._kept.items():
            if self._file is not None and name not in self._added and _stamp(source) == stamp:
                self._file.seek(self._begin + offset)
                data = self._file.read(length)
                if digest(data) == total:
                    found.append((name, source, package, stamp, data))
        return found


def _stamp(path: str) -> Stamp | None:
    """The time and the size of a source; None if there is none."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size
