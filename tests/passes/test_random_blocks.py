"""Random blocks are valid models of the promised kinds, and the same for the same seed."""

from __future__ import annotations

import pytest
from random_blocks import TRAINING, random_block
from random_blocks_report import STRATEGIES, verdict
from support import read
from tiers import examples

from bpir.verifiers.structure import module as structure

pytestmark = pytest.mark.slow


def test_a_block_has_15_to_40_operations_and_is_a_valid_model() -> None:
    for seed in range(60):
        text = random_block(seed)
        assert structure.verify(read(text)) == []
        assert 15 <= text.count(" = model.") <= 40


def test_the_same_seed_gives_the_same_text_and_others_give_others() -> None:
    texts = [random_block(seed) for seed in range(60)]
    assert texts == [random_block(seed) for seed in range(60)]
    assert len(set(texts)) == 60


def test_the_promised_kinds_occur() -> None:
    texts = [random_block(seed) for seed in range(60)]
    assert any("%y: " in text for text in texts)
    assert any(text.count("model.softmax") > 1 and "model.kv_append" in text for text in texts)
    assert any("model.attention" in text for text in texts)
    assert any(line.count("%") > 1 for text in texts for line in text.splitlines() if "model.return" in line)


@pytest.mark.random
@pytest.mark.parametrize("side", STRATEGIES)
def test_gates_accept_what_passes_derive(side: str) -> None:
    for seed in range(examples(6)):
        text = random_block(seed, unused=0)
        assert [verdict(text, side, options) for options in STRATEGIES[side]] == [""] * 6


def test_a_gather_that_two_sums_share_is_that_of_the_layer_that_it_says() -> None:
    """In block 54 `g0.output_collective` is a layer of the file, so the name of its collective would also fit one of `g0.mix`."""
    assert [verdict(random_block(54), "training", options) for options in TRAINING[3:]] == [""] * 3


def test_an_operation_that_reaches_no_result_is_refused_by_training_with_the_reason() -> None:
    text = next(text for text in (random_block(seed, unused=1) for seed in range(20)) if verdict(text, "training", TRAINING[0]))
    assert "reaches no result of the block, so it has no gradient" in verdict(text, "training", TRAINING[0])
