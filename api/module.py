"""A module, and what can be done with it."""

from __future__ import annotations

import operator
import os
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any

from bpir.api.text import inward, outward
from bpir.ir.diagnostic import Diagnostic, DiagnosticError, Source, Span, fail
from bpir.ir.effort import BASE, PER_BYTE, PER_OPERATION, limited

if TYPE_CHECKING:
    from bpir.api.report import Report
    from bpir.api.verdict import Verdict
    from bpir.dialects.levels import ModuleIR
    from bpir.ir.operation import Operation
    from bpir.passes.base import Pass


class DiagnosticWarning(UserWarning):
    """A warning of the tools, given by Python's `warnings`; its text shows the place."""

    __module__ = "bpir"  # where a program finds it


def load(path: str | os.PathLike[str], *, allow_unregistered: bool = False) -> Module:
    """The module of a file, its structure verified.

    Args:
        path: a `.bpir` file, in custom or in MLIR's generic form.
        allow_unregistered: accept operations of unknown dialects.

    Raises:
        DiagnosticError: it can't be read or parsed, or is malformed; the text of the error shows where.
    """
    from bpir.tools.common import read_file

    return _parsed(read_file(os.fspath(path)), allow_unregistered)


def parse(text: str, name: str = "<text>", *, allow_unregistered: bool = False) -> Module:
    """The module that a text holds, its structure verified; `name` is in diagnostics.

    Raises:
        DiagnosticError: the text is not in the language, or malformed; the text of the error shows where.
    """
    return _parsed(Source(name, inward(text)), allow_unregistered)


def _parsed(source: Source, allow_unregistered: bool) -> Module:
    from bpir.tools.common import sound_module

    steps = PER_BYTE * len(source.text)
    with _bounded(BASE):
        found: list[Diagnostic] = []
        return _module(sound_module(source, found, allow_unregistered), found, steps)


class Module:
    """A module of any level that has been verified: its structure, and, where passes made it, that it is a correct derivation.

    `str(module)` is its text. A module never changes; `run` gives another one.

    Attributes:
        operation: the tree of operations (`bpir.ir.operation.Operation`).
        warnings: what a user should know of it: what has no effect, and what is rarely meant. Each was given to Python's `warnings`, too.
    """

    def __init__(self, operation: Operation, warnings: Iterable[Diagnostic] = (), steps: int = 0) -> None:
        self.operation, self.warnings = operation, tuple(warnings)
        self._steps = BASE + steps  # that arithmetic on it may take (`bpir.ir.effort`)

    @property
    def name(self) -> str:
        """The name of the module; empty if it has none."""
        return outward(self._view.title)

    @cached_property
    def level(self) -> str:
        """`model`, `dist`, `plan` or `concrete`; empty if it holds no operation of a level."""
        from bpir.verifiers.structure.levels import level_of

        return level_of(self.operation)

    @cached_property
    def ir(self) -> ModuleIR:
        """The view of its level: `ModelIR`, `DistributedTaskIR`, `PortablePlanIR` or `ConcretePlanIR` (`bpir.dialects.levels`)."""
        from bpir.dialects import levels

        views = (levels.ModelIR, levels.DistributedTaskIR, levels.PortablePlanIR, levels.ConcretePlanIR)
        return next((view(self.operation) for view in views if view.level == self.level), self._view)

    @cached_property
    def _view(self) -> ModuleIR:
        from bpir.dialects.levels import ModuleIR

        return ModuleIR(self.operation)

    def run(self, *passes: str | Pass) -> Module:
        """The module after passes, each of whose results is verified as `bp-opt` does.

        Args:
            passes: texts as those of `bp-opt --pass-pipeline`, such as `"distribute-inference{tensor=8},plan-inference"`, or passes.

        Raises:
            DiagnosticError: a text is malformed, or a pass, the structure of its result or its gate failed.
        """
        from bpir.ir.printer import print_module
        from bpir.passes.manager import PassManager
        from bpir.passes.observers import Reporting
        from bpir.passes.pipeline import parse_pipeline

        with _bounded(self._steps):
            found: list[Diagnostic] = []
            chosen: list[Pass] = []
            for each in passes:
                chosen += parse_pipeline(Source("<passes>", inward(each))) if isinstance(each, str) else [each]
            made = PassManager(chosen, print_module, observers=(Reporting(found.append),)).run(self.operation)
            return _module(made, (d for d in found if d not in self.warnings), self._steps - BASE + PER_OPERATION * _size(made))

    def verify(self, source: Module) -> Verdict:
        """Whether this module, whoever wrote it, is a correct derivation of `source`, the module one level above.

        Raises:
            DiagnosticError: no derivation leads from the level of `source` to that of this module.
        """
        from bpir.api.verdict import judge

        with _bounded(self._steps + source._steps):
            return judge(source.operation, self.operation)

    def report(self, /, **numbers: int) -> Report:
        """Its work and memory, or the parameters of a model, with numbers in place of symbols: `module.report(B=1, c=2048)`.

        Raises:
            DiagnosticError: a number is no positive integer, or breaks a relation of the module.
        """
        from bpir.api.report import Report
        from bpir.ir.expressions.expression import constant
        from bpir.tools.reports.collect import collect
        from bpir.tools.reports.numbers import check_numbers, unused

        places = _places(numbers)
        values = {name: _number(name, value, places) for name, value in numbers.items()}
        with _bounded(self._steps, self.operation):
            found = collect(self.operation)
            check_numbers(values, self.operation, places.get)
            _warn(unused(values, found.symbols()))
            return Report(found.bound({name: constant(value) for name, value in values.items()}))

    def text(self, *, generic: bool = False, locations: bool = False) -> str:
        """Its text, which reads back as the same module.

        Args:
            generic: in MLIR's generic form.
            locations: with `loc(...)` where an operation or a block argument has one.
        """
        from bpir.ir.printer import print_module

        return outward(print_module(self.operation, generic=generic, locations=locations).rstrip("\n") + "\n")

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        name = f" @{self.name}" if self.name else ""
        return f"<bpir.Module{name}, {self.level or 'of no level'}>"

    def _repr_html_(self) -> str:
        from bpir.api.html import module_html
        from bpir.tools.reports.collect import collect

        found = None
        if self.level:
            with _bounded(self._steps, self.operation):
                found = collect(self.operation)
        return module_html(self.text(), found)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/plain": self.text(), "text/html": self._repr_html_()}


def _module(operation: Operation, found: Iterable[Diagnostic], steps: int) -> Module:
    module = Module(operation, found, steps)
    _warn(module.warnings)
    return module


def _size(module: Operation) -> int:
    return sum(1 for _ in module.walk())


def _number(name: str, value: object, places: Mapping[str, Span]) -> int:
    """A number that was given for a symbol; those of NumPy are numbers, too."""
    try:
        found = 0 if isinstance(value, bool) else operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        found = 0
    if found < 1:
        raise fail(f"'{inward(name)}' stands for a positive integer, not for this", places[name])
    return found


def _warn(found: Iterable[Diagnostic]) -> None:
    """Give each warning to Python, as one of the line of the program that called us."""
    for diagnostic in found:
        warnings.warn(DiagnosticWarning(diagnostic.render()), stacklevel=_depth())


def _depth() -> int:
    """How many frames above `_warn` the first one is that is not of this file."""
    import sys

    depth = 1
    while sys._getframe(depth).f_globals.get("__name__") == __name__:
        depth += 1
    return depth


def _places(numbers: dict[str, int]) -> dict[str, Span]:
    """Where each number is in `report(B=1, c=2048)`, as a user may have written it."""
    text, found = "report(", {}
    for name, value in numbers.items():
        start = len(text)
        text += f"{inward(name)}={value!r}, "
        found[name] = start, len(text) - 2
    source = Source("<arguments>", text.removesuffix(", ") + ")")
    return {name: Span(source, *place) for name, place in found.items()}


@contextmanager
def _bounded(steps: int, module: Operation | None = None) -> Iterator[None]:
    """Arithmetic inside takes so many steps, as a tool would allow it; where that is too few, it is an error."""
    from bpir.ir.diagnostic import error
    from bpir.ir.expressions.error import ExpressionError
    from bpir.verifiers.structure.exhaustion import placed

    with limited(steps):
        try:
            if module is None:
                yield
            else:
                with placed(module):
                    yield
        except ExpressionError as problem:
            raise DiagnosticError(error(str(problem))) from None
