"""Configurations that are not imported: the field or the architecture is named, at its place."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bpir.importer.entry import import_model
from bpir.ir.diagnostic import Diagnostic, DiagnosticError, Source

LLAMA = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 96,
    "vocab_size": 100,
}


def refusals(config: Any) -> list[Diagnostic]:
    """The refusals of a configuration, one line a field."""
    with pytest.raises(DiagnosticError) as caught:
        import_model(Source("config.json", json.dumps(config, indent=0)))
    return list(caught.value.diagnostics)


def line_of(diagnostic: Diagnostic) -> str:
    assert diagnostic.span is not None
    source = diagnostic.span.source
    return source.line(source.position(diagnostic.span.start)[0])


@pytest.mark.parametrize(
    ("fields", "message", "line"),
    [
        ({"hidden_sise": 5}, "unknown field 'hidden_sise'; did you mean 'hidden_size'?", '"hidden_sise": 5'),
        (
            {"mixture_of_depths": 3},
            "unknown field 'mixture_of_depths': importing LlamaForCausalLM does not know whether it changes the computation",
            '"mixture_of_depths": 3',
        ),
        ({"hidden_size": "64"}, "'hidden_size' must be a positive integer, not \"64\"", '"hidden_size": "64",'),
        ({"hidden_size": 64.0}, "'hidden_size' must be a positive integer, not 64.0", '"hidden_size": 64.0,'),
        ({"hidden_size": True}, "'hidden_size' must be a positive integer, not true", '"hidden_size": true,'),
        ({"hidden_size": -64}, "'hidden_size' must be a positive integer, not -64", '"hidden_size": -64,'),
        ({"hidden_size": 0}, "'hidden_size' must be a positive integer, not 0", '"hidden_size": 0,'),
        ({"hidden_size": 10**30}, f"'hidden_size' must be a positive integer, not {10**30}", f'"hidden_size": {10**30},'),
        ({"hidden_size": float("inf")}, "'hidden_size' must be a positive integer, not Infinity", '"hidden_size": Infinity,'),
        ({"hidden_size": None}, "'hidden_size' must be a positive integer, not null", '"hidden_size": null,'),
        ({"hidden_size": [64]}, "'hidden_size' must be a positive integer, not a list", '"hidden_size": ['),
        ({"mlp_bias": 0}, "'mlp_bias' must be true or false, not 0", '"mlp_bias": 0'),
        (
            {"num_hidden_layers": 10**9},
            "'num_hidden_layers' must be an integer from 1 to 65536, not 1000000000",
            '"num_hidden_layers": 1000000000,',
        ),
        (
            {"hidden_act": "gelo"},
            "'hidden_act' is 'gelo', which is not known to LlamaForCausalLM; did you mean 'gelu'?",
            '"hidden_act": "gelo"',
        ),
        (
            {"num_attention_heads": 5},
            "64 elements can't be shared out among 5 heads: the head size is not given",
            '"num_attention_heads": 5,',
        ),
        ({"num_key_value_heads": 3}, "4 heads can't be shared out among 3 KV heads", '"num_key_value_heads": 3'),
        (
            {"sliding_window": 128},
            "'sliding_window' = 128 changes the computation in a way that importing LlamaForCausalLM does not know",
            '"sliding_window": 128',
        ),
        (
            {"is_encoder_decoder": True},
            "'is_encoder_decoder' = true changes the computation in a way that importing LlamaForCausalLM does not know",
            '"is_encoder_decoder": true',
        ),
        (
            {"partial_rotary_factor": 0.5},
            "'partial_rotary_factor' = 0.5 changes the computation in a way that importing LlamaForCausalLM does not know",
            '"partial_rotary_factor": 0.5',
        ),
        (
            {"torch_dtype": "floot16"},
            "'torch_dtype' is 'floot16', which is not known to LlamaForCausalLM; did you mean 'float16'?",
            '"torch_dtype": "floot16"',
        ),
        ({"torch_dtype": "float16", "dtype": "bfloat16"}, "'dtype' contradicts 'torch_dtype'", '"dtype": "bfloat16"'),
    ],
    ids=lambda value: "" if not isinstance(value, dict) else "-".join(f"{k}={v}"[:40] for k, v in value.items()),
)
def test_a_field_that_is_wrong_or_not_known(fields: dict[str, Any], message: str, line: str) -> None:
    (diagnostic,) = refusals({**LLAMA, **fields})
    assert diagnostic.message == message
    assert line_of(diagnostic) == line


def test_all_wrong_fields_are_reported_in_one_run() -> None:
    found = refusals({**LLAMA, "hidden_sise": 5, "mlp_bias": 0, "vocab_size": -1})
    assert [d.message.split(" must")[0].split(";")[0] for d in found] == ["'vocab_size'", "unknown field 'hidden_sise'", "'mlp_bias'"]


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ([], "a configuration is an object, not a list"),
        ({}, "the configuration does not say which model it is: 'architectures' or 'model_type' names it"),
        ({"architectures": ["LlammaForCausalLM"]}, "unknown architecture 'LlammaForCausalLM'; did you mean 'LlamaForCausalLM'?"),
        ({"architectures": ["HalForCausalLM"]}, "unknown architecture 'HalForCausalLM'; did you mean 'GlmForCausalLM'?"),
        ({"architectures": ["BertModel"]}, "unknown architecture 'BertModel'"),
        ({"architectures": "LlamaForCausalLM"}, "'architectures' must be a list of one name"),
        ({"architectures": ["A", "B"]}, "'architectures' must be a list of one name"),
        ({"model_type": "lama"}, "unknown model_type 'lama'; did you mean 'llama'?"),
        ({"model_type": 3}, "'model_type' must be a name, not an integer"),
        (
            {"architectures": ["LlamaForCausalLM"], "model_type": "mistral"},
            "'model_type' \"mistral\" is that of MistralForCausalLM, not of LlamaForCausalLM",
        ),
        ({"architectures": ["Gemma3ForConditionalGeneration"]}, "Gemma3ForConditionalGeneration needs 'text_config', which is absent"),
        (
            {"architectures": ["Gemma3ForConditionalGeneration"], "text_config": {}},
            "'text_config' does not say which model it is: 'model_type' is absent",
        ),
        ({"architectures": ["Gemma3ForConditionalGeneration"], "text_config": 3}, "a configuration is an object, not an integer"),
    ],
)
def test_an_architecture_that_is_not_known(config: Any, message: str) -> None:
    (diagnostic,) = refusals(config)
    assert diagnostic.message == message
    assert diagnostic.span is not None


@pytest.mark.parametrize(
    ("architecture", "lacks"),
    [
        ("Qwen3NextForCausalLM", "layers of linear attention or a state space are not in the language"),
        ("DeepseekV32ForCausalLM", "sparse attention with an indexer is not in the language"),
        ("MambaForCausalLM", "layers of linear attention or a state space are not in the language"),
    ],
)
def test_a_known_architecture_says_what_the_language_lacks(architecture: str, lacks: str) -> None:
    (diagnostic,) = refusals({"architectures": [architecture], "hidden_size": 64})
    assert diagnostic.message == f"{architecture} can't be imported: {lacks}"
    assert line_of(diagnostic) == '"architectures": ['


def test_layers_of_another_kind_are_refused_where_they_stand() -> None:
    config = {"architectures": ["Qwen2ForCausalLM"], "num_hidden_layers": 3, "layer_types": ["full_attention", "linear_attention", "x"]}
    (diagnostic,) = refusals(config)
    assert diagnostic.message.startswith(
        "a layer of the kind \"linear_attention\" is not known to Qwen2ForCausalLM: 'layer_types' may hold"
    )
    assert line_of(diagnostic) == '"linear_attention",'
    (diagnostic,) = refusals({**config, "layer_types": ["full_attention"]})
    assert diagnostic.message == "'layer_types' must be a list of 3 words, one for each layer"


def test_null_in_an_unknown_field_is_passed_over_with_a_warning() -> None:
    imported = import_model(Source("config.json", json.dumps({**LLAMA, "some_new_thing": None})))
    assert [w.message for w in imported.warnings] == ["unknown field 'some_new_thing' is null and is passed over"]
    assert [w.severity for w in imported.warnings] == ["warning"]


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({}, "bp.bind g = 8"),  # MistralConfig's default, whatever the number of heads is
        ({"num_key_value_heads": 2}, "bp.bind g = 2"),
        ({"num_key_value_heads": None}, ""),  # as many as heads: no symbol of their own
    ],
)
def test_absent_is_not_null(given: dict[str, Any], line: str) -> None:
    config = {"architectures": ["MistralForCausalLM"], "hidden_size": 64, "num_attention_heads": 16, **given}
    text = import_model(Source("config.json", json.dumps(config))).text
    assert [row.split("//")[0].strip() for row in text.splitlines() if row.strip().startswith("bp.bind g = ")] == ([line] if line else [])


def test_a_window_that_is_absent_is_the_default_of_its_class() -> None:
    def windows(**given: Any) -> int:
        config = {"architectures": ["MistralForCausalLM"], **given}
        return import_model(Source("config.json", json.dumps(config))).text.count("W = 4096")

    assert (windows(), windows(sliding_window=None), windows(sliding_window=4096)) == (1, 0, 1)
