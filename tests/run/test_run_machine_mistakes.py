"""Data, expert and pipeline axes together on simulated ranks: buffers of plans, and each collective of a mixture of experts wrong."""

from __future__ import annotations

import re
from functools import cache

import pytest
from support import ROOT, gate, read, replaced, run, statement

from bpir.ir.operation import Operation
from bpir.ir.printer import print_module
from bpir.run.check import Outcome, check
from bpir.verifiers.structure import module as structure

AXES = {"B": 2, "S": 2, "H": 8, "F": 4, "h": 2, "E": 4, "k": 2, "V": 6, "t": 2, "ep": 2, "m": 4}
NUMBERS = {
    "mixtral_8x7b": {**AXES, "L": 3, "g": 2, "d": 2},
    "deepseek_v3": {**AXES, "f": 2, "n": 2, "r": 2, "v": 2, "a": 4, "l": 4},
}
STEPS = [
    "data=2 pipeline=2 microbatches=m",
    "data=2 pipeline=3 microbatches=m zero=1",
    "data=2 pipeline=2 microbatches=m zero=2 gradients=f32",
    "data=2 pipeline=2 microbatches=m zero=3 gradients=f32",
    "tensor=1 data=3 pipeline=3 microbatches=2 recompute=full",
]


@cache
def miniature(name: str) -> str:
    """An example without its sizes, on an axis of experts, too: three layers, all of whose tokens the head sees, as in training."""
    text = (ROOT / "examples" / f"{name}.bpir").read_text()
    text = re.sub(r"^  (bp\.bind|bind\.workload|  %l = model\.last_token) .*\n", "", text, flags=re.MULTILINE)
    text = text.replace('"head.norm" %l', '"head.norm" %x').replace("{tensor = t}", "{tensor = t, expert = ep}")
    text = text.replace("repeat 3 @dense", "repeat 1 @dense").replace("repeat 58 @moe", "repeat 2 @moe")
    return text.replace("k, t where", f"k, m, t, ep where ep | E, {'t | g, ' if name == 'mixtral_8x7b' else ''}")


@cache
def derived(name: str, options: str) -> Operation:
    return run(read(miniature(name)), f"distribute-training{{{options}}}")


def outcomes(name: str, step: Operation, plan: Operation | None = None) -> list[Outcome]:
    return check(read(miniature(name)), step, NUMBERS[name], plan)


@pytest.mark.slow
@pytest.mark.campaign(keep=3)
@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("options", STEPS)
def test_stages_of_experts_and_replicas_compute_what_the_model_does(name: str, options: str) -> None:
    """Each value, each gradient summed over replicas and experts, all bytes: of tasks, of what is kept, of the plan's buffers, of messages
    between stages.
    """
    step = derived(name, options)
    found = outcomes(name, step, run(step, "plan-training"))
    assert not [d.render() for outcome in found for d in outcome.against]
    assert all(outcome.bytes_measured and outcome.alive for outcome in found)
    assert max(max(outcome.phases.values()) for outcome in found) < 1e-12
    degree = 1 if "tensor=1" in options else 2
    replicas = 3 if "data=3" in options else 2
    assert {outcome.ranks for outcome in found} == {degree * replicas * 2}  # of one stage
    assert sum(outcome.runs for outcome in found) == 5  # embedding, three layers, head


WHOLE, SHARED = STEPS[0], STEPS[1]
MISTAKES = {
    "rows that stay where they are": (
        WHOLE,
        '"moe.input_exchange.forward"',
        ("from 0 to 2", "from 2 to 0"),
        "'moe.input_exchange.forward'",
    ),
    "results that go back to others": (
        WHOLE,
        '"moe.output_exchange.forward"',
        ('[{"expert"}]', '[{"data"}]'),
        "'moe.output_exchange.forward'",
    ),
    "gradients of results that come to no expert": (
        WHOLE,
        '"moe.output_exchange.activation_gradient"',
        ("from 0 to 2", "from 2 to 0"),
        "'moe.output_exchange.activation_gradient'",
    ),
    "gradients of rows that other ranks get": (
        WHOLE,
        '"moe.input_exchange.activation_gradient"',
        ('[{"expert"}]', '[{"data"}]'),
        "'moe.input_exchange.activation_gradient'",
    ),
    "a router's gradient that experts do not share": (
        WHOLE,
        '"moe.scores.gradients',
        ('{"data", "expert"}', '{"data"}'),
        "'moe.scores.gradients.gradient_reduction'",
    ),
    "an expert's gradient that other experts sum": (
        WHOLE,
        '"moe.gate.gradients',
        ('[{"data"}]', '[{"data", "expert"}]'),
        "'moe.gate.gradients.gradient_reduction'",
    ),
    "the largest gradient": (WHOLE, '"moe.up.gradients', (" sum ", " max "), "'moe.up.gradients.gradient_reduction'"),
    "shares of ranks of the other axis": (
        SHARED,
        '"moe.contract.gradients',
        ('[{"data"}]', '[{"expert"}]'),
        "'moe.contract.gradients.gradient_reduction'",
    ),
    "weights of fewer ranks than share them": (
        SHARED,
        '"moe.norm.weights',
        ('{"data", "expert"}', '{"data"}'),
        "'moe.norm.weights.gradient_reduction'",
    ),
    "half of a message to the next stage": (
        WHOLE,
        '"transfer.forward"',
        ("msg = 2*B*H*S/ep", "msg = B*H*S/ep"),
        "'transfer.forward' has msg",
    ),
    "twice the message to the stage before": (
        WHOLE,
        '"transfer.activation_gradient"',
        ("msg = 2*B*H*S/ep", "msg = 4*B*H*S/ep"),
        "'transfer.activation_gradient' has msg",
    ),
}


@pytest.mark.campaign(keep=6)
@pytest.mark.parametrize("name", MISTAKES)
def test_a_wrong_collective_is_refused_by_the_gate_and_by_the_run(name: str) -> None:
    options, head, change, said = MISTAKES[name]
    text = print_module(derived("mixtral_8x7b", options))
    line = statement(text, head)
    assert change[0] in line
    wrong = replaced(text, (line, line.replace(*change)))
    module = read(wrong, "dist.bpir")
    assert structure.verify(module) or gate(read(miniature("mixtral_8x7b")), module)
    found = [d.message for outcome in outcomes("mixtral_8x7b", module) for d in outcome.against]
    assert any(said in message for message in found), found
