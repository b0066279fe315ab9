"""Observers of passes: they see each step, and change nothing.

`--print-ir-*` and `--timing` are observers; a user's own is a subclass of `Observer`, given to the `PassManager`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager

from bpir.ir.diagnostic import Diagnostic
from bpir.ir.operation import Operation
from bpir.passes.base import Pass


class Observer:
    """Sees each pass begin and end, each section of the work, and each warning. All do nothing unless a subclass says what."""

    def before(self, current: Pass, module: Operation) -> None:
        """A pass is about to run on the module."""

    def after(self, current: Pass, module: Operation, result: Operation) -> None:
        """A pass has made a result that is verified."""

    @contextmanager
    def section(self, name: str) -> Iterator[None]:
        """A section of the work is running: a pass by its name, `Verify structure`, `Verify boundary`, `Replay`."""
        yield

    def warned(self, diagnostic: Diagnostic) -> None:
        """A warning, or a remark, of a pass or a verifier."""


class Dumps(Observer):
    """Prints intermediate modules to standard error.

    Args:
        render: the text of a module.
        before, after: the names of passes.
        after_change: after every pass (or those of `after`) that changed the module.
    """

    def __init__(
        self,
        render: Callable[[Operation], str],
        before: frozenset[str] = frozenset(),
        after: frozenset[str] = frozenset(),
        before_all: bool = False,
        after_all: bool = False,
        after_change: bool = False,
    ) -> None:
        self.render, self.before_names, self.after_names = render, before, after
        self.before_all, self.after_all, self.after_change = before_all, after_all, after_change

    def before(self, current: Pass, module: Operation) -> None:
        if self.before_all or current.name in self.before_names:
            self._show("Before", current, self.render(module))

    def after(self, current: Pass, module: Operation, result: Operation) -> None:
        if self.after_change and (not self.after_names or current.name in self.after_names):
            text = self.render(result)
            if text != self.render(module):
                self._show("After", current, text)
        elif self.after_all or current.name in self.after_names:
            self._show("After", current, self.render(result))

    def _show(self, when: str, current: Pass, text: str) -> None:
        sys.stderr.write(f"// -----// IR Dump {when} {current.name} //----- //\n{text.rstrip()}\n\n")


class Reporting(Observer):
    """Hands every warning on."""

    def __init__(self, receive: Callable[[Diagnostic], None]) -> None:
        self.receive = receive

    def warned(self, diagnostic: Diagnostic) -> None:
        self.receive(diagnostic)


@contextmanager
def watched(observers: Sequence[Observer], name: str) -> Iterator[None]:
    """A section of the work that all observers see."""
    with ExitStack() as stack:
        for observer in observers:
            stack.enter_context(observer.section(name))
        yield
