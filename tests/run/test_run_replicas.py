"""Replicas of the batch on simulated ranks: each has its own part, and each new collective is refused by the run where it is wrong."""

from __future__ import annotations

import pytest
from support import example_text, gate, read, replaced, run, statement

from bpir.ir.diagnostic import Diagnostic
from bpir.ir.printer import print_module
from bpir.run.check import Outcome, check
from bpir.verifiers.structure import module as structure

NUMBERS = {
    "mlp": {"B": 2, "S": 4, "H": 6, "F": 24, "t": 2, "e": 4},
    "transformer_block": {"B": 2, "S": 4, "H": 6, "F": 24, "h": 2, "d": 3, "t": 2, "e": 4},
}
STEPS = [f"data={data} zero={zero} gradients={kind}" for data in (2, 3) for zero in "0123" for kind in ("weights", "f32")]


def derived(options: str, name: str = "mlp") -> str:
    return print_module(run(read(example_text(name)), f"distribute-training{{tensor=t {options}}}"))


def outcome(text: str, name: str = "mlp") -> Outcome:
    (found,) = check(read(example_text(name)), read(text, "dist.bpir"), NUMBERS[name])
    return found


def against(text: str) -> list[Diagnostic]:
    return outcome(text).against


@pytest.mark.campaign(keep=4)
@pytest.mark.parametrize("options", STEPS)
def test_summed_gradients_are_the_model_s_and_bytes_as_stated(options: str) -> None:
    """On the batches of all replicas; 6*24/2 elements of a weight on a rank are no whole share for 5 replicas, and are for 2 and 3."""
    found = outcome(derived(options))
    assert found.against == [] and found.bytes_measured
    assert found.ranks == 2 * int(options[5])


@pytest.mark.parametrize(
    "options", ["data=2 zero=1", "data=3 zero=2 communication=reduce_scatter_all_gather", "data=2 zero=3 recompute=full"]
)
def test_a_block_with_norms_and_attention(options: str) -> None:
    assert outcome(derived(options, "transformer_block"), "transformer_block").against == []


MISTAKES = {
    "a maximum of gradients": ("zero=0", '"mlp.expand.gradients', " sum ", " max ", "'mlp.expand.gradients.gradient_reduction' gives"),
    "gradients of another layer": ("zero=0", '"mlp.expand.gradients', "%1 :", "%0 :", "'mlp.expand.gradients.gradient_reduction'"),
    "a share of another layer's gradients": ("zero=1", '"mlp.expand.gradients', "%1 :", "%0 :", "'mlp.expand.gradients"),
    "another layer's weights": ("zero=1", '"mlp.expand.weights', "%4 :", "%5 :", "'mlp.expand.weights.gradient_reduction'"),
    "a gradient, not the weight": ("zero=2", '"mlp.contract.weights', "%5 :", "%3 :", "'mlp.contract.weights.gradient_reduction' gathers"),
    "gathered weights of another layer": ("zero=3", '"mlp.contract.forward"', "%3", "%1", "'mlp.contract.forward'"),
    "shares of another layer": ("zero=3", '"mlp.contract.weights.forward', "%2 :", "%0 :", "'mlp.contract.weights.forward'"),
    "gathered over another axis": ("zero=3", '"mlp.expand.weights.activation', '[{"data"}]', '[{"tensor"}]', "'mlp.expand.weights"),
    "a message of shares": ("zero=3", '"mlp.contract.weights.forward', "msg = F*H*e/t", "msg = F*H*e/(2*t)", "'mlp.contract.weights"),
    "a share of the gradient of another layer": ("zero=3", '"mlp.expand.gradients', "%7 :", "%5 :", "'mlp.expand.gradients"),
    "weights in forward only": ("zero=3", '"mlp.expand.activation_gradient"', "%du, %6", "%du, %5", "'mlp.expand.activation_gradient'"),
    "another message": ("zero=2", '"mlp.contract.weights', "msg = F*H*e/t", "msg = F*H*e/(2*t)", "'mlp.contract.weights"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_wrong_collective_is_refused_by_the_gate_and_by_the_run(name: str) -> None:
    options, head, old, new, said = MISTAKES[name]
    text = derived(f"data=2 {options}")
    line = statement(text, head)
    assert old in line
    wrong = replaced(text, (line, line.replace(old, new)))
    module = read(wrong, "dist.bpir")
    assert structure.verify(module) or gate(read(example_text("mlp")), module)
    found = against(wrong)
    assert found and said in found[0].message, [d.message for d in found]


def test_an_optimizer_that_reads_its_own_gradient_is_refused() -> None:
    text = derived("data=2 zero=0")
    line = statement(text, '"mlp.expand.optimizer"')
    first = against(replaced(text, (line, line.replace("adam %2", "adam %1"))))[0]
    assert first.message.startswith("'mlp.expand.optimizer' reads a partial sum that is still to be reduced over data")


def test_shares_that_nobody_gathers_are_refused() -> None:
    text = derived("data=2 zero=2")
    found = against(replaced(text, (statement(text, '"mlp.contract.weights.gradient_reduction"'), "")))
    assert found[0].message == "weight 0 of 'mlp.contract' is updated in shares, and not gathered"
