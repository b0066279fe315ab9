"""Families that place or shape their norms in another way: Cohere, OLMo, StableLM, EXAONE 4."""

from __future__ import annotations

from bpir.importer.families.common import part_of_head, sizes, tied, window
from bpir.importer.families.llama import LLAMA
from bpir.importer.fields import PER_HEAD, Rule, dropout, flag, scaled
from bpir.importer.layers import every, listed

COHERE = LLAMA.like(
    "cohere",
    ("CohereForCausalLM",),
    "Cohere 2024",
    **sizes(8192, 40, 64, 22528, 256000),
    norm="layer_norm",
    norm_weights="gamma",
    order="parallel",
    query_key_norm=Rule(
        "use_qk_norm", lambda reading, values: "heads" if reading.field("query_key_norm", flag("use_qk_norm", False), values) else "none"
    ),
    mlp_bias=False,
    logit_scale=scaled("logit_scale", True),
    tied=tied(True),
)

COHERE2 = COHERE.like(
    "cohere2",
    ("Cohere2ForCausalLM",),
    "Cohere 2025",
    head_size=PER_HEAD,  # whatever 'head_dim' says: Cohere2Config computes it
    window=window(4096),
    layers=listed(every(4, "sliding_window_pattern"), "sliding_window_pattern", rotary_only_local=True),
    query_key_norm="none",
).with_fields(
    "order_of_interleaved_layers",
    "position_embedding_type",
    "rotary_pct",
    "head_dim",
    "cache_implementation",
    "use_parallel_embedding",
    fixed={
        "use_gated_activation": (True,),
        "use_parallel_block": (True,),
        "use_embedding_sharing": (True,),
        "use_qk_norm": (False,),
    },
)

OLMO = LLAMA.like(
    "olmo",
    ("OlmoForCausalLM",),
    "Groeneveld et al. 2024",
    **sizes(4096, 32, 32, 11008, 50304),
    norm="layer_norm",
    norm_weights="none",
    mlp_bias=False,
).with_fields(fixed={"clip_qkv": ()})

OLMO2 = LLAMA.like(
    "olmo2",
    ("Olmo2ForCausalLM",),
    "OLMo team 2024",
    **sizes(4096, 32, 32, 11008, 50304),
    order="between",
    query_key_norm="whole",
    mlp_bias=False,
)

OLMO3 = OLMO2.like(
    "olmo3",
    ("Olmo3ForCausalLM",),
    "OLMo team 2025",
    window=window(4096),
    layers=listed(every(4), "each fourth layer sees all tokens"),
)

EXAONE4 = LLAMA.like(
    "exaone4",
    ("Exaone4ForCausalLM",),
    "LG AI Research 2025",
    **sizes(4096, 32, 32, 16384, 102400),
    window=window(4096),
    layers=listed(every(4, "sliding_window_pattern"), "sliding_window_pattern", rotary_only_local=True),
    order="between",
    query_key_norm="head",
    qkv_bias=False,
    output_bias=False,
    mlp_bias=False,
)

STABLELM = LLAMA.like(
    "stablelm",
    ("StableLmForCausalLM", "StableLMEpochForCausalLM"),
    "Bellagente et al. 2024",
    **sizes(2560, 32, 32, 6912, 50304, head=PER_HEAD),
    norm="layer_norm",
    rotary=part_of_head(0.25, "rope_pct"),
    order=Rule(
        "use_parallel_residual",
        lambda reading, values: "parallel" if reading.field("order", flag("use_parallel_residual", False), values) else "before",
    ),
    query_key_norm=Rule(
        "qk_layernorm", lambda reading, values: "heads" if reading.field("query_key_norm", flag("qk_layernorm", False), values) else "none"
    ),
    qkv_bias=flag("use_qkv_bias", False),
    output_bias=False,
    mlp_bias=False,
    residual_dropout=dropout("hidden_dropout", False),
).with_fields("norm_eps", "rotary_scaling_factor", types=("stablelm_epoch",))

MEMBERS = (COHERE, COHERE2, OLMO, OLMO2, OLMO3, EXAONE4, STABLELM)
