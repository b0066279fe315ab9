"""Families whose code is beside their weights, not in transformers: InternLM, EXAONE 3, MiniCPM, Baichuan, Qwen 1, ChatGLM."""

from __future__ import annotations

from typing import Any

from bpir.importer.families.common import activation, head_size, sizes, tied
from bpir.importer.families.llama import LLAMA
from bpir.importer.fields import AS_HEADS, PER_HEAD, Derived, Rule, Values, dropout, flag, layers, scaled, size
from bpir.importer.reading import Reading

_NO_BIAS = {"qkv_bias": False, "output_bias": False, "mlp_bias": False}

INTERNLM2 = LLAMA.like(
    "internlm2",
    ("InternLM2ForCausalLM",),
    "Cai et al. 2024",
    **sizes(4096, 32, 32, 11008, 103168, head=PER_HEAD),
    qkv_bias=flag("bias", True),
    output_bias=flag("bias", True),
    mlp_bias=False,
    attention_dropout=False,
)

INTERNLM3 = LLAMA.like(
    "internlm3",
    ("InternLM3ForCausalLM",),
    "InternLM team 2025",
    **sizes(4096, 32, 32, 11008, 128512),
    qkv_bias=flag("qkv_bias", False),
    output_bias=flag("bias", False),
    mlp_bias=flag("bias", False),
)

EXAONE = LLAMA.like(
    "exaone",
    ("ExaoneForCausalLM",),
    "LG AI Research 2024",
    depth=layers("num_layers", 32, also=("num_hidden_layers",)),
    head_size=head_size(),
    vocabulary=size("vocab_size", 102400),
    activation=activation("activation_function", "silu", also=("hidden_act",)),
    embedding_dropout=dropout("embed_dropout", False),
    **_NO_BIAS,
)

MINICPM = LLAMA.like(
    "minicpm",
    ("MiniCPMForCausalLM",),
    "Hu et al. 2024",
    **sizes(4096, 32, 32, 11008, 32000, head=PER_HEAD),
    embedding_scale=scaled("scale_emb", False),
    residual_scale=scaled("scale_depth", False),
    logit_scale=scaled("dim_model_base", False),
    mlp_bias=False,
    tied=tied(True),
)


def _has_positions(reading: Reading) -> bool:
    return reading.find("max_position_embeddings") is not None


BAICHUAN = LLAMA.like(
    "baichuan",
    ("BaichuanForCausalLM", "BaiChuanForCausalLM"),
    "Yang et al. 2023",
    **{**sizes(4096, 32, 32, 11008, 125696, head=PER_HEAD), "kv_heads": AS_HEADS},
    # two programs share the name: that of 7B has rotary positions and says how many, that of 13B has ALiBi
    rotary=Rule("max_position_embeddings", lambda reading, values: values["head_size"] if _has_positions(reading) else 0),
    alibi=Rule("max_position_embeddings is absent", lambda reading, values: not _has_positions(reading)),
    **_NO_BIAS,
    attention_dropout=False,
).with_fields("z_loss_weight")

QWEN = LLAMA.like(
    "qwen",
    ("QWenLMHeadModel",),
    "Bai et al. 2023",
    depth=layers("num_hidden_layers", 32),
    kv_heads=AS_HEADS,
    head_size=size("kv_channels", 128),
    feed_forward=Rule("intermediate_size / 2", lambda reading, values: _half(reading, values)),
    vocabulary=size("vocab_size", 151936),
    qkv_bias=True,
    output_bias=Rule("no_bias", lambda reading, values: not reading.field("output_bias", flag("no_bias", True), values)),
    mlp_bias=False,
    activation="silu",
    embedding_dropout=dropout("emb_dropout_prob", False),
    attention_dropout=dropout("attn_dropout_prob", False),
).with_fields(
    "bf16",
    "fp16",
    "fp32",
    "onnx_safe",
    "scale_attn_weights",
    "use_dynamic_ntk",
    "use_logn_attn",
    "softmax_in_fp32",
    "use_cache_quantization",
    "use_cache_kernel",
    fixed={"rotary_pct": (1, 1.0)},
)


def _half(reading: Reading, values: Values) -> int:
    both = reading.field("feed_forward", size("intermediate_size", 22016), values)
    if both % 2:
        reading.fail(f"'intermediate_size' counts gate and up together, and {both} is odd", reading.places["feed_forward"])
    return int(both) // 2


def _groups(reading: Reading, values: Values) -> Any:
    shared = reading.field("kv_heads", flag("multi_query_attention", False), values)
    groups = reading.field("kv_heads", size("multi_query_group_num", 1), values)
    return groups if shared else values["heads"]


def _any_bias(reading: Reading, values: Values) -> bool:
    given = [reading.field("qkv_bias", flag(name, False), values) for name in ("add_bias_linear", "add_qkv_bias")]  # both are read
    return any(given)


CHATGLM = LLAMA.like(
    "chatglm",
    ("ChatGLMModel", "ChatGLMForConditionalGeneration"),
    "GLM team 2024",
    depth=layers("num_layers", 28, also=("num_hidden_layers",)),
    kv_heads=Rule("multi_query_attention, multi_query_group_num", _groups),
    head_size=size("kv_channels", 128),
    feed_forward=size("ffn_hidden_size", 13696),
    vocabulary=size("padded_vocab_size", 65024),
    rotary=Derived("half of the head", lambda values: values["head_size"] // 2),
    qkv_bias=Rule("add_qkv_bias, add_bias_linear", lambda reading, values: _any_bias(reading, values)),
    output_bias=flag("add_bias_linear", False),
    mlp_bias=flag("add_bias_linear", False),
    activation="silu",
    attention_dropout=dropout("attention_dropout", False),
    residual_dropout=dropout("hidden_dropout", False),
).with_fields(
    "apply_query_key_layer_scaling",
    "attention_softmax_in_fp32",
    "bias_dropout_fusion",
    "layernorm_epsilon",
    "original_rope",
    "vocab_size",
    "quantization_bit",
    "eos_token_id",
    fixed={
        "apply_residual_connection_post_layernorm": (False,),
        "rmsnorm": (True,),
        "post_layer_norm": (True,),
        "pre_seq_len": (),
        "prefix_projection": (False,),
    },
)

MEMBERS = (INTERNLM2, INTERNLM3, EXAONE, MINICPM, BAICHUAN, QWEN, CHATGLM)
