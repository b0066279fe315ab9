"""Helpers of the tests of training: a strategy spelt as pass options, the derived step with sums of its work, refusals."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from functools import cache
from typing import Any

import attrs
import pytest
import sympy
from support import example_text, read, replaced, report, run

from bpir.dialects.bp import symbol_table
from bpir.ir.diagnostic import DiagnosticError
from bpir.ir.expressions.expression import Expr, total
from bpir.ir.expressions.sympy_bridge import from_sympy, to_sympy
from bpir.ir.operation import Operation
from bpir.tools.reports.report import Report, TaskRow

BACKWARD = ("activation_gradient", "weight_gradient")
REPEATED = ("recompute", "recommunication")
PHASES = ("forward", *REPEATED, *BACKWARD, "gradient_reduction", "optimizer")

B, S, H, F, h, d, e, t, D = (sympy.Symbol(name, integer=True, positive=True) for name in "BSHFhdetD")
"""The symbols of `examples/transformer_block.bpir`, as sympy's."""


def options(chosen: Mapping[str, object]) -> str:
    """The options of a pass as on the command line."""
    return " ".join(f"{name}={str(value).lower() if isinstance(value, bool) else value}" for name, value in chosen.items())


@attrs.frozen(eq=False)
class Step:
    """One rank's training step of a module, as the passes derive it.

    Attributes:
        dist: the distributed tasks.
        plan: the portable plan; the facts below are the plan's.
    """

    dist: Operation
    plan: Operation
    report: Report

    @property
    def tasks(self) -> tuple[TaskRow, ...]:
        return self.report.tasks

    def sum(self, component: str, phases: str | Iterable[str], *layers: str) -> Any:
        """A component of the work of some phases, of some layers or of all, in sympy."""
        wanted = (phases,) if isinstance(phases, str) else tuple(phases)
        assert set(wanted) <= set(PHASES)
        assert set(layers) <= {row.layer for row in self.tasks}, f"no such layer among {layers}"
        rows = [row for row in self.tasks if row.phase in wanted and (not layers or row.layer in layers)]
        return to_sympy(total(getattr(row.work, component) for row in rows))

    def memory(self, name: str) -> Any:
        """Bytes of the plan's memory, in sympy."""
        return to_sympy(self.report.memory[name])

    def layer(self, layer: str, fact: str) -> Any:
        """A memory fact of a layer: bytes in sympy, or a flag."""
        value = self.report.layers[layer][fact]
        return value if isinstance(value, bool) else to_sympy(value)

    def proves(self, left: Any, right: Any) -> bool:
        """Whether two sympy expressions are equal under the relations that the module declares."""
        return symbol_table(self.plan).declared_facts.equal(from_sympy(left), from_sympy(right)).proved


def derive(module: Operation, chosen: Mapping[str, object]) -> Step:
    """The step of a module under the options of `distribute-training`."""
    dist = run(module, f"distribute-training{{{options(chosen)}}}")
    plan = run(dist, "plan-training")
    return Step(dist, plan, report(plan))


@cache
def _block(changes: tuple[tuple[str, str], ...], chosen: tuple[tuple[str, object], ...]) -> Step:
    text = example_text("transformer_block").replace("bp.symbols B,", "bp.symbols D, B,")
    return derive(read(replaced(text, *changes)), dict(chosen))


def block(*changes: tuple[str, str], **chosen: object) -> Step:
    """The step of `examples/transformer_block.bpir`, with changes of its text; sizes stay symbols, `D` is a symbol for data parallelism."""
    return _block(changes, tuple({"tensor": "t", **chosen}.items()))


def same(left: Any, right: Any) -> bool:
    """Whether two sympy expressions are equal for all values of their symbols."""
    return bool(sympy.expand(left - right) == 0)


def number(value: Expr) -> int | Fraction:
    """The value of an expression without symbols."""
    found = value.constant
    assert found is not None, f"{value.text} is no number"
    return found.numerator if found.denominator == 1 else found


def refusal(act: Callable[[], object]) -> str:
    """The one error that is raised, as a user sees it."""
    with pytest.raises(DiagnosticError) as caught:
        act()
    errors = [diagnostic for diagnostic in caught.value.diagnostics if diagnostic.severity == "error"]
    assert len(errors) == 1, [diagnostic.message for diagnostic in errors]
    return errors[0].render()
