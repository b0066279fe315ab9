"""Passes for the tests of the machinery, registered as real ones are."""

from __future__ import annotations

import itertools
from typing import ClassVar

from bpir.ir.attributes import StringAttr
from bpir.ir.diagnostic import Diagnostic, error
from bpir.ir.expressions.expression import Expr
from bpir.ir.operation import Operation, clone
from bpir.passes.base import TransformationPass, option
from bpir.passes.context import PassContext

FAKES = {
    "fake-mark": "fake_passes:Mark",
    "fake-options": "fake_passes:AllOptions",
    "fake-numbers": "fake_passes:Numbers",
    "fake-model": "fake_passes:NeedsModel",
    "fake-gate": "fake_passes:FailsGate",
    "fake-impure": "fake_passes:Impure",
    "fake-random": "fake_passes:Random",
    "fake-broken": "fake_passes:MakesBrokenModule",
    "fake-crash": "fake_passes:Crashes",
}


def marked(module: Operation, text: str) -> Operation:
    """A copy of the module, each operation in it marked with a discardable attribute."""
    copy = clone(module)
    for operation in copy.body:
        operation.attributes["mark"] = StringAttr(text)
    return copy


class Mark(TransformationPass):
    """Marks every operation.

    The second paragraph.
    """

    name: ClassVar[str] = "fake-mark"
    text: str | None = option("what to write")

    def run(self, module: Operation, context: PassContext) -> Operation:
        return marked(module, self.text or "x")


class AllOptions(TransformationPass):
    """Has an option of each kind."""

    name: ClassVar[str] = "fake-options"
    phase: str | None = option("which phase", choices=("prefill", "decode"))
    fast: bool | None = option("a flag", kind="flag")
    workload: str | None = option("a symbol", kind="symbol")
    batch: Expr | None = option("an expression", kind="expression")
    label: str | None = option("any word")

    def run(self, module: Operation, context: PassContext) -> Operation:
        return clone(module)


class Numbers(TransformationPass):
    """Takes numbers for names."""

    name: ClassVar[str] = "fake-numbers"
    values: dict[str, int] = option("the numbers", kind="numbers")

    def run(self, module: Operation, context: PassContext) -> Operation:
        return clone(module)


class NeedsModel(Mark):
    """Reads the model level."""

    name: ClassVar[str] = "fake-model"
    source: ClassVar[str] = "model"
    target: ClassVar[str] = "dist"


class FailsGate(Mark):
    """Never passes its gate."""

    name: ClassVar[str] = "fake-gate"

    def gate(self, source: Operation, target: Operation) -> list[Diagnostic]:
        return [error("work differs", target.body[0].span)]


class Impure(TransformationPass):
    """Changes its input."""

    name: ClassVar[str] = "fake-impure"

    def run(self, module: Operation, context: PassContext) -> Operation:
        module.body[0].attributes["changed"] = StringAttr("")
        return clone(module)


class Random(TransformationPass):
    """Answers differently every time."""

    name: ClassVar[str] = "fake-random"
    counter: ClassVar[itertools.count[int]] = itertools.count()

    def run(self, module: Operation, context: PassContext) -> Operation:
        return marked(module, str(next(self.counter)))


class MakesBrokenModule(TransformationPass):
    """Uses a value before its definition."""

    name: ClassVar[str] = "fake-broken"

    def run(self, module: Operation, context: PassContext) -> Operation:
        copy = clone(module)
        foreign = clone(module).body[0]
        copy.body[-1].operands.append(foreign.results[0])
        return copy


class Crashes(TransformationPass):
    """Raises an exception that is no diagnostic."""

    name: ClassVar[str] = "fake-crash"
    kind: str | None = option("which exception")

    def run(self, module: Operation, context: PassContext) -> Operation:
        if self.kind == "recursion":
            return self.run(module, context)
        raise {"memory": MemoryError, "interrupt": KeyboardInterrupt}.get(self.kind or "", ZeroDivisionError)("oops")
