"""ZeRO 3: a rank has a share of the weights, which are gathered for the tasks that read them (Rajbhandari et al. 2019, section 7.2.2)."""

from __future__ import annotations

import re
from functools import cache

import pytest
import sympy
from support import example_text, gate, labels, read, replaced, run, shown, statement
from support_training import derive, same

from bpir.ir.diagnostic import DiagnosticError
from bpir.ir.operation import Operation
from bpir.ir.printer import print_module

D, H, F, e = (sympy.Symbol(name, integer=True, positive=True) for name in "DHFe")
LAYER = """bp.symbols B, S, H, F, D, e
bind.strategy @dp {tensor = 1}
model.block @block(%x: !bp.tensor<B x S x H, e>) {
  %u = model.linear "mlp.expand" %x bias : [F]
  %g = model.gelu "mlp.gelu" %u
  %y = model.linear "mlp.contract" %g : [H]
  model.return %y
}
"""
WEIGHTS = 2 * H * F + F


@cache
def layer() -> Operation:
    return read(LAYER)


@cache
def distributed(options: str = "") -> str:
    return print_module(run(layer(), f"distribute-training{{data=D zero=3 {options}}}"))


def refused(text: str, *rules: str) -> None:
    found = gate(layer(), read(text, "target.bpir"))
    assert labels(found) == {f"distribute-training.{rule}" for rule in rules}, shown(found)


@pytest.mark.parametrize("gradients", ["weights", "f32"])
def test_a_microbatch_gathers_all_weights_twice_and_a_step_scatters_all_gradients_once(gradients: str) -> None:
    """Of `2HF + F` weights a rank has a share of D; gathers send `e` bytes of each, forward and backward, as wide as weights are."""
    found = derive(layer(), {"data": "D", "zero": "3", "gradients": gradients})
    width = {"weights": e, "f32": 4}[gradients]
    for phase in ("forward", "activation_gradient"):
        gathers = [task for task in found.tasks if task.phase == phase and task.collective]
        assert {task.collective for task in gathers} == {"all_gather"} and len(gathers) == 2
        assert same(found.sum("msg", phase), WEIGHTS * e)
    assert [t.collective for t in found.tasks if t.phase == "gradient_reduction"] == ["reduce_scatter", "reduce_scatter"]
    assert same(found.sum("msg", "gradient_reduction"), WEIGHTS * width)
    for row, held in (("weights", WEIGHTS * e), ("weight_gradients", WEIGHTS * width), ("optimizer", 12 * WEIGHTS)):
        assert same(found.memory(row), held / D)


def test_what_is_repeated_has_the_gather_that_backward_reads() -> None:
    """All but the last layer is computed again: its weights are gathered there, and not again for its gradient."""
    text = print_module(run(read(example_text("mlp")), "distribute-training{tensor=1 data=2 zero=3 recompute=full}"))
    gathers = re.findall(r'all_gather "(mlp\.\w+)\.weights\.(\w+)"', text)
    assert gathers == [
        ("mlp.expand", "forward"),
        ("mlp.contract", "forward"),
        ("mlp.expand", "recommunication"),
        ("mlp.contract", "activation_gradient"),
    ]


def test_gathered_weights_are_there_for_their_reader_alone() -> None:
    """In the plan shares outlive the step, and of all weights of a layer there is a buffer from the gather to the task behind it."""
    plan = print_module(run(read(distributed()), "plan-training"))
    lives = {name: (int(a), int(b)) for name, a, b in re.findall(r"@(\S+weights\.\w+\.value\S*) .* live \[(\d+), (\d+)\]", plan)}
    assert len(lives) == 6 and all(end == begin + 1 for begin, end in lives.values())  # two gathers of a matrix and a bias, two of a matrix
    sizes = re.findall(r"@mlp\.\w+\.weights : constant<persistent>.*\n\s+size <(.*?)>", plan)
    assert sizes == ["ceildiv(F*H, D)*e + ceildiv(F, D)*e", "ceildiv(F*H, D)*e"]


# --- the gate

STEPS = ["", "gradients=f32", "recompute=full"]


@pytest.mark.parametrize("options", STEPS)
def test_a_derived_step_is_accepted(options: str) -> None:
    assert gate(layer(), read(distributed(options), "target.bpir")) == []


def names(text: str, label: str) -> list[str]:
    """The results of the statement with a label."""
    line = next(line for line in text.splitlines() if f'"{label}"' in line)
    return re.findall(r"%\w+", line.partition(" = ")[0])


def test_r22_a_task_that_reads_no_gathered_weights() -> None:
    text = distributed()
    line = statement(text, '"mlp.contract.forward"')
    (weight,) = names(text, "mlp.contract.weights.forward")
    bad = line.replace(f", {weight} :", " :").replace(" gathered 1", "")
    refused(replaced(text, (line, bad)), "R22")


def test_r22_backward_that_reads_the_weights_of_forward() -> None:
    text = distributed()
    line = statement(text, '"mlp.contract.activation_gradient"')
    (old,), (new,) = names(text, "mlp.contract.weights.activation_gradient"), names(text, "mlp.contract.weights.forward")
    refused(replaced(text, (line, line.replace(f", {old} :", f", {new} :"))), "R22")


def test_r22_a_gather_that_nobody_reads() -> None:
    text = distributed()
    gather = statement(text, '"mlp.contract.weights.activation_gradient"')
    (name,) = names(text, "mlp.contract.weights.activation_gradient")
    more = gather.replace(f"{name} = ", "%more = ").replace("mlp.contract.weights.act", "mlp.contract.weights.weights.act")
    refused(replaced(text, (gather, gather + more)), "R22")


def test_r22_shares_of_their_own_for_backward() -> None:
    """A rank would keep the weights twice."""
    text = distributed()
    shares = statement(text, '"mlp.contract.shares"')
    gather = statement(text, '"mlp.contract.weights.activation_gradient"')
    (name,) = names(text, "mlp.contract.shares")
    more = shares.replace(f"{name} = ", "%more = ").replace("contract.shares", "contract.shares.shares")
    refused(replaced(text, (shares, shares + more), (gather, gather.replace(f"{name} :", "%more :"))), "R22")


def test_r22_a_gather_of_gradients_where_no_weights_are() -> None:
    text = distributed()
    line = statement(text, '"mlp.gelu.forward"')
    (weight,) = names(text, "mlp.expand.weights.forward")[:1]
    bad = line.replace(" :", f", {weight} :", 1).replace("phase forward", "phase forward gathered 1")
    found = gate(layer(), read(replaced(text, (line, bad)), "target.bpir"))
    assert "distribute-training.R22" in labels(found), shown(found)


@pytest.mark.parametrize(
    ("label", "change", "rules"),
    [
        ("mlp.contract.weights.forward", ("msg = F*H*e", "msg = F*H*e/D"), {"R6"}),
        ("mlp.contract.weights.forward", ('from "mlp.contract"', 'from "mlp.expand"'), {"R1"}),
        ("mlp.contract.weights.forward", ('"mlp.contract.weights.forward"', '"mlp.gather.forward"'), {"R1"}),
        ("mlp.contract.shares", ('of "mlp.contract"', 'of "mlp.expand"'), {"R1"}),
        ("mlp.contract.shares", ('from "mlp.contract"', 'from "mlp.expand"'), {"R1"}),
    ],
)
def test_names_and_work_of_gathers_and_shares(label: str, change: tuple[str, str], rules: set[str]) -> None:
    text = distributed()
    line = statement(text, f'"{label}"')
    assert change[0] in line
    refused(replaced(text, (line, line.replace(*change))), *rules)


@pytest.mark.parametrize("zero", ["0", "1", "2"])
def test_a_step_under_another_stage_is_refused(zero: str) -> None:
    """In both directions: gathers where every rank has all weights, and none where it has a share."""
    found = gate(layer(), read(distributed().replace("zero = 3", f"zero = {zero}"), "target.bpir"))
    assert "distribute-training.R22" in labels(found)
    other = print_module(run(layer(), f"distribute-training{{data=D zero={zero}}}")).replace(f"zero = {zero}", "zero = 3")
    assert {"distribute-training.R14", "distribute-training.R22"} <= labels(gate(layer(), read(other, "target.bpir")))


def test_r9_a_plan_whose_buffer_of_shares_is_too_small() -> None:
    step = read(distributed(), "dist.bpir")
    text = print_module(run(step, "plan-training"))
    line = statement(text, "plan.buffer @mlp.contract.weights :")
    wrong = replaced(text, (line, line.replace("size <ceildiv(F*H, D)*e", "size <ceildiv(F*H, 2*D)*e")))
    assert wrong != text
    assert "plan-training.R9" in labels(gate(step, read(wrong, "plan.bpir")))


def test_r8_an_update_of_shares_before_their_last_gather() -> None:
    step = read(distributed(), "dist.bpir")
    text = print_module(run(step, "plan-training"))
    line = statement(text, "plan.task @mlp.expand.optimizer ")
    before = re.sub(r",? ?@mlp\.expand\.weights\.\w+", "", line)
    assert before != line
    assert "plan-training.R8" in labels(gate(step, read(text.replace(line, before), "plan.bpir")))


def test_tied_weights_are_refused() -> None:
    text = LAYER.replace("bp.symbols B", "bp.symbols V, B").replace("%x: !bp.tensor<B x S x H, e>", "%i: !bp.tensor<B x S, i32>")
    text = text.replace("  %u =", '  %x = model.embedding "tokens" %i : [V] -> !bp.tensor<B x S x H, e>\n  %u =')
    text = text.replace("  model.return %y", '  %l = model.linear "head" %y tied "tokens" : [V]\n  model.return %l')
    with pytest.raises(DiagnosticError, match="the weights of 'head' are tied, and zero = 3 gathers no layer's weights for another"):
        run(read(text), "distribute-training{data=D zero=3}")
