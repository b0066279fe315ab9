"""Numbers of parameters of models that transformers builds on PyTorch's meta device, for `tests/importer/test_importer_facts.py`.

Not run by the tests. In an environment with torch and transformers (and, for the public configurations, aiconfigurator-core):

    python tests/data/transformers/parameters.py ORACLE_CONFIGS > tests/data/transformers/parameters.jsonl

One JSON object a line: `id`, the `config` as a file would hold it (absent fields stay absent), `parameters`, shared tensors once.
The last line holds the versions.
"""

from __future__ import annotations

import json
import random
import sys
import warnings
from pathlib import Path
from typing import Any

import torch
import transformers
from transformers import AutoModelForCausalLM, AutoModelForImageTextToText
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

warnings.filterwarnings("ignore")

SEED = 14
DRAWS = 6
NEEDED = {"deepseek_v2": {"num_experts_per_tok": 6}}
"""Fields that have no default."""
NOT_SIZES = ("architectures", "model_type", "quantization_config", "auto_map")
KEPT = ("hidden_size", "num_attention_heads", "pad_token_id", "n_head", "rotary_dim", "num_experts_per_tok", "num_key_value_heads")
"""Fields that are never left out: the defaults of their classes don't fit small sizes."""

HEADS = (2, 4, 6, 8)
SIZES = {
    "hidden_size": lambda r, heads: heads * r.choice((16, 32, 48)),
    "intermediate_size": lambda r, heads: r.choice((96, 160, 320)),
    "num_hidden_layers": lambda r, heads: r.choice((1, 2, 5, 8)),
    "num_attention_heads": lambda r, heads: heads,
    "vocab_size": lambda r, heads: r.choice((1000, 1003, 2048)),
}
GROUPED = {"num_key_value_heads": lambda r, heads: r.choice([k for k in (1, 2, heads) if heads % k == 0] + [None])}
HEAD = {"head_dim": lambda r, heads: r.choice((16, 24, 64))}
TIED = {"tie_word_embeddings": lambda r, heads: r.choice((True, False))}


def choice(*values: Any) -> Any:
    return lambda r, heads: r.choice(values)


BOTH = choice(True, False)
BIAS = {"attention_bias": BOTH}
OLD = {
    "n_embd": SIZES["hidden_size"],
    "n_layer": SIZES["num_hidden_layers"],
    "n_head": SIZES["num_attention_heads"],
    "vocab_size": SIZES["vocab_size"],
}
LLAMA = {**SIZES, **GROUPED, **HEAD, **TIED}

LATENT = {
    **SIZES,
    **TIED,
    "num_key_value_heads": SIZES["num_attention_heads"],
    "n_routed_experts": choice(4, 6),
    "num_experts_per_tok": choice(1, 2),
    "n_shared_experts": choice(1, 2),
    "moe_intermediate_size": choice(32, 48),
    "q_lora_rank": choice(None, 24, 40),
    "kv_lora_rank": choice(16, 32),
    "qk_nope_head_dim": choice(16, 24),
    "qk_rope_head_dim": choice(8, 16),
    "v_head_dim": choice(16, 24),
}

FIELDS: dict[str, dict[str, Any]] = {
    "llama": {**LLAMA, **BIAS, "mlp_bias": BOTH},
    "mistral": {**LLAMA, "sliding_window": choice(None, 128)},
    "ministral": LLAMA,
    "ministral3": LLAMA,
    "phi3": {**SIZES, **GROUPED, **TIED, "sliding_window": choice(None, 128), "pad_token_id": choice(0)},
    "granite": {**SIZES, **GROUPED, **TIED, **BIAS, "mlp_bias": BOTH, "residual_multiplier": choice(1.0, 0.5)},
    "glm": {**LLAMA, **BIAS, "pad_token_id": choice(0)},
    "glm4": {**LLAMA, **BIAS, "pad_token_id": choice(0)},
    "smollm3": {**SIZES, **GROUPED, **TIED, **BIAS, "mlp_bias": BOTH, "no_rope_layer_interval": choice(2, 4), "pad_token_id": choice(0)},
    "seed_oss": {**LLAMA, **BIAS, "attention_out_bias": BOTH, "mlp_bias": BOTH},
    "ernie4_5": {**LLAMA, "use_bias": BOTH},
    "hunyuan_v1_dense": {**LLAMA, **BIAS},
    "helium": {**SIZES, "hidden_size": lambda r, heads: 128 * heads, "num_key_value_heads": choice(1, 2), **TIED, **BIAS},
    "arcee": {**LLAMA, **BIAS, "mlp_bias": BOTH},
    "cwm": LLAMA,
    "qwen2": {**SIZES, **GROUPED, **TIED, "use_sliding_window": BOTH, "max_window_layers": choice(0, 1, 3), "sliding_window": choice(64)},
    "qwen3": {**LLAMA, **BIAS},
    "gemma": {**LLAMA, **BIAS},
    "gemma2": {**LLAMA, **BIAS, "final_logit_softcapping": choice(None, 30.0)},
    "gemma3_text": {**LLAMA, **BIAS, "sliding_window_pattern": choice(2, 6)},
    "vaultgemma": LLAMA,
    "gpt2": {**OLD, "n_inner": choice(None, 100), **TIED, "n_positions": choice(64, 100)},
    "gpt_bigcode": {**OLD, "n_inner": choice(None, 100), **TIED, "multi_query": BOTH},
    "gptj": {**OLD, "n_inner": choice(None, 100), "rotary_dim": choice(4, 8)},
    "codegen": {**OLD, "n_inner": choice(None, 100), "rotary_dim": choice(4, 8)},
    "gpt_neo": {
        "hidden_size": SIZES["hidden_size"],
        "num_heads": SIZES["num_attention_heads"],
        "num_layers": choice(4),
        "attention_types": choice([[["global", "local"], 2]], [[["global"], 4]]),
        "intermediate_size": choice(None, 100),
        "vocab_size": SIZES["vocab_size"],
        "max_position_embeddings": choice(64, 100),
        **TIED,
    },
    "gpt_neox": {**SIZES, **TIED, **BIAS, "use_parallel_residual": BOTH, "rotary_pct": choice(0.25, 0.5, 1.0)},
    "phi": {**SIZES, **GROUPED, "qk_layernorm": BOTH},
    "persimmon": {**SIZES, "qk_layernorm": BOTH, **TIED},
    "starcoder2": {**SIZES, **GROUPED, **TIED, "use_bias": BOTH},
    "nemotron": {**LLAMA, **BIAS, "mlp_bias": BOTH},
    "jais2": {**LLAMA, **BIAS, "mlp_bias": BOTH},
    "opt": {
        **{name: SIZES[name] for name in ("hidden_size", "num_hidden_layers", "num_attention_heads", "vocab_size")},
        "ffn_dim": choice(100, 256),
        "word_embed_proj_dim": choice(32, 48),
        "do_layer_norm_before": BOTH,
        "enable_bias": BOTH,
        "max_position_embeddings": choice(64, 100),
        **TIED,
    },
    "bloom": {"hidden_size": SIZES["hidden_size"], "n_layer": SIZES["num_hidden_layers"], "n_head": SIZES["num_attention_heads"], **TIED},
    "mpt": {"d_model": SIZES["hidden_size"], "n_layers": SIZES["num_hidden_layers"], "n_heads": SIZES["num_attention_heads"], **TIED},
    "falcon": {
        **{name: SIZES[name] for name in ("hidden_size", "num_hidden_layers", "num_attention_heads", "vocab_size")},
        "num_kv_heads": choice(1, 2),
        "multi_query": BOTH,
        "new_decoder_architecture": BOTH,
        "parallel_attn": BOTH,
        "bias": BOTH,
        "alibi": BOTH,
        "ffn_hidden_size": choice(None, 100),
        **TIED,
    },
    "cohere": {**SIZES, **GROUPED, **TIED, **BIAS, "use_qk_norm": BOTH},
    "cohere2": {**SIZES, **GROUPED, **TIED, **BIAS},
    "olmo": {**SIZES, **GROUPED, **TIED, **BIAS},
    "olmo2": {**SIZES, **GROUPED, **TIED, **BIAS},
    "olmo3": {**SIZES, **GROUPED, **TIED, **BIAS},
    "exaone4": {**LLAMA, "sliding_window_pattern": choice(2, 4)},
    "mixtral": {**LLAMA, "num_local_experts": choice(4, 6), "num_experts_per_tok": choice(1, 2), "sliding_window": choice(None, 128)},
    "qwen3_moe": {
        **LLAMA,
        **BIAS,
        "num_experts": choice(4, 6),
        "num_experts_per_tok": choice(1, 2),
        "moe_intermediate_size": choice(32, 48),
        "decoder_sparse_step": choice(1, 2),
        "mlp_only_layers": choice([], [0]),
    },
    "olmoe": {**SIZES, **GROUPED, **TIED, **BIAS, "num_experts": choice(4, 6), "num_experts_per_tok": choice(1, 2)},
    "deepseek_v2": {
        **LATENT,
        "first_k_dense_replace": choice(0, 1),
        "n_group": choice(None),
        "topk_group": choice(None),
    },
    "deepseek_v3": {**LATENT, "first_k_dense_replace": choice(0, 1, 2), "n_group": choice(1), "topk_group": choice(1)},
    "gpt_oss": {**LLAMA, **BIAS, "num_local_experts": choice(4, 6), "num_experts_per_tok": choice(1, 2)},
    "stablelm": {**SIZES, **GROUPED, **TIED, "use_qkv_bias": BOTH, "qk_layernorm": BOTH, "use_parallel_residual": BOTH},
}


WRAPPERS = {
    "gemma3": ("Gemma3ForConditionalGeneration", "gemma3_text"),
    "mistral3": ("Mistral3ForConditionalGeneration", "mistral"),
    "llava": ("LlavaForConditionalGeneration", "llama"),
    "llava_next": ("LlavaNextForConditionalGeneration", "mistral"),
    "llava_onevision": ("LlavaOnevisionForConditionalGeneration", "qwen2"),
    "paligemma": ("PaliGemmaForConditionalGeneration", "gemma"),
    "qwen2_vl": ("Qwen2VLForConditionalGeneration", "qwen2_vl_text"),
    "qwen2_5_vl": ("Qwen2_5_VLForConditionalGeneration", "qwen2_5_vl_text"),
    "qwen3_vl": ("Qwen3VLForConditionalGeneration", "qwen3_vl_text"),
    "qwen3_vl_moe": ("Qwen3VLMoeForConditionalGeneration", "qwen3_vl_moe_text"),
}
"""Models of pictures and text, with the model_type of their decoder; tied or not by the whole, by the decoder, by neither."""
DECODER = {
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "intermediate_size": 96,
    "vocab_size": 1000,
}


def architecture(config: Any) -> str:
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

    return MODEL_FOR_CAUSAL_LM_MAPPING_NAMES[config.model_type]


def count(model_type: str, fields: dict[str, Any]) -> int:
    fields = {name: value for name, value in fields.items() if name not in NOT_SIZES}
    config = CONFIG_MAPPING[model_type](**fields)
    heads, kv_heads = (getattr(config, name, None) or 1 for name in ("num_attention_heads", "num_key_value_heads"))
    if heads % kv_heads:
        raise ValueError(f"{heads} heads can't be shared out among {kv_heads} KV heads: transformers builds it, and can't run it")
    builder = AutoModelForImageTextToText if "text_config" in fields else AutoModelForCausalLM
    with torch.device("meta"):
        model = builder.from_config(config, attn_implementation="eager")
    model.tie_weights()
    if "text_config" in fields:  # the decoder and its head, without the vision tower
        inner = model.model.language_model
        head = model.lm_head.weight
        known = {id(p) for p in inner.parameters()}
        return sum(p.numel() for p in inner.parameters()) + (0 if id(head) in known else head.numel())
    return sum(p.numel() for p in model.parameters())


def row(id: str, model_type: str, fields: dict[str, Any], parameters: int = 0) -> None:
    try:
        print(json.dumps({"id": id, "config": fields, "parameters": parameters or count(model_type, fields)}))
    except Exception as failure:  # a draw that the class refuses says nothing
        print(f"{id}: {type(failure).__name__}: {str(failure)[:200]}", file=sys.stderr)


def main() -> None:
    for name, fields in FIELDS.items():
        named = {"architectures": [architecture(CONFIG_MAPPING[name]())], "model_type": name}
        row(f"{name}-defaults", name, {**named, **NEEDED.get(name, {})})
        for index in range(DRAWS):
            r = random.Random(f"{SEED} {name} {index}")
            heads = r.choice(HEADS)
            given = {field: draw(r, heads) for field, draw in fields.items()}
            left_out = r.choice([*given, ""])
            given = {field: value for field, value in given.items() if field != left_out or field in KEPT}
            row(f"{name}-{index}", name, {**named, **given})
    for name, (whole, inner) in WRAPPERS.items():
        for outer_tied in (None, True, False):
            for inner_tied in (None, True, False):
                config: dict[str, Any] = {"architectures": [whole], "model_type": name, "text_config": {"model_type": inner, **DECODER}}
                config |= {} if outer_tied is None else {"tie_word_embeddings": outer_tied}
                config["text_config"] |= {} if inner_tied is None else {"tie_word_embeddings": inner_tied}
                row(f"{name}-{outer_tied}-{inner_tied}", name, config)
    public = sorted(Path(sys.argv[1]).glob("*.json")) + _aiconfigurator()
    for path in public:
        config = json.loads(path.read_text())
        kind = config["model_type"]
        inner = config.get("text_config", {}).get("model_type", "")
        id = path.name.removesuffix(".json").removesuffix("_config")
        if kind in FIELDS or inner in ("qwen3_vl_text", "qwen3_vl_moe_text"):
            row(id, kind, config)
        elif kind == "kimi_k2" or inner in ("kimi_k2", "deepseek_v3"):
            row(id, kind, config, count("deepseek_v3", config.get("text_config", config)))
        else:  # of what is refused by its architecture nothing else is needed
            named = {name: config[name] for name in ("architectures", "model_type") if name in config}
            print(json.dumps({"id": id, "config": {**named, **({"text_config": {"model_type": inner}} if inner else {})}}))
    print(json.dumps({"torch": torch.__version__, "transformers": transformers.__version__}))


def _aiconfigurator() -> list[Path]:
    import aiconfigurator_core

    root = Path(aiconfigurator_core.__path__[0])
    return sorted(path for path in root.rglob("*_config.json") if "hf_quant" not in path.name)


if __name__ == "__main__":
    main()
