"""Tasks of an inference phase have the names of the layers that they come from, and of the phase."""

from __future__ import annotations

import pytest
from inference_gate import RULE, accepted, derived, refused, verdict
from support import replaced


@pytest.mark.parametrize("name", ["mlp.gelu.prefill", "mlp.gelu", "gelu.decode", "step.mlp.gelu.decode"])
def test_r1_a_task_that_is_not_called_after_its_layer_and_phase(name: str) -> None:
    refused(replaced(derived(), ('"mlp.gelu.decode"', f'"{name}"')), RULE + "R1", at=f'"{name}"')


def test_r1_the_names_of_two_tasks_exchanged() -> None:
    """All else is right: each says the operation that it comes from."""
    names = ('"mlp.gelu.decode"', '"other"'), ('"mlp.contract.decode"', '"mlp.gelu.decode"'), ('"other"', '"mlp.contract.decode"')
    text = replaced(derived(), *names)
    refused(text, RULE + "R1", at='"mlp.contract.decode" gelu')
    assert "'mlp.contract.decode' is not called after 'mlp.gelu': expected 'mlp.gelu.decode'" in verdict(text)[0].message


@pytest.mark.parametrize("name", ["banana.decode", "attention.output_collective.prefill", "mlp.output_collective.decode.again"])
def test_r1_a_collective_of_another_name(name: str) -> None:
    text = replaced(derived(), ('"attention.output_collective.decode"', f'"{name}"'))
    refused(text, RULE + "R1", at=f'"{name}"')


def test_r1_a_state_of_another_name() -> None:
    text = replaced(derived(), ('dist.state "attention.kv_cache"', 'dist.state "mlp.kv_cache"'))
    refused(text, RULE + "R1", at='"mlp.kv_cache"')


@pytest.mark.parametrize(
    ("task", "layer"),
    [
        ("mlp.output_collective.decode", "mlp.contract"),
        ("attention.kv_append.decode", "attention.core"),
        ("attention.kv_cache", "attention.core"),
    ],
)
def test_what_stands_beside_a_layer_may_be_called_after_it(task: str, layer: str) -> None:
    """As the pass does where a group has two of them: after the layer that makes it."""
    group, _, rest = task.partition(".")
    accepted(replaced(derived(), (f'"{task}"', f'"{layer}.{rest}"')))
    refused(replaced(derived(), (f'"{task}"', f'"{group}.norm.{rest}"')), RULE + "R1", at=f'"{group}.norm.{rest}"')
