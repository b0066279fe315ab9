"""Regular expressions whose programs are kept: to compile them was a twelfth of a short run.

A program is a list of numbers that the interpreter's own compiler makes (`re._compiler`), and that its engine checks before it runs it. It
depends on nothing but the pattern, its flags, and the version of the interpreter, which the image knows.
"""

from __future__ import annotations

import re
import sys

TYPE_CHECKING = False  # without `typing`, which is a part of every start
if TYPE_CHECKING:
    from typing import Any

    Program = tuple[int, bytes, int, dict[str, int], tuple[str | None, ...]]  # flags, code, groups, and their names both ways

_MOST = 1000


class Patterns:
    """The programs that are kept, by the pattern and its flags, and the patterns that this run has compiled besides."""

    def __init__(self, kept: dict[tuple[str, int], Program]) -> None:
        self.kept = kept
        self._compiled: dict[tuple[str, int], re.Pattern[str]] = {}
        self._original: Any = None

    def install(self) -> None:
        """Let patterns come from here from now on."""
        compiler: Any = sys.modules.get("re._compiler")  # what `re` calls for a pattern that it doesn't remember
        if compiler is not None and hasattr(compiler, "compile"):
            self._original, compiler.compile = compiler.compile, self._compile

    def _compile(self, pattern: Any, flags: int = 0) -> Any:
        kept = self.kept.get((pattern, flags)) if type(pattern) is str else None
        if kept is not None:
            import _sre  # type: ignore[import-not-found]

            all_flags, code, groups, numbers, names = kept
            return _sre.compile(pattern, all_flags, memoryview(code).cast("I").tolist(), groups, numbers, names)
        found = self._original(pattern, flags)
        if type(pattern) is str and _of_module(sys._getframe(1)):
            self._compiled[pattern, int(flags)] = found
        return found

    def added(self) -> dict[tuple[str, int], Program]:
        """The programs of what was compiled."""
        if len(self.kept) + len(self._compiled) > _MOST:
            return {}
        return {key: _program(key, found) for key, found in self._compiled.items()}


def _of_module(frame: Any) -> bool:
    """Whether a pattern is compiled by the body of a module: others may depend on the input, and are as many."""
    while frame.f_globals.get("__name__") == "re":
        frame = frame.f_back
    return bool(frame.f_code.co_name == "<module>")


def _program(key: tuple[str, int], found: re.Pattern[str]) -> Program:
    compiler: Any = sys.modules["re._compiler"]
    parser: Any = sys.modules["re._parser"]
    pattern, flags = key
    code = compiler._code(parser.parse(pattern, flags), flags)
    names: list[str | None] = [None] * (found.groups + 1)
    for name, number in found.groupindex.items():
        names[number] = name
    data = b"".join(int(word).to_bytes(4, sys.byteorder) for word in code)
    return found.flags, data, found.groups, dict(found.groupindex), tuple(names)
