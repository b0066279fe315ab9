"""A change in a large plan: what it does not touch is not read again, and what is said is what is said of the text read whole."""

from __future__ import annotations

import random
import re
import subprocess
import sys

import pytest
from support import ROOT

from bpir.ir.diagnostic import Diagnostic, Source
from bpir.ir.operation import Operation
from bpir.ir.printer import print_module
from bpir.lsp.document import Document
from bpir.parser import parse_module
from bpir.passes.manager import PassManager
from bpir.passes.pipeline import parse_pipeline


def planned(layers: int, passes: str) -> str:
    """The plan of a training step of many layers."""
    generate = [sys.executable, str(ROOT / "benchmarks" / "generate.py"), "model", str(layers)]
    text = subprocess.run(generate, capture_output=True, text=True, check=True).stdout
    module = parse_module(Source("model", text))
    return print_module(PassManager(parse_pipeline(Source("passes", passes)), print_module).run(module))


def said(found: list[Diagnostic]) -> list[object]:
    """Diagnostics with their places and notes."""
    return [(d.severity, d.message, d.span and (d.span.start, d.span.end), said(list(d.notes))) for d in found]


def tree(module: Operation | None) -> object:
    """A module: its text, and the place of each operation."""
    if module is None:
        return None
    return print_module(module, generic=True), [o.span and (o.span.start, o.span.end, o.span.source.text) for o in module.walk()]


def same(changed: Document, text: str) -> None:
    """The document is as if it had been opened with the text."""
    whole = Document("plan.bpir", text)
    assert [said(s.found) for s in changed.sections] == [said(s.found) for s in whole.sections]
    assert [tree(s.module) for s in changed.sections] == [tree(s.module) for s in whole.sections]


def taken(document: Document) -> int:
    """The number of operations that later texts took over."""
    return sum(earlier.taken for earlier in document.texts if earlier is not None)


@pytest.fixture(scope="module")
def plan() -> str:
    """Of a little more than 1,000 operations."""
    text = planned(8, "distribute-training,plan-training")
    assert 1000 < len(re.findall(r"^  plan\.", text, re.MULTILINE)) < 1300
    return text


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("ops = ", "ops = 3*"),  # wrong by itself
        ("phase forward", "phase  forward"),  # the same in other words
        ("plan.task @layer", "plan.task @player"),  # a name that others refer to
        ("plan.task", "// a comment\n  plan.task"),
        ("plan.task", "plan.tsk"),  # not in the language
        ("work <", "wrk <"),
        ("ops = ", "ops = *"),
    ],
)
def test_a_change_in_a_plan_of_1000_operations_reads_no_other_again(plan: str, old: str, new: str) -> None:
    """All but that of the change and the one before it are taken over, of a text with an error at every attempt to read the rest."""
    first = Document("plan.bpir", plan)
    assert first.diagnostics() == []
    count = len(list(first.sections[0].module.walk()))  # type: ignore[union-attr]
    place = plan.index(old, len(plan) // 2)
    text = plan[:place] + new + plan[place + len(old) :]
    changed = Document("plan.bpir", text, before=first)
    same(changed, text)
    assert taken(first) >= count - 3  # the module itself, the changed operation, and the one before
    again = Document("plan.bpir", plan, before=changed)
    same(again, plan)


def test_a_change_after_an_error_takes_over_the_last_text_that_was_read(plan: str) -> None:
    first = Document("plan.bpir", plan)
    first.diagnostics()
    place = plan.index("ops = ", len(plan) // 2) + 6
    wrong = Document("plan.bpir", plan[:place] + "*" + plan[place:], before=first)
    assert wrong.diagnostics()
    before = taken(first)
    mended = plan[:place] + "2*" + plan[place:]
    same(Document("plan.bpir", mended, before=wrong), mended)
    assert taken(first) - before > 1000


TEXTS = [
    ("examples/mlp.bpir", "distribute-inference,plan-inference"),
    ("examples/llama_3_8b.bpir", "distribute-inference,plan-inference"),
    ("examples/gpt3_175b.bpir", "distribute-inference,plan-inference,bind-queue"),
]
PIECES = [
    *'{}[]()<>*,#!@%\n" ',
    "//",
    "1",
    "0",
    "= ",
    "after",
    "#a = 1\n",
    "loc(#a)",
    "plan.task @x compute",
    "// -----\n",
    "module {",
    "}\n",
]


@pytest.mark.parametrize(("path", "passes"), TEXTS)
def test_after_any_edits_a_document_is_as_if_opened_with_its_text(path: str, passes: str) -> None:
    """Insertions, deletions and repetitions at random, each upon the last; now and then all is put right again."""
    module = parse_module(Source(path, (ROOT / path).read_text()))
    sound = print_module(PassManager(parse_pipeline(Source("passes", passes)), print_module).run(module))
    chance = random.Random(f"{path}:1")
    document, text = Document("plan.bpir", sound), sound
    reused = 0
    for step in range(60):
        document.diagnostics()
        before = taken(document)
        begin = chance.randrange(len(text))
        end = min(len(text), begin + chance.choice([0, 0, 0, 1, 2, 40]))
        text = sound if step % 4 == 3 else text[:begin] + chance.choice(["", *PIECES, text[end : end + 60]]) + text[end:]
        following = Document("plan.bpir", text, before=document)
        same(following, text)
        reused += taken(document) - before
        document = following
    assert reused > 300


def test_what_may_be_too_much_work_is_read_whole() -> None:
    """The work of reading an operation counts again where it is taken over, so an answer is always that of the whole text."""
    text = (ROOT / "examples" / "mlp.bpir").read_text()
    first = Document("mlp.bpir", text)
    first.diagnostics()
    (earlier,) = first.texts
    assert earlier is not None and earlier.taken == 0
    Document("mlp.bpir", text + " ", before=first).diagnostics()
    assert earlier.taken > 0
    earlier.steps = 10**9
    second = Document("mlp.bpir", text + " ", before=first)
    same(second, text + " ")
    (whole,) = second.texts
    assert whole is not None and whole.steps < 10**6
