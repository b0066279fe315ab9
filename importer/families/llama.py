"""Llama and its descendants: norms before attention and a gated MLP (Touvron et al. 2023)."""

from __future__ import annotations

from bpir.importer.families.common import ELEMENT, activation, head_size, part_of_head, sizes, tied, window
from bpir.importer.family import Family
from bpir.importer.fields import WHOLE_HEAD, dropout, flag, scaled
from bpir.importer.layers import alike, all_or_none, every, listed, some_without_rotary

LLAMA = Family(
    "llama",
    ("LlamaForCausalLM",),
    "Touvron et al. 2023, Dubey et al. 2024",
    {
        **sizes(4096, 32, 32, 11008, 32000),
        "layers": alike(),
        "rotary": WHOLE_HEAD,
        "activation": activation("hidden_act", "silu"),
        "qkv_bias": flag("attention_bias", False),
        "output_bias": flag("attention_bias", False),
        "mlp_bias": flag("mlp_bias", False),
        "attention_dropout": dropout("attention_dropout", False),
        "tied": tied(False),
        "element": ELEMENT,
    },
    types=("yi", "exaone4_llama"),
)

_NO_BIAS = {"qkv_bias": False, "output_bias": False, "mlp_bias": False}

MISTRAL = LLAMA.like(
    "mistral",
    ("MistralForCausalLM",),
    "Jiang et al. 2023",
    **sizes(4096, 32, 32, 14336, 32000, kv_heads=8),
    **_NO_BIAS,
    window=window(4096),
    layers=alike(window=True),
)

MINISTRAL = MISTRAL.like(
    "ministral",
    ("MinistralForCausalLM",),
    "Mistral AI 2024",
    layers=listed(all_or_none(True), "all layers alike"),
)

MINISTRAL3 = MISTRAL.like(
    "ministral3",
    ("Ministral3ForCausalLM",),
    "Mistral AI 2025",
    **sizes(4096, 34, 32, 14336, 131072, kv_heads=8, head=head_size(128)),
    window=window(0),
)

PHI3 = LLAMA.like(
    "phi3",
    ("Phi3ForCausalLM",),
    "Abdin et al. 2024",
    **sizes(3072, 32, 32, 8192, 32064),
    **_NO_BIAS,
    window=window(0),
    layers=alike(window=True),
    rotary=part_of_head(1.0),
    embedding_dropout=dropout("embd_pdrop", False),
    residual_dropout=dropout("resid_pdrop", False),
).with_fields(
    "interpolate_factor",
    "full_attn_mod",
    fixed={"attention_bias": (False,), "mlp_bias": (False,), "lm_head_bias": (False,)},
)

GRANITE = LLAMA.like(
    "granite",
    ("GraniteForCausalLM",),
    "Granite team 2024",
    embedding_scale=scaled("embedding_multiplier", False),
    residual_scale=scaled("residual_multiplier", False),
    logit_scale=scaled("logits_scaling", False),
).with_fields("attention_multiplier")

GLM = LLAMA.like(
    "glm",
    ("GlmForCausalLM",),
    "GLM team 2024",
    **sizes(4096, 40, 32, 13696, 151552, kv_heads=2, head=head_size(128)),
    rotary=part_of_head(0.5),
    qkv_bias=flag("attention_bias", True),
    output_bias=False,
    mlp_bias=False,
)

GLM4 = GLM.like("glm4", ("Glm4ForCausalLM",), "GLM team 2025", order="around")

SMOLLM3 = LLAMA.like(
    "smollm3",
    ("SmolLM3ForCausalLM",),
    "Bakouch et al. 2025",
    **sizes(2048, 36, 16, 11008, 128256, kv_heads=4),
    window=window(0, "use_sliding_window"),
    layers=some_without_rotary(4),
    tied=tied(True),
).with_fields("max_window_layers")

SEED_OSS = LLAMA.like(
    "seed_oss",
    ("SeedOssForCausalLM",),
    "ByteDance Seed 2025",
    **sizes(4096, 64, 80, 27648, 155136, kv_heads=8, head=head_size(128)),
    qkv_bias=flag("attention_bias", True),
    output_bias=flag("attention_out_bias", False),
    attention_dropout=dropout("attention_dropout", True),
    residual_dropout=dropout("residual_dropout", True),
)

ERNIE4_5 = LLAMA.like(
    "ernie4_5",
    ("Ernie4_5ForCausalLM",),
    "Baidu 2025",
    **sizes(1024, 18, 16, 3072, 103424, kv_heads=2, head=head_size(128)),
    qkv_bias=flag("use_bias", False),
    output_bias=flag("use_bias", False),
    mlp_bias=flag("use_bias", False),
    attention_dropout=False,
    tied=tied(True),
)

HUNYUAN = LLAMA.like(
    "hunyuan_v1_dense",
    ("HunYuanDenseV1ForCausalLM",),
    "Tencent 2025",
    **sizes(4096, 32, 32, 11008, 290943),
    query_key_norm="head",
    mlp_bias=False,
).with_fields("eod_token_id", "use_qk_norm", "use_cla", "cla_share_factor", "im_start_id", "im_end_id", "text_start_id", "text_end_id")

HELIUM = LLAMA.like(
    "helium",
    ("HeliumForCausalLM",),
    "Kyutai 2025",
    **sizes(2560, 24, 20, 7040, 48000, kv_heads=20, head=head_size(128)),
    output_bias=False,
)

ARCEE = LLAMA.like(
    "arcee",
    ("ArceeForCausalLM",),
    "Arcee AI 2025",
    **sizes(2560, 32, 32, 18432, 32000),
    activation=activation("hidden_act", "relu2"),
    gated=False,
)

CWM = LLAMA.like(
    "cwm",
    ("CwmForCausalLM",),
    "Meta FAIR 2025",
    **sizes(6144, 64, 48, 21504, 128256, kv_heads=8, head=head_size(128)),
    **_NO_BIAS,
    window=window(8192),
    layers=listed(every(4, first=True), "the first of four layers sees all tokens"),
)

MEMBERS = (
    LLAMA,
    MISTRAL,
    MINISTRAL,
    MINISTRAL3,
    PHI3,
    GRANITE,
    GLM,
    GLM4,
    SMOLLM3,
    SEED_OSS,
    ERNIE4_5,
    HUNYUAN,
    HELIUM,
    ARCEE,
    CWM,
)
