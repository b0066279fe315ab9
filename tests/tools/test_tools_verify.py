"""bp-verify prints a verdict on two files, with numbers where it refutes."""

from __future__ import annotations

import pytest
from support import example, example_text, read, replaced, run

from bpir.ir.diagnostic import Diagnostic, error
from bpir.ir.printer import print_module
from bpir.tools.bp_verify import verdict
from bpir.verifiers.derivation import verifier

WRONG = error("work is wrong: 2*B [plan.R1]")
OPEN = error("work can't be decided (unknown is not success): 2*B [plan.R1]", undecided=True)


@pytest.mark.parametrize(
    ("found", "answer"),
    [
        ([], "proved"),
        ([Diagnostic("careful", severity="warning")], "proved"),
        ([WRONG], "refuted"),
        ([OPEN], "unknown"),
        ([OPEN, WRONG], "refuted"),
    ],
)
def test_verdict(found: list[Diagnostic], answer: str) -> None:
    assert verdict(found) == answer


def test_the_verdict_names_the_fields_that_the_source_does_not_say() -> None:
    under = ["context = 7", "tensor = 2", "context = 7"]
    assert verdict([], under) == "proved under context = 7, tensor = 2"
    assert verdict([WRONG], under[:1]) == "refuted under context = 7"


TENSOR = "bind.strategy @tp {tensor = t}"


@pytest.mark.parametrize(
    ("before", "passes", "change", "overridden"),
    [
        ((), ("distribute-inference",), (), []),
        ((), ("distribute-inference{context=7 tensor=2}",), (), ["context = 7", "tensor = 2"]),
        ((), ("distribute-inference{batch=3 phase=prefill}",), (), ["phase = prefill", "batch = 3"]),
        ((f"  {TENSOR}\n", ""), ("distribute-inference{tensor=t}",), (), ["tensor = t"]),
        # a default says nothing more than its absence, on either side
        ((), ("distribute-inference",), ("{tensor = t}", "{tensor = t, recompute = none, pipeline = 1}"), []),
        (("{tensor = t}", "{tensor = t, convention = standard}"), ("distribute-inference",), (", convention = standard", ""), []),
        ((), ("distribute-inference", "plan-inference"), ("{tensor = t}", "{tensor = t, fused_activation = false}"), []),
    ],
)
def test_what_an_option_gave_is_noted(
    before: tuple[str, ...], passes: tuple[str, ...], change: tuple[str, ...], overridden: list[str]
) -> None:
    text = example_text("mlp")
    source = read(replaced(text, before) if before else text)  # type: ignore[arg-type]
    for one in passes[:-1]:
        source = run(source, one)
    target = print_module(run(source, passes[-1]))
    check = verifier(source, read(replaced(target, change) if change else target, "target.bpir"))  # type: ignore[arg-type]
    assert check.verify() == []
    assert check.findings.overridden == overridden


def test_a_target_of_another_file_is_named() -> None:
    plan = run(example("gpt2"), "distribute-inference", "plan-inference", "bind-symbols{B=1 c=1024}")
    bound = run(plan, "bind-target{target_file=examples/targets/slot_machine.bpir}")
    check = verifier(plan, bound)
    assert check.verify() == []
    assert check.findings.overridden == ["target = @slot_machine", "devices = 2", f"memory = {32 * 2**30}"]
