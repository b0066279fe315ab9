"""An imported model has as many parameters as transformers counts on the meta device (`tests/data/README.md`)."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from support import DATA, ROOT, read, run

from bpir.importer.entry import import_model
from bpir.importer.families import FAMILIES
from bpir.ir.diagnostic import DiagnosticError, Source
from bpir.ir.operation import Operation
from bpir.tools.reports.collect import collect
from bpir.verifiers.structure import module as structure

ROWS = [json.loads(line) for line in (DATA / "transformers" / "parameters.jsonl").read_text().splitlines()]
PUBLIC = [row for row in ROWS if "--" in row.get("id", "")]
"""Public configurations (aiconfigurator-core); of those without `parameters` only the names are here."""

METHODS_OF_OTHERS = ("compressed-tensors", "modelopt")


def quantised_otherwise(config: dict[str, Any]) -> bool:
    """Whether its weights are stored in a way that is refused."""
    both = (config, config.get("text_config", {}))
    return any(c.get("quantization_config", {}).get("quant_method") in METHODS_OF_OTHERS for c in both)


MODELS = [row for row in ROWS if "parameters" in row and not quantised_otherwise(row["config"])]
REFUSED = [row for row in PUBLIC if row not in MODELS and row["config"]["architectures"] != ["MiMoForCausalLM"]]  # its code is elsewhere
NOT_FROM_TRANSFORMERS = {
    "mimo",
    "qwen2_vl_text",
    "qwen3_vl_text",
    "qwen3_vl_moe_text",
    "internlm2",
    "internlm3",
    "exaone",
    "minicpm",
    "baichuan",
    "qwen",
    "chatglm",
}
"""Families without a row of their own: their code is elsewhere, or they are within a model of pictures."""


def imported(config: Any) -> Operation:
    """The imported model, read and sound."""
    module = read(import_model(Source("config.json", json.dumps(config))).text)
    assert structure.verify(module) == []
    return module


@pytest.mark.campaign(keep=110)
@pytest.mark.parametrize("row", MODELS, ids=[row["id"] for row in MODELS])
def test_parameters(row: dict[str, Any]) -> None:
    whole = collect(imported(row["config"])).network
    assert whole is not None
    assert whole.total.integer == row["parameters"]


def test_every_family_has_a_row() -> None:
    rows = {row["id"].rpartition("-")[0] for row in MODELS}
    assert {family.name for family in FAMILIES if not family.missing} - rows == NOT_FROM_TRANSFORMERS


@pytest.mark.parametrize("row", REFUSED, ids=lambda row: row["id"])
def test_what_is_not_imported_is_refused_by_a_name(row: dict[str, Any]) -> None:
    with pytest.raises(DiagnosticError) as caught:
        import_model(Source("config.json", json.dumps(row["config"])))
    for diagnostic in caught.value.diagnostics:
        assert diagnostic.span is not None
        assert re.search(r"^\w+(ForCausalLM|ForConditionalGeneration) can't be imported: |^'quantization_config'", diagnostic.message)


def test_the_families_that_everyone_tries_are_not_among_the_refused() -> None:
    known = {"llama", "mistral", "mixtral", "qwen2", "qwen3", "qwen3_moe", "gemma", "deepseek_v3", "gpt_oss"}
    assert len(PUBLIC) == 89
    assert [row["id"] for row in PUBLIC if row["config"]["model_type"] in known and row in REFUSED] == []


def test_a_static_fp8_checkpoint_of_qwen3_32b() -> None:
    """31,205,621,760 elements of matrices take a byte; table, head (151,936 * 5,120 each) and norms two: 34,318,624,768 bytes.

    That K and V would be stored in FP8 is said to be passed over.
    """
    (row,) = [row for row in MODELS if row["id"] == "Qwen--Qwen3-32B-FP8-Static-PerTensor"]
    whole = 2 * 151_936 * 5120 + 64 * (2 * 5120 + 2 * 128) + 5120
    result = import_model(Source("config.json", json.dumps(row["config"])))
    assert [w.message.split(" = ")[0] for w in result.warnings] == ["'quantization_config.kv_cache_scheme'"]
    plan = run(read(result.text), "distribute-inference{tensor=1 batch=1 context=1}", "plan-inference")
    assert collect(plan).memory["weights"].integer == row["parameters"] - whole + 2 * whole == 34_318_624_768


PUBLISHED = [
    (
        7721324544,
        {
            "architectures": ["QWenLMHeadModel"],
            "model_type": "qwen",
            "hidden_size": 4096,
            "intermediate_size": 22016,
            "num_hidden_layers": 32,
            "num_attention_heads": 32,
            "kv_channels": 128,
            "vocab_size": 151936,
            "no_bias": True,
            "tie_word_embeddings": False,
            "rotary_pct": 1.0,
            "rotary_emb_base": 10000,
            "seq_length": 8192,
            "bf16": False,
        },
    ),
    (
        6243584000,
        {
            "architectures": ["ChatGLMModel"],
            "model_type": "chatglm",
            "add_bias_linear": False,
            "add_qkv_bias": True,
            "ffn_hidden_size": 13696,
            "hidden_size": 4096,
            "kv_channels": 128,
            "multi_query_attention": True,
            "multi_query_group_num": 2,
            "num_attention_heads": 32,
            "num_layers": 28,
            "padded_vocab_size": 65024,
            "rmsnorm": True,
            "post_layer_norm": True,
        },
    ),
    (
        2724880896,
        {
            "architectures": ["MiniCPMForCausalLM"],
            "model_type": "minicpm",
            "hidden_size": 2304,
            "intermediate_size": 5760,
            "num_hidden_layers": 40,
            "num_attention_heads": 36,
            "num_key_value_heads": 36,
            "vocab_size": 122753,
            "scale_emb": 12,
            "dim_model_base": 256,
            "scale_depth": 1.4,
        },
    ),
    (
        7737708544,
        {
            "architectures": ["InternLM2ForCausalLM"],
            "model_type": "internlm2",
            "bias": False,
            "hidden_size": 4096,
            "intermediate_size": 14336,
            "num_hidden_layers": 32,
            "num_attention_heads": 32,
            "num_key_value_heads": 8,
            "vocab_size": 92544,
            "tie_word_embeddings": False,
        },
    ),
    (
        7505973248,
        {
            "architectures": ["BaichuanForCausalLM"],
            "model_type": "baichuan",
            "hidden_size": 4096,
            "intermediate_size": 11008,
            "num_hidden_layers": 32,
            "num_attention_heads": 32,
            "vocab_size": 125696,
            "max_position_embeddings": 4096,
            "z_loss_weight": 0,
            "tie_word_embeddings": False,
        },
    ),
    (
        13896668160,
        {
            "architectures": ["BaichuanForCausalLM"],
            "model_type": "baichuan",
            "hidden_size": 5120,
            "intermediate_size": 13696,
            "num_hidden_layers": 40,
            "num_attention_heads": 40,
            "vocab_size": 125696,
            "model_max_length": 4096,
            "tie_word_embeddings": False,
        },
    ),
]
"""Checkpoints whose code is beside them: Qwen-7B, ChatGLM3-6B, MiniCPM-2B, InternLM2-7B, Baichuan2-7B and 13B, with the elements of
their safetensors files."""


@pytest.mark.parametrize(("elements", "config"), PUBLISHED, ids=[config["architectures"][0] for _, config in PUBLISHED])
def test_families_whose_code_is_elsewhere(elements: int, config: dict[str, Any]) -> None:
    whole = collect(imported(config)).network
    assert whole is not None
    assert whole.total.integer == elements


def test_baichuan_says_by_its_positions_whether_they_are_rotary() -> None:
    """7B has rotary positions, and says how many; 13B has ALiBi."""
    seven, thirteen = (import_model(Source("config.json", json.dumps(config))).text for _, config in PUBLISHED[-2:])
    assert ("model.rope" in seven, "ALiBi" in seven) == (True, False)
    assert ("model.rope" in thirteen, "ALiBi" in thirteen) == (False, True)


CONFIGS = sorted((ROOT / "examples" / "configs").glob("*.json"))


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_the_examples_of_whole_models_are_imported(path: Path) -> None:
    """Byte by byte what the tool writes, and what the formatter would."""
    text = import_model(Source(f"configs/{path.name}", path.read_bytes().decode("latin-1"))).text
    assert (ROOT / "examples" / f"{path.stem.replace('-', '_')}.bpir").read_text() == text
    assert len(CONFIGS) == 3
