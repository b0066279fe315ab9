"""bp-run of whole models: each call reads the results of the one before, and back again; mistakes between calls are found."""

from __future__ import annotations

import pytest
from network_cases import MODEL
from support import read, replaced, run

from bpir.ir.diagnostic import DiagnosticError
from bpir.ir.operation import Operation
from bpir.ir.printer import print_module
from bpir.run.check import Outcome, check

NUMBERS = {"B": 1, "S": 3, "H": 4, "F": 6, "V": 8, "L": 2, "t": 2}


def outcomes(text: str, **numbers: int) -> dict[str, Outcome]:
    return {outcome.block: outcome for outcome in check(read(MODEL), read(text), {**NUMBERS, **numbers})}


def derived(kind: str) -> Operation:
    return run(read(MODEL), f"distribute-{kind}")


@pytest.mark.parametrize("kind", ["inference", "training"])
def test_every_call_agrees_on_what_the_one_before_gave(kind: str) -> None:
    found = outcomes(print_module(derived(kind)))
    assert {name: outcome.runs for name, outcome in found.items()} == {"layer": 2, "act": 2, "head": 1}
    assert [outcome.against for outcome in found.values()] == [[], [], []]
    assert all(largest < 1e-12 for outcome in found.values() for largest in outcome.phases.values())


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("inference", ("dist.repeat L ", "dist.repeat L + 1 ")),
        ("inference", ("[@layer, @act]", "[@act, @layer]")),
        ("training", ("[@act, @layer] backward", "[@layer, @act] backward")),
    ],
)
def test_another_order_or_number_gives_other_results(kind: str, change: tuple[str, str]) -> None:
    found = outcomes(replaced(print_module(derived(kind)), change))
    against = [diagnostic.message for outcome in found.values() for diagnostic in outcome.against]
    assert len(against) == 1 and "the network returns something else than the model's network" in against[0]


def test_too_many_repetitions_are_refused_at_once() -> None:
    with pytest.raises(DiagnosticError, match="more than 64 times"):
        outcomes(print_module(derived("inference")), L=1000)


def test_backward_more_often_than_forward_is_refused() -> None:
    text = replaced(
        print_module(derived("training")), ("dist.repeat L [@act, @layer] backward", "dist.repeat L + 1 [@act, @layer] backward")
    )
    with pytest.raises(DiagnosticError, match="more often than forward"):
        outcomes(text)


def test_the_buffers_of_each_block_hold_what_is_alive() -> None:
    module = derived("inference")
    found = check(read(MODEL), module, NUMBERS, run(module, "plan-inference"))
    assert [outcome.against for outcome in found] == [[], [], []]
    weights = {outcome.block: alive.alive for outcome in found for alive in outcome.alive if alive.what == "weights"}
    assert weights == {"layer": 2 * (4 + 4 * 3 + 3 * 4), "head": 2 * 4 * 4}  # bf16; F/t = 3, V/t = 4


IDS = "%ids: !bp.tensor<B x S, i32>"
LABELS = "%labels: !bp.tensor<B x S, i32>"
LANGUAGE_MODEL = replaced(
    MODEL,
    ("model.block @layer(", f"model.block @embedding({IDS}) {{\n"
     '  %x = model.embedding "embedding.tokens" %ids : [V] -> !bp.tensor<B x S x H, bf16>\n  model.return %x\n}\nmodel.block @layer('),
    ("@head(%x: !bp.tensor<B x S x H, bf16>) {", f"@head(%x: !bp.tensor<B x S x H, bf16>, {LABELS}) {{"),
    ("  model.return %y\n}\nmodel.network", '  %c = model.cross_entropy "loss" %y, %labels\n  model.return %c\n}\nmodel.network'),
    ("@whole(%x: !bp.tensor<B x S x H, bf16>) {\n", f"@whole({IDS}, {LABELS}) {{\n  %x = model.call @embedding %ids\n"),
    ("model.call @head %y", "model.call @head %y, %labels"),
)  # fmt: skip


def test_a_language_model_is_trained_from_its_tokens_to_its_loss() -> None:
    """Token ids and labels have no gradient: backward of the head returns one, that of the embedding none."""
    text = print_module(run(read(LANGUAGE_MODEL), "distribute-training"))
    assert "%dy = dist.call @head backward %dl : !bp.tensor<B x S x H, bf16>\n" in text
    assert "dist.call @embedding backward %dx\n  dist.return %l\n" in text
    found = check(read(LANGUAGE_MODEL), read(text), {**NUMBERS, "S": 4})
    assert {outcome.block: outcome.against for outcome in found} == {"embedding": [], "layer": [], "act": [], "head": []}
    assert all(largest < 1e-12 for outcome in found for largest in outcome.phases.values())
    plan = print_module(run(read(text), "plan-training"))
    assert "plan.section @embedding.backward tasks" in plan
