"""Mixtures of experts: Mixtral, Qwen3-MoE, OLMoE, DeepSeek-V2 and -V3, GPT-OSS."""

from __future__ import annotations

from typing import Any

from bpir.importer.families.common import head_size, sizes, window
from bpir.importer.families.llama import LLAMA
from bpir.importer.families.qwen import QWEN3
from bpir.importer.fields import REQUIRED, Property, Rule, Values, flag, size
from bpir.importer.layers import alike, all_or_none, all_routed, dense_first, every, listed, routed, sparse_step
from bpir.importer.reading import Reading

_NO_BIAS = {"qkv_bias": False, "output_bias": False, "mlp_bias": False}
_WIDTH = "moe_intermediate_size"
_ROUTING = ("norm_topk_prob", "output_router_logits", "router_jitter_noise", "aux_loss_alpha")


def _experts(count: int, chosen: Any, name: str = "num_experts", width: str = _WIDTH, wide: int = 0) -> dict[str, Property]:
    return {
        "experts": size(name, count, also=tuple({"num_experts", "num_local_experts"} - {name})),
        "chosen": size("num_experts_per_tok", chosen),
        "expert_feed_forward": size(width, wide),
    }


MIXTRAL = LLAMA.like(
    "mixtral",
    ("MixtralForCausalLM",),
    "Jiang et al. 2024",
    **sizes(4096, 32, 32, 14336, 32000, kv_heads=8),
    **_NO_BIAS,
    **_experts(8, 2, "num_local_experts", "intermediate_size", 14336),
    window=window(0),
    layers=routed("every layer is a mixture of experts", all_routed, alike(window=True)),
).with_fields(*_ROUTING)

QWEN3_MOE = QWEN3.like(
    "qwen3_moe",
    ("Qwen3MoeForCausalLM",),
    "Yang et al. 2025",
    **sizes(2048, 24, 32, 6144, 151936, kv_heads=4),
    **_experts(128, 8, wide=768),
    layers=routed("decoder_sparse_step", sparse_step, listed(all_or_none(True), "all layers alike")),
).with_fields(
    *_ROUTING,
    "max_window_layers",
    "moe_router_topk",
    fixed={"qkv_bias": (False,), "shared_expert_intermediate_size": (0,), "use_qk_norm": (True,), "num_shared_experts": (0,)},
)

QWEN3_VL_MOE = QWEN3_MOE.like(
    "qwen3_vl_moe_text",
    ("Qwen3VLMoeTextModel",),
    "Bai et al. 2025",
    **sizes(2048, 24, 16, 5632, 151936, kv_heads=16),
    **_experts(60, 4, wide=1408),
)

OLMOE = LLAMA.like(
    "olmoe",
    ("OlmoeForCausalLM",),
    "Muennighoff et al. 2024",
    **sizes(2048, 16, 16, 2048, 50304),
    **_experts(64, 8, width="intermediate_size", wide=2048),
    query_key_norm="whole",
    mlp_bias=False,
    layers=routed("every layer is a mixture of experts", all_routed),
).with_fields(*_ROUTING, fixed={"clip_qkv": ()})


def _shared(reading: Reading, values: Values, default: int = 1) -> int:
    """The shared experts are one of as many times the width."""
    count = reading.field("shared_feed_forward", size("n_shared_experts", default, 0), values)
    return int(count * values["expert_feed_forward"]) if count else 0


_DEEPSEEK_ROUTING = (
    *_ROUTING,
    *("n_group", "topk_group", "topk_method", "routed_scaling_factor", "scoring_func", "moe_layer_freq", "ep_size"),
    *("num_nextn_predict_layers", "head_dim", "qk_head_dim", "num_experts"),
)

DEEPSEEK_V3 = LLAMA.like(
    "deepseek_v3",
    ("DeepseekV3ForCausalLM",),
    "DeepSeek-AI 2024",
    **sizes(7168, 61, 128, 18432, 129280, kv_heads=128, head=size("qk_rope_head_dim", 64)),
    **_NO_BIAS,
    **_experts(256, 8, "n_routed_experts", wide=2048),
    rotary=size("qk_rope_head_dim", 64),
    latent=size("kv_lora_rank", 512),
    query_latent=size("q_lora_rank", 1536, 0),
    key_size=size("qk_nope_head_dim", 128),
    value_size=size("v_head_dim", 128),
    shared_feed_forward=Rule("n_shared_experts", _shared),
    scores="sigmoid",
    layers=routed("first_k_dense_replace", dense_first("first_k_dense_replace", 3)),
).with_fields(
    *_DEEPSEEK_ROUTING,
    fixed={"attention_bias": (False,), "moe_layer_freq": (1,)},
    types=("kimi_k2",),
    remark="The layers that predict further tokens (num_nextn_predict_layers) are not part of it.",
)

DEEPSEEK_V2 = DEEPSEEK_V3.like(
    "deepseek_v2",
    ("DeepseekV2ForCausalLM",),
    "DeepSeek-AI 2024",
    **sizes(4096, 32, 32, 11008, 102400, head=size("qk_rope_head_dim", 64)),
    **_experts(64, REQUIRED, "n_routed_experts", wide=1407),
    shared_feed_forward=Rule("n_shared_experts", lambda reading, values: _shared(reading, values, 2)),
    scores="softmax",
    layers=routed("first_k_dense_replace", dense_first("first_k_dense_replace", 0)),
)

GPT_OSS = LLAMA.like(
    "gpt_oss",
    ("GptOssForCausalLM",),
    "OpenAI 2025",
    **sizes(2880, 36, 64, 2880, 201088, kv_heads=8, head=head_size(64)),
    **_experts(128, 4, "num_local_experts", "intermediate_size", 2880),
    qkv_bias=flag("attention_bias", True),
    output_bias=flag("attention_bias", True),
    mlp_bias=False,
    router_bias=True,
    expert_bias=True,
    sinks=True,
    window=window(128),
    layers=routed("layer_types", all_routed, listed(every(2), "each second layer sees all tokens")),
).with_fields(*_ROUTING, "swiglu_limit", "initial_context_length", "experts_per_token")

MEMBERS = (MIXTRAL, QWEN3_MOE, QWEN3_VL_MOE, OLMOE, DEEPSEEK_V3, DEEPSEEK_V2, GPT_OSS)
