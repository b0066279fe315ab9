"""Helpers of tests and evidence: modules of the examples, passes by their command, changed texts, labels of diagnostics."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from bpir.ir.diagnostic import Diagnostic, Source
from bpir.ir.operation import Operation
from bpir.ir.printer import print_module
from bpir.parser import parse_module
from bpir.passes.manager import PassManager
from bpir.passes.pipeline import command_line, parse_pass
from bpir.tools.reports.collect import collect
from bpir.tools.reports.report import Report
from bpir.verifiers import derivation
from bpir.verifiers.structure import module as structure

ROOT = Path(__file__).parent.parent
EXAMPLES = tuple(sorted(path.stem for path in (ROOT / "examples").glob("*.bpir") if not path.stem.endswith("_training")))
"""The examples of inference; those of training end in `_training`."""
DATA = ROOT / "tests" / "data"

UNDECIDED = "max(3*(B*S*c)**2 - B**6 - S**4*c**2 - S**2*c**4, 0)"
"""Zero for all numbers (the geometric mean is not above the arithmetic one), which no proof here finds."""

_LABEL = re.compile(r"\[([a-z][a-z-]*\.[A-Z]\d+)\]")


def test_file(name: str) -> Path:
    """A file of tests by its name, in whichever folder of `tests/` it is."""
    return next((ROOT / "tests").rglob(name))


test_file.__test__ = False  # type: ignore[attr-defined]


def read(text: str, name: str = "test.bpir") -> Operation:
    """The module that a text holds, not verified."""
    return parse_module(Source(name, text))


@cache
def example_text(name: str) -> str:
    """The text of an example, as bytes in latin-1."""
    return (ROOT / "examples" / f"{name}.bpir").read_bytes().decode("latin-1")


def example(name: str) -> Operation:
    """The module of an example."""
    return read(example_text(name), f"{name}.bpir")


def network_text(name: str = "transformer_block") -> str:
    """An example as a whole model: its block `L` times, then once more."""
    network = """  bp.symbols L
  model.network @whole(%x: !bp.tensor<B x S x H, e>) {
    %y = model.repeat L @block %x
    %z = model.call @block %y
    model.return %z
  }
}
"""
    return example_text(name).rstrip().removesuffix("}") + network


def run(module: Operation, *passes: str) -> Operation:
    """The module after passes, spelt as on the command line; structure and gates are verified as `bp-opt` does."""
    return PassManager([parse_pass(command_line(text)) for text in passes], render=print_module).run(module)


LEVELS = {
    "model": (),
    "expanded": ("expand-blocks",),
    "dist": ("distribute-inference",),
    "plan": ("distribute-inference", "plan-inference"),
    "bound": ("distribute-inference", "plan-inference", "bind-symbols"),
    "prefill": ("distribute-inference{phase=prefill tensor=2}", "plan-inference"),
}
"""The passes that lead from an example to each level of inference."""


@cache
def derive(name: str, level: str) -> Operation:
    """An example at a level; those without numbers of their own are bound to some."""
    passes = LEVELS[level]
    if level == "bound" and name in ("transformer_block", "transformer_stack"):
        layers = " L=3" if name == "transformer_stack" else ""
        passes = (*passes[:-1], f"bind-symbols{{B=2 S=5 c=7 H=96 F=384 h=8 d=12 t=4 e=2{layers}}}")
    if level == "prefill" and name == "gpt2":
        passes = ("distribute-inference{phase=prefill}", *passes[1:])  # its sizes are declared for one rank
    return run(example(name), *passes)


def digest() -> str:
    """A hash of the text of every example at every level in both forms."""
    found = hashlib.sha256()
    for name in EXAMPLES:
        for level in LEVELS:
            for generic in (False, True):
                found.update(print_module(derive(name, level), generic).encode("latin-1"))
    return found.hexdigest()


def report(module: Operation) -> Report:
    """The report of `bp-report` on the module."""
    return collect(module)


def replaced(text: str, *changes: tuple[str, str]) -> str:
    """The text with each change applied; what is replaced must be in it exactly once, so that no corruption misses."""
    for old, new in changes:
        assert text.count(old) == 1, f"{old!r} is {text.count(old)} times in the text"
        text = text.replace(old, new)
    return text


def gate(source: Operation, target: Operation) -> list[Diagnostic]:
    """The diagnostics of `bp-verify` for `target`: of its structure and, if that is sound, of the boundary."""
    return structure.verify(target) or derivation.verify(source, target)


def labels(diagnostics: Iterable[Diagnostic]) -> set[str]:
    """The rules that the diagnostics name; the message itself where a diagnostic names none."""
    return {label for d in diagnostics for label in _LABEL.findall(d.message) or [d.message]}


def line_of(diagnostic: Diagnostic) -> str:
    """The source line that a diagnostic points at."""
    assert diagnostic.span is not None, f"no place: {diagnostic.message}"
    source = diagnostic.span.source
    return source.line(source.position(diagnostic.span.start)[0]).strip()


def shown(diagnostics: Iterable[Diagnostic]) -> str:
    """The diagnostics as a user sees them, for messages of failing tests."""
    return "\n".join(d.render() for d in diagnostics)


def statement(text: str, head: str) -> str:
    """The text of the one operation whose first line has `head` in it: up to the next line that is not deeper."""
    lines = text.splitlines(keepends=True)
    found = [i for i, line in enumerate(lines) if head in line]
    assert len(found) == 1, f"{head!r} is on {len(found)} lines"
    first = found[0]
    depth = _indent(lines[first])
    last = first + 1
    while last < len(lines) and _indent(lines[last]) > depth:
        last += 1
    return "".join(lines[first:last])


def edited(text: str, head: str, *changes: tuple[str, str]) -> str:
    """The text with changes in the one operation whose first line has `head` in it."""
    whole = statement(text, head)
    return replaced(text, (whole, replaced(whole, *changes)))


def dropped(text: str, *heads: str) -> str:
    """The text without the operations whose first lines have the heads in them."""
    for head in heads:
        text = replaced(text, (statement(text, head), ""))
    return text


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))
