"""Runs passes in order, and publishes nothing that is not verified."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence

import attrs

from bpir.ir.diagnostic import Diagnostic, DiagnosticError, error, note
from bpir.ir.effort import PER_OPERATION, allow
from bpir.ir.operation import Operation
from bpir.passes.base import Pass
from bpir.passes.blame import option_places
from bpir.passes.locations import inherit_locations
from bpir.passes.timing import Timing
from bpir.verifiers.exhaustion import placed
from bpir.verifiers.levels import level_of, place_of


@attrs.frozen
class Dumps:
    """Which intermediate modules to print."""

    before: frozenset[str] = frozenset()
    after: frozenset[str] = frozenset()
    before_all: bool = False
    after_all: bool = False
    after_change: bool = False  # after every pass (or those of `after`) that changed the module


def _ignore(diagnostic: Diagnostic) -> None:
    pass


@attrs.define
class PassManager:
    """An ordered list of passes, and how to run them.

    Args:
        passes: the passes, in order.
        render: the text of a module, for dumps and replay.
        verify_each: verify the structure of each pass's result.
        replay: run each pass twice, and compare what they print.
        dumps: the intermediate modules to print to standard error.
        timing: where to count the time of passes and verifiers.
        report: receives warnings and remarks; errors are raised.
    """

    passes: Sequence[Pass]
    render: Callable[[Operation], str]
    verify_each: bool = True
    replay: bool = False
    dumps: Dumps = attrs.field(factory=Dumps)
    timing: Timing = attrs.field(factory=Timing)
    report: Callable[[Diagnostic], None] = _ignore
    reached: tuple[int, Operation] | None = attrs.field(default=None, init=False)
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
        if self.dumps.before_all or current.name in self.dumps.before:
            self._dump("Before", current, self.render(module))
        watched = self.dumps.after_change and (not self.dumps.after or current.name in self.dumps.after)
        before = self.render(module) if watched or self.replay else ""
        with self.timing.section(current.name), option_places(current, module):
            result = _derived(current, module)
        allow(PER_OPERATION * sum(1 for _ in result.walk()))
        for warning in current.warnings(module):
            self.report(warning)
        if self.replay:
            with self.timing.section("Replay"):
                self._replay(current, module, result, before)
        if self.verify_each:
            with option_places(current, module):
                self._verify(result, note(f"found in the result of pass '{current.name}'"))
        failed = note(f"pass '{current.name}' publishes nothing, because its gate failed")
        with self.timing.section("Verify boundary"), placed(module, failed):
            found = current.gate(module, result)
        self._raise_errors(found, failed)
        if watched:
            after = self.render(result)
            if after != before:
                self._dump("After", current, after)
        elif self.dumps.after_all or current.name in self.dumps.after:
            self._dump("After", current, self.render(result))
        return result

    def _verify(self, module: Operation, *explanation: Diagnostic) -> None:
        from bpir.verifiers.module import verify

        with self.timing.section("Verify structure"), placed(module, *explanation):
            found = verify(module)
        self._raise_errors(found, *explanation)

    def _raise_errors(self, found: Iterable[Diagnostic], *explanation: Diagnostic) -> None:
        diagnostics = list(found)
        if any(d.severity == "error" for d in diagnostics):
            raise DiagnosticError(*diagnostics, *explanation)
        for diagnostic in diagnostics:
            self.report(diagnostic)

    def _dump(self, when: str, current: Pass, text: str) -> None:
        sys.stderr.write(f"// -----// IR Dump {when} {current.name} //----- //\n{text.rstrip()}\n\n")

    def _replay(self, current: Pass, module: Operation, result: Operation, before: str) -> None:
        """Refuses a pass that changes its input, or that answers differently the second time."""
        if self.render(module) != before:
            raise DiagnosticError(error(f"pass '{current.name}' is not pure: it changed the module that it was given"))
        first, second = self.render(result), self.render(_derived(current, module))
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


def _derived(current: Pass, module: Operation) -> Operation:
    result = current.run(module)
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
