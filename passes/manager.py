"""Runs passes in order, and publishes nothing that is not verified."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from bpir.dialects.levels import ModuleIR
from bpir.ir.diagnostic import Diagnostic, DiagnosticError, error, note
from bpir.ir.effort import PER_OPERATION, allow
from bpir.ir.operation import Operation
from bpir.passes.base import Pass
from bpir.passes.blame import option_places
from bpir.passes.context import PassContext
from bpir.passes.locations import inherit_locations
from bpir.passes.observers import Observer, watched
from bpir.verifiers.structure.exhaustion import placed
from bpir.verifiers.structure.levels import level_of, place_of


class PassManager:
    """An ordered list of passes, and how to run them.

    Args:
        passes: the passes, in order.
        render: the text of a module, for replay.
        verify_each: verify the structure of each pass's result.
        replay: run each pass twice, and compare what they print.
        observers: see passes begin and end, and warnings; errors are raised.
    """

    def __init__(
        self,
        passes: Sequence[Pass],
        render: Callable[[Operation], str],
        verify_each: bool = True,
        replay: bool = False,
        observers: Sequence[Observer] = (),
    ) -> None:
        self.passes, self.render, self.verify_each, self.replay, self.observers = passes, render, verify_each, replay, observers
        self.reached: tuple[int, Operation] | None = None
        """The index of the pass that is running, or failed, and the module that it was given."""

    def run(self, module: Operation) -> Operation:
        """The module after all passes.

        Raises:
            DiagnosticError: the input is malformed, or a pass, the structure of its result or its gate failed.
        """
        self._verify(module)
        for index, current in enumerate(self.passes):
            self.reached = (index, module)
            with placed(module, note(f"in pass '{current.name}'")):
                module = self._apply(current, module)
        self.reached = None
        return module

    def _apply(self, current: Pass, module: Operation) -> Operation:
        _expect_level(current, module)
        context = PassContext(current, ModuleIR(module), self.observers)
        for observer in self.observers:
            observer.before(current, module)
        before = self.render(module) if self.replay else ""
        with watched(self.observers, current.name), option_places(current, module):
            result = _derived(current, module, context)
        allow(PER_OPERATION * sum(1 for _ in result.walk()))
        for warning in current.warnings(module, context):
            context.warn(warning)
        if self.replay:
            with watched(self.observers, "Replay"):
                self._replay(current, module, result, before)
        if self.verify_each:
            with option_places(current, module):
                self._verify(result, note(f"found in the result of pass '{current.name}'"))
        failed = note(f"pass '{current.name}' publishes nothing, because its gate failed")
        with watched(self.observers, "Verify boundary"), placed(module, failed):
            found = current.gate(module, result)
        self._raise_errors(found, failed)
        for observer in self.observers:
            observer.after(current, module, result)
        return result

    def _verify(self, module: Operation, *explanation: Diagnostic) -> None:
        from bpir.verifiers.structure.module import verify

        with watched(self.observers, "Verify structure"), placed(module, *explanation):
            found = verify(module)
        self._raise_errors(found, *explanation)

    def _raise_errors(self, found: Iterable[Diagnostic], *explanation: Diagnostic) -> None:
        diagnostics = list(found)
        if any(d.severity == "error" for d in diagnostics):
            raise DiagnosticError(*diagnostics, *explanation)
        for diagnostic in diagnostics:
            for observer in self.observers:
                observer.warned(diagnostic)

    def _replay(self, current: Pass, module: Operation, result: Operation, before: str) -> None:
        """Refuses a pass that changes its input, or that answers differently the second time."""
        if self.render(module) != before:
            raise DiagnosticError(error(f"pass '{current.name}' is not pure: it changed the module that it was given"))
        first, second = self.render(result), self.render(_derived(current, module, PassContext(current, ModuleIR(module), ())))
        if first != second:
            line = _first_difference(first, second)
            raise DiagnosticError(
                error(
                    f"pass '{current.name}' is not deterministic: its second run differs from line {line + 1} on",
                    None,
                    note(f"first run: {_line(first, line)}"),
                    note(f"second run: {_line(second, line)}"),
                )
            )


def _derived(current: Pass, module: Operation, context: PassContext) -> Operation:
    result = current.derived(module, context)
    inherit_locations(module, result)
    return result


def _expect_level(current: Pass, module: Operation) -> None:
    level = level_of(module)
    if current.source and level != current.source:
        found = f"a {level} module" if level else "a module without operations of a level"
        raise DiagnosticError(error(f"pass '{current.name}' expects a {current.source} module, found {found}", place_of(module)))


def _first_difference(first: str, second: str) -> int:
    pairs = zip(first.split("\n"), second.split("\n"), strict=False)
    return next((i for i, (a, b) in enumerate(pairs) if a != b), min(first.count("\n"), second.count("\n")) + 1)


def _line(text: str, index: int) -> str:
    lines = text.split("\n")
    return lines[index].strip() if index < len(lines) else "(the end)"
