"""bp-run of pipelines: stages run the network part by part, send what crosses their borders, and hold what is in flight."""

from __future__ import annotations

import pytest
from network_cases import MODEL
from support import read, replaced, run

from bpir.ir.printer import print_module
from bpir.run.check import check
from bpir.run.stages import _played

NUMBERS = {"B": 1, "S": 4, "H": 4, "F": 6, "V": 8, "L": 3, "t": 2, "n": 5}
STAGED = MODEL.replace("L, t where", "L, n, t where")


def derived(kind: str, options: str = "pipeline=2 microbatches=n") -> str:
    return print_module(run(read(STAGED), f"distribute-{kind}{{{options}}}"))


def against(text: str) -> list[str]:
    return [d.message for outcome in check(read(STAGED), read(text), NUMBERS) for d in outcome.against]


@pytest.mark.campaign(keep=3)
@pytest.mark.parametrize("kind", ["inference", "training"])
@pytest.mark.parametrize("options", ["pipeline=2 microbatches=n", "pipeline=3 microbatches=2", "microbatches=n", "pipeline=2 stages=[2,1]"])
def test_stages_run_what_the_model_runs(kind: str, options: str) -> None:
    """All values, gradients and bytes are those of the model in one piece; a block runs on the ranks of one stage."""
    found = check(read(STAGED), read(derived(kind, options)), NUMBERS)
    assert [outcome.against for outcome in found] == [[], [], []]
    assert {outcome.ranks for outcome in found} == {2}
    assert {outcome.block: outcome.runs for outcome in found} == {"layer": 3, "act": 3, "head": 1}


def test_a_sequence_that_is_sharded_crosses_in_shards() -> None:
    assert against(derived("training", "pipeline=3 microbatches=n communication=reduce_scatter_all_gather")) == []


MISTAKES = {
    "a message of half the bytes": (("msg = 2*B*H*S>", "msg = B*H*S>"), "'transfer.forward' has msg = 16 bytes, and each rank sends 32"),
    "a layer that nobody runs": (
        ("@layer times ceildiv(L, 2), @act times ceildiv(L, 2)", "@layer, @act"),
        "the stage runs @head 1 times, where the network has @layer, @act, 1 times",
    ),
    "a layer that two stages run": (
        ("@layer times ceildiv(L, 2), @act times ceildiv(L, 2)", "@layer times L, @act times L"),
        "the stage runs @layer 1 times, where the network has @head, 1 times",
    ),
    "the head before the layers": (
        ("0 runs [@layer times ceildiv(L, 2), @act times ceildiv(L, 2)]", "0 runs [@head]"),
        "the stage runs @head 1 times, where the network has @layer, @act",
    ),
    "fewer in flight": (("in_flight min(2, n)", "in_flight 1"), "of 1 microbatches the stage holds activations, and 2 are in flight"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_in_stages_is_found(name: str) -> None:
    change, message = MISTAKES[name]
    text = derived("training")
    if change[0].startswith("msg"):
        head, _, rest = text.partition("dist.border")
        wrong = head + "dist.border" + rest.replace(*change, 1)
    else:
        wrong = replaced(text, change)
    assert any(message in found for found in against(wrong)), against(wrong)


@pytest.mark.parametrize(
    ("devices", "chunks", "microbatches", "held"),
    [
        (4, 1, 8, [4, 3, 2, 1]),
        (4, 1, 2, [2, 2, 2, 1]),
        (2, 2, 4, [3, 2, 2, 1]),  # device 0: chunk 0, 0, 1, 1, 0 forward; device 1: 0, 0, 1
        (4, 2, 8, [7, 5, 4, 4, 4, 4, 3, 1]),
    ],
)
def test_the_schedule_that_is_played(devices: int, chunks: int, microbatches: int, held: list[int]) -> None:
    found = _played(devices, chunks, microbatches)
    assert [found[device, chunk] for chunk in range(chunks) for device in range(devices)] == held


def test_what_is_derived_is_what_is_played() -> None:
    from bpir.ir.expressions.expression import constant
    from bpir.passes.distribution.stages import Schedule, in_flight

    sizes = ((2, 1, 1), (3, 1, 7), (5, 1, 3), (2, 2, 2), (2, 3, 4), (3, 2, 6), (4, 3, 8))
    for devices, chunks, microbatches in sizes:
        schedule = Schedule(devices, chunks, constant(microbatches))
        played = _played(devices, chunks, microbatches)
        for device in range(devices):
            for chunk in range(chunks):
                assert in_flight(schedule, device, chunk).integer == played.get((device, chunk), 0)
