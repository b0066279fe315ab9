"""Replicas of the batch: what they exchange once a step, and what each holds under a ZeRO stage (Rajbhandari et al. 2019)."""

from __future__ import annotations

import re
from functools import cache

import pytest
import sympy
from support import example_text, gate, labels, read, replaced, report, run, shown, statement
from support_training import Step, derive, number, same

from bpir.ir.expressions.expression import total
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
RULE = "distribute-training.R21"


@cache
def layer() -> Operation:
    return read(LAYER)


@cache
def step(**chosen: object) -> Step:
    return derive(layer(), chosen)


@pytest.mark.parametrize("gradients", ["weights", "f32"])
@pytest.mark.parametrize("zero", ["0", "1", "2"])
def test_each_gradient_is_summed_once_and_each_shared_weight_gathered_once(zero: str, gradients: str) -> None:
    found = step(data="D", zero=zero, gradients=gradients)
    exchanged = {task.name: task for task in found.tasks if task.phase == "gradient_reduction"}
    kind = "all_reduce" if zero == "0" else "reduce_scatter"
    kinds = {f"{layer}.gradients.gradient_reduction": kind for layer in ("mlp.expand", "mlp.contract")}
    if zero != "0":
        kinds |= {f"{layer}.weights.gradient_reduction": "all_gather" for layer in ("mlp.expand", "mlp.contract")}
    assert {name: task.collective for name, task in exchanged.items()} == kinds
    width, kept = {"weights": e, "f32": 4}[gradients], WEIGHTS if zero == "0" else WEIGHTS / D
    sent = WEIGHTS * width + (0 if zero == "0" else WEIGHTS * e)
    assert same(found.sum("msg", "gradient_reduction"), sent)
    if zero == "0":  # a rank sums its share of D parts: of 3 replicas 7 of the 20 elements of each matrix, and 2 of 4 biases
        sums = total(task.work.ops for task in exchanged.values())
        assert sums.evaluate({"H": 5, "F": 4, "D": 3, "B": 1, "S": 1, "e": 2}) == (7 + 2 + 7) * 2
    else:
        assert same(found.sum("ops", "gradient_reduction"), WEIGHTS * (D - 1) / D)
    gathered = (0, 0) if zero == "0" else (WEIGHTS * e / D, WEIGHTS * e)
    assert same(found.sum("read", "gradient_reduction"), WEIGHTS * width + gathered[0])
    assert same(found.sum("write", "gradient_reduction"), kept * width + gathered[1])


@pytest.mark.parametrize(
    ("chosen", "weights", "gradients", "states"),
    [
        ({}, e, e, 12),
        ({"gradients": "f32"}, e, 4, 12),
        ({"master_copy": False}, e, e, 8),
        ({"data": "D"}, e, e, 12),
        ({"data": "D", "zero": 1}, e, e, 12 / D),
        ({"data": "D", "zero": 1, "gradients": "f32"}, e, 4, 12 / D),
        ({"data": "D", "zero": 2}, e, e / D, 12 / D),
        ({"data": "D", "zero": 2, "gradients": "f32", "master_copy": False}, e, 4 / D, 8 / D),
    ],
)
def test_what_a_rank_holds_of_each_weight(chosen: dict[str, object], weights: object, gradients: object, states: object) -> None:
    found = step(**chosen)
    assert same(found.memory("weights"), WEIGHTS * weights)
    assert same(found.memory("weight_gradients"), WEIGHTS * gradients)
    assert same(found.memory("optimizer"), WEIGHTS * states)


def test_the_old_name_of_stage_two_is_the_same_step() -> None:
    ours, old = ({"data": "D", **more} for more in ({"zero": "2"}, {"optimizer_sharding": "true"}))
    texts = [print_module(run(layer(), f"distribute-training{{{' '.join(f'{k}={v}' for k, v in each.items())}}}")) for each in (ours, old)]
    assert texts[0].replace("zero = 2", "optimizer_sharding = true") == texts[1]


def test_a_share_of_elements_that_the_replicas_do_not_divide_is_rounded_up() -> None:
    """7*3 weights and 3 biases, then 3*7 weights, on 4 replicas: 6, 1 and 6 elements each."""
    numbers = replaced(LAYER, ("bp.symbols B, S, H, F, D, e", "bp.symbols B, S, H, F, D, e\nbp.bind H = 7, F = 3, e = 2, B = 1, S = 1"))
    found = report(run(read(numbers), "distribute-training{data=4 zero=2}", "plan-training", "bind-symbols"))
    assert number(found.memory["optimizer"]) == 12 * 13
    assert number(found.memory["weight_gradients"]) == 2 * 13
    reductions = [task for task in found.tasks if task.collective == "reduce_scatter"]
    work = [(number(task.work.ops), number(task.work.msg), number(task.work.write)) for task in reductions]
    assert work == [(3 * 7, 2 * 24, 14), (3 * 6, 2 * 21, 12)]


def test_data_that_may_be_one_rank_is_not_taken_for_several() -> None:
    plain = print_module(run(layer(), "distribute-training"))
    one = print_module(run(layer(), "distribute-training{data=1}"))
    assert one.replace(", data = 1", "") == plain
    assert "bp.assume D > 1\n" in print_module(run(layer(), "distribute-training{data=D}"))
    assert "bp.assume D | F*H, D | F, D > 1\n" in print_module(run(layer(), "distribute-training{data=D zero=1}"))


# --- the gate


@cache
def distributed(options: str) -> str:
    return print_module(run(layer(), f"distribute-training{{{options}}}"))


def refused(text: str, *rules: str) -> None:
    found = gate(layer(), read(text, "target.bpir"))
    assert labels(found) == {f"distribute-training.{rule}" for rule in rules}, shown(found)


STEPS = [f"data=D zero={zero} gradients={kind}" for zero in "012" for kind in ("weights", "f32")]


@pytest.mark.parametrize("options", STEPS)
def test_a_derived_step_is_accepted(options: str) -> None:
    assert gate(layer(), read(distributed(options), "target.bpir")) == []


@pytest.mark.parametrize("options", STEPS)
def test_r21_a_gradient_that_is_not_summed_over_replicas(options: str) -> None:
    text = distributed(options)
    line = next(line for line in text.splitlines() if '"mlp.contract.gradients.gradient_reduction"' in line)
    name, operand = re.search(r"(%\d+) = ", line)[1], re.search(r"\] (%\d+) :", line)[1]  # type: ignore[index]
    text = replaced(text, (statement(text, '"mlp.contract.gradients.gradient_reduction"'), ""), (f"adam {name}", f"adam {operand}"))
    refused(text, "R21", "R9")


@pytest.mark.parametrize("options", [o for o in STEPS if "zero=0" not in o])
def test_r21_weights_that_are_not_gathered(options: str) -> None:
    text = distributed(options)
    refused(replaced(text, (statement(text, '"mlp.expand.weights.gradient_reduction"'), "")), "R21")


def test_r21_a_sum_of_all_where_a_share_is_due() -> None:
    text = distributed("data=D zero=2")
    good = statement(text, '"mlp.contract.gradients.gradient_reduction"')
    bad = good.replace("dist.reduce_scatter", "dist.all_reduce").replace("sum elements", "sum").replace(", shared={data}", "")
    refused(replaced(text, (good, bad)), "R21", "R4")


def test_r21_a_maximum_of_gradients() -> None:
    text = distributed("data=D")
    good = statement(text, '"mlp.contract.gradients.gradient_reduction"')
    refused(replaced(text, (good, good.replace(" sum ", " max "))), "R21")


def test_r21_a_gather_before_the_update() -> None:
    """The gather reads the gradient's share: its type would be right."""
    text = distributed("data=D zero=1")
    gather, update = statement(text, '"mlp.contract.weights.gradient_reduction"'), statement(text, '"mlp.contract.optimizer"')
    gradient, weight = re.search(r"adam (%\d+) ", update)[1], re.search(r"\] (%\d+) :", gather)[1]  # type: ignore[index]
    refused(replaced(text, (gather, gather.replace(weight, gradient))), "R21")


@pytest.mark.parametrize("said", ["zero = 1", "zero = 2", "gradients = f32"])
def test_a_step_under_another_strategy_is_refused(said: str) -> None:
    text = distributed("data=D")
    found = gate(layer(), read(text.replace("data = D}", f"data = D, {said}}}"), "target.bpir"))
    assert found and labels(found) <= {f"distribute-training.{rule}" for rule in ("R4", "R6", "R9", "R14", "R21")}


def test_a_share_that_nothing_proves_to_be_whole_is_refused() -> None:
    text = distributed("data=D zero=1")
    line = next(line for line in text.splitlines() if "bp.assume" in line)
    found = gate(layer(), read(text.replace(line, "bp.assume D > 1"), "target.bpir"))
    assert {"distribute-training.R6"} <= labels(found)


# --- numbers of the papers


@pytest.mark.parametrize(("zero", "held"), [("0", 120_000_000_000), ("1", 31_406_250_000), ("2", 16_640_625_000), ("3", 1_875_000_000)])
def test_7_5_billion_parameters_on_64_replicas(zero: str, held: int) -> None:
    """Rajbhandari et al. 2019, figure 1: 2 + 2 + 12 bytes of each, of which a stage divides 12, then 2 + 12, then all 16 by 64."""
    text = replaced(
        LAYER.replace(" bias", ""),
        ("D, e\n", "D, e\nbp.bind H = 50000, F = 75000, e = 2, B = 1, S = 1\n"),
    )
    module = run(read(text), f"distribute-training{{data=64 zero={zero} master_copy=true}}", "plan-training", "bind-symbols")
    memory = report(module).memory
    assert 2 * 50_000 * 75_000 == 7_500_000_000
    assert sum(number(memory[name]) for name in ("weights", "weight_gradients", "optimizer")) == held


def test_the_first_of_two_stages_of_llama_3_8b() -> None:
    """The table of 128384 rows and 16 layers of 218112000 weights: 2, 4 and 12/4 bytes of each; its messages are all of them."""
    text = replaced(example_text("llama_3_8b"), ("V = 128256", "V = 128384"))
    options = "tensor=1 pipeline=2 data=4 zero=1 gradients=f32 microbatches=8 batch=1 context=4096"
    plan = run(read(text), f"distribute-training{{{options}}}", "plan-training")
    weights = 128_384 * 4096 + 16 * 218_112_000
    found = report(plan)
    assert found.job is not None
    first = found.job.stages[0]
    held = {name: number(first[name]) for name in ("weights", "weight_gradients", "optimizer")}
    assert held == {"weights": 2 * weights, "weight_gradients": 4 * weights, "optimizer": 3 * weights}
    assert held == {"weights": 8_031_305_728, "weight_gradients": 16_062_611_456, "optimizer": 12_046_958_592}
    sent: dict[str, int] = {}
    for task in found.tasks:
        times = {"layer": 16, "embedding": 1}.get(task.name.partition(".")[0], 0)
        if task.phase == "gradient_reduction" and task.collective:
            sent[task.collective] = sent.get(task.collective, 0) + times * int(number(task.work.msg))
    assert sent == {"reduce_scatter": 16_062_611_456, "all_gather": 8_031_305_728}
